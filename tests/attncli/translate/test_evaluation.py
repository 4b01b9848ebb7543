"""Scores are sacreBLEU's own, whatever the model, the files and the order of work."""

from __future__ import annotations

import json
import sys
import unicodedata
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import sacrebleu
from sacrebleu.significance import PairedTest, Result

from attncli.data.corpus import read_pairs
from attncli.scoring import translations as scoring
from attncli.scoring.score import System
from attncli.scoring.translations import EvaluationSet, Scoring
from attncli.translate.evaluate_command import evaluation_set
from attncli.translate.runner import TranslateRunner
from models.core.errors import ModelError
from models.core.types import Hypothesis, Translation
from models.core.use_config import SearchConfig
from tests.attncli.command_line import Attn, evaluated
from tests.attncli.files import write
from tests.upper_model import Upper, opened

SOURCES = ["a b c d e", "", "f g", "h i j k l m n o", "p q r", "s t u v w x"]
REFERENCES = ["A B C D E", "", "F H", "H I J K L N M O", "P Q", "S T U V W X Y"]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / "x.en", SOURCES), write(tmp_path / "x.de", REFERENCES)]


@pytest.fixture
def upper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TranslateRunner, "load", opened)


def test_scores_and_signatures_are_those_of_sacrebleu() -> None:
    system = System("upper", [text.upper() for text in SOURCES])
    second = ["X", "", "F G", "H I J K L M N P", "P Q R", "S"]
    test_set = EvaluationSet(SOURCES, [REFERENCES, second])
    bleu, chrf, ter, *_ = scoring.score([system], test_set, Scoring())[0]
    outputs, references = system.hypotheses, [REFERENCES, second]
    assert bleu.value == sacrebleu.corpus_bleu(outputs, references).score
    assert chrf.value == sacrebleu.corpus_chrf(outputs, references).score
    assert ter.value == sacrebleu.corpus_ter(outputs, references).score
    assert bleu.signature.startswith("nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert [score.name for score in (bleu, chrf, ter)] == ["BLEU", "chrF2", "TER"]


class Repeating(Upper):
    """Answers every text with a loop."""

    def _translation(self, text: str, search: SearchConfig) -> Translation:
        return Translation(text, (Hypothesis("walk " * 8, -0.5, -2.0, (), ()),))


def test_a_loop_is_reported_unless_a_reference_of_its_line_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attn: Attn
) -> None:
    monkeypatch.setattr(TranslateRunner, "load", lambda path, options: Repeating())
    table = tmp_path / "commands.tsv"
    table.write_text(f"go\ton\t{'walk ' * 8}\ngo far\twalk\twalk on\nwait\twalk walk\n")
    assert "outputs with a repetition loop: 2" in attn("evaluate", "-m", "x", table).err
    table.write_text(f"go\t{'walk ' * 8}\n")
    assert "repetition" not in attn("evaluate", "-m", "x", table).err


def test_a_missing_reference_does_not_count(tmp_path: Path) -> None:
    table = tmp_path / "test.tsv"
    table.write_text("s\ta cat sits on the mat\tone cat is on it\nt\ta dog\nu\tno\tnot\n")
    outputs = ["one cat is on it", "", "no"]
    test_set = evaluation_set(read_pairs([table]))
    (found,) = scoring.score([System("x", outputs)], test_set, Scoring())
    by_name = {one.name: one for one in found}
    assert by_name["exact"].value == pytest.approx(100 * 2 / 3)  # "" is not a reference of "t"
    assert by_name["error rate"].value == pytest.approx(100 * 2 / (5 + 2 + 1))
    assert all("nrefs:var" in one.signature for one in found)
    references = [["a cat sits on the mat", "a dog", "no"], ["one cat is on it", None, "not"]]
    expected = sacrebleu.corpus_bleu(outputs, references)  # type: ignore[arg-type]
    assert by_name["BLEU"].value == expected.score


@pytest.mark.usefixtures("upper")
def test_the_unicode_form_of_accents_does_not_change_a_score(tmp_path: Path, attn: Attn) -> None:
    composed = "\u00c9t\u00e9 \u00e0 la fen\u00eatre\n"
    (tmp_path / "nfc").write_text(composed, "utf-8")
    (tmp_path / "nfd").write_text(unicodedata.normalize("NFD", composed), "utf-8")
    others = ("--hypotheses", tmp_path / "nfc", "--hypotheses", tmp_path / "nfd")
    found = evaluated(attn, *others, tmp_path / "nfd")
    assert [one["scores"]["exact"]["score"] for one in found.values()] == [100, 100]
    attn("evaluate", "-m", "x", "--save", tmp_path / "out", tmp_path / "nfd", tmp_path / "nfd")
    assert (tmp_path / "out").read_text("utf-8") == composed.upper()


def test_case_and_tokenizer_are_a_choice() -> None:
    system, test_set = System("x", ["A b , c d"]), EvaluationSet([], [["a B, c d"]])

    def bleu(choices: Scoring) -> float:
        return scoring.score([system], test_set, choices)[0][0].value

    assert bleu(Scoring(lowercase=True)) == pytest.approx(100)
    assert bleu(Scoring("none", lowercase=True)) < 50
    assert bleu(Scoring()) < 50


def test_intervals_and_comparison_with_the_first_system() -> None:
    good = [text if number % 7 else "D" for number, text in enumerate(REFERENCES * 10)]
    poor = [text.lower() for text in good]
    some = [text if number % 3 else None for number, text in enumerate(reversed(good))]
    test_set = EvaluationSet([], [REFERENCES * 10, some])  # type: ignore[list-item]
    systems = [System("good", good), System("same", good), System("poor", poor)]
    metrics = {type(one).__name__: one for one in scoring.metrics(Scoring())}
    named: Any = [(one.name, one.hypotheses) for one in systems]
    signatures, expected = PairedTest(named, metrics, test_set.references, "bs", 1000)()
    first, same, other = scoring.score(systems, test_set, Scoring(confidence=True))
    alone = scoring.score(systems[:1], test_set, Scoring(confidence=True))[0]
    assert first == alone and json.dumps([first, same, other])
    assert first[0].interval is not None and first[0].interval > 0
    assert (first[0].p_value, same[0].p_value) == (None, 1.0)
    assert other[0].p_value is not None and other[0].p_value < 0.05
    assert (other[2].value, other[2].p_value) == (first[2].value, 1.0)  # TER sees no case
    for number, (name, signature) in enumerate(signatures.items()):
        for found, result in zip((first, same, other), expected[name], strict=True):
            one = found[number]
            assert isinstance(result, Result)
            assert (one.name, one.signature, one.value) == (name, str(signature), result.score)
            assert one.interval == result.ci
            assert one.p_value in (result.p_value, 1.0)


def test_buckets_hold_every_sentence_once() -> None:
    words = [0, 1, 1, 3, 5, 6, 10, 11, 30]
    steps = scoring.spans(words, 5)
    assert [(span[0], span[-1]) for span in steps] == [(0, 5), (6, 10), (11, 15), (26, 30)]
    for step in (1, 7, 100):
        spans = scoring.spans(words, step)
        assert all(sum(length in span for span in spans) == 1 for length in words)
    assert scoring.spans([0, 0], 5) == [range(0, 6)]


def test_the_score_of_a_bucket_is_that_of_its_sentences_alone() -> None:
    system = System("upper", [text.upper() for text in SOURCES])
    test_set = EvaluationSet(SOURCES, [REFERENCES])
    buckets = scoring.score_by_length(system, test_set, Scoring(), 5)
    assert [bucket.sentences for bucket in buckets] == [4, 2]
    rows = [3, 5]
    expected = sacrebleu.corpus_bleu(
        [system.hypotheses[row] for row in rows], [[REFERENCES[row] for row in rows]]
    )
    assert (buckets[1].bleu, buckets[1].ratio) == (expected.score, 14 / 15)
    [whole] = scoring.score_by_length(system, test_set, Scoring(), 100)
    assert whole.bleu == scoring.score([system], test_set, Scoring())[0][0].value


def test_a_table_and_two_files_score_the_same(
    upper: None, files: list[Path], tmp_path: Path, attn: Attn
) -> None:
    rows = [f"{source}\t{text}" for source, text in zip(SOURCES, REFERENCES, strict=True)]
    table = write(tmp_path / "x.tsv", rows)
    found = evaluated(attn, "-m", "upper", table)["upper"]["scores"]
    assert found == evaluated(attn, "-m", "upper", *files)["upper"]["scores"]
    output = write(tmp_path / "out", [text.upper() for text in SOURCES])
    alone = [evaluated(attn, "--hypotheses", output, path) for path in (table, files[1])]
    assert alone[0] == alone[1] and alone[0]["out"]["scores"] == found


def test_saved_outputs_score_the_same_as_the_model(
    upper: None, files: list[Path], tmp_path: Path, attn: Attn
) -> None:
    saved = str(tmp_path / "{model}.out")
    options = ["--by-length", "-s", "lengths.step=3"]
    model = evaluated(attn, "-m", "upper", "--save", saved, *options, *files)["upper"]
    source, reference = files
    output = str(tmp_path / "upper.out")
    options += ["-s", f"lengths.source={source}"]
    other = evaluated(attn, "--hypotheses", output, *options, reference)
    assert other["upper.out"]["scores"] == model["scores"]
    assert other["upper.out"]["by_length"] == model["by_length"]
    assert "seconds" in model and "seconds" not in other["upper.out"]
    sure = evaluated(attn, "--hypotheses", output, "--confidence", reference)["upper.out"]
    assert sure["scores"]["BLEU"]["interval"] > 0


def test_several_models_are_rows_and_curves(
    upper: None, files: list[Path], tmp_path: Path, attn: Attn
) -> None:
    plot = tmp_path / "lengths.svg"
    task = ["evaluate", "-m", "runs/a", "-m", "runs/b", "--plot", plot, *files]
    rows = attn(*task).out.splitlines()
    heading = ["words", "sentences", "a", "BLEU", "a", "ratio"]
    assert [row.split()[0] for row in rows if row[:1] in "ab" and row] == ["a", "b"]
    assert any(row.split()[:6] == heading for row in rows)
    drawn = plot.read_bytes()
    assert drawn.startswith(b"<?xml")
    attn(*task)
    assert plot.read_bytes() == drawn


def test_a_tokenizer_that_is_not_installed_is_a_mistake_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "MeCab", None)
    with pytest.raises(ModelError, match="tokenizer ja-mecab cannot be used"):
        scoring.metrics(Scoring("ja-mecab"))


def test_a_source_among_the_references_is_recognised_by_its_words(
    tmp_path: Path, attn: Attn
) -> None:
    source = write(tmp_path / "x.en", ["the dog runs", "a cat sleeps here"])
    reference = write(tmp_path / "x.de", ["der Hund rennt", "eine Katze schläft hier"])
    second = write(tmp_path / "y.de", ["ein Hund rennt", "eine Katze ruht hier"])
    output = write(tmp_path / "out", ["der Hund rennt", "die Katze schläft hier"])
    found = attn("evaluate", "--hypotheses", output, source, reference)
    assert f"{source} is the source" in found.err
    assert found.out == attn("evaluate", "--hypotheses", output, reference).out
    assert (
        "2 files are references" in attn("evaluate", "--hypotheses", output, reference, second).err
    )


def test_short_outputs_have_exact_match_and_error_rate_and_a_warning_about_bleu(
    tmp_path: Path, attn: Attn
) -> None:
    references = write(tmp_path / "ref", ["a b", "c d", "e", "f g h i"])
    outputs = write(tmp_path / "out", ["a b", "C d", "e", "f g x h i"])
    scores = evaluated(attn, "--hypotheses", outputs, references)["out"]["scores"]
    assert scores["exact"]["score"] == 50
    assert scores["error rate"]["score"] == pytest.approx(100 * 2 / 9)
    assert scores["ROUGE-1"]["score"] == pytest.approx(100 * (3 + 8 / 9) / 4)
    assert scores["ROUGE-2"]["score"] == pytest.approx(100 * (2 + 4 / 7) / 4)
    assert scores["ROUGE-L"]["score"] == pytest.approx(100 * (3 + 8 / 9) / 4)
    lower = ["evaluate", "-s", "scores.lowercase=true"]
    table, said = attn(*lower, "--hypotheses", outputs, references)
    assert "75.00" in table and "BLEU (which counts sequences of 4) means little" in said
    longer = write(tmp_path / "longer", ["a b c d", "e f g h", "i", "j k l m"])
    assert "BLEU" not in attn("evaluate", "--hypotheses", longer, longer).err


@pytest.mark.usefixtures("upper")
def test_a_line_of_the_memory_is_scored_as_it_comes_back(tmp_path: Path, attn: Attn) -> None:
    test = write(tmp_path / "test.tsv", ["a 9 b\tneu 9", "c d\tC D"])
    memory = write(tmp_path / "memory.tsv", ["a 7 b\tneu 7"])
    assert evaluated(attn, "-m", "x", test)["x"]["scores"]["exact"]["score"] == 50
    found = attn("evaluate", "-m", "x", "--memory", memory, "--json", test)
    assert json.loads(found.out)["systems"][0]["scores"]["exact"]["score"] == 100
    assert "x: 1 line from the translation memory" in found.err


class Predicted(NamedTuple):
    """What a model of COMET returns."""

    system_score: float


class Counting:
    """A model of COMET whose score is the share of outputs that equal their references."""

    def predict(self, rows: list[dict[str, str]], **options: object) -> Predicted:
        assert [row["src"] for row in rows] == SOURCES
        return Predicted(sum(row["mt"] == row["ref"] for row in rows) / len(rows))


@pytest.mark.usefixtures("upper")
def test_comet_scores_with_the_sources_if_it_is_installed(
    files: list[Path], monkeypatch: pytest.MonkeyPatch, attn: Attn
) -> None:
    asked = ("-s", "scores.comet=some/model")
    monkeypatch.setitem(sys.modules, "comet", None)  # an import fails
    missing = attn("evaluate", "-m", "x", *asked, *files, status=1).err
    assert "unbabel-comet" in missing and "pip install -e '.[comet]'" in missing
    package = SimpleNamespace(download_model=str, load_from_checkpoint=lambda path: Counting())
    monkeypatch.setitem(sys.modules, "comet", package)
    for confidence in ((), ("--confidence",)):
        scores = evaluated(attn, "-m", "x", *asked, *confidence, *files)["x"]["scores"]
        assert scores["COMET"]["score"] == pytest.approx(scores["exact"]["score"])
        assert scores["COMET"]["signature"] == "model:some/model|nrefs:1"
    refused = attn("evaluate", "--hypotheses", files[1], *asked, files[1], status=1).err
    assert "scores.comet without sources" in refused
