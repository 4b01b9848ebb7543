"""Confidence: equal behind every door, named by --review, unknown without a calibration."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import attncli
from attncli.serve._translate import doubts
from attncli.translate.engine import TranslateOptions
from attncli.translate.runner import TranslateRunner
from models.core.settings import to_dict
from models.core.use_config import ConfidenceConfig
from models.storage.digests import write_files
from models.storage.installed import BOX, is_bundle
from models.storage.settings import LEXICON, write_section
from models.text.lexicon import LexiconEntry, pack
from tests.attncli.command_line import Attn

pytestmark = pytest.mark.skipif(not is_bundle(BOX / "everyday"), reason="not in the box")
TEXTS = ["The old dog sleeps.", "Good morning.", "", "12:30", "We ran out of toner by 9 May."]
COMPUTED = [0, 1, 4]  # the others are copied
WORDS = (("en-de", "toner", "Tonerpatrone"), ("de-en", "Hund", "dog"), ("en-de", "dog", "Hund"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return everyday with a calibration, and a lexicon whose words are left to the weights."""
    folder = tmp_path_factory.mktemp("models") / "calibrated"
    shutil.copytree(BOX / "everyday", folder)
    rows = ((way, LexiconEntry(form, 5, (other,))) for way, form, other in WORDS)
    write_files(folder, {LEXICON: pack(rows, 1)})
    calibrate(folder, 0.5)
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Path:
    """Return the model without a calibration."""
    folder = tmp_path_factory.mktemp("models") / "plain"
    shutil.copytree(model, folder)
    write_section(folder, "confidence", to_dict(ConfidenceConfig()))
    return folder


def calibrate(folder: Path, threshold: float) -> None:
    """Write a calibration with a threshold."""
    config = ConfidenceConfig(("en-de",), threshold, 2.0, 2.0, -0.1, -3.0, -0.5, 0.1)
    write_section(folder, "confidence", to_dict(config))


def records(attn: Attn, model: Path, *words: str) -> list[dict[str, Any]]:
    """Return the records of the texts."""
    text = "\n".join(TEXTS) + "\n"
    rows = attn("translate", "-m", model, "--to=de", *words, "--format=jsonl", given=text).out
    return [*map(json.loads, rows.splitlines())]


def test_lines_that_a_model_computes_have_a_confidence(
    attn: Attn, model: Path, plain: Path
) -> None:
    found = records(attn, model, "--from=en")
    assert [n for n, one in enumerate(found) if "confidence" in one] == COMPUTED
    assert [n for n, one in enumerate(found) if "doubt" in one] == [4]
    assert "toner" in found[4]["doubt"]
    without = records(attn, plain, "--from=en")
    assert not any("confidence" in one or "doubt" in one for one in without)
    assert [one["hypotheses"] for one in found] == [one["hypotheses"] for one in without]


def test_terms_of_a_glossary_lower_no_confidence(attn: Attn, tmp_path: Path) -> None:
    terms = {"garden chair": "Gartenstuhl", "Smith": "Smith", "cancel": "Abbrechen"}
    glossary, lines = tmp_path / "terms.tsv", ("Garden chair", "Dear Mr. Smith,", "Cancel")
    glossary.write_text("".join(f"{a}\t{b}\n" for a, b in terms.items()))
    ask = ("translate", "-m", BOX / "everyday", "--from=en", "--to=de", "--format=jsonl")
    out = attn(*ask, "--glossary", glossary, *lines).out
    for (term, target), row in zip(terms.items(), map(json.loads, out.splitlines()), strict=True):
        assert target in row["hypotheses"][0]["text"] and term.lower() not in row.get("doubt", "")
        assert row["confidence"] > 0.1


def test_a_translation_through_a_third_language_has_the_confidence_of_both_steps(
    attn: Attn, tmp_path: Path
) -> None:
    text, ask = "La facture est impayée.", ("translate", "-m", BOX / "everyday", "--format=jsonl")

    def found(source: str, to: str, text: str, *more: object) -> Any:
        return json.loads(attn(*ask, "--from", source, "--to", to, text, *more).out)

    table = tmp_path / "rows.tsv"
    whole = found("fr", "de", text, "--review", table)
    first = found("fr", "en", text)
    second = found("en", "de", first["hypotheses"][0]["text"])
    expected = first["confidence"] * second["confidence"]
    assert whole["confidence"] == pytest.approx(expected, abs=1e-3)
    assert len(table.read_text().splitlines()) == 1 + ("doubt" in whole)


def test_other_directions_have_none(attn: Attn, model: Path) -> None:
    assert (
        "confidence" not in attn("translate", "-m", model, "--to=fr", "--format=jsonl", "Yes.").out
    )


def test_every_door_and_engine_has_the_same(attn: Attn, model: Path) -> None:
    usual = [one.get("confidence") for one in records(attn, model, "--from=en")]
    torch = records(attn, model, "--from=en", "-s", "compute.backend=torch")
    fp32 = records(attn, model, "--from=en", "--precision=fp32")
    alone = [
        json.loads(
            attn(
                "translate",
                "-m",
                model,
                "--from=en",
                "--to=de",
                "--precision=fp32",
                "--format=jsonl",
                TEXTS[n],
            ).out
        )
        for n in COMPUTED
    ]
    translator: Any = attncli.load(model)
    python = translator.for_direction("de", "en").translate(TEXTS)
    runner = TranslateRunner.open([model], TranslateOptions(source="en", to="de"))
    served = [doubts([one])["confidence"] for one in runner.results(TEXTS)]
    for n in COMPUTED:
        exact = torch[n]["confidence"]
        assert fp32[n]["confidence"] == pytest.approx(exact, abs=1e-3)
        assert alone[COMPUTED.index(n)]["confidence"] == pytest.approx(exact, abs=1e-3)
        for other in (usual[n], python[n].confidence.value, served[n]):
            assert other == pytest.approx(exact, abs=0.03)  # int8
    assert served[2] is None and python[4].doubt and not python[1].doubt


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.9, 1.0])
def test_a_review_has_the_lines_below_the_threshold(
    threshold: float, attn: Attn, model: Path, tmp_path: Path
) -> None:
    calibrate(model, threshold)
    table = tmp_path / "doubtful.tsv"
    found = records(attn, model, "--from=en", "--review", str(table))
    head, *rows = [line.split("\t") for line in table.read_text("utf-8").splitlines()]
    assert head == ["line", "confidence", "reason", "source", "output"]
    below = [n for n in COMPUTED if found[n]["confidence"] < threshold]
    assert [(int(row[0]), row[3]) for row in rows] == [(n + 1, TEXTS[n]) for n in below]
    assert [row[2] for row in rows] == [found[n]["doubt"] for n in below]
    calibrate(model, 0.5)


def test_the_last_message_counts_them(attn: Attn, model: Path, tmp_path: Path) -> None:
    ask = ("translate", "-m", model, "--from=en", "--to=de")
    written = attn(*ask, given="\n".join(TEXTS) + "\n")
    assert "1 of 3 lines may have another sense; --review FILE names it" in written.err
    assert "another sense" not in attn(*ask, "Good morning.").err
    document = tmp_path / "letter.md"
    document.write_text("# Good morning.\n\nWe ran out of toner.\n", "utf-8")
    table = tmp_path / "rows.tsv"
    written = attn(*ask, "-i", document, "-o", tmp_path / "out.md", "--review", table)
    assert f"1 of 2 texts may have another sense; {table} names it" in written.err
    assert "toner" in table.read_text("utf-8").splitlines()[1]


def test_a_review_needs_a_calibration(attn: Attn, plain: Path, tmp_path: Path) -> None:
    ask = ("translate", "-m", plain, "--to=de", "--review", tmp_path / "x.tsv", "Good morning.")
    written = attn(*ask, status=1)
    assert "a model with a calibration" in written.err
    assert not (tmp_path / "x.tsv").exists()
