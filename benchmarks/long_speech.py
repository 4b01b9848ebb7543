"""Recognise numbers that are longer than those of training, by five mechanisms.

    python benchmarks/long_speech.py --data DIR/speech --work WORK

Trains on spoken numbers of one to four digits (see recipes/digits.py), with two seeds, and prints
the word error rate on numbers of 2, 4, 8, 16 and 32 digits from test recordings of the same
speakers, heard as one piece; WORK/long_speech.png shows it. A run that exists is used again.

Claim: with content-based attention errors rise steeply beyond the lengths of training; with
location-aware attention and a window they do not (Chorowski et al. 2015, section 3.2).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

sys.path.insert(0, str(Path(__file__).parents[1] / "recipes"))

import digits

LENGTHS = (2, 4, 8, 16, 32)
NUMBERS = 8  # of each speaker and length
LISTEN = ("-p", "listen-attend-spell-nano")
LISTENER = ("model.hidden=96",)  # settings of the recipe that the Transformer does not have
REPLACED = ("train.steps", "data.augment.join", "data.augment.grow")
MECHANISMS = {
    "content-based": (*LISTEN, "-s", "model.attention.score=additive"),
    "location-aware": (*LISTEN, "-s", "model.attention.score=location_aware"),
    "location-aware, window": (
        *(*LISTEN, "-s", "model.attention.score=location_aware"),
        *("-s", "model.attention.window=median", "-s", "model.attention.window_size=10"),
    ),
    "monotonic": (
        *(*LISTEN, "-s", "model.attention.score=additive"),
        *("-s", "model.attention.normalise=monotonic"),
    ),
    "Transformer": ("-p", "speech-transformer-nano"),
}


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
    rates: dict[str, list[list[float]]] = {}
    print(f"{'mechanism':<24}" + "".join(f"{length:>9}" for length in LENGTHS))
    for name in MECHANISMS:
        for seed in range(1, options.seeds + 1):
            run = options.work / f"{name.replace(', ', '-').replace(' ', '-')}-{seed}"
            settings = settings_of(name, seed, options.steps)
            digits.trained(recordings, options.work, run.name, options.threads, settings)
            rates.setdefault(name, []).append([error_rate(run, *sets[n]) for n in LENGTHS])
        columns = zip(*rates[name], strict=True)
        cells = (
            f"{mean(column):5.1f} ±{(max(column) - min(column)) / 2:.0f}" for column in columns
        )
        print(f"{name:<24}" + "".join(f"{cell:>9}" for cell in cells), flush=True)
    draw(rates, options.work / "long_speech.png")


def test_sets(
    recordings: list[digits.Spoken], work: Path
) -> Iterator[tuple[int, tuple[list[Path], list[str]]]]:
    """Yield each length with files and texts of numbers that are joined from test recordings."""
    test = [each for each in recordings if each.split == "test"]
    for length in LENGTHS:
        files, texts = [], []
        for speaker in sorted({each.speaker for each in test}):
            own = [each for each in test if each.speaker == speaker]
            folder = work / f"long-{length}-{speaker}"
            rows = digits.joined(own, work / "wavs", folder, [length], NUMBERS)
            files += [folder / name for name, _ in rows]
            texts += [text for _, text in rows]
        yield length, (files, texts)


def settings_of(mechanism: str, seed: int, steps: int) -> list[str]:
    """Return the words of `attn train` for a mechanism: the recipe of `digits`, one to four."""
    recipe = [each for each in digits.RECIPE if not each.startswith(REPLACED)]
    kept = [each for each in recipe if mechanism != "Transformer" or each not in LISTENER]
    kept += [
        "data.augment.join=1-4",
        "data.augment.grow=10",
        f"train.steps={steps}",
        f"train.seed={seed}",
    ]
    return [*MECHANISMS[mechanism], *(word for setting in kept for word in ("-s", setting))]


def error_rate(run: Path, files: list[Path], texts: list[str]) -> float:
    """Return the word error rate of a model on recordings that are each heard as one piece."""
    import soundfile
    import torch
    from jiwer import wer

    from models.inference.transcriber import Transcriber
    from models.sound.features import log_mel

    transcriber = Transcriber.read(run, device="cpu")
    audio = transcriber.config.audio
    sounds = [torch.from_numpy(soundfile.read(file, dtype="float32")[0]) for file in files]
    found = transcriber.outputs([log_mel(sound, audio) for sound in sounds])
    return float(100 * wer(texts, [best[0].text for best in found]))


def draw(rates: dict[str, list[list[float]]], path: Path) -> None:
    """Draw the mean error rate of each mechanism by length; the band spans the seeds."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for name, runs in rates.items():
        columns = list(zip(*runs, strict=True))
        axes.plot(LENGTHS, [mean(column) for column in columns], marker="o", label=name)
        axes.fill_between(LENGTHS, [*map(min, columns)], [*map(max, columns)], alpha=0.15)
    axes.axvspan(1, 4, color="0.9", zorder=0)
    axes.set(xscale="log", xticks=LENGTHS, xlabel="digits in a number (grey: in training)")
    axes.set(xticklabels=[*map(str, LENGTHS)], ylabel="word error rate, %", ylim=(0, 105))
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
