"""The attacks of the campaign, each a function from a scale to results."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy
import zstandard
from PIL import Image

from attncli.data import corpus
from attncli.data.captions import read_captions
from attncli.data.external_alignments import read_external_alignments
from attncli.data.features import FeatureCache, RowKind
from attncli.data.image_index import content_hash, open_images
from attncli.data.links import read_links
from attncli.data.streams import open_output
from attncli.documents.document import DocumentOptions, reassemble
from attncli.documents.registry import FORMATS, read_document
from models.errors import ModelError
from models.files import write_bytes, write_folder
from models.images import open_image
from tests.attncli.documents.generated import document as made_document
from tests.fixtures.before_restructuring import make
from tests.torture.mutate import mutate, mutate_json
from tests.torture.power import power_failures
from tests.torture.training import Training
from tests.torture.worker import Result, attempt
from tests.torture.writes import attack

OLD, NEW = b"old" * 1000, b"new" * 2000
RUN = Path(make.__file__).parent / "runs" / "finished"  # of an earlier version
BLOCK = 200  # hostile inputs of one worker
LETTERS = [*"abc .,!?;:'\"()<>{}&%$#=\t\r\0\x1b\x9b", "é", "日本", "हिन्दी", "\u0301", "\u202e"]
LETTERS += ["\U0001f600", "\u2028", "\ufeff", "\x85", "word ", "<b>", "</b>", "{0}", "%s", "&lt;"]
LETTERS += ["." * 300, "a" * 300, "\u0301" * 300, " " * 300, "0" * 300]


class Campaign:
    """Attacks on the program, in a folder of its own, from one seed.

    scale: 1 is the short form; the number of cases grows with it.
    """

    def __init__(self, folder: Path, seed: int, scale: float, bundle: Path | None = None) -> None:
        self.folder, self.seed, self.scale, self.bundle = folder, seed, scale, bundle
        self.log = folder / "worker.log"

    def results(self) -> Iterator[Result]:
        """Run every attack."""
        yield from self.writes()
        yield from self.shared()
        if runs := int(2 * self.scale):
            training = Training(self.folder / "training", self.log)
            yield from training.attack(self.random("training"), runs)
        yield self.lines("hostile lines", _translate_tagged)
        yield self.lines("hostile lines, classify", _classify)
        yield self.inputs("images", self._images(), lambda path: open_image(path))
        yield self.inputs("compressed text", self._archives(), _read_lines)
        yield self.inputs("TAR files", self._tars(), _read_tar)
        yield self.inputs("files of links", self._links(), lambda path: read_links(path))
        yield self.inputs(
            "alignments", self._alignments(), lambda path: read_external_alignments(path, None)
        )
        yield self.inputs("files of captions", self._captions(), lambda path: read_captions(path))
        yield self.documents()
        yield self.runs()
        if self.bundle:
            yield from self.bundles(self.bundle)

    def random(self, attack: str) -> Random:
        """Return the generator of one attack."""
        return Random(f"{self.seed} {attack}")

    def count(self, cases: int) -> int:
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
            yield from attack(name, prepare, work, check, self.log, self.random(name), most)
            rng = self.random(f"power {name}")
            yield power_failures(name, place, prepare, work, check, self.log, rng, most)

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
        """Let two processes create and write the same things at once."""
        for name, work, check in (
            ("two writers of one -o", self._write_shared, self._check_shared),
            ("two writers of one cache", self._fill_cache, self._check_cache),
        ):
            result = Result(name)
            for number in range(self.count(15)):
                shutil.rmtree(self.folder / "writes", ignore_errors=True)
                (self.folder / "writes").mkdir()
                result.add(f"round {number}", _both(work, self.log) or check())
            yield result

    def _write_shared(self) -> None:
        letter = str(os.getpid() % 10).encode()
        with open_output(self.folder / "writes" / "out") as write:
            for _ in range(50):
                write(letter * 997)

    def _check_shared(self) -> str:
        content = (self.folder / "writes" / "out").read_bytes()
        return "" if len(set(content)) == 1 and len(content) == 49_850 else "mixed"

    def lines(self, name: str, work: Callable[[Path, Path, Random], None]) -> Result:
        """Give hostile lines to a command; count the lines that come out.

        work: from input, output and random numbers.
        """
        random, result = self.random(name), Result(name)
        given, out = self.folder / "in.txt", self.folder / "out.txt"
        for _ in range(self.count(5)):
            given.write_bytes(b"".join(_line(random) + b"\n" for _ in range(BLOCK)))
            out.unlink(missing_ok=True)
            seed = random.random()
            fault = attempt(lambda seed=seed: work(given, out, Random(seed)), self.log)  # type: ignore[misc]
            if not fault and out.read_bytes().count(b"\n") != BLOCK:
                fault = "another number of lines"
            result.add(f"lines {result.tried} to {result.tried + BLOCK}", fault)
            result.tried += BLOCK - 1
        return result

    def runs(self) -> Result:
        """List and prune damaged run folders; each is listed, and its model stays as it was."""
        random, result = self.random("runs"), Result("run folders, attn runs")
        for number in range(self.count(20)):
            run = self.folder / "runs" / "damaged"
            shutil.rmtree(run.parent, ignore_errors=True)
            shutil.copytree(RUN, run)
            files = [path for path in sorted(run.iterdir()) if path.is_file()]
            _damage(random.choice(files), random)
            result.add(f"{number}", attempt(lambda run=run: _list_and_prune(run), self.log))  # type: ignore[misc]
        return result

    def inputs(self, name: str, seeds: list[bytes], read: Callable[[Path], object]) -> Result:
        """Read mutations of valid files; each must be read, or refused by a ModelError."""
        random, result = self.random(name), Result(name)
        for _ in range(self.count(1)):
            contents = [mutate(random.choice(seeds), random) for _ in range(BLOCK)]
            fault = attempt(lambda contents=contents: self._read_all(contents, read), self.log)  # type: ignore[misc]
            result.add(f"files {result.tried} to {result.tried + BLOCK}", fault)
            result.tried += BLOCK - 1
        return result

    def _read_all(self, contents: list[bytes], read: Callable[[Path], object]) -> None:
        path = self.folder / "input"
        for content in contents:
            path.write_bytes(content)
            with suppress(ModelError):
                read(path)

    def documents(self) -> Result:
        """Read mutated documents of every format; what is not translated comes back unchanged."""
        random, result = self.random("documents"), Result("documents")
        for _ in range(self.count(1)):
            seeds = [random.randrange(2**32) for _ in range(BLOCK)]
            fault = attempt(lambda seeds=seeds: _read_documents(seeds), self.log)  # type: ignore[misc]
            result.add(f"documents {result.tried} to {result.tried + BLOCK}", fault)
            result.tried += BLOCK - 1
        return result

    def bundles(self, bundle: Path) -> Iterator[Result]:
        """Open damaged bundles: refused, or the same outputs as before if digests are there."""
        import models

        expected = models.load_translator(bundle).translate(["The dog sees a house."])[0]
        names = [path.name for path in bundle.iterdir() if path.is_file()]
        digests = {"SHA256SUMS"} & set(names)
        for kept in (True, False) if digests else (False,):
            random = self.random(f"bundles {kept}")
            result = Result("bundles" if kept else "bundles without digests")
            for number in range(self.count(20)):
                damaged = self.folder / "bundle"
                shutil.rmtree(damaged, ignore_errors=True)
                shutil.copytree(bundle, damaged)
                if not kept:
                    (damaged / "SHA256SUMS").unlink(missing_ok=True)
                name = random.choice(sorted(set(names) - (set() if kept else digests)))
                _damage(damaged / name, random)

                def work(damaged: Path = damaged, kept: bool = kept) -> None:
                    with suppress(ModelError):
                        found = models.load_translator(damaged).translate(["The dog sees a house."])
                        assert not kept or found[0] == expected, "other outputs"

                result.add(f"{number} ({name})", attempt(work, self.log))
            yield result

    def _images(self) -> list[bytes]:
        found = []
        image = Image.fromarray(numpy.arange(48 * 40 * 3, dtype=numpy.uint8).reshape(48, 40, 3))
        for kind in ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP"):
            stream = io.BytesIO()
            image.save(stream, kind)
            found.append(stream.getvalue())
        return found

    def _archives(self) -> list[bytes]:
        text = "".join(f"line {n}\n" for n in range(300)).encode()
        zstd = zstandard.ZstdCompressor().compress(text)
        return [text, gzip.compress(text), lzma.compress(text), zstd, zstd + gzip.compress(text)]

    def _tars(self) -> list[bytes]:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            for name in ("a.png", "folder/b.png", "../c.png"):
                member = tarfile.TarInfo(name)
                member.size = 700
                archive.addfile(member, io.BytesIO(b"x" * 700))
        return [stream.getvalue()]

    def _links(self) -> list[bytes]:
        return [b"0-0 1p2 2?1\n\n0-1:0.25 1-0:1e-3\n", b"0001 1 1\n0001 2 3 P\n3 1 2 S 0.5\n"]

    def _alignments(self) -> list[bytes]:
        record = {"source": ["a", "b"], "target": ["c"], "links": [[0, 0]], "weights": [[0.5, 0.5]]}
        fairseq = b"S-0\ta b\nT-0\tc\nA-0\t0-0 1-0\n"
        marian = b"c d ||| 0.9,0.1 0.2,0.8\nc ||| 0-0\n"
        return [json.dumps(record).encode() + b"\n", fairseq, marian, b"0-0 1-0\n"]

    def _captions(self) -> list[bytes]:
        coco = {
            "images": [{"id": 7, "file_name": "a.jpg"}],
            "annotations": [{"image_id": 7, "caption": "A dog runs."}],
        }
        karpathy = {
            "images": [{"filename": "a.jpg", "split": "train", "sentences": [{"raw": "A dog."}]}]
        }
        random = self.random("JSON of captions")
        odd = [mutate_json(random.choice([coco, karpathy]), random) for _ in range(50)]
        tables = [b"a.jpg#0\tA dog.\n", b'image,caption\na.jpg,"A dog."\n', b"a.jpg\tA dog.\n"]
        return [*tables, *(json.dumps(value).encode() for value in (coco, karpathy, *odd))]


def _read_lines(path: Path) -> None:
    with corpus.open_text(path) as lines:
        for _ in lines:
            pass


def _key(number: int) -> str:
    return content_hash(bytes([number]))


def _both(work: Callable[[], None], log: Path) -> str:
    """Run the work in two processes at once; return the fault of either."""
    other = os.fork()
    if not other:
        fault = attempt(work, log.with_suffix(".other"))
        os._exit(bool(fault))
    fault = attempt(work, log)
    _, status = os.waitpid(other, 0)
    return fault or ("the other one failed" if status else "")


def _line(random: Random) -> bytes:
    if random.random() < 0.1:
        return random.randbytes(random.randrange(40)).replace(b"\n", b"")
    return "".join(random.choices(LETTERS, k=random.randrange(30))).encode()


def _translate_tagged(given: Path, out: Path, random: Random) -> None:
    """Translate with a model of capitals, sometimes with tags."""
    from attncli.jobs import engines
    from tests.upper_model import opened_text_model

    engines.open_text_model = opened_text_model  # type: ignore[assignment]
    keep = ["--keep-tags"] if random.random() < 0.5 else []
    _run("translate", given, out, "-m", "upper", *keep)


def _classify(given: Path, out: Path, random: Random) -> None:
    """Classify with the shipped identifier of languages."""
    _run("classify", given, out, "--format", random.choice(["text", "tsv", "jsonl"]))


def _run(command: str, given: Path, out: Path, *options: str) -> None:
    from attncli import app

    status = app.run([command, "-i", str(given), "-o", str(out), *options])
    assert status in (0, 1), status
    if not out.exists():
        raise AssertionError("no output")


def _list_and_prune(run: Path) -> None:
    from attncli import app

    os.dup2(2, 1)  # its tables are no part of the campaign's
    model = (run / "model.safetensors").read_bytes()
    for words in (["runs", str(run)], ["runs", "prune", "--yes", str(run)]):
        status = app.run(words)
        assert status in (0, 1), status
    assert (run / "model.safetensors").read_bytes() == model


def _damage(path: Path, random: Random) -> None:
    content = path.read_bytes()
    if path.suffix == ".json" and random.random() < 0.8:
        changed = json.dumps(mutate_json(json.loads(content), random)).encode()
    else:
        changed = mutate(content, random)
    path.write_bytes(changed)


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


def _read_tar(path: Path) -> None:
    found = open_images(path)
    for place in found.places.values():
        with suppress(ModelError):
            place.read()
