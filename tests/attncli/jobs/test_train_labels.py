"""Training of classifiers: bit-exact resume, the dev split, embedded data, and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.classify.source import learn, set_aside
from attncli.data.tables import LabelledText, read_labelled
from attncli.training.command_line import settings
from attncli.training.interfaces import Evaluated, FinalModel, Started
from attncli.training.settings.config import RunConfig
from models import load_classifier
from models.core.errors import ModelError
from models.core.use_config import TokenizerConfig
from models.text.tokenizer import LabelTokenizer
from tests.attncli.labels import toy_rows, write_toy
from tests.attncli.training.small import TINY, run


def config(folder: Path, preset: str, *changes: str, dev: Path | None = None) -> RunConfig:
    table = folder / "labels.tsv"
    files = {"labels": table if table.exists() else write_toy(table, 120), "dev_labels": dev}
    return settings([], preset=preset, assignments=[*TINY, *changes], inputs=files)


def test_accuracy_and_macro_f1_are_measured_and_accuracy_decides(tmp_path: Path) -> None:
    chosen = config(tmp_path, "bilstm-attention-nano", "train.metric=auto")
    start, *others, final = run(chosen, tmp_path / "run")
    assert isinstance(start, Started) and isinstance(final, FinalModel)
    assert (start.metric, start.unit) == ("accuracy", "labelled texts")
    assert start.vocabulary.endswith("3 labels")
    scores = [event.scores for event in others if isinstance(event, Evaluated)]
    assert all(s.accuracy is not None and s.macro_f1 is not None and s.bleu is None for s in scores)
    assert final.score == max(s.accuracy for s in scores if s.accuracy is not None)


def test_a_run_continues_from_a_classifier_with_the_same_labels(tmp_path: Path) -> None:
    run(config(tmp_path, "bilstm-attention-nano"), tmp_path / "first")
    other = {"labels": write_toy(tmp_path / "other.tsv", 40, seed=5)}
    chosen = settings([], assignments=TINY, start=tmp_path / "first", inputs=other)
    run(chosen, tmp_path / "second")
    assert load_classifier(tmp_path / "second").labels == ("animal", "colour", "none")
    (tmp_path / "other.tsv").write_text("plant\tthe tree\nanimal\tthe dog\n" * 9)
    with pytest.raises(
        ModelError, match="'plant' in .* its labels: animal.*leave out --start-from"
    ):
        run(chosen, tmp_path / "third")


def test_no_text_is_both_for_training_and_for_evaluation() -> None:
    rows = [LabelledText(*row) for row in toy_rows(300)]
    train, dev = set_aside(rows, 0.1, seed=1)
    assert sorted(train + dev) == sorted(rows) and dev
    assert not {row.text for row in train} & {row.text for row in dev}
    assert set_aside(rows, 0.1, seed=1) == (train, dev) != set_aside(rows, 0.1, seed=2)
    assert set_aside(rows, 0.0, seed=1) == (rows, [])


def test_labels_are_composed_and_those_of_earlier_models_are_found(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("cafe\u0301\tone\ncaf\u00e9\ttwo\nx\tthree\n", "utf-8")
    assert [row.label for row in read_labelled(path)] == ["caf\u00e9", "caf\u00e9", "x"]
    labels, texts = zip(*read_labelled(path), strict=True)
    vocabulary = learn(texts, sorted({*labels}), TokenizerConfig())
    assert vocabulary.labels == ("caf\u00e9", "x")
    earlier = LabelTokenizer(vocabulary.files()["tokenizer.model"], ["cafe\u0301", "x"])
    assert earlier.encode_target("caf\u00e9") == earlier.encode_target("cafe\u0301") == [0]
    assert earlier.decode([0]) == "cafe\u0301"


def test_labels_that_cannot_be_meant_are_named(tmp_path: Path) -> None:
    path = tmp_path / "other.tsv"
    path.write_text("".join(f"the dog {n}\tanimal\n" for n in range(9)), "utf-8")
    with pytest.raises(ModelError, match="9 labels for 1 different text; expected label, tab"):
        run(settings([], assignments=TINY, inputs={"labels": path}), tmp_path / "run")
    for labels, found in (("a", "1 label; expected 2"), ("ab", "1 different text in .*other.tsv")):
        path.write_text("".join(f"{label}\tgood morning\n" for label in labels) * 9)
        with pytest.raises(ModelError, match=found):
            run(settings([], assignments=TINY, inputs={"labels": path}), tmp_path / "same")
    path.write_text("plant\ta tree\n")
    events = run(
        config(tmp_path, "bilstm-attention-nano", "train.steps=1", dev=path), tmp_path / "run"
    )
    assert isinstance(events[0], Started)
    assert "label 'plant' of the dev set has no training example" in events[0].notes[0]
