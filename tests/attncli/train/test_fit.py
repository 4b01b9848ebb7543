"""The loop: what an update is, when weights are evaluated, when a run ends."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from attncli.scoring.score import System
from attncli.scoring.translations import EvaluationSet, Scoring, score
from attncli.train._checkpoint import to_bytes
from attncli.train._fit import due, evaluation_interval, judged, watch
from attncli.train._precision import GROW
from attncli.train._schedule import done_share, learning_rate, time_share
from attncli.train._state import State, content, restore
from attncli.train._stepper import Stepper, UpdateBatch
from attncli.train.events import Stepped, add_update, interval_record
from attncli.train.folder import Counters, limit_reached
from attncli.train.run import fresh_state
from attncli.train.saving import averaged
from attncli.training.config import TrainConfig
from attncli.training.dev import metric_for
from attncli.training.examples import epoch_plan
from attncli.training.interfaces import Scores
from attncli.training.sources import source_of_run
from attncli.translate.dev import DevTexts
from models.core.errors import ModelError
from models.core.files import write_bytes
from models.storage.weights import weights_of
from tests.attncli.training.small import load, small_config, write_texts

CPU = torch.device("cpu")
Fresh = Callable[..., tuple[State, TrainConfig, list[UpdateBatch]]]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    """Return a function that makes a state, its settings and some batches, without dropout."""
    folder = tmp_path_factory.mktemp("loop")
    texts = write_texts(folder)

    def make(*changes: str) -> tuple[State, TrainConfig, list[UpdateBatch]]:
        config = small_config(texts, "model.dropout=0", *changes)
        data = load(config, folder)
        pairs = data.examples
        state = fresh_state(source_of_run(config), data, CPU)
        plan = epoch_plan(pairs, 200, seed=1, epoch=0)
        return state, config.train, [UpdateBatch(pairs, numbers) for numbers in plan]

    return make


def test_parts_of_an_update_are_one_large_batch(fresh: Fresh) -> None:
    updates, moments = [], []
    for shards in (0, 3):
        state, config, batches = fresh("train.clip=0", f"train.shards={shards}")
        updates.append(Stepper(state, config, torch.float32).train_on(batches[0], 0.5))
        moments.append([state.optimiser.state[p]["exp_avg"] for p in state.model.parameters()])
    assert updates[0].tokens == updates[1].tokens
    assert updates[0].loss == pytest.approx(updates[1].loss, rel=1e-5)
    assert updates[0].norm == pytest.approx(updates[1].norm, rel=1e-4)
    for whole, parts in zip(*moments, strict=True):
        assert torch.allclose(whole, parts, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(("dtype", "near"), [(torch.bfloat16, 0.01), (torch.float16, 0.002)])
def test_the_loss_in_16_bits_is_near_that_in_32(
    fresh: Fresh, dtype: torch.dtype, near: float
) -> None:
    losses = []
    for each in (torch.float32, dtype):
        state, config, batches = fresh()
        state.counters.scale = 2.0**10  # no update in fp16 overflows
        stepper = Stepper(state, config, each)
        losses.append([stepper.train_on(batch, 0.0).nll for batch in batches[:5]])
    assert losses[0] == pytest.approx(losses[1], rel=near)
    assert losses[0] != losses[1]


def test_the_first_loss_is_near_that_of_a_uniform_distribution(fresh: Fresh) -> None:
    state, config, batches = fresh()
    step = Stepper(state, config, torch.float32).train_on(batches[0], 0.0)
    assert abs(step.nll - math.log(len(state.model.output.weight))) < 1


def test_the_moving_average_follows_its_formula(fresh: Fresh) -> None:
    state, config, batches = fresh("train.ema=0.5")
    average = {name: tensor.clone() for name, tensor in weights_of(state.model).items()}
    stepper = Stepper(state, config, torch.float32)
    for step, batch in enumerate(batches[:6], 1):
        stepper.train_on(batch, 0.0)
        decay = min(0.5, (1 + step) / (10 + step))
        for name, tensor in weights_of(state.model).items():
            average[name] = decay * average[name] + (1 - decay) * tensor
    for name, tensor in state.weights().items():
        assert torch.allclose(tensor, average[name], atol=1e-6), name
        assert not torch.equal(tensor, weights_of(state.model)[name]), name


def test_averaged_weights_are_the_mean(tmp_path: Path) -> None:
    snapshots = [{"a": torch.randn(3, 2), "b": torch.randn(5)} for _ in range(3)]
    paths = [tmp_path / f"{n}.safetensors" for n in range(3)]
    for path, snapshot in zip(paths, snapshots, strict=True):
        write_bytes(path, to_bytes(snapshot))
    mean = averaged(paths)
    for name in ("a", "b"):
        expected = torch.stack([snapshot[name] for snapshot in snapshots]).mean(0)
        assert torch.allclose(mean[name], expected)
    paths[1].unlink()
    with pytest.raises(ModelError, match="1.safetensors is missing"):
        averaged(paths)


def test_weights_are_restored_after_an_evaluation_that_fails(fresh: Fresh) -> None:
    state, _, _ = fresh()
    own = {name: tensor.clone() for name, tensor in weights_of(state.model).items()}
    other = {name: torch.zeros_like(tensor) for name, tensor in own.items()}
    with pytest.raises(KeyError), state.evaluated(other) as model:
        assert not any(parameter.any() for parameter in model.parameters())
        raise KeyError
    for name, tensor in weights_of(state.model).items():
        assert torch.equal(tensor, own[name])


def test_clipping_bounds_the_gradient(fresh: Fresh) -> None:
    for clip in (0.0, 1e-3):
        state, config, batches = fresh(f"train.clip={clip}")
        norm = Stepper(state, config, torch.float32).train_on(batches[0], 0.0).norm
        moments = [state.optimiser.state[p]["exp_avg"] for p in state.model.parameters()]
        size = math.sqrt(sum(float((moment / 0.1).square().sum()) for moment in moments))
        assert size == pytest.approx(min(norm, clip) if clip else norm, rel=1e-3)


def test_fp16_skips_updates_that_overflow_and_continues_with_its_scale(
    fresh: Fresh, tmp_path: Path
) -> None:
    state, config, batches = fresh()
    stepper = Stepper(state, config, torch.float16)
    state.counters.scale = 2.0**40
    before = {name: tensor.clone() for name, tensor in weights_of(state.model).items()}
    assert not math.isfinite(stepper.train_on(batches[0], 0.0).norm)
    assert state.counters.scale == 2.0**39 and not state.counters.ended
    for name, tensor in weights_of(state.model).items():
        assert torch.equal(tensor, before[name])
    while not state.counters.unscaled:
        found = stepper.train_on(batches[0], 0.0)
    assert math.isfinite(found.norm)
    write_bytes(tmp_path / "checkpoint", content(state))
    other, _, _ = fresh()
    restore(other, tmp_path / "checkpoint")
    assert (other.counters.scale, other.counters.unscaled) == (state.counters.scale, 1)
    state.counters.unscaled = GROW - 1
    scale = state.counters.scale = 2.0**8
    stepper.train_on(batches[1], 0.0)
    assert (state.counters.scale, state.counters.unscaled) == (2 * scale, 0)


def test_a_batch_that_exhausts_the_memory_is_computed_in_halves_once(
    fresh: Fresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    norms, faults, limits = [], [1, 1], list[int]()
    loss = Stepper.loss

    def fail(stepper: Stepper, update: UpdateBatch) -> Any:
        if faults and len(update.numbers) > limits[-1]:
            faults.pop()
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return loss(stepper, update)

    monkeypatch.setattr(Stepper, "loss", fail)
    for limit in (10**6, 1 + len(fresh()[2][0].numbers) // 2):
        limits.append(limit)
        state, config, batches = fresh("train.clip=0")
        norms.append(Stepper(state, config, torch.float32).train_on(batches[0], 0.0).norm)
    assert norms[0] == pytest.approx(norms[1], rel=1e-4) and faults == [1]
    limits.append(0)
    faults.append(1)
    with pytest.raises(RuntimeError, match="out of memory"):
        Stepper(state, config, torch.float32).train_on(batches[0], 0.0)


def test_a_loss_far_above_its_lowest_ends_the_run() -> None:
    ends = {}
    for high in (2.5, 9.0):
        counters = Counters()
        for loss in [5.0] * 5 + [1.0] * 200 + [high] * 200:
            watch(counters, _step(loss))
        ends[high] = counters.ended
    assert not ends[2.5] or "diverged" in ends[2.5]
    assert "diverged: the loss is" in ends[9.0] and "lower train.lr" in ends[9.0]


def _step(loss: float) -> Stepped:
    return Stepped(1, 0, 0.5, loss, loss, 0.1, 1.0, None, 10, 0.1)


def test_a_gradient_that_is_no_number_keeps_the_best_weights(fresh: Fresh) -> None:
    state, config, batches = fresh()
    state.counters.best = 1.0
    with torch.no_grad():
        next(iter(state.model.parameters())).fill_(math.nan)
    Stepper(state, config, torch.float32).train_on(batches[0], 0.0)
    assert state.counters.ended.startswith("diverged: the gradient's norm is nan at update 1")


@pytest.mark.parametrize("part", ["embedding", "encoder", "decoder.layers.0"])
def test_frozen_parts_stay_as_they_are(part: str, fresh: Fresh) -> None:
    state, config, batches = fresh(f"train.freeze={part}")
    frozen = {
        name for name, parameter in state.model.named_parameters() if not parameter.requires_grad
    }
    assert frozen and frozen.isdisjoint(state.learned)
    assert all(part in name for name in frozen) or part == "encoder"
    before = {name: tensor.clone() for name, tensor in weights_of(state.model).items()}
    Stepper(state, config, torch.float32).train_on(batches[0], 0.0)
    for name, tensor in weights_of(state.model).items():
        assert torch.equal(tensor, before[name]) is (name in frozen), name


LINEAR = TrainConfig(lr=0.5, warmup=10, schedule="linear")
SHORT = replace(LINEAR, steps=20, warmup=60)  # its warm-up is a tenth of the run
TIMED = replace(LINEAR, minutes=2)
EPOCHS = replace(LINEAR, epochs=4, warmup=2)


@pytest.mark.parametrize(
    ("config", "step", "cuts", "seconds", "expected"),
    [
        *(
            (replace(LINEAR, schedule="inverse_sqrt"), n, 0, 0, 0.5 * min(n / 10, (10 / n) ** 0.5))
            for n in range(1, 100, 7)
        ),
        (replace(LINEAR, schedule="plateau"), 5, 0, 0, 0.25),
        (replace(LINEAR, schedule="plateau"), 1000, 3, 0, 0.5 * 0.5**3),
        *((replace(LINEAR, schedule="constant", warmup=0), n, 0, 0, 0.5) for n in (1, 2, 1000)),
        *((replace(LINEAR, steps=109), n, 0, 0, r) for n, r in ((5, 0.25), (10, 0.5), (60, 0.25))),
        *((SHORT, n, 0, 0, r) for n, r in ((1, 0.25), (2, 0.5), (21, 0))),
        *((TIMED, 20, 0, s, r) for s, r in ((0, 0.5), (30, 0.375), (60, 0.25), (900, 0))),
        *((TIMED, 1, 0, 120 * s, r) for s, r in ((0, 0.05), (0.05, 0.2375), (0.1, 0.45))),
        (replace(TIMED, warmup=0, steps=100), 76, 0, 12, 0.5 * 0.25),
    ],
)
def test_learning_rates(
    config: TrainConfig, step: int, cuts: int, seconds: float, expected: float
) -> None:
    share = time_share(seconds, config) if config.minutes else 0.0
    assert learning_rate(step, cuts, config, share) == pytest.approx(expected)


def test_the_log_holds_means_over_its_interval() -> None:
    one = Stepped(1, 0, 0.1, 4.0, 3.0, 0.1, 1.0, None, 30, 2.0)
    two = Stepped(2, 0, 0.2, 2.0, 1.0, 0.2, 2.0, 0.5, 10, 3.0)
    sums: dict[str, float] = {}
    add_update(sums, one)
    assert interval_record(sums, one).keys().isdisjoint({"reward"})
    add_update(sums, two)
    record = interval_record(sums, two)
    assert (record["loss"], record["nll"]) == (3.5, 2.5)  # weighted by tokens
    assert (record["norm"], record["reward"], record["lr"]) == (1.5, 0.5, 0.2)
    assert (record["tokens"], record["seconds"], record["tokens_per_second"]) == (40, 5, 8)


def test_a_linear_rate_falls_over_the_epochs_or_the_time_that_ends_first() -> None:
    rates = [learning_rate(n, 0, EPOCHS, done_share(0, (n - 1) / 5, EPOCHS)) for n in range(1, 22)]
    assert rates[0] == 0.25 and rates[1] == 0.475 and rates[-1] == 0
    assert all(later < earlier for earlier, later in itertools.pairwise(rates[1:]))
    timed = replace(EPOCHS, minutes=1)
    assert done_share(15, 2, timed) == 0.5 and done_share(45, 2, timed) == 0.75


def after_scores(config: TrainConfig, *found: float | Scores) -> Counters:
    """Return the counters after evaluations with these scores, given as BLEU or whole."""
    counters = Counters()
    state: Any = SimpleNamespace(counters=counters)
    for scores in found:
        counters.step += 10
        judged(state, scores if isinstance(scores, Scores) else Scores(1.0, scores), config)
    return counters


def test_the_last_epoch_is_evaluated_whatever_the_interval() -> None:
    config = TrainConfig(evaluate_every=1000, epochs=3)
    assert due(Counters(step=30, batch=10, epoch=2), 10, config)
    assert not due(Counters(step=30, batch=10, epoch=1), 10, config)


BLEU = TrainConfig(metric="bleu", patience=3, warmup=0)
STEPPED = replace(BLEU, schedule="plateau", plateau_patience=2, patience=0)
WARM = replace(BLEU, warmup=50)  # five evaluations
EQUAL = [Scores(loss, 0.0) for loss in (5.0, 4.0, 4.5, 3.0, 3.5)]
RATES = [Scores(value, 9.0, error_rate=value) for value in (80.0, 20.0, 30.0)]
ENDED = "no gain in 3 evaluations"
PASSING = (1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0)  # no 3 evaluations without gain by update 50


@pytest.mark.parametrize(
    ("config", "found", "expected"),
    [
        (BLEU, (1.0, 5.0, 5.0, 4.0), {"best": 5.0, "best_step": 20, "waits": 2, "ended": ""}),
        (BLEU, (1.0, 5.0, 5.0, 4.0, 6.0), {"waits": 0, "ended": ""}),
        (BLEU, (5.0, 5.0, 4.0, 4.5), {"ended": ENDED}),
        (BLEU, PASSING, {"ended": ENDED}),
        (replace(BLEU, patience=0), (5.0, *[1.0] * 50), {"ended": ""}),
        (WARM, [5.0] * 6, {"ended": ""}),
        (WARM, [5.0] * 7, {"ended": ENDED}),  # 3 after the count began anew, at update 40
        (WARM, PASSING, {"ended": ENDED}),
        *((STEPPED, [5.0] * n, {"cuts": max(0, (n - 1) // 2)}) for n in range(1, 8)),
        (STEPPED, (5.0, 4.0, 6.0, 4.0), {"cuts": 0}),
        (replace(STEPPED, schedule="constant"), [5.0] * 9, {"cuts": 0}),
        # equal scores are compared by loss, which does not count against patience
        *((BLEU, EQUAL[:n], {"best_step": best}) for n, best in ((1, 10), (3, 20), (5, 40))),
        (replace(BLEU, patience=2), EQUAL, {"waits": 1, "ended": ""}),
        *(
            (replace(BLEU, metric=lower), RATES, {"best": -20.0, "best_step": 20, "waits": 1})
            for lower in ("loss", "error_rate")
        ),
    ],
)
def test_evaluations_count_against_patience_and_lower_the_rate(
    config: TrainConfig, found: list[float | Scores], expected: dict[str, Any]
) -> None:
    counters = after_scores(config, *found)
    assert {name: getattr(counters, name) for name in expected} == expected


def test_limits() -> None:
    config = TrainConfig(steps=10, epochs=3)
    assert limit_reached(Counters(step=9, epoch=2), config) == ""
    assert limit_reached(Counters(step=10, epoch=2), config) == "10 updates done"
    found = limit_reached(Counters(step=9, epoch=3), config)
    assert found == "3 epochs done, before train.steps=10 (train.epochs=0: no limit)"
    assert limit_reached(Counters(step=9, epoch=1), TrainConfig(epochs=1)) == "1 epoch done"
    assert limit_reached(Counters(step=99, epoch=99), TrainConfig(steps=0, epochs=0)) == ""


@pytest.mark.parametrize(
    ("references", "metric"),
    [
        (["yes", "no", "a long answer of many words"], "exact"),
        (["a dog runs fast", "yes", "the cat sleeps here"], "bleu"),
        (["\u72d7\u5728\u8dd1\u6b65\u7740", "\u732b\u5728\u7761\u89c9\u5462"], "bleu"),
        (["\u0e01" * 60, "\u0e02" * 70], "bleu"),
        ([], "bleu"),
    ],
)
def test_short_targets_are_scored_by_exact_match(references: list[str], metric: str) -> None:
    assert metric_for(references) == metric


def test_training_and_evaluation_count_the_same_tokens() -> None:
    """Full stops and commas are tokens of their own for both, unless the tokenizer is none."""
    outputs, references = ["yes, a dog", "no"], ["yes, a cat.", "no"]
    rates = []
    for name in ("13a", "none"):
        config = TrainConfig(metric="error_rate", bleu_tokenizer=name)
        dev = DevTexts(["x", "y"], [[text] for text in references])
        rate = dev.scores(1.0, outputs, config).error_rate
        (found,) = score(
            [System("one", outputs)], EvaluationSet([], [references]), Scoring(tokenize=name)
        )
        rates.append(rate)
        assert rate == next(each.value for each in found if each.name == "error rate")
    assert rates == pytest.approx([100 * 2 / 6, 100 * 1 / 4])


@pytest.mark.parametrize("seed", range(20))
def test_a_run_of_few_updates_has_at_most_ten_evaluations_and_one_at_its_end(seed: int) -> None:
    rng = random.Random(seed)
    steps, batches = rng.randint(20, 999), rng.randint(1, 60)
    config = TrainConfig(steps=steps, epochs=0)
    at = evaluated(config, batches, steps)
    assert at[-1] == steps and len(at) <= 11
    assert len(at) >= min(steps // batches, 10) // 2
    every = evaluation_interval(config, batches)
    assert every % batches == 0 and at[:-1] == [*range(every, steps, every)]


@pytest.mark.parametrize(("batches", "every"), [(1, 10), (3, 12), (10, 10), (12, 12)])
def test_tiny_epochs_are_not_each_evaluated(batches: int, every: int) -> None:
    config = TrainConfig(steps=0, epochs=100)
    assert evaluated(config, batches, 60) == [*range(every, 61, every)]
    assert evaluation_interval(config, batches) == every


def evaluated(config: TrainConfig, batches: int, steps: int) -> list[int]:
    """Return the updates of a run after which it is evaluated."""
    counters, at = Counters(), list[int]()
    counters.evaluated = 0
    for step in range(1, steps + 1):
        counters.step, counters.batch = step, (step - 1) % batches + 1
        if due(counters, batches, config):
            at.append(step)
            counters.evaluated = step
    return at
