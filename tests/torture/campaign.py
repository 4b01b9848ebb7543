"""The attacks of the campaign, each a function from a scale to results."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

import numpy

import models
from attncli.caption.image_features import FeatureCache, RowKind
from attncli.data.named_files import content_hash
from attncli.data.streams import open_output
from attncli.documents.document import DocumentOptions, read_document, reassemble
from attncli.documents.formats import FORMATS
from models.core.errors import ModelError
from models.core.files import write_bytes, write_folder
from models.core.types import Translation
from models.storage.installed import BOX, is_bundle
from tests.attncli.documents.generated import document as made_document
from tests.attncli.training.small import finished_and_stopped
from tests.torture.inputs import kinds
from tests.torture.mutate import damage, mutate
from tests.torture.power import power_failures
from tests.torture.training import Training
from tests.torture.worker import Result, Workers
from tests.torture.writes import Job, attack

SENTENCE, DIGESTS = "The dog sees a house.", "SHA256SUMS"
OLD, NEW = b"old" * 1000, b"new" * 2000
INTACT = BOX / "grammar-en-de"  # a small bundle, which is damaged
BLOCK = 200  # hostile inputs of one worker
LETTERS = [*"abc .,!?;:'\"()<>{}&%$#=\t\r\0\x1b\x9b", "é", "日本", "हिन्दी", "\u0301", "\u202e"]
LETTERS += ["\U0001f600", "\u2028", "\ufeff", "\x85", "word ", "<b>", "</b>", "{0}", "%s", "&lt;"]
LETTERS += ["." * 300, "a" * 300, "\u0301" * 300, " " * 300, "0" * 300]


class Campaign:
    """Attacks on the program, in a folder of its own, from one seed.

    scale: 1 is the short form; the number of cases grows with it.
    """

    def __init__(self, folder: Path, seed: int, scale: float) -> None:
        self.folder, self.seed, self.scale = folder, seed, scale
        self.workers = Workers(folder / "worker.log")

    def results(self, only: Iterable[str] = ()) -> Iterator[Result]:
        """Run every attack, or those of these names; see `ATTACKS`."""
        for name in only or ATTACKS:
            for result in ATTACKS[name](self):
                result.peak, self.workers.peak = self.workers.peak, 0
                yield result

    def random(self, attack: str) -> Random:
        """Return the generator of one attack."""
        return Random(f"{self.seed} {attack}")

    def count(self, cases: float) -> int:
        """Return how many cases the scale asks for."""
        return max(1, round(cases * self.scale))

    def writes(self) -> Iterator[Result]:
        """Interrupt each way of writing a file at every call."""
        place = self.folder / "writes"
        target = place / "target"

        def prepare() -> None:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            target.write_bytes(OLD)

        def output() -> None:
            with open_output(target) as write:
                write(NEW[:3000])
                write(NEW[3000:])

        def whole() -> str:
            return "" if target.read_bytes() in (OLD, NEW) else "neither the old nor the new file"

        def fill(part: Path) -> None:
            (part / "one").write_bytes(NEW)

        def folder() -> None:
            write_folder(place / "folder", fill)

        def whole_folder() -> str:
            path = place / "folder"
            return "half a folder" if path.exists() and (path / "one").read_bytes() != NEW else ""

        most = self.count(20)
        for name, work, check in (
            ("a file", lambda: write_bytes(target, NEW), whole),
            ("-o", output, whole),
            ("a folder", folder, whole_folder),
            ("feature cache", self._fill_cache, self._check_cache),
        ):
            job = Job(name, prepare, work, check)
            yield from attack(job, self.workers, self.random(name), most)
            yield power_failures(job, place, self.workers, self.random(f"power {name}"), most)

    def _fill_cache(self) -> None:
        cache = FeatureCache(self.folder / "writes" / "cache", RowKind((4,), "float32", "torture"))
        with cache.writing():
            for n in range(6):
                if missing := cache.missing([_key(n)]):
                    cache.add(missing, numpy.full((1, 4), n))

    def _check_cache(self) -> str:
        self._fill_cache()  # the next process goes on
        cache = FeatureCache(self.folder / "writes" / "cache", RowKind((4,), "float32", "torture"))
        rows = cache.table()[cache.rows(_key(n) for n in range(6))]
        return "" if (rows == numpy.arange(6)[:, None]).all() else "wrong rows"

    def shared(self) -> Iterator[Result]:
        """Let two processes fill the same cache at once."""
        result = Result("two writers of one cache")
        for number in range(self.count(15)):
            shutil.rmtree(self.folder / "writes", ignore_errors=True)
            (self.folder / "writes").mkdir()
            fault = _both(self._fill_cache, self.workers) or self._check_cache()
            result.add(f"round {number}", fault)
        yield result

    def training(self) -> Iterator[Result]:
        """Interrupt training."""
        if runs := int(2 * self.scale):
            training = Training(self.folder / "training", self.workers)
            yield from training.attack(self.random("training"), runs)

    def lines(self) -> Iterator[Result]:
        """Give hostile lines to commands; count the lines that come out."""
        given, out = self.folder / "in.txt", self.folder / "out.txt"
        for name, blocks, work in (
            ("hostile lines, translate", 5, _translate_tagged),
            ("hostile lines, classify", 0.5, _classify),
        ):
            random, result = self.random(name), Result(name)
            for block in range(self.count(blocks)):
                given.write_bytes(b"".join(_line(random) + b"\n" for _ in range(BLOCK)))
                out.unlink(missing_ok=True)
                fault = self.workers.attempt(partial(work, given, out, Random(random.random())))
                if not fault and out.read_bytes().count(b"\n") != BLOCK:
                    fault = "another number of lines"
                result.add(f"block {block}", fault, BLOCK)
            yield result

    def runs(self) -> Iterator[Result]:
        """List and prune damaged run folders; each is listed, and its model stays as it was."""
        random, result = self.random("runs"), Result("run folders, attn runs")
        (self.folder / "trained").mkdir()
        whole, _ = finished_and_stopped(self.folder / "trained")
        for number in range(self.count(20)):
            run = self.folder / "runs" / "damaged"
            shutil.rmtree(run.parent, ignore_errors=True)
            shutil.copytree(whole, run)
            files = [path for path in sorted(run.iterdir()) if path.is_file()]
            damage(random.choice(files), random)
            result.add(f"{number}", self.workers.attempt(partial(_list_and_prune, run)))
        yield result

    def inputs(self) -> Iterator[Result]:
        """Read mutations of valid files; each must be read, or refused by a ModelError."""
        for kind in kinds():
            random, result = self.random(kind.name), Result(kind.name)
            for block in range(self.count(1)):
                contents = [mutate(random.choice(kind.contents), random) for _ in range(BLOCK)]
                fault = self.workers.attempt(partial(self._read_all, contents, kind.read))
                result.add(f"block {block}", fault, BLOCK)
            yield result

    def _read_all(self, contents: list[bytes], read: Callable[[Path], object]) -> None:
        path = self.folder / "input"
        for content in contents:
            path.write_bytes(content)
            try:
                read(path)
            except ModelError as error:
                assert "\n" not in str(error), error

    def documents(self) -> Iterator[Result]:
        """Read mutated documents of every format; what is not translated comes back unchanged."""
        random, result = self.random("documents"), Result("documents")
        for block in range(self.count(1)):
            seeds = [random.randrange(2**32) for _ in range(BLOCK)]
            fault = self.workers.attempt(partial(_read_documents, seeds))
            result.add(f"block {block}", fault, BLOCK)
        yield result

    def requests(self) -> Iterator[Result]:
        """Send hostile requests to `attn serve`, if its packages and models are there."""
        from importlib.util import find_spec

        if find_spec("starlette") and is_bundle(BOX / "everyday"):
            from tests.torture.requests import hostile_requests

            count = int(10_000 * self.scale)
            yield from hostile_requests(self.folder, self.random("requests"), count)

    def bundles(self) -> Iterator[Result]:
        """Open damaged bundles: refused, or the same outputs as before if digests are there."""
        expected = models.load(INTACT, "translate").translate([SENTENCE])[0]
        for kept in (True, False):
            name = "bundles" if kept else "bundles without digests"
            random, result = self.random(name), Result(name)
            names = sorted({path.name for path in INTACT.iterdir()} - {DIGESTS})
            for number in range(self.count(20)):
                damaged = self.folder / "bundle"
                shutil.rmtree(damaged, ignore_errors=True)
                shutil.copytree(INTACT, damaged)
                if not kept:
                    (damaged / DIGESTS).unlink()
                file = random.choice([*names, DIGESTS] if kept else names)
                damage(damaged / file, random)
                work = partial(_load_damaged, damaged, expected if kept else None)
                result.add(f"{number} ({file})", self.workers.attempt(work))
            yield result


def _key(number: int) -> str:
    return content_hash(bytes([number]))


def _both(work: Callable[[], None], workers: Workers) -> str:
    """Run the work in two processes at once; return the fault of either."""
    other = os.fork()
    if not other:
        fault = Workers(workers.log.with_suffix(".other")).attempt(work)
        os._exit(bool(fault))
    fault = workers.attempt(work)
    _, status = os.waitpid(other, 0)
    return fault or ("the other one failed" if status else "")


def _line(random: Random) -> bytes:
    if random.random() < 0.1:
        return random.randbytes(random.randrange(40)).replace(b"\n", b"")
    return "".join(random.choices(LETTERS, k=random.randrange(30))).encode()


def _translate_tagged(given: Path, out: Path, random: Random) -> None:
    """Translate with a model of capitals, sometimes with tags."""
    from attncli.translate.runner import TranslateRunner
    from tests.upper_model import opened

    TranslateRunner.load = opened  # type: ignore[assignment]
    keep = ["--keep-tags"] if random.random() < 0.5 else []
    _run("translate", given, out, "-m", "upper", *keep)


def _classify(given: Path, out: Path, random: Random) -> None:
    """Classify with the shipped identifier of languages."""
    _run("classify", given, out, "--format", random.choice(["text", "tsv", "jsonl"]))


def _run(command: str, given: Path, out: Path, *options: str) -> None:
    from attncli.shell import app

    status = app.run([command, "-i", str(given), "-o", str(out), *options])
    assert status in (0, 1), status
    if not out.exists():
        raise AssertionError("no output")


def _list_and_prune(run: Path) -> None:
    from attncli.shell import app

    os.dup2(2, 1)  # its tables are no part of the campaign's
    model = (run / "model.safetensors").read_bytes()
    for words in (["runs", str(run)], ["runs", "prune", "--yes", str(run)]):
        status = app.run(words)
        assert status in (0, 1), status
    assert (run / "model.safetensors").read_bytes() == model


def _read_documents(seeds: list[int]) -> None:
    """Read a mutated document of each seed; reassemble it unchanged and in capitals."""
    options = {
        "csv": DocumentOptions(columns=("1",)),
        "jsonl": DocumentOptions(keep=("x",)),
    }
    for seed in seeds:
        random = Random(seed)
        name = random.choice(list(FORMATS))
        content = mutate(made_document(name, seed).encode(), random)
        text = content.decode("utf-8", "surrogateescape")
        with suppress(ModelError):
            found = read_document(text, name, options.get(name, DocumentOptions()))
            assert reassemble(found, [None] * len(found.segments)) == text, (name, seed)
            capitals = [tuple(text.upper() for text in one.texts) for one in found.segments]
            reassemble(found, capitals)


def _load_damaged(bundle: Path, expected: Translation | None) -> None:
    """Load a damaged bundle; if it loads, its output must be the expected one, if that is known."""
    with suppress(ModelError):
        found = models.load(bundle, "translate").translate([SENTENCE])[0]
        assert expected is None or found == expected, "other outputs"


ATTACKS: dict[str, Callable[[Campaign], Iterator[Result]]] = {
    "writes": Campaign.writes,
    "shared": Campaign.shared,
    "training": Campaign.training,
    "lines": Campaign.lines,
    "inputs": Campaign.inputs,
    "documents": Campaign.documents,
    "runs": Campaign.runs,
    "requests": Campaign.requests,
    "bundles": Campaign.bundles,
}
