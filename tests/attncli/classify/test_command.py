"""`attn classify`: one line in, one line out; formats, coloured words; languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attncli.classify.languages import judged
from models import load
from tests.attncli.command_line import Attn, flags
from tests.attncli.labels import write_toy

LINES = b"the red house\n\na dog\r\n\xff\nwe see\n"


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    (tmp_path / "in.txt").write_bytes(LINES)
    return tmp_path / "in.txt"


def test_n_lines_in_give_n_lines_out(lines: Path, toy_classifier: Path, attn: Attn) -> None:
    out = lines.with_name("out")
    said = attn("classify", "-m", toy_classifier, "-i", lines, "-o", out, status=1).err
    assert out.read_bytes() == b"colour\n\nanimal\r\n\nnone\n"
    assert "line 4 is not valid UTF-8" in said


def test_tables_and_json_lines_hold_texts_and_probabilities(
    lines: Path, toy_classifier: Path, attn: Attn
) -> None:
    task = ["classify", "-m", toy_classifier, "-i", lines, "--format"]
    table = [row.split("\t") for row in attn(*task, "tsv", status=1).out.splitlines()]
    assert table[0][:2] == ["the red house", "colour"] and table[1] == ["", "", ""]
    rows = attn(*task, "jsonl", "--nbest", "3", status=1).out.splitlines()
    records = [json.loads(row) for row in rows]
    assert records[0]["words"] == ["the", "red", "house"]
    assert sum(records[0]["weights"]) == pytest.approx(1, abs=1e-3)
    assert sum(found["probability"] for found in records[2]["labels"]) == pytest.approx(1, abs=1e-4)
    assert records[1] == {"text": "", "labels": []} and "UTF-8" in records[3]["error"]


def test_words_are_shown_with_their_weights(
    toy_classifier: Path, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    [result] = load(toy_classifier, "classify").classify(["the red house"], attention=True)
    heaviest = max(result.words, key=lambda word: word.weight)
    monkeypatch.setenv("NO_COLOR", "1")
    shown = attn("classify", "-m", toy_classifier, "the red house", "--show").out.splitlines()
    assert shown[0] == "colour"
    assert f"{heaviest.word} ({100 * heaviest.weight:.0f})" in shown[1]
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = attn("classify", "-m", toy_classifier, "the red house", "--show").out
    assert f"m{heaviest.word}\x1b[0m" in shown


def test_coloured_words_are_drawn_as_a_picture(
    toy_classifier: Path, tmp_path: Path, attn: Attn
) -> None:
    path = tmp_path / "words.html"
    attn("classify", "-m", toy_classifier, "the red house", "a dog", "--picture", path)
    content = path.read_text("utf-8")
    assert "house" in content and "colour (" in content and "animal (" in content


def test_each_of_several_heads_has_a_line_and_their_mean_is_the_weight(
    tmp_path: Path, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_toy(tmp_path / "toy.tsv", 60, seed=1)
    settings = ["model.embedding=16", "model.hidden=16", "train.steps=2", "train.batch_tokens=200"]
    files = ["--labels", tmp_path / "toy.tsv", "-o", tmp_path / "run"]
    attn("train", "-q", "-p", "self-attentive-small", *files, *flags(settings))
    [result] = load(tmp_path / "run", "classify").classify(["the red house"], attention=True)
    assert len(result.heads) == 4
    for weights in result.heads:
        assert sum(weights) == pytest.approx(1, abs=1e-5)
    means = [sum(column) / 4 for column in zip(*result.heads, strict=True)]
    assert means == pytest.approx([weight for _, weight in result.words], abs=1e-5)
    monkeypatch.setenv("NO_COLOR", "1")
    task = ["classify", "-m", tmp_path / "run"]
    shown = attn(*task, "the red house", "--show").out.splitlines()
    assert [line.split(":")[0] for line in shown[1:]] == [f"head {n}" for n in (1, 2, 3, 4)]
    long = attn(*task, "the red house " * 300, "--format", "jsonl")  # in parts
    record = json.loads(long.out)
    assert [len(weights) for weights in record["heads"]] == [900] * 4


def test_a_long_line_is_classified_in_parts_and_reported(
    toy_classifier: Path, tmp_path: Path, attn: Attn
) -> None:
    (tmp_path / "in.txt").write_text("a dog. " * 500 + "\n")
    options = ["-i", tmp_path / "in.txt", "--format", "jsonl", "--nbest", "3"]
    said = attn("classify", "-m", toy_classifier, *options)
    record = json.loads(said.out)
    assert record["labels"][0]["label"] == "animal" and len(record["words"]) == 1000
    assert sum(found["probability"] for found in record["labels"]) == pytest.approx(1, abs=1e-4)
    assert sum(record["weights"]) == pytest.approx(1, abs=0.05)  # each is rounded
    assert "the model takes 512; classified in " in said.err


def test_labels_are_scored_and_the_confusions_drawn(
    toy_classifier: Path, tmp_path: Path, attn: Attn
) -> None:
    (tmp_path / "test.tsv").write_text("animal\ta dog\ncolour\tthe red house\nanimal\tred\n")
    (tmp_path / "other.txt").write_text("animal\ncolour\nanimal\n")
    other = ["--hypotheses", tmp_path / "other.txt"]
    task = ["evaluate", "labels", tmp_path / "test.tsv"]
    written = ["--plot", tmp_path / "c.svg", "--save", tmp_path / "{model}.txt"]
    shown = attn(*task, "-m", toy_classifier, *other, *written).out
    assert "66.67" in shown and "100.00" in shown and "gold \\ predicted" in shown
    assert (tmp_path / "run.txt").read_text() == "animal\ncolour\ncolour\n"
    assert b"<svg" in (tmp_path / "c.svg").read_bytes()
    record = json.loads(attn(*task, "-m", toy_classifier, "--json").out)
    [system] = record["systems"]
    assert record["texts"] == 3 and system["scores"]["accuracy"]["score"] == pytest.approx(200 / 3)
    assert system["confusion"] == [[1, 1], [0, 1]]
    (tmp_path / "other.txt").write_text("animal\n")
    refused = attn(*task, *other, status=1)
    assert "other.txt has 1 line; expected 3, one for each" in refused.err


def test_a_short_text_is_judged_with_the_others_and_a_long_one_alone() -> None:
    def best(found: list[dict[str, float]], sizes: list[int]) -> list[str]:
        return [next(iter(one)) for one in judged(["x" * size for size in sizes], found)]

    sure, unsure = {"en": 0.97, "de": 0.02}, {"de": 0.8, "en": 0.15}
    for found, sizes, expected in (
        ([sure, unsure], [90, 5], ["en", "en"]),
        ([sure, unsure, unsure], [90, 5, 90], ["en", "de", "de"]),
        ([{"en": 0.9, "de": 0.1}, {"de": 0.9}, {"fr": 0.7}], [20, 14, 11], ["en", "de", "fr"]),
        ([{"de": 0.61, "en": 0.37}], [5], ["de"]),
        ([], [], []),
    ):
        assert best(found, sizes) == expected
        assert best(found[::-1], sizes[::-1]) == expected[::-1]


def test_the_judged_language_is_first() -> None:
    [found] = judged(["x"], [{"de": 0.5, "fr": 0.1, "en": 0.4}])
    assert [*found] == ["en", "de", "fr"] and [*found.values()] == sorted(found.values())[::-1]
