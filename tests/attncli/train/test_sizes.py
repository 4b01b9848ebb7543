"""Training at drawn sizes and shapes: every run ends with a model, or with one line."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from attncli.shell import app
from attncli.train.display import Display
from tests.attncli.command_line import flags
from tests.attncli.labels import write_toy
from tests.attncli.processes.small import run as run_processes
from tests.attncli.training import small_captions
from tests.attncli.training.kinds import CHANGED, SOUND, write_rows, write_wavs
from tests.attncli.training.small import SMALL, TINY

Words = list[str | Path]
SIZES, LARGE = (1, 2, 3, 10, 100, 1000), (5000, 20_000)
TARGETS = ("de", "fr", "es", "it", "nl")
DRAWN = 20  # cases of each session of tests, and WIDE of the slow ones
WIDE = 150


def pairs(path: Path, count: int, rng: random.Random) -> Path:
    """Write pairs of made-up words; a few have an empty side."""
    words = ["ba", "du", "ki", "lo", "me", "na", "po", "ru", "si", "ta"]
    rows = []
    for number in range(count):
        source = [rng.choice(words) for _ in range(rng.randrange(1, 9))]
        target = "" if number % 40 == 39 else " ".join(reversed(source))
        rows.append(f"{' '.join(source)} {number}\t{target} {number if target else ''}\n")
    path.write_text("".join(rows), "utf-8")
    return path


def corpora(count: int) -> Callable[[Path, Iterator[int], random.Random], Words]:
    def words(folder: Path, sizes: Iterator[int], rng: random.Random) -> Words:
        named: Words = ["train", "-p", "transformer-nano"]
        for target in TARGETS[:count]:
            table = pairs(folder / f"{target}.tsv", next(sizes), rng)
            named += ["--corpus", f"en-{target}={table}"]
        named += ["-s", f"data.temperature={rng.choice((1, 2, 5))}"]
        if rng.random() < 0.3:
            named += ["--dev-corpus", f"en-de={pairs(folder / 'dev.tsv', next(sizes), rng)}"]
        return [*named, *settings(SMALL)]

    return words


def of_pairs(folder: Path, sizes: Iterator[int], rng: random.Random) -> Words:
    preset = rng.choice(("transformer-nano", "luong-nano", "rnnsearch-nano", ""))
    table = pairs(folder / "a.tsv", next(sizes), rng)
    named: Words = ["train", table, *(["-p", preset] if preset else [])]
    if rng.random() < 0.3:
        named += ["--dev", pairs(folder / "dev.tsv", next(sizes), rng)]
    return [*named, *settings(SMALL)]


def of_labels(folder: Path, sizes: Iterator[int], rng: random.Random) -> Words:
    table = write_toy(folder / "a.tsv", next(sizes), rng.randrange(99))
    return ["train", "--labels", table, "-p", "bilstm-attention-nano", *settings(TINY)]


def of_rows(folder: Path, sizes: Iterator[int], rng: random.Random) -> Words:
    table = write_rows(folder, next(sizes))
    return ["train", table, "-p", "multi-source-nano", *settings(TINY)]


def of_captions(folder: Path, sizes: Iterator[int], rng: random.Random) -> Words:
    images, count = small_captions.write_images(folder).images, next(sizes)
    names = sorted(path.name for path in images.iterdir())
    rows = (f"{names[n % len(names)]}\t{names[n % len(names)][:-4]} {n}\n" for n in range(count))
    (folder / "a.tsv").write_text("".join(rows), "utf-8")
    named: Words = ["--images", images, "--captions", folder / "a.tsv"]
    preset = rng.choice(("show-attend-tell-soft-nano", "show-attend-tell-hard-nano"))
    own = (*small_captions.SMALL, f"data.features={folder / 'features'}")
    return ["train", *named, "-p", preset, *settings(own)]


def of_recordings(folder: Path, sizes: Iterator[int], rng: random.Random) -> Words:
    wavs, count = write_wavs(folder / "wavs", 12, 1), min(next(sizes), 300)
    rows = (wavs / "train.tsv").read_text().splitlines()
    (folder / "a.tsv").write_text("".join(f"{rows[n % 12]}\n" for n in range(count)), "utf-8")
    named: Words = ["--audio", wavs, "--transcripts", folder / "a.tsv"]
    changes = CHANGED if rng.random() < 0.5 else ()
    return ["train", *named, "-p", "listen-attend-spell-nano", *settings((*SOUND, *changes))]


def of_aligner(folder: Path, sizes: Iterator[int], rng: random.Random) -> Words:
    table = pairs(folder / "a.tsv", min(next(sizes), 1000), rng)
    own = [one for one in SMALL if not one.startswith("model.decoder")]
    return ["align", "train", table, *settings(tuple(own)), "-s", "model.decoder_layers=2"]


def of_comparison(folder: Path, sizes: Iterator[int], rng: random.Random) -> Words:
    table = pairs(folder / "a.tsv", next(sizes), rng)
    words: Words = ["models", "compare", "none", "dot", "--seeds", "1", "--train", table]
    return [*words, "-p", "rnnsearch-nano", *settings(SMALL)]


def fine_tuned(folder: Path, sizes: Iterator[int], rng: random.Random) -> Words:
    replay = rng.choice((0, 0.3, 0.5, 0.9, 0.99))
    named: Words = [pairs(folder / "a.tsv", next(sizes), rng), "--from", "en", "--to", "de"]
    return [*named, "--start-from", "everyday", "-s", f"data.replay={replay}", "--dry-run"]


def settings(texts: tuple[str, ...]) -> Words:
    left = ("train.steps", "train.evaluate", "train.batch", "train.metric", "tokenizer.size")
    return [*flags(text for text in texts if not text.startswith(left))]


KINDS: dict[str, Callable[[Path, Iterator[int], random.Random], Words]] = {
    **{"pairs": of_pairs, "labels": of_labels, "rows": of_rows, "captions": of_captions},
    **{"recordings": of_recordings, "aligner": of_aligner, "comparison": of_comparison},
    **{f"{count} corpora": corpora(count) for count in (1, 2, 5)},
}


def varied(kind: str, rng: random.Random) -> tuple[str, ...]:
    """Return settings that change which examples an epoch has, and where it ends."""
    found = [f"train.batch_tokens={rng.choice((4, 64, 512, 4096))}", "train.metric=loss"]
    found += [f"train.epochs={rng.choice((0, 1, 100))}", "train.steps=2"]
    found += [f"train.evaluate_every={rng.choice((0, 1))}"]
    found += [f"data.dev_share={rng.choice((0, 0.1, 0.5))}"]
    if kind == "pairs" or "corpora" in kind:
        found += [f"data.concatenate={rng.choice((0, 0, 0.9))}", f"data.noise={rng.choice((0, 1))}"]
    return tuple(found)


def ends(words: Words, capfd: pytest.CaptureFixture[str], *, processes: int = 1) -> str:
    """Return what a run says; it ends with a model, or with one line."""
    capfd.readouterr()
    if processes > 1:
        path = Path(f"{words[words.index('-o') + 1]}.said")
        statuses = run_processes(processes, lambda number: app.run([*map(str, words)]), path)
        status, out, err = max(statuses), "", path.read_text("utf-8")
    else:
        status = app.run([*map(str, words)])
        out, err = capfd.readouterr()
    told = [line for line in err.strip().splitlines() if line.startswith("attn: ")]
    assert "Traceback" not in err, (words, err)
    assert status == 0 or (status == 1 and "; expected" in told[-1]), (words, err)
    if status == 0 and "--dry-run" not in words:
        assert list(Path(words[words.index("-o") + 1]).rglob("model.safetensors")), words
    return out + err if status == 0 else told[-1]


def drawn_case(
    number: int, sizes: tuple[int, ...], folder: Path, patch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """Run a drawn case dry, killed, continued, unbroken and sometimes in two processes."""
    rng = random.Random(number)
    kind = [*KINDS][number % len(KINDS)]
    drawn = iter(lambda: rng.choice(sizes), None)
    words = KINDS[kind](folder, drawn, rng)
    words += flags(varied(kind, rng))
    foreseen = ends([*words, "-o", folder / "run", "--dry-run"], capfd)
    with patch.context() as killing:
        events = iter(range(rng.randrange(1, 6)))
        killing.setattr(Display, "take", lambda self, event: next(events))  # StopIteration
        with suppress(RuntimeError, StopIteration):
            app.run([*map(str, words), "-o", str(folder / "run")])
    found = [ends([*words, "-o", folder / name], capfd) for name in ("run", "whole")]
    refusals = {said for said in (foreseen, *found) if said.startswith("attn: ")}
    assert len(refusals) <= 1 and (not refusals or kind == "aligner" or foreseen in refusals), words
    for one in (folder / "run").rglob("model.safetensors"):
        other = folder / "whole" / one.relative_to(folder / "run")
        assert one.read_bytes() == other.read_bytes(), (words, one)
    if words[0] == "train" and rng.random() < 0.2 and not refusals:
        ends([*words, "-o", folder / "two"], capfd, processes=2)


@pytest.mark.parametrize("number", range(DRAWN))
def test_a_run_of_any_size_ends_with_a_model_or_one_line(
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    drawn_case(number, SIZES, tmp_path, monkeypatch, capfd)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(DRAWN, DRAWN + WIDE))
def test_a_run_of_many_examples_ends_with_a_model_or_one_line(
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    drawn_case(number, (*SIZES, *LARGE), tmp_path, monkeypatch, capfd)


@pytest.mark.slow
@pytest.mark.parametrize("size", (*SIZES, *LARGE))
def test_own_pairs_of_any_number_are_fine_tuned(
    size: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = fine_tuned(tmp_path, iter([size]), random.Random(size))
    assert "parameters" in ends(["train", *words], capfd)
