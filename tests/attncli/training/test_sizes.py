"""Training at drawn sizes and shapes: every run ends with a model, or with one line."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from attncli.shell import app
from tests.attncli.labels import write_toy
from tests.attncli.training.small import SMALL, TINY

Words = list[str | Path]
SIZES, LARGE = (1, 2, 3, 10, 100, 1000), (5000, 20_000)
TARGETS = ("de", "fr", "es", "it", "nl")
DRAWN = 24  # cases of each session of tests, and WIDE of the slow ones
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
        named: Words = ["-p", "transformer-nano"]
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
    named: Words = [pairs(folder / "a.tsv", next(sizes), rng), *(["-p", preset] if preset else [])]
    if rng.random() < 0.3:
        named += ["--dev", pairs(folder / "dev.tsv", next(sizes), rng)]
    return [*named, *settings(SMALL)]


def of_labels(folder: Path, sizes: Iterator[int], rng: random.Random) -> Words:
    table = write_toy(folder / "a.tsv", next(sizes), rng.randrange(99))
    return ["--labels", table, "-p", "bilstm-attention-nano", *settings(TINY)]


def fine_tuned(folder: Path, sizes: Iterator[int], rng: random.Random) -> Words:
    replay = rng.choice((0, 0.3, 0.5, 0.9, 0.99))
    named: Words = [pairs(folder / "a.tsv", next(sizes), rng), "--from", "en", "--to", "de"]
    return [*named, "--start-from", "everyday", "-s", f"data.replay={replay}", "--dry-run"]


def settings(texts: tuple[str, ...]) -> Words:
    left = ("train.steps", "train.evaluate", "train.batch", "tokenizer.size")
    return [word for text in texts if not text.startswith(left) for word in ("-s", text)]


KINDS: dict[str, Callable[[Path, Iterator[int], random.Random], Words]] = {
    **{"pairs": of_pairs, "labels": of_labels},
    **{f"{count} corpora": corpora(count) for count in (1, 2, 5)},
}


def varied(kind: str, rng: random.Random) -> Words:
    """Return settings that change which examples an epoch has, and where it ends."""
    found = [f"train.batch_tokens={rng.choice((4, 64, 512, 4096))}", "train.steps=2"]
    found += [f"train.epochs={rng.choice((0, 1, 100))}"]
    found += [f"train.evaluate_every={rng.choice((0, 1))}"]
    found += [f"data.dev_share={rng.choice((0, 0.1, 0.5))}"]
    if kind != "labels":
        found += [f"data.concatenate={rng.choice((0, 0, 0.9))}", f"data.noise={rng.choice((0, 1))}"]
    return [word for text in found for word in ("-s", text)]


def ends(words: Words, capfd: pytest.CaptureFixture[str]) -> str:
    """Return what a run says; it ends with a model, or with one line."""
    capfd.readouterr()
    status = app.run([*map(str, words)])
    said = capfd.readouterr()
    last = said.err.strip().splitlines()[-1]
    assert status == 0 or (status == 1 and last.startswith("attn: ") and "; expected" in last)
    if status == 0 and "--dry-run" not in words:
        assert (Path(words[words.index("-o") + 1]) / "model.safetensors").exists()
    return str(said.out) if status == 0 else last


def drawn_case(number: int, sizes: tuple[int, ...], folder: Path, capfd: Any) -> None:
    rng = random.Random(number)
    kind = [*KINDS][number % len(KINDS)]
    drawn = iter(lambda: rng.choice(sizes), None)
    words = ["train", *KINDS[kind](folder, drawn, rng), *varied(kind, rng), "-o", folder / "run"]
    foreseen = ends([*words, "--dry-run"], capfd)
    begun = ends([*words, "-s", "train.steps=1"], capfd)  # then as after a kill
    found = ends(words, capfd)
    refusals = {said for said in (foreseen, begun, found) if said.startswith("attn: ")}
    assert len(refusals) <= 1 and (not refusals or foreseen in refusals), words


@pytest.mark.parametrize("number", range(DRAWN))
def test_a_run_of_any_size_ends_with_a_model_or_one_line(
    number: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    drawn_case(number, SIZES, tmp_path, capfd)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(DRAWN, DRAWN + WIDE))
def test_a_run_of_many_examples_ends_with_a_model_or_one_line(
    number: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    drawn_case(number, (*SIZES, *LARGE), tmp_path, capfd)


@pytest.mark.slow
@pytest.mark.parametrize("size", (*SIZES, *LARGE))
def test_own_pairs_of_any_number_are_fine_tuned(
    size: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = fine_tuned(tmp_path, iter([size]), random.Random(size))
    assert "parameters" in ends(["train", *words], capfd)


@pytest.mark.parametrize("setting", ["data.concatenate=0.9", "data.noise=0.5", "data.dev_share=0"])
def test_a_dry_run_says_the_updates_that_the_run_then_does(
    setting: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = pairs(tmp_path / "a.tsv", 300, random.Random(1))
    words = ["train", table, "-p", "transformer-nano", *settings(SMALL), "-s", setting]
    words += ["-s", "train.epochs=2", "-s", "train.batch_tokens=700", "-o", tmp_path / "run"]
    said = re.search(r"([\d,]+) updates \(", ends([*words, "--dry-run"], capfd))
    capfd.readouterr()
    assert app.run([*map(str, words)]) == 0
    done = re.search(r"ended after ([\d,]+) update", capfd.readouterr().err)
    assert said and done and int(done[1]) == pytest.approx(int(said[1]), rel=0.1)
