"""attn translate --align: the links of what the model said, line by line, in every format."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from attncli.align.pairs import aligner_of
from attncli.faithful.result import Line
from attncli.translate.aligned import with_alignments
from attncli.translate.chunks import translate_lines
from attncli.translate.engine import TranslateOptions
from models.alignment import align_translations
from models.engines.translator import Translator
from tests.attncli.command_line import Attn

TEXT = "The dog sees a house."


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    (tmp_path / "in.txt").write_bytes(f"{TEXT}\n\nShe is.\r\n".encode())
    return tmp_path / "in.txt"


def links_of(translator: Translator, text: str) -> str:
    [found] = align_translations(translator, translator.translate([text]))
    return " ".join(f"{i}-{j}" for i, j in sorted(found.links))


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
    [[outcome]] = with_alignments(outcomes, [aligner_of(tiny_translator, {})])
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
