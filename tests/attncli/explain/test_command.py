"""`attn explain` by its real command line: translations, pairs, labels, images, pictures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from attncli.explain.result import KEY
from attncli.faithful.result import TranslatedLine
from attncli.translate.runner import TranslateRunner
from models.core.config import ImageConfig
from models.core.types import EMPTY, Translation
from models.signals.images import in_shape
from models.storage.installed import BOX, is_bundle
from tests.attncli.command_line import Attn
from tests.attncli.files import write

TASK = ("explain", "--device", "cpu", "-m")
PAIR = "The dog sees a house. ||| Der Hund sieht ein Haus."
TEXT = "The dog sees a small house."


def test_json_lines_have_the_numbers_of_each_line_alone(
    tiny_bundle: Path, tmp_path: Path, attn: Attn
) -> None:
    lines = write(tmp_path / "in.txt", f"{PAIR}\n\n{TEXT}\n")
    options = ("--format", "jsonl", "--method", "erasure", "--method", "attention")
    first, empty, last = attn(*TASK, tiny_bundle, "-i", lines, *options).out.splitlines()
    assert empty == ""
    alone = json.loads(attn(*TASK, tiny_bundle, PAIR, *options).out)
    assert alone == json.loads(first) != json.loads(last)
    assert alone["target"] == ["Der", "Hund", "sieht", "ein", "Haus."]
    assert list(alone["methods"]) == ["erasure", "attention"]
    assert alone["correlations"]["erasure"]["erasure"] == 1
    assert len(alone["methods"]["erasure"]["relevances"]) == 5


@pytest.mark.skipif(not is_bundle(BOX / "everyday"), reason="not in the box")
def test_the_words_are_those_of_the_line_and_of_its_output(tmp_path: Path, attn: Attn) -> None:
    texts = ["WHERE IS THE DOG?", "Read {x} now.", "The dog sleeps | We see it."]
    write(tmp_path / "in", texts)
    task = ("--device", "cpu", "--to", "de", "-i", tmp_path / "in")
    outputs = attn("translate", *task).out.splitlines()
    options = ("--method", "attention", "--format", "jsonl")
    for text, output, row in zip(
        texts, outputs, attn("explain", *task, *options).out.splitlines(), strict=True
    ):
        found = json.loads(row)
        assert " ".join(found["source"]) == text.replace(" |", "")
        assert " ".join(found["target"]) == output.replace(" |", "")
        values = found["methods"]["attention"]["relevances"]
        assert len(values) == len(found["target"]) == len(found["log_probs"])
    last = len(found["target"])
    one = json.loads(attn("explain", *task[:-2], *options, "--word", str(last), texts[-1]).out)
    assert one["target"] == found["target"][-1:] and one["log_probs"] == found["log_probs"][-1:]


def test_a_label_is_explained_and_a_method_that_is_left_out_is_named_once(
    toy_classifier: Path, tmp_path: Path, attn: Attn
) -> None:
    (tmp_path / "in").write_text("the red house\na dog\n")
    found = attn(*TASK, toy_classifier, "-i", tmp_path / "in", "--method", "all")
    assert "1  colour\n" in found.out and "2  animal\n" in found.out
    assert found.err.count("rollout is left out") == 1


def test_an_image_has_curves_and_maps(
    soft_captioner: Path, photos: Path, tmp_path: Path, attn: Attn
) -> None:
    image, maps = photos / "a.png", tmp_path / "maps.png"
    options = ("--word", "1", "--method", "attention", "--picture", maps)
    record = json.loads(attn(*TASK, soft_captioner, image, *options, "--format", "jsonl").out)
    assert maps.read_bytes().startswith(b"\x89PNG")
    assert record["grid"] == [4, 4] and len(record["methods"]["attention"]["relevances"][0]) == 16
    assert len(record["methods"]["attention"]["deletion_curve"][0]) == 11
    shown = attn(*TASK, soft_captioner, image, *options[:4], "--show").out
    assert "H entropy in nats" in shown


def test_two_methods_by_default_and_a_sentence_at_the_end(tiny_bundle: Path, attn: Attn) -> None:
    found = attn(*TASK, tiny_bundle, PAIR).out
    assert "attention " in found and "erasure " in found and "rollout" not in found
    last = found.strip().splitlines()[-1]
    assert last.startswith("What decided, by ") and last.count(" ← ") == 5
    assert "Der ← " in last and last.endswith(("this can be trusted).", "trust it little)."))


def test_panels_are_in_rows_of_three_with_whole_titles_and_their_own_key(
    tiny_bundle: Path, tmp_path: Path, attn: Attn
) -> None:
    for suffix in (".png", ".svg"):
        attn(
            *TASK, tiny_bundle, PAIR, "--method", "attention", "--picture", tmp_path / f"a{suffix}"
        )
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.width < 3 * 700
        top = picture.convert("L").crop((0, 0, picture.width, 4))
        assert top.getextrema() == (255, 255)  # no title is cut
    drawn = (tmp_path / "a.svg").read_text()
    assert KEY in drawn and "linked" not in drawn


def test_a_photo_keeps_its_shape_and_its_headline(
    soft_captioner: Path, tmp_path: Path, attn: Attn
) -> None:
    config = json.loads((soft_captioner / "config.json").read_text())["model"]["image"]
    wide = Image.effect_noise((90, 40), 90).convert("RGB")
    for fit, size in (("squash", (448, 199)), ("crop", (448, 448))):
        assert in_shape(wide, replace(ImageConfig(**config), fit=fit), 448).size == size
    wide.save(tmp_path / "wide.png")
    caption = attn("caption", "-m", soft_captioner, tmp_path / "wide.png").out.split("\t")[-1]
    attn(*TASK, soft_captioner, tmp_path / "wide.png", "--picture", tmp_path / "maps.svg")
    assert caption.strip().splitlines()[-1] in (tmp_path / "maps.svg").read_text()


@pytest.mark.parametrize("suffix", [".svg", ".html"])
def test_heat_maps_are_drawn(tiny_bundle: Path, tmp_path: Path, suffix: str, attn: Attn) -> None:
    picture = tmp_path / f"map{suffix}"
    method = ("--method", "attention", "--method", "erasure")
    attn(*TASK, tiny_bundle, PAIR, *method, "--picture", picture)
    text = picture.read_text("utf-8")
    assert all(word in text for word in ("attention", "erasure", "Hund", "dog"))


def test_an_empty_output_gives_an_empty_line(
    attn: Attn, tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(runner: Any, chunks: Any) -> Any:
        for [line] in chunks:
            yield [TranslatedLine(line, Translation(line.text, (EMPTY,)))]

    monkeypatch.setattr(TranslateRunner, "run", run)
    found = attn(*TASK, tiny_bundle, TEXT)
    assert found.out == "\n" and "line 1: the translation is empty" in found.err


def test_lines_that_cannot_be_explained_leave_the_others(
    tiny_bundle: Path, tmp_path: Path, attn: Attn
) -> None:
    (tmp_path / "in").write_bytes(b"\xff\n" + PAIR.encode() + b"\n")
    options = ("--format", "jsonl", "--method", "attention")
    found = attn(*TASK, tiny_bundle, "-i", tmp_path / "in", *options, status=1)
    bad, good = map(json.loads, found.out.splitlines())
    assert "not valid UTF-8" in bad["error"] and good["target"]
    assert "line 1 is not valid UTF-8" in found.err
