"""Runs that start from a trained model, or on several languages: replay, learned and lost."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import models
from attncli.data.embedded import generate
from attncli.fine_tuning import _retention as retention
from attncli.fine_tuning import replay
from attncli.fine_tuning._retention import Tensors
from attncli.fine_tuning.replay_set import ReplayPair, pack_replay, read_replay
from attncli.fine_tuning.settings import BOUNDED, MAX_PASSES, MIN_PASSES, fine_tuning, fitted
from attncli.task.table import TRAINING
from attncli.train import estimate
from attncli.train.command_line import settings, with_languages
from attncli.train.events import AlreadyFinished, Evaluated, FinalModel, Interrupted, read_log
from attncli.train.folder import RunFolder, finished_run
from attncli.train.run import Run
from attncli.training.config import RunConfig, TrainConfig
from attncli.training.dev import DevSet
from attncli.training.interfaces import Compared, Report
from attncli.training.sources import find_training_source
from attncli.translate._settings import TextData
from attncli.translate.corpora import CorpusConfig, parse_corpus
from attncli.translate.dev import DevDirections, DevTexts
from attncli.translate.memory import read_memory
from attncli.translate.mixture import Mixture
from models.core.errors import DamagedError, ModelError
from models.core.settings import fields_of
from models.core.sources import source_of
from models.core.use_config import AlignConfig, TokenizerConfig
from models.networks.bundle import read
from models.storage.digests import write_files
from models.storage.presets import PRESETS
from models.storage.settings import REPLAY, write_alignment
from models.storage.weights import bundle_weights
from tests.attncli.command_line import Attn, flags
from tests.attncli.files import write
from tests.attncli.training.kinds import VARIED, write_corpus
from tests.attncli.training.kinds import of_corpora as of_languages
from tests.attncli.training.small import SMALL, assert_same, load, run

GREEDY = ("search.method=greedy", "search.max_extra=3", "train.bleu_tokenizer=char")
PAIRS = [(pair.source, pair.target) for pair in generate(130, seed=5)]
Texts = tuple[Path, Path]  # source and target


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model of English and German with a replay set."""
    folder = tmp_path_factory.mktemp("start")
    table = write(folder / "en-de.tsv", PAIRS[:60])
    corpora = [parse_corpus(f"en-de={table}")]
    run(settings([], [], "transformer-nano", SMALL, corpora=corpora), folder / "run")
    write_alignment(folder / "run", AlignConfig(layer=1, head=2))
    known = [ReplayPair("en-de", *pair) for pair in PAIRS[:50]]
    outputs = [pair._replace(target=pair.target.lower()) for pair in known]
    back = [ReplayPair("de-en", target, source) for source, target in PAIRS[:50]]
    mixed = [pair for both in zip(known, outputs, strict=True) for pair in both]
    write_files(folder / "run", {REPLAY: pack_replay([*mixed, *back])})
    return folder / "run"


@pytest.fixture
def own(tmp_path: Path) -> Texts:
    """Return 70 sentence pairs of the user."""
    files = tmp_path / "mine.en", tmp_path / "mine.de"
    for path, lines in zip(files, zip(*PAIRS[60:], strict=True), strict=True):
        write(path, lines)
    return files


def config_of(start: Path, own: Texts, *changes: str) -> RunConfig:
    """Return the settings of a run with the pairs as a corpus."""
    corpora = [parse_corpus(f"en-to-de={own[0]},{own[1]}")]
    return settings([], [], None, [*GREEDY, *changes], start=start, corpora=corpora)


def test_a_run_from_a_trained_model_has_settings_of_its_own(start: Path, own: Texts) -> None:
    found = config_of(start, own)
    assert (found.train.lr, found.train.optimiser) == (0.0001, "adam")
    assert (found.train.steps, found.train.epochs) == (BOUNDED, 0)
    assert found.data.replay == pytest.approx(1 / 2)
    changed = config_of(start, own, "train.lr=0.01", "train.steps=7", "data.replay=0")
    assert (changed.train.lr, changed.train.steps, changed.train.epochs) == (0.01, 7, 0)
    assert changed.data.replay == 0
    passes = config_of(start, own, "train.epochs=2").train
    assert (passes.steps, passes.epochs, passes.evaluate_every) == (0, 2, 0)
    timed = config_of(start, own, "train.minutes=2").train
    limits = found.train.steps, found.train.patience, found.train.lr
    assert timed.minutes == 2 and (timed.steps, timed.patience, timed.lr) == limits


@pytest.mark.parametrize("examples", [1, 100, 1000, 20_000])
def test_updates_are_bounded_with_a_replay_set_and_passes_without(examples: int) -> None:
    few = fine_tuning(examples, 0.0001, (), has_replay=True)
    assert (few["steps"], few["epochs"]) == (BOUNDED, 0)
    assert 128 <= few["batch_tokens"] <= 1024
    passes = fine_tuning(examples, 0.0001, (), has_replay=False)
    assert passes["steps"] == 0 and MIN_PASSES <= passes["epochs"] <= MAX_PASSES


@pytest.mark.parametrize("change", ["model.dropout=0.2", "train.attention.peaked=0.1"])
def test_another_stage_of_training_keeps_the_low_rate_unless_one_is_given(
    start: Path, own: Texts, change: str
) -> None:
    assert config_of(start, own, change).train.lr == 0.0001
    found = config_of(start, own, change, "train.lr=0.002").train
    assert found.lr == 0.002 and found.metric == "auto" and found.epochs == TrainConfig().epochs


@pytest.mark.parametrize("trained, others, share", [(3, 0, 0.6), (0, 4, 0.4), (0, 0, 1.0)])
@pytest.mark.parametrize("metric", ["loss", "bleu"])
def test_the_directions_of_the_run_and_the_others_each_keep_what_they_knew(
    metric: str, trained: float, others: float, share: float
) -> None:
    """trained, others: limits that all new weights lose, a share of them in proportion."""
    parts = [
        DevTexts(["a"] * n, [["A"]] * n, name=name) for n, name in ((9, "en-de"), (1, "fr-en"))
    ]
    lost = {"en-de": others, "fr-en": trained}

    def score(part: DevSet, name: str, one: float) -> float:
        assert isinstance(part, DevDirections)
        many = lost[part.parts[0].name] if name == metric else 0
        return -many * one * retention.FORGOTTEN[name] * 0.55

    known = DevDirections.of(parts).divided({"fr-en"})
    assert [len(part) for part in known] == [1, 9]
    assert retention.chosen_share(score, None, "bleu", known) == share


def test_half_of_the_tokens_is_of_the_replay_set(start: Path, own: Texts, tmp_path: Path) -> None:
    config = config_of(start, own)
    data = load(config, tmp_path)
    assert isinstance(data.examples, Mixture)
    epoch = data.examples.at(0)
    used = np.bincount(epoch.direction_of(epoch.rows[:, 0]), minlength=3)
    assert data.dev and len(data.dev) == 7 and used[0] == 63  # each own pair once
    tokens = epoch.lengths[1]
    replayed = tokens[epoch.direction_of(epoch.rows[:, 0]) > 0].sum()
    assert replayed / tokens.sum() == pytest.approx(1 / 2, abs=0.03)
    assert abs(used[1] - used[2]) <= 1
    assert data.replay and len(data.replay) == 60
    trained = (tmp_path / "replay" / "en-de.tsv").read_text("utf-8").splitlines()
    tested = (tmp_path / "replay" / "dev.en-de.tsv").read_text("utf-8").splitlines()
    assert tested == ["\t".join(pair) for pair in PAIRS[:30]]  # references
    assert trained == [f"{s}\t{t.lower()}" for s, t in PAIRS[30:50]]  # outputs of the model


def test_a_run_tells_what_it_learned_and_lost_and_hands_the_replay_set_on(
    start: Path, own: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "TESTED", 5)
    config = config_of(start, own, "train.epochs=1", "train.lr=0.003")
    events = run(config, tmp_path / "whole")
    first, *_, kept, found = [e for e in events if not hasattr(e, "loss")][1:]
    assert isinstance(first, Evaluated) and first.step == 0
    assert isinstance(kept, FinalModel) and isinstance(found, Compared)
    assert first.scores.bleu is None and found.metric == "rouge_l" and found.dev  # of 7 pairs
    assert min(found.dev) >= 0
    assert found.replay and found.replay.before >= 0
    assert read_replay(tmp_path / "whole") == read_replay(start)
    assert read(tmp_path / "whole").alignment == read(start).alignment
    stops = iter([False] * 4 + [True])
    with pytest.raises(Interrupted):
        run(config, tmp_path / "broken", stop=lambda: next(stops, True))
    with pytest.raises(Interrupted):  # in the comparison
        run(config, tmp_path / "broken", lambda: bool(finished_run(RunFolder(tmp_path / "broken"))))
    assert run(config, tmp_path / "broken")[-1] == found
    assert_same(tmp_path / "broken", tmp_path / "whole")
    assert isinstance(run(config, tmp_path / "broken")[-1], AlreadyFinished)


@pytest.mark.parametrize(
    "needed, lost, share", [(1, 0.07, 1.0), (0.55, 0.07, 0.6), (1, 0.15, 0.5), (0.55, 9, 0.1)]
)
def test_as_much_is_learned_as_the_old_knowledge_allows(
    needed: float,
    lost: float,
    share: float,
    start: Path,
    own: Texts,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """needed: share that learns as much as all; lost: nats that all lose, less in proportion."""
    config, first = config_of(start, own, "train.epochs=1", "train.lr=0.003"), bundle_weights(start)
    distances, limits = [0.0], (1.0, 0.0)

    def value(run: Run, weights: Tensors, dev: DevSet, metric: str, report: Report) -> float:
        distances.append(sum(float((weights[n] - first[n]).norm()) for n in weights))
        part = distances[-1] / max(*distances, 1e-9)
        return -limits[1] * part if metric == "loss" else 50.0 * (part > limits[0] - 0.01)

    monkeypatch.setattr(retention, "value", value)
    run(config, tmp_path / "all")
    limits = needed, lost
    assert run(config, tmp_path / "run")[-1].share == share  # type: ignore[union-attr]
    trained, found = (bundle_weights(tmp_path / name) for name in ("all", "run"))
    expected = {name: first[name].lerp(trained[name], share) for name in first}
    torch.testing.assert_close(found, expected)
    distances[:] = [0.0]
    run(config_of(start, own, "train.epochs=2", "train.lr=3"), tmp_path / "run")
    torch.testing.assert_close(bundle_weights(tmp_path / "run"), found)  # not mixed again


def test_a_dry_run_counts_the_outputs_of_the_comparison(
    start: Path, own: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a second for each output and none for a loss, the estimate is their number."""
    outputs, score = [0], retention.value

    def value(run: Run, weights: Tensors, dev: DevSet, metric: str, report: Report) -> float:
        outputs[0] += len(dev) * (metric != "loss")
        return score(run, weights, dev, metric, report)

    monkeypatch.setattr(retention, "MEASURED", 5)
    monkeypatch.setattr(retention, "value", value)
    monkeypatch.setattr(estimate, "timed_scoring", lambda *_, decoded=False: float(decoded))
    config = config_of(start, own, "train.steps=2")
    run(config, tmp_path / "run")
    found = estimate.estimate(config, torch.device("cpu"), lambda *_: None)
    assert 2 * (5 + 60) < outputs[0] <= found.comparison + 8 * 5


def test_own_pairs_get_the_apostrophes_of_the_model(start: Path, tmp_path: Path) -> None:
    table = write(tmp_path / "mine.tsv", "".join(f"dog {n}’s car\tl’auto {n}\n" for n in range(40)))
    config = settings([], [], None, start=start, corpora=[parse_corpus(f"en-to-de={table}")])
    data = load(config, tmp_path)
    batch = data.examples.batch(np.arange(10))
    texts = [data.tokenizer.decode(row.tolist()) for row in batch.target_out]
    assert all("l'auto" in text for text in texts)
    assert "’" not in (tmp_path / "dev.0.tsv").read_text("utf-8")


def test_updates_that_do_not_help_leave_the_model_as_it_was(
    start: Path, own: Texts, tmp_path: Path, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "TESTED", 5)
    words = ["train", *own, "--start-from", start, "--from", "en", "--to", "de"]
    words += ["-o", tmp_path / "run", *flags(GREEDY)]
    found = attn(*words, "-s", "train.lr=3", "-s", "train.epochs=1", "-s", "train.metric=loss")
    assert "the model is the initial one" in found.err
    before, after = bundle_weights(start), bundle_weights(tmp_path / "run")
    assert all(torch.equal(before[name], after[name]) for name in before)
    memory = tmp_path / "run" / "memory.tsv"
    assert f"--memory {memory}" in found.err
    pairs = zip(*(path.read_text("utf-8").splitlines() for path in own), strict=True)
    assert dict(read_memory(memory)) == dict(pairs)


def test_one_language_or_a_model_without_a_replay_set_is_refused(
    start: Path, own: Texts, tmp_path: Path, attn: Attn
) -> None:
    words = ["train", *own, "--start-from", start, "-o", tmp_path / "run"]
    assert "needs both languages" in attn(*words, "--from", "en", status=2).err
    assert "--from de --to en" in attn(*words, status=1).err.replace("\n", " ")
    plain = Path(shutil.copytree(start, tmp_path / "plain"))
    (plain / REPLAY).write_bytes(b"damaged")
    with pytest.raises(DamagedError, match=REPLAY):
        read_replay(plain)
    (plain / REPLAY).unlink()
    assert config_of(plain, own).data.replay == 0
    with pytest.raises(ModelError, match="has no replay set"):
        run(config_of(plain, own, "data.replay=0.5"), tmp_path / "run")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run folder."""
    folder = tmp_path_factory.mktemp("multilingual")
    run(of_languages(folder, "train.metric=bleu"), folder / "run")
    return folder / "run"


def test_the_languages_and_directions_are_stored_with_the_model(trained: Path) -> None:
    translator = models.load(trained, "translate")
    assert translator.languages == ("de", "en", "fr")
    assert translator.tokenizer_config.directions == ("de-en", "en-de", "en-fr")
    assert translator.for_direction("fr", "de").is_zero_shot("de")
    assert [t.to for t in translator.translate(["The dog runs."] * 2, to=["de", "fr"])] == [
        "de",
        "fr",
    ]


def test_some_sources_of_several_directions_keep_their_direction() -> None:
    one = DevTexts(["a", "b", "c"], [["A"], ["B"], ["C"]], to="de")
    two = DevTexts(["d", "e"], [["D"], ["E"]], to="fr")
    some = DevDirections.of([one, two]).some([0, 2, 4])
    assert [(part.sources, part.references, part.to) for part in some.parts] == [
        (["a", "c"], [["A"], ["C"]], "de"),
        (["e"], [["E"]], "fr"),
    ]


def test_dev_scores_are_logged_by_direction_and_their_mean_counts(trained: Path) -> None:
    records = [r for r in read_log(RunFolder(trained).log) if "gained" in r]
    assert records
    for record in records:
        assert set(record["directions"]) == {"en-de", "de-en"}
        mean = sum(record["directions"].values()) / 2
        assert record["bleu"] == pytest.approx(mean, rel=1e-5)  # the log has six digits


def test_other_corpora_or_languages_are_another_run(tmp_path: Path) -> None:
    config = of_languages(tmp_path, "train.steps=2")
    run(config, tmp_path / "run")
    turned = [parse_corpus(f"de-en={config.data.corpora[0].files[0]}"), config.data.corpora[1]]
    other = settings([], [], "transformer-nano", [*SMALL, "train.steps=2"], corpora=turned)
    with pytest.raises(ModelError, match="another run"):
        run(other, tmp_path / "run")


def test_a_weight_is_a_factor_on_the_share_of_a_corpus(tmp_path: Path) -> None:
    config = of_languages(tmp_path)
    path = config.data.corpora[1].files[0]
    weighted = parse_corpus(f"en-to-fr:5={path}")
    assert weighted == replace(config.data.corpora[1], weight=5.0)
    corpora = (config.data.corpora[0], weighted)
    config = replace(config, data=replace(config.data, corpora=corpora))
    prepared = load(config, tmp_path / "run")
    assert "en-fr 12 pairs (33 %)" in prepared.remarks[0]  # 5 * 12 of 60 + 60 + 5 * 12
    examples = prepared.examples.at(0)
    assert isinstance(examples, Mixture)
    counts = np.bincount(examples.direction_of(examples.rows[:, 0]))
    assert counts.tolist() == [44, 44, 44]


def test_training_can_begin_with_a_multilingual_model(trained: Path, tmp_path: Path) -> None:
    config = of_languages(tmp_path, "train.steps=2", start=trained)
    assert config.tokenizer.languages == ("de", "en", "fr")
    run(config, tmp_path / "more")
    assert models.load(tmp_path / "more", "translate").languages == ("de", "en", "fr")
    swedish = [parse_corpus(f"en-sv={config.data.corpora[0].files[0]}")]
    with pytest.raises(ModelError, match="unknown language of a corpus 'sv'"):
        settings([], corpora=swedish, start=trained)


def test_back_translated_sources_begin_with_their_token(tmp_path: Path) -> None:
    corpora = [
        parse_corpus(f"en-de={write_corpus(tmp_path, 'en', 'de', 60)}"),
        parse_corpus(f"en-de={write_corpus(tmp_path, 'en', 'de', 9, seed=3)}", tagged=True),
    ]
    config = settings([], [], "transformer-nano", [*SMALL, "train.steps=2"], corpora=corpora)
    assert config.tokenizer.directions == ("de-en", "en-de")
    prepared = load(config, tmp_path)
    batch = prepared.examples.batch(np.array([0, 125]))
    pieces = [prepared.tokenizer.source.id_to_piece(row.tolist())[:3] for row in batch.source]
    assert pieces[0][0] == "<2de>" and pieces[0][1] != "<bt>"
    assert pieces[1][:2] == ["<2de>", "<bt>"]
    assert prepared.examples.count == 129  # the tagged corpus is used in one direction


def test_methods_apply_to_a_single_direction_too(tmp_path: Path) -> None:
    file = write_corpus(tmp_path, "en", "de", 60)
    varied = [change for change in VARIED if "temperature" not in change]
    plain, other = (
        settings([Path(file)], [], "transformer-nano", [*SMALL, "train.steps=3", *changes])
        for changes in ((), varied)
    )
    run(plain, tmp_path / "plain")
    run(other, tmp_path / "other")
    first, second = ((tmp_path / name / "model.safetensors") for name in ("plain", "other"))
    assert first.read_bytes() != second.read_bytes()
    assert models.load(tmp_path / "other", "translate").languages == ()


def test_an_initial_model_keeps_the_order_of_its_languages() -> None:
    stored = TokenizerConfig(languages=("en", "de", "fr"), directions=("en-de",))
    data = TextData(corpora=(CorpusConfig("de-en", ("a.tsv",)),))
    assert with_languages(stored, data, "model").languages == stored.languages


@pytest.mark.parametrize("kind", TRAINING)
def test_files_of_another_kind_are_refused_by_what_the_initial_model_reads(
    kind: str,
) -> None:
    source = find_training_source(kind)
    family = str(PRESETS[source.default_preset].model["family"])
    values = {"model": {"family": family}, "start_from": "models/one"}
    for other in map(find_training_source, TRAINING):
        if other.table.PARTS["train"] not in fields_of(source.table):
            data = {other.table.PARTS["train"]: "given"}
            with pytest.raises(ModelError) as error:
                fitted({**values, "data": data}, ())
            assert str(error.value) == f"one {source_of(family).ability}; give {source.inputs()}"
    assert find_training_source("labelled_text").inputs() == "--labels"
