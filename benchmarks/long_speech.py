"""Recognise numbers that are longer than those of training, by five mechanisms.

    python benchmarks/long_speech.py --data DIR/speech --work WORK

Trains on spoken numbers of one to four digits (see recipes/digits.py), with two seeds, and prints
for numbers of 2, 4, 8, 16 and 32 digits, from test recordings of the same speakers and heard as one
piece: the word error rate; the share of wrong words where the right words before each are given and
the output may not end, which shows the attention without the decoder's habit of ending; and how
often a linear probe tells from the encoder's state in the middle of a word that it is word 1, 2, 3
or 4. WORK/long_speech.png shows the first two. A run that exists is used again.

Claim: with content-based attention errors rise steeply beyond the lengths of training; with
location-aware attention and a window they do not (Chorowski et al. 2015, section 3.2).
Found: it does not hold for numbers, because of two habits that one to four words teach every model.
The decoder ends after the fourth word, wherever it attends; and the encoder's states tell the
number of a word, so that attention looks for the fifth among the first four. With the end forbidden
a window around the last weights lowers the errors a little.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import soundfile
import torch
from jiwer import wer
from torch import Tensor

from models.inference.search.batching import pad, teacher_forcing_batch
from models.inference.transcriber import Transcriber
from models.sound.features import log_mel
from models.text.tokenizer import END

sys.path.insert(0, str(Path(__file__).parents[1] / "recipes"))

import digits

Rates = dict[str, list[list[float]]]  # of each mechanism: for each seed, by length

LENGTHS = (2, 4, 8, 16, 32)
NUMBERS = 8  # of each speaker and length
SLOWER = 3  # times the updates: after as many the Transformer is wrong in 80 % of two digits
RIDGE = 0.3  # of the probe
LISTEN = ("-p", "listen-attend-spell-nano")
LISTENER = ("model.hidden=96",)  # settings of the recipe that the Transformer does not have
REPLACED = ("train.steps", "data.augment.join", "data.augment.grow")
MECHANISMS = {
    "content-based": (*LISTEN, "-s", "model.attention.score=additive"),
    "location-aware": (*LISTEN, "-s", "model.attention.score=location_aware"),
    "location-aware, window": (
        *(*LISTEN, "-s", "model.attention.score=location_aware"),
        *("-s", "model.attention.window=median", "-s", "model.attention.window_size=20"),
    ),
    "monotonic": (
        *(*LISTEN, "-s", "model.attention.score=additive"),
        *("-s", "model.attention.normalise=monotonic"),
    ),
    "Transformer": ("-p", "speech-transformer-nano"),
}


class Number(NamedTuple):
    """A recording of a number."""

    file: Path
    text: str
    middles: list[float]  # seconds of the middle of each word


def main() -> None:
    """Parse the command line, train what is not trained yet, print a table and draw it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1500, help="updates of each training")
    parser.add_argument("--seeds", type=int, default=2, help="trainings of each mechanism")
    parser.add_argument("--threads", default="1")
    options = parser.parse_args()
    recordings = digits.unpacked(options.data, options.work)
    sets = dict(test_sets(recordings, options.work))
    free: Rates = {}
    given: Rates = {}
    print(f"{'mechanism':<24}" + "".join(f"{length:>14}" for length in LENGTHS) + "   ordinals")
    for name in MECHANISMS:
        probes = []
        for seed in range(1, options.seeds + 1):
            run = options.work / f"{name.replace(', ', '-').replace(' ', '-')}-{seed}"
            settings = settings_of(name, seed, options.steps)
            digits.trained(recordings, options.work, run.name, options.threads, settings)
            heard = Heard(run)
            free.setdefault(name, []).append([heard.error_rate(sets[n]) for n in LENGTHS])
            given.setdefault(name, []).append([heard.given_error(sets[n]) for n in LENGTHS])
            probes.append(heard.ordinals([*sets[2], *sets[4]]))
        for title, rates in ((name, free[name]), ("  words before given", given[name])):
            cells = "".join(f"{spread(column):>14}" for column in zip(*rates, strict=True))
            print(f"{title:<24}{cells}" + (f"{mean(probes):10.0f}" if title == name else ""))
        sys.stdout.flush()
    draw(free, given, options.work / "long_speech.png")


def spread(values: Sequence[float]) -> str:
    """Return the mean of some rates and half of their range."""
    return f"{mean(values):.1f} ±{(max(values) - min(values)) / 2:.1f}"


def test_sets(recordings: list[digits.Spoken], work: Path) -> Iterator[tuple[int, list[Number]]]:
    """Yield each length with numbers that are joined from test recordings."""
    test = [each for each in recordings if each.split == "test"]
    for length in LENGTHS:
        numbers = []
        for speaker in sorted({each.speaker for each in test}):
            own = [each for each in test if each.speaker == speaker]
            folder = work / f"long-{length}-{speaker}"
            rows = digits.joined(own, work / "wavs", folder, [length], NUMBERS)
            numbers += [Number(folder / row.file, row.text, row.middles) for row in rows]
        yield length, numbers


def settings_of(mechanism: str, seed: int, steps: int) -> list[str]:
    """Return the words of `attn train` for a mechanism: the recipe of `digits`, one to four."""
    recipe = [each for each in digits.RECIPE if not each.startswith(REPLACED)]
    kept = [each for each in recipe if mechanism != "Transformer" or each not in LISTENER]
    times = SLOWER if mechanism == "Transformer" else 1
    kept += [
        "data.augment.join=1-4",
        f"data.augment.grow={10 * times}",
        f"train.steps={times * steps}",
        f"train.seed={seed}",
    ]
    return [*MECHANISMS[mechanism], *(word for setting in kept for word in ("-s", setting))]


class Heard:
    """A trained model, and what it makes of recordings that are each heard as one piece."""

    def __init__(self, run: Path) -> None:
        self.transcriber = Transcriber.read(run, device="cpu")

    def features(self, numbers: list[Number]) -> list[Tensor]:
        """Return the features (F, bands) of each recording."""
        audio = self.transcriber.config.audio
        sounds = [soundfile.read(each.file, dtype="float32")[0] for each in numbers]
        return [log_mel(torch.from_numpy(sound), audio) for sound in sounds]

    def error_rate(self, numbers: list[Number]) -> float:
        """Return the word error rate of the outputs."""
        found = self.transcriber.outputs(self.features(numbers))
        return float(100 * wer([each.text for each in numbers], [best[0].text for best in found]))

    @torch.inference_mode()
    def given_error(self, numbers: list[Number]) -> float:
        """Return the share of wrong words, given the words before and without the end token."""
        model, wrong = self.transcriber.model, []
        for each, features in zip(numbers, self.features(numbers), strict=True):
            ids = self.transcriber.tokenizer.encode(each.text)  # the last is END
            memory = self.transcriber.memory([features])
            batch = teacher_forcing_batch(
                memory.values, memory.mask, *pad([ids], self.transcriber.device)
            )
            scores = model.log_probs(model.teacher_force(batch, memory=memory))[0, :-1]
            scores[:, END] = -torch.inf
            wrong += (scores.argmax(1) != torch.tensor(ids[:-1])).tolist()
        return 100 * mean(wrong)

    @torch.inference_mode()
    def ordinals(self, numbers: list[Number]) -> float:
        """Return how often a linear probe tells the number of a word from the encoder's state.

        It is fitted by least squares on three quarters of the words and tried on the others.
        """
        states: list[Tensor] = []
        places: list[int] = []
        for each, features in zip(numbers, self.features(numbers), strict=True):
            values = self.transcriber.memory([features]).values[0]
            slots = [int(at / self.transcriber.encoder.slot_seconds) for at in each.middles]
            states += [values[min(slot, len(values) - 1)] for slot in slots]
            places += range(len(slots))
        inputs = torch.nn.functional.pad(torch.stack(states), (0, 1), value=1.0)  # (N, V + 1)
        order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(0))
        fitted, tried = order[: len(order) * 3 // 4], order[len(order) * 3 // 4 :]
        outputs, known = torch.eye(max(places) + 1)[places], inputs[fitted]
        ridge = known.T @ known + RIDGE * torch.eye(known.shape[1])
        weights = torch.linalg.solve(ridge, known.T @ outputs[fitted])
        right = (inputs[tried] @ weights).argmax(1) == torch.tensor(places)[tried]
        return float(100 * right.float().mean())


def draw(free: Rates, given: Rates, path: Path) -> None:
    """Draw the mean error rates of each mechanism by length; the band spans the seeds."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, plots = pyplot.subplots(1, 2, figsize=(10, 4), sharey=True)
    titles = ("word error rate, %", "wrong words, %, given the words before")
    for axes, rates, title in zip(plots, (free, given), titles, strict=True):
        for name, runs in rates.items():
            columns = list(zip(*runs, strict=True))
            axes.plot(LENGTHS, [mean(column) for column in columns], marker="o", label=name)
            axes.fill_between(LENGTHS, [*map(min, columns)], [*map(max, columns)], alpha=0.15)
        axes.axvspan(1, 4, color="0.9", zorder=0)
        axes.set(xscale="log", xticks=LENGTHS, xlabel="digits in a number (grey: in training)")
        axes.set(xticklabels=[*map(str, LENGTHS)], title=title, ylim=(0, 105))
    plots[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
