"""`attn translate` with prefixes and looks, and scores of given outputs; the doors of Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attncli import load
from attncli.caption.images import box_of
from attncli.faithful.look import look_of
from attncli.transcribe.runner import milliseconds_of
from models.core.errors import InputError
from models.storage.installed import BOX, is_bundle
from tests.attncli.command_line import Attn

TEXT = "The old dog sees a small house."
GIVEN = ("translate", "--from", "en", "--to", "de", "--threads", "1")


@pytest.fixture(autouse=True)
def box() -> None:
    if not is_bundle(BOX / "everyday"):
        pytest.skip("the models are not in the box")


def test_doors_steer_alike(attn: Attn) -> None:
    model: Any = load("everyday")
    steered = ("--prefix", "Ein ", "--look", "house@2")
    line = attn(*GIVEN, *steered, TEXT).out.rstrip("\n")
    assert line.startswith("Ein Haus ")
    found = model.translate(TEXT, to="de", source="en", prefix="Ein ", look="house@2")
    assert found.text == line
    by_number = model.translate([TEXT], to="de", source="en", prefix=["Ein "], look=["7@2"])
    assert by_number[0].text == line
    words = model.alternatives(TEXT, "Ein ", 3, to="de", source="en", look=7)
    assert words[0].word == "Haus" and len(words) == 3
    with pytest.raises(InputError, match="1 to 7"):
        model.translate(TEXT, to="de", look=8)


def test_faithful_parts_tags_and_several_sentences_keep_their_prefix(attn: Attn) -> None:
    for text, prefix in (
        ("The file {name} has 1,234 lines.", "In der Datei {name}"),
        ("- The old dog sleeps.", "- Ein"),
        ("the old dog sleeps", "Ein alter"),
        (f"{TEXT} " * 6, "Der alte Hund sieht ein kleines Haus. Ein"),
    ):
        found = attn(*GIVEN, f"--prefix={prefix}", "--format", "jsonl", "--", text)
        output = json.loads(found.out)["hypotheses"][0]["text"]
        assert output.startswith(prefix), output
    tagged = attn(*GIVEN, "--keep-tags", "--prefix", "Ein ", "The <b>old</b> dog sleeps.").out
    assert tagged.count("<b>") == tagged.count("</b>") == 1
    assert tagged.replace("<b>", "").startswith("Ein ")


def test_lines_have_prefixes_of_their_own(attn: Attn, tmp_path: Path) -> None:
    table = tmp_path / "in.tsv"
    table.write_text(f"{TEXT}\tEin \n\nGood morning.\t\nNo prefix\n")
    found = attn(*GIVEN, "--prefix-column", "2", "-i", str(table), status=1)
    rows = found.out.split("\n")
    assert rows[0].startswith("Ein ") and rows[1] == "" and rows[2] and rows[3] == ""
    assert "line 4 is without a column 2" in found.err
    lines = tmp_path / "in.jsonl"
    objects: list[Any] = [{"source": TEXT, "begin": "Ein "}, {"source": TEXT, "look": "dog@1"}, 5]
    lines.write_text("".join(f"{json.dumps(one)}\n" for one in objects))
    found = attn(*GIVEN, "--prefix-column", "begin", "-i", str(lines), status=1)
    assert found.out.split("\n")[0] == rows[0] and found.out.split("\n")[1].startswith("Hund")
    assert "line 3 is no JSON object" in found.err


def test_scores_are_log_probabilities_of_given_outputs(attn: Attn) -> None:
    output = json.loads(attn(*GIVEN, "--precision", "fp32", "--format", "jsonl", TEXT).out)
    best = output["hypotheses"][0]
    pair = f"{TEXT} ||| {best['text']}"
    assert float(attn(*GIVEN, "--score", pair).out) == pytest.approx(best["log_prob"], abs=0.5)
    record = json.loads(attn(*GIVEN, "--score", "--format", "jsonl", pair).out)
    assert record["target"] == best["text"] and record["log_prob"] < record["score"] < 0
    found = attn(*GIVEN, "--score", "no pair", status=1)
    assert found.out == "\n" and "without a tab" in found.err


@pytest.mark.parametrize("look", ["cat", "0", "9", "3-2", "dog@0", "dog@2-1", "dog@x", ""])
def test_a_wrong_look_is_one_line(attn: Attn, look: str) -> None:
    found = attn(*GIVEN, "--look", look, TEXT, status=1)
    assert found.out == "\n" and found.err.count("\n") == 1 and "look" in found.err


def test_looks_as_they_are_written() -> None:
    assert look_of("small house@2-4") == ("small house", (2, 4)) and look_of("3") == ("3", (0, 0))
    assert look_of("a@b@7-") == ("a@b", (7, 0))
    assert box_of("50%,0, 100%,32", (64, 64)) == (0.5, 0, 1, 0.5)
    assert milliseconds_of("1.2-2.5") == (1200, 2500)
    for wrong in ("1,2,3", "a,b,c,d", "-1,0,1,1"):
        with pytest.raises(InputError, match="left, top, right"):
            box_of(wrong, (64, 64))
