"""Train and score `digits`, the model of spoken numbers in the box.

    python recipes/digits.py train --data DIR/speech --work WORK
    python recipes/digits.py folds --data DIR/speech --work WORK
    python recipes/digits.py score --data DIR/speech --work WORK [-m MODEL]

DIR/speech holds `fsdd.tsv` (file, word, speaker, train or test) and `fsdd.tar.xz` (Free Spoken
Digit Dataset, CC BY-SA 4.0). `train` runs `attn train` on the training recordings of all speakers
and packs WORK/digits. `folds` trains a model without each speaker and scores it on that speaker.
`score` prints the word error rate on numbers of one to six digits, which are joined from test
recordings of one speaker with pauses and noise.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import numpy as np
import soundfile

RATE = 8000
PAUSE = (0.05, 0.4)  # seconds before, between and after the words
NOISE = (20.0, 40.0)  # dB below the sound
NUMBERS, SEED = 100, 3  # joined recordings of each speaker, for a score
RECIPE = (
    *("data.augment.join=1-6", "data.augment.grow=40", "data.augment.pause=10-400"),
    "data.augment.noise=5-60",
    *("data.augment.speed=0.15", "data.augment.tempo=0.35", "data.augment.warp=0.2"),
    *("data.augment.mask_bands=8", "data.augment.mask_frames=12"),
    *("model.audio.center=true"),
    *("model.hidden=96", "model.dropout=0.2", "tokenizer.kind=word"),
    *("train.steps=2000", "train.schedule=linear", "train.epochs=0", "train.patience=0"),
    *("train.evaluate_every=250",),
)
SETTINGS = (
    *("-p", "listen-attend-spell-nano"),
    *(word for setting in RECIPE for word in ("-s", setting)),
)


class Spoken(NamedTuple):
    """A recorded word."""

    file: str
    word: str
    speaker: str
    split: str  # train or test


class Joined(NamedTuple):
    """A file of several words."""

    file: str
    text: str
    middles: list[float]  # seconds of the middle of each word


def main() -> None:
    """Parse the command line and run one part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=["train", "folds", "score"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("-m", "--model", default="digits")
    parser.add_argument("--threads", default="1")
    options = parser.parse_args()
    recordings = unpacked(options.data, options.work)
    speakers = sorted({each.speaker for each in recordings})
    if options.part == "train":
        trained(recordings, options.work, "all", options.threads)
        attn("models", "pack", f"{options.work}/all", f"{options.work}/digits")
    elif options.part == "folds":
        rates = []
        for speaker in speakers:
            others = [each for each in recordings if each.speaker != speaker]
            run = trained(others, options.work, f"without-{speaker}", options.threads)
            own = [each for each in recordings if each.speaker == speaker]
            rates.append(scored(own, options.work, run, speaker))
        print(f"mean of speakers left out: WER {mean(rates):.2f} %")
    else:
        test = [each for each in recordings if each.split == "test"]
        rates = [
            scored([r for r in test if r.speaker == s], options.work, options.model, s)
            for s in speakers
        ]
        print(f"mean of speakers: WER {mean(rates):.2f} %")


def unpacked(data: Path, work: Path) -> list[Spoken]:
    """Unpack the recordings to WORK/wavs, a folder for each speaker; return their table."""
    with (data / "fsdd.tsv").open(encoding="utf-8", newline="") as table:
        found = [Spoken(*row) for row in csv.reader(table, delimiter="\t")]
    folders = {each.file: work / "wavs" / each.speaker for each in found}
    if not all((folder / name).exists() for name, folder in folders.items()):
        with tarfile.open(data / "fsdd.tar.xz") as archive:
            for member in archive:
                name = Path(member.name).name
                if name in folders and (content := archive.extractfile(member)):
                    folders[name].mkdir(parents=True, exist_ok=True)
                    (folders[name] / name).write_bytes(content.read())
    return found


def trained(
    recordings: list[Spoken],
    work: Path,
    name: str,
    threads: str,
    settings: Sequence[str] = SETTINGS,
) -> str:
    """Train on the training recordings, or go on with a run that was ended; return its folder."""
    for split in ("train", "test"):
        rows = [f"{r.speaker}/{r.file}\t{r.word}\n" for r in recordings if r.split == split]
        (work / f"{name}.{split}.tsv").write_text("".join(rows), "utf-8")
    run = f"{work}/{name}"
    if Path(run).exists():
        attn("train", run)
        return run
    files = ["--audio", f"{work}/wavs", "--transcripts", f"{run}.train.tsv"]
    files += ["-s", f"data.dev_transcripts={run}.test.tsv"]
    attn("train", *files, "-o", run, "--threads", threads, *settings)
    return run


def scored(recordings: list[Spoken], work: Path, model: str, speaker: str) -> float:
    """Print and return the word error rate of a model on joined recordings of a speaker."""
    folder = work / f"numbers-{speaker}-{len(recordings)}"
    rows = joined(recordings, work / "wavs", folder, [1, 2, 3, 4, 5, 6], NUMBERS)
    found = attn("transcribe", "-m", model, *(f"{folder}/{row.file}" for row in rows))
    texts = [line.partition("\t")[2] for line in found.splitlines()]
    from jiwer import wer

    rate = 100 * wer([row.text for row in rows], texts)
    print(f"{speaker:<10} WER {rate:.2f} % of {len(rows)} numbers", flush=True)
    return rate


def joined(
    recordings: list[Spoken], wavs: Path, folder: Path, lengths: list[int], count: int
) -> list[Joined]:
    """Write recordings of several words of one speaker."""
    random, rows = np.random.default_rng(SEED), []
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        words = random.choice(len(recordings), lengths[number % len(lengths)])
        chosen = [recordings[index] for index in words.tolist()]
        pauses = [np.zeros(int(RATE * each)) for each in random.uniform(*PAUSE, len(chosen) + 1)]
        parts, middles = [pauses[0]], []
        for each, pause in zip(chosen, pauses[1:], strict=True):
            word = soundfile.read(wavs / each.speaker / each.file)[0]
            middles.append((sum(map(len, parts)) + len(word) / 2) / RATE)
            parts += [word, pause]
        sound = np.concatenate(parts)
        level = sound.std() * 10 ** (-random.uniform(*NOISE) / 20)
        sound = sound + random.standard_normal(len(sound)) * level
        text = " ".join(each.word for each in chosen)
        rows.append(Joined(f"{number:03}.wav", text, middles))
        soundfile.write(folder / rows[-1].file, sound.clip(-1, 1), RATE, subtype="PCM_16")
    lines = "".join(f"{row.file}\t{row.text}\n" for row in rows)
    (folder / "texts.tsv").write_text(lines, "utf-8")
    return rows


def attn(*words: str) -> str:
    """Run an attn command and return its output; exit if it fails."""
    command = [sys.executable, "-m", "attncli", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
