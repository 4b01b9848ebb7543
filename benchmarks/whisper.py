"""Compare Whisper in `attn` with faster-whisper: words, times, inventions, time and memory.

    python benchmarks/whisper.py --model NAME --folder FOLDER --python PYTHON --audio DIR --work W

NAME is FOLDER, as `attn models add` installed it; PYTHON has the package faster-whisper. DIR has
recordings with a .txt file of the words beside each; a .lab file (start, end, word in seconds) is
compared with the times. Ten minutes are joined from them, with pauses, music, hum and noise. Prints
for both programs: the word error rate; starts of words within 0.1 and 0.2 s; of the ten minutes the
words of length zero, those longer than 2.5 s, words heard where nobody speaks, and the largest
distance of a first word from the end of its pause; processor time and memory.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soundfile
import soxr
from jiwer import process_words

RATE, LONG, LOUD = 16_000, 600, 0.1  # samples a second; seconds; deviation of the speech
CODE = """
import json, sys
from faster_whisper import WhisperModel
folder, kind, words, vad, *names = sys.argv[1:]
model = WhisperModel(folder, device="cpu", compute_type=kind, cpu_threads=1)
for name in names:
    options = {"hallucination_silence_threshold": 2.0} if words == "1" else {}
    found, _ = model.transcribe(
        name, language="en", word_timestamps=words == "1", vad_filter=vad == "1", **options
    )
    found = list(found)
    print(json.dumps({
        "text": " ".join(each.text.strip() for each in found),
        "words": [(w.word.strip(), w.start, w.end) for each in found for w in each.words or ()],
    }))
"""


class Heard(NamedTuple):
    """What a program heard in some recordings, and what it cost."""

    texts: list[str]
    words: list[list[tuple[str, float, float]]]
    seconds: float  # of processor time
    megabytes: float


def main() -> None:
    """Parse the command line and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("model", "folder", "python", "audio", "work"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--parts", default="words,times,long,cost")
    parser.add_argument("--programs", default="attn,faster-whisper")
    options = parser.parse_args()
    work = Path(options.work)
    work.mkdir(parents=True, exist_ok=True)
    files = sorted(p for p in Path(options.audio).iterdir() if p.with_suffix(".txt").exists())
    files = [p for p in files if p.suffix in (".wav", ".flac", ".mp3", ".ogg")]
    for part in options.parts.split(","):
        for program in options.programs.split(","):
            print(f"{part:<6} {program:<15} {PARTS[part](program, files, work, options)}")
            sys.stdout.flush()


def heard(
    program: str, files: list[Path], options: Any, *, times: bool = False, kind: str = "fp32"
) -> Heard:
    """Return what a program hears in some recordings, on one thread."""
    names = [*map(str, files)]
    theirs = {"fp32": "float32", "int8": "int8"}[kind]
    command = [options.python, "-c", CODE, options.folder, theirs, str(int(times)), "0", *names]
    if program == "attn":
        command = ["attn", "transcribe", "-m", options.model, "--from", "en", "--threads", "1"]
        command += ["-s", f"transcribe.precision={kind}", "--format", "jsonl"]
        command += [*(["--align"] if times else []), *names]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    shell = ["/usr/bin/env", "OMP_NUM_THREADS=1", sys.executable, "-c", PEAK, *command]
    found = subprocess.run(shell, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    peak = float(found.stderr.rsplit("\n", 2)[-2])
    if program == "attn":
        words = [
            [(w["text"], w["start"], w["end"]) for s in row["segments"] for w in s.get("words", ())]
            for row in rows
        ]
        return Heard([row["text"] for row in rows], words, seconds, peak)
    return Heard([row["text"] for row in rows], [row["words"] for row in rows], seconds, peak)


PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, file=sys.stderr)
"""


def plain(text: str) -> str:
    """Return the words of a text in small letters."""
    return " ".join(re.findall(r"[a-z0-9']+", text.lower().replace("-", " ")))


def words(program: str, files: list[Path], work: Path, options: Any) -> str:
    """Return the word error rate."""
    texts = [plain(each.with_suffix(".txt").read_text("utf-8")) for each in files]
    found = process_words(texts, [plain(text) for text in heard(program, files, options).texts])
    edits = found.substitutions + found.deletions + found.insertions
    return f"{100 * found.wer:.1f} % ({edits} of {sum(len(t.split()) for t in texts)} words)"


def times(program: str, files: list[Path], work: Path, options: Any) -> str:
    """Return the share of words whose starts are near those of the .lab files."""
    files = [each for each in files if each.with_suffix(".lab").exists()]
    distances = []
    for file, found in zip(files, heard(program, files, options, times=True).words, strict=True):
        rows = (line.split() for line in file.with_suffix(".lab").read_text().splitlines())
        right = [(row[2], float(row[0])) for row in rows if row[2] not in ("<s>", "</s>", "<sil>")]
        left = [
            (word, start if not number and text[:1] != "-" else np.nan)  # of ill-disposed
            for text, start, _ in found
            for number, word in enumerate(plain(text).split())
        ]
        known, said = (" ".join(word for word, _ in side) or "-" for side in (right, left))
        chunks = process_words(known, said).alignments[0]
        for chunk in chunks:
            if chunk.type == "equal":
                pairs = zip(
                    range(chunk.ref_start_idx, chunk.ref_end_idx),
                    range(chunk.hyp_start_idx, chunk.hyp_end_idx),
                    strict=True,
                )
                distances += [abs(right[a][1] - left[b][1]) for a, b in pairs]
    distances = [each for each in distances if each == each]
    near = [100 * float(np.mean(np.array(distances) <= most)) for most in (0.1, 0.2)]
    return f"{near[0]:.0f} % within 0.1 s, {near[1]:.0f} % within 0.2 s, of {len(distances)} words"


def joined(files: list[Path], rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """Yield parts of ten minutes: speech, and between them silence, noise, hum or music."""
    kinds, total = ("silence", "noise", "hum", "music"), 0.0
    for number in range(10_000):
        sound, rate = soundfile.read(files[number % len(files)], dtype="float32", always_2d=True)
        sound = soxr.resample(sound.mean(1), rate, RATE)
        sound *= LOUD / max(float(sound.std()), 1e-6)
        pause = rng.choice([0.4, 0.8, 3.0, 8.0, 16.0, 35.0], p=[0.35, 0.2, 0.15, 0.15, 0.1, 0.05])
        kind = kinds[rng.integers(4)] if pause > 2 else "silence"
        for part in (("speech", sound), (kind, background(kind, float(pause), rng))):
            yield part
            total += len(part[1]) / RATE
        if total > LONG:
            return


def background(kind: str, seconds: float, rng: np.random.Generator) -> np.ndarray:
    """Return what is heard in a pause."""
    time = np.arange(int(seconds * RATE)) / RATE
    if kind == "noise":
        return (0.01 * rng.standard_normal(len(time))).astype("f4")
    if kind == "hum":
        tones = [np.sin(2 * np.pi * 50 * n * time) / n for n in (1, 2, 3)]
        return (0.02 * np.sum(tones, axis=0)).astype("f4")
    if kind == "music":
        found = np.zeros(len(time))
        for start in np.arange(0, seconds, 0.4):
            note = 220 * 2 ** (rng.choice([0, 3, 5, 7, 10, 12]) / 12)
            after = np.clip(time - start, 0, None)
            tone = sum(np.sin(2 * np.pi * note * n * after) / n**2 for n in (1, 2, 3))
            found += 0.05 * tone * np.exp(-4 * after) * (time >= start)
        return found.astype("f4")
    return np.zeros(len(time), "f4")


def ten_minutes(files: list[Path], work: Path) -> tuple[Path, list[tuple[str, float, float]]]:
    """Write ten minutes; return their file and kind, start and end of each part."""
    parts, spans, place = [], [], 0.0
    for kind, sound in joined(files, np.random.default_rng(1)):
        parts.append(sound)
        start, end = place, place + len(sound) / RATE
        if kind == "speech":  # without the silence at its ends
            loud = np.flatnonzero(np.abs(sound) > 0.1 * np.abs(sound).max())
            start, end = place + loud[0] / RATE, place + loud[-1] / RATE
        spans.append((kind, start, end))
        place += len(sound) / RATE
    soundfile.write(work / "long.wav", np.concatenate(parts), RATE, subtype="PCM_16")
    return work / "long.wav", spans


def long(program: str, files: list[Path], work: Path, options: Any) -> str:
    """Return the faults in the times of ten minutes."""
    file, spans = ten_minutes(files, work)
    found = heard(program, [file], options, times=True).words[0]
    (work / f"{program}.json").write_text(json.dumps({"spans": spans, "words": found}))
    lengths = [end - start for _, start, end in found]
    quiet = [
        sum(a + 0.5 < (start + end) / 2 < b - 0.5 for _, start, end in found)
        for kind, a, b in spans
        if kind != "speech" and b - a > 2
    ]
    first = []
    for (_, a, b), (_, start, _) in zip(spans[1::2], spans[2::2], strict=False):
        near = [abs(s - start) for _, s, e in found if e > b - 0.5 and s < start + 3]
        if b - a > 2 and near:
            words = [s for _, s, e in found if (s + e) / 2 > start - 0.2 or e > start]
            first.append(abs(words[0] - start) if words else 99.0)
    zero, over = sum(n < 0.005 for n in lengths), sum(n > 2.5 for n in lengths)
    return (
        f"{len(found)} words, {zero} of length zero, {over} over 2.5 s, {sum(quiet)} in pauses, "
        f"first words off by {np.median(first):.2f} s (median), {max(first):.2f} s (largest)"
    )


def cost(program: str, files: list[Path], work: Path, options: Any) -> str:
    """Return processor time and memory of ten minutes, and of one recording."""
    file, _ = ten_minutes(files, work)
    cells = []
    for name, given, kind, timed in (
        ("text", [file], "fp32", False),
        ("word times", [file], "fp32", True),
        ("int8 text", [file], "int8", False),
        ("one recording", files[:1], "fp32", False),
    ):
        found = heard(program, given, options, kind=kind, times=timed)
        cells.append(f"{name} {found.seconds:.1f} s {found.megabytes:.0f} MB")
    return "; ".join(cells)


PARTS = {"words": words, "times": times, "long": long, "cost": cost}

if __name__ == "__main__":
    main()
