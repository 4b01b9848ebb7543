"""attn translate --align: the links of what the model said, line by line, in every format."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from attncli.data.lines import Line
from attncli.shell import app
from attncli.tasks.align.pairs import aligner_of
from attncli.tasks.translate.alignment import with_alignments
from attncli.tasks.translate.line_plans import LineOptions
from attncli.tasks.translate.lines import translate_lines
from models.alignment import align_translations
from models.inference.translator import Translator

TEXT = "The dog sees a house."


def run(
    capsys: pytest.CaptureFixture[str], model: Path, *arguments: str, given: str | None = None
) -> str:
    with pytest.MonkeyPatch.context() as patch:
        if given is not None:
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        assert app.run(["translate", "-m", str(model), *arguments]) == 0
    return capsys.readouterr().out


def links_of(translator: Translator, text: str) -> str:
    [found] = align_translations(translator, translator.translate([text]))
    return " ".join(f"{i}-{j}" for i, j in sorted(found.links))


def test_links_follow_the_output_and_lines_stay_lines(
    tiny_bundle: Path, tiny_translator: Translator, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = run(capsys, tiny_bundle, given=f"{TEXT}\n\nShe is.\r\n")
    first, second, third = plain.split("\n")[:3]
    links = links_of(tiny_translator, TEXT), links_of(tiny_translator, "She is.")
    assert run(capsys, tiny_bundle, "--align", given=f"{TEXT}\n\nShe is.\r\n") == (
        f"{first} ||| {links[0]}\n\n{third[:-1]} ||| {links[1]}\r\n"
    )
    assert second == ""


def test_tables_json_and_nbest(
    tiny_bundle: Path, tiny_translator: Translator, capsys: pytest.CaptureFixture[str]
) -> None:
    links = links_of(tiny_translator, TEXT)
    table = run(capsys, tiny_bundle, "--align", "--format", "tsv", given=f"{TEXT}\n\n")
    assert [row.count("\t") for row in table.splitlines()] == [3, 3]
    assert table.splitlines()[0].split("\t")[3] == links
    record = json.loads(run(capsys, tiny_bundle, "--align", "--format", "jsonl", TEXT))
    [hypothesis] = record["hypotheses"]
    found = hypothesis["alignment"]
    assert found["source"] == TEXT.split() and found["target"] == hypothesis["text"].split()
    assert " ".join(f"{i}-{j}" for i, j in found["links"]) == links
    shape = len(found["target"]), len(found["source"])
    assert (len(found["weights"]), len(found["weights"][0])) == shape
    many = run(capsys, tiny_bundle, "--align", "--nbest", "3", TEXT).splitlines()
    assert [row.count(" ||| ") for row in many] == [3, 3, 3] and many[0].endswith(links)


def test_a_line_in_parts_is_aligned_in_parts(tiny_translator: Translator) -> None:
    line = Line(1, f"{TEXT} She is.")
    options = LineOptions(split_above=tiny_translator.source_length(TEXT))
    outcomes = translate_lines([[line]], tiny_translator, options=options)
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


def test_pictures_and_heat_maps(
    tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    out = run(capsys, tiny_bundle, "--picture", str(page), given=f"{TEXT}\n\nShe is.\n")
    assert out == run(capsys, tiny_bundle, given=f"{TEXT}\n\nShe is.\n")
    assert '"number":1' in page.read_text("utf-8") and '"number":3' in page.read_text("utf-8")
    shown = run(capsys, tiny_bundle, "--show", TEXT).splitlines()
    assert shown[0] == run(capsys, tiny_bundle, TEXT).strip()
    assert any("[" in line for line in shown[1:])
    pieces = run(
        capsys, tiny_bundle, "--align", "-s", "align.units=piece", "--format", "jsonl", TEXT
    )
    [hypothesis] = json.loads(pieces)["hypotheses"]
    assert hypothesis["alignment"]["target"] == hypothesis["tokens"]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["--align", "--keep-tags"], 2), (["-s", "align.units=char"], 1)],
)
def test_options_that_do_not_agree_are_refused(
    tiny_bundle: Path, arguments: list[str], status: int
) -> None:
    assert app.run(["translate", "-m", str(tiny_bundle), *arguments, TEXT]) == status
