"""An outcome for each line, in order, whatever the lines are; languages and alignments."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from attncli.align.pairs import Aligner
from attncli.faithful.divide import split
from attncli.faithful.result import Line, TranslatedLine
from attncli.translate._aligned import with_alignments
from attncli.translate.chunks import translate_lines
from attncli.translate.engine import TranslateOptions
from attncli.translate.runner import TranslateRunner
from models.alignment import align_translations
from models.core.types import Hypothesis, Translation
from models.core.use_config import SearchConfig
from models.engines.translator import Translator
from tests.attncli.command_line import Attn
from tests.upper_model import Upper


def outcomes(*texts: str, model: Upper | None = None, nbest: int = 1) -> list[TranslatedLine]:
    chunk = [Line(number, text) for number, text in enumerate(texts, 1)]
    model = (model or Upper()).with_search(SearchConfig(nbest=nbest))
    [found] = translate_lines([chunk], model, options=TranslateOptions(verbatim=True))
    return found


def translation(outcome: TranslatedLine) -> Translation:
    assert outcome.translation is not None
    return outcome.translation


def test_a_long_line_is_split_at_sentence_ends_and_rejoined() -> None:
    model = Upper()
    text = "Is it one? (Yes.) “It is.” " + "word " * 15 + "3.14 here."
    [outcome] = outcomes(text, model=model)
    assert list(model.asked) == ["Is it one?", "(Yes.)", "“It is.”", "word " * 15 + "3.14 here."]
    assert translation(outcome).text == text.upper()
    assert outcome.note == "line 1 has 24 tokens and the model takes 20; translated in 4 parts"


def test_the_parts_of_a_line_are_joined_rank_by_rank() -> None:
    [outcome] = outcomes("word " * 17 + ". word word", nbest=2)
    best, second = translation(outcome).hypotheses
    assert (best.text.count("WORD"), best.text.count("!")) == (19, 0)
    assert second.text.count("!") == 2
    assert (second.score, second.log_prob) == (-1.5, -6.0)


def test_splitting_prefers_sentences_then_clauses_then_words_then_letters() -> None:
    def fits(text: str) -> bool:
        return len(text) <= 12

    assert split("Go home. Go.", fits) == ["Go home. Go."]
    assert split("Go home now. Go.", fits) == ["Go home now.", "Go."]
    assert split("go home, then sleep", fits) == ["go home,", "then sleep"]
    assert split("go home then sleep", fits) == ["go home", "then sleep"]
    assert split("gohomethensleep", fits) == ["gohomet", "hensleep"]
    assert split("走吧。今天我们去公园看花好不好", fits) == ["走吧。", "今天我们去公园看花好不好"]
    assert not any(part.startswith("\u0301") for part in split("e\u0301" * 99, fits))


def test_the_shipped_models_work_together(attn: Attn, tmp_path: Path) -> None:
    lines = ["The dog is old.", "Der Hund ist alt.", "Le chien est vieux.", "das haus"]
    found = attn("translate", "--to", "de", "--from", "auto", "--threads", "1", *lines)
    output = found.out.splitlines()
    assert output[1] == lines[1] and output[3] == lines[3]
    assert output[0] != lines[0] and output[2] != lines[2]
    assert "2 of 4 lines copied, already in de" in found.err
    found = attn("translate", "--to", "de", "--from", "auto", "--threads", "1", "Delete")
    assert "already in de? --from LANGUAGE tells" in found.err or found.out != "Delete\n"
    (tmp_path / "a.json").write_text('{"a": "Der Hund ist alt.", "b": "The dog is old."}')
    found = attn("translate", "--to", "de", "--from", "auto", "-i", tmp_path / "a.json")
    assert found.err.splitlines() == [
        "attn: left as they are: texts that are in the target language, line 1"
    ]


class Ending(Upper):
    """Ends its outputs in three ways."""

    def _translation(self, text: str, search: SearchConfig) -> Translation:
        outputs = [f"{text.upper()}{end}" for end in (".", "", "!")]
        return Translation(text, tuple(Hypothesis(one, 0, 0, (), ()) for one in outputs))


def test_outputs_that_differ_in_their_end_stay_different() -> None:
    [found] = TranslateRunner(Ending()).results(["a b"])
    assert [one.text for one in found.hypotheses] == ["A B", "A B.", "A B!"]


TEXT = "The dog sees a house."


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    (tmp_path / "in.txt").write_bytes(f"{TEXT}\n\nShe is.\r\n".encode())
    return tmp_path / "in.txt"


def links_of(translator: Translator, text: str) -> str:
    [found] = align_translations(translator, translator.translate([text]))
    return " ".join(f"{i}-{j}" for i, j in sorted(found.links))


def test_links_follow_the_output_and_lines_stay_lines(
    tiny_bundle: Path, tiny_translator: Translator, lines: Path, attn: Attn
) -> None:
    task = ["translate", "-m", tiny_bundle, "-i", lines]
    first, second, third = attn(*task).out.split("\n")[:3]
    links = links_of(tiny_translator, TEXT), links_of(tiny_translator, "She is.")
    aligned = f"{first} ||| {links[0]}\n\n{third[:-1]} ||| {links[1]}\r\n"
    assert attn(*task, "--align").out == aligned and second == ""


def test_tables_json_and_nbest(
    tiny_bundle: Path, tiny_translator: Translator, lines: Path, attn: Attn
) -> None:
    task, links = ["translate", "-m", tiny_bundle, "--align"], links_of(tiny_translator, TEXT)
    table = attn(*task, "--format", "tsv", "-i", lines).out.splitlines()
    assert [row.count("\t") for row in table] == [3, 3, 3]
    assert table[0].split("\t")[3] == links
    record = json.loads(attn(*task, "--format", "jsonl", TEXT).out)
    [hypothesis] = record["hypotheses"]
    found = hypothesis["alignment"]
    assert found["source"] == TEXT.split() and found["target"] == hypothesis["text"].split()
    assert " ".join(f"{i}-{j}" for i, j in found["links"]) == links
    shape = len(found["target"]), len(found["source"])
    assert (len(found["weights"]), len(found["weights"][0])) == shape
    many = attn(*task, "--nbest", "3", TEXT).out.splitlines()
    assert [row.count(" ||| ") for row in many] == [3, 3, 3] and many[0].endswith(links)


def test_a_line_in_parts_is_aligned_in_parts(tiny_translator: Translator) -> None:
    line = Line(1, f"{TEXT} She is.")
    search = replace(tiny_translator.search, split_above=tiny_translator.source_length(TEXT))
    options, model = TranslateOptions(verbatim=True), tiny_translator.with_search(search)
    outcomes = translate_lines([[line]], model, options=options)
    [[outcome]] = with_alignments(outcomes, [Aligner(tiny_translator, tiny_translator.alignment)])
    assert len(outcome.parts) == 2 and outcome.translation
    [pair] = outcome.alignments
    assert pair.source == tuple(line.text.split())
    assert pair.target == tuple(outcome.translation.text.split())
    first, second = align_translations(tiny_translator, outcome.parts)
    i, j = len(first.source), len(first.target)
    assert pair.panels[0].links == first.links | {(a + i, b + j) for a, b in second.links}
    assert pair.panels[0].weights is not None
    assert pair.panels[0].weights[:j, i:].sum() == 0 == pair.panels[0].weights[j:, :i].sum()
    assert pair.panels[0].weights[j:, i:].tolist() == second.weights.tolist()


def test_pictures_and_heat_maps(tiny_bundle: Path, tmp_path: Path, lines: Path, attn: Attn) -> None:
    task, page = ["translate", "-m", tiny_bundle], tmp_path / "page.html"
    plain = attn(*task, "-i", lines).out
    assert attn(*task, "--picture", page, "-i", lines).out == plain
    assert '"number":1' in page.read_text("utf-8") and '"number":3' in page.read_text("utf-8")
    shown = attn(*task, "--show", TEXT).out.splitlines()
    assert shown[0] == attn(*task, TEXT).out.strip()
    assert any("[" in line for line in shown[1:])
    pieces = attn(*task, "--align", "-s", "align.units=piece", "--format", "jsonl", TEXT).out
    [hypothesis] = json.loads(pieces)["hypotheses"]
    assert hypothesis["alignment"]["target"] == hypothesis["tokens"]
