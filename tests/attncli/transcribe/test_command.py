"""`attn transcribe`: the same text alone, in a batch, from a pipe, and from Python; pictures."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch

import attncli
from models import load
from models.speech.recordings import SampleArray, read_sound
from models.speech.transcriber import MOSTLY, Transcriber, surprise, word_spans
from tests.attncli.command_line import Attn

TASK = ("transcribe", "-m")


def test_standard_input_and_samples_have_the_text_of_the_file(
    speech_model: Path, wavs: Path, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, model = wavs / "dev0.wav", load(speech_model, "transcribe")
    text = attn(*TASK, speech_model, path).out
    with path.open("rb") as stream:
        monkeypatch.setattr("sys.stdin", type("Stream", (), {"buffer": stream}))
        assert attn(*TASK, speech_model, "-").out == text
    samples, rate = soundfile.read(path, dtype="float32")
    assert model.transcribe(samples, rate=rate).text + "\n" == text


def test_a_bad_file_costs_one_line_and_the_others_go_on(
    speech_model: Path, wavs: Path, tmp_path: Path, attn: Attn
) -> None:
    good, bad = str(wavs / "dev0.wav"), tmp_path / "bad.wav"
    bad.write_bytes(b"no recording at all")
    soundfile.write(tmp_path / "quiet.wav", np.zeros(8000), 8000)
    names = [str(bad), good, str(tmp_path / "none.wav"), str(tmp_path / "quiet.wav"), good]
    loud = soundfile.read(good, dtype="float32")[0] * 1e20
    soundfile.write(tmp_path / "loud.wav", loud, 8000, subtype="FLOAT")
    (tmp_path / "half.wav").write_bytes(Path(good).read_bytes()[:4000])
    names += [str(tmp_path / "loud.wav"), str(tmp_path / "half.wav")]
    out, err = attn(*TASK, speech_model, *names, status=1)
    texts = [line.split("\t")[1] for line in out.splitlines()]
    expected = [False, True, False, False, True, False, True]
    assert [bool(text) for text in texts] == expected
    assert texts[1] == texts[4]
    faults = err.splitlines()
    assert len(faults) == 5 and all(line.startswith("attn: ") for line in faults)
    assert "bad.wav cannot be read" in faults[0] and "quiet.wav is silent" in faults[2]
    assert "loud.wav has samples of" in faults[3] and "its header promises" in faults[4]


def test_equal_texts_of_different_recordings_are_reported(
    speech_model: Path, wavs: Path, tmp_path: Path, attn: Attn
) -> None:
    for number in range(10):
        (tmp_path / f"{number}.wav").write_bytes((wavs / "dev0.wav").read_bytes())
    assert "10 of 10 recordings have the same transcript" in attn(*TASK, speech_model, tmp_path).err


def test_formats_have_the_words_with_their_times(
    speech_model: Path, wavs: Path, attn: Attn
) -> None:
    def written(*options: str) -> str:
        return str(attn(*TASK, speech_model, *options).out)

    path = str(wavs / "dev0.wav")
    seconds = len(read_sound(Path(path), 8000)) / 8000
    words = written(path).split()
    ctm = [line.split() for line in written(path, "--format", "ctm").splitlines()]
    assert [row[4] for row in ctm] == words
    starts, ends = zip(*((float(r[2]), float(r[2]) + float(r[3])) for r in ctm), strict=True)
    assert list(starts) == sorted(starts) and max(ends) <= seconds + 0.01
    text, times = written(path, "--align").rstrip("\n").split("\t")
    assert text.split() == words and len(times.split()) == len(words)
    record = json.loads(written(path, "--format", "jsonl", "--align"))
    assert [word["text"] for word in record["segments"][0]["words"]] == words
    srt, vtt = written(path, "--format", "srt"), written(path, "--format", "vtt")
    assert re.fullmatch(r"1\n00:00:0\d,\d{3} --> 00:00:0\d,\d{3}\n[^\n]+\n\n", srt, re.DOTALL)
    assert vtt.startswith("WEBVTT\n\n00:00:0")
    asked = written(path, "--format", "jsonl")
    assert json.loads(asked)["text"] == record["text"]  # asking for more changes nothing


def test_a_long_recording_is_the_sum_of_its_pieces(
    speech_model: Path, wavs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.speech.transcriber.PIECE", 1.0)
    monkeypatch.setattr("models.speech.transcriber.BATCH_PIECES", 2)
    transcriber = Transcriber.read(speech_model)
    sound = np.concatenate([read_sound(wavs / f"dev{n}.wav", 8000) for n in range(3)])
    found = transcriber.transcribe(SampleArray(sound, 8000), times=True)
    assert len(found.segments) > 2 and found.seconds == pytest.approx(len(sound) / 8000)
    assert found.text == " ".join(each.text for each in found.segments if each.text)
    best = [each.hypotheses[0] for each in found.segments]
    tokens = sum(len(one.ids) + 1 for one in best)
    assert found.score == pytest.approx(sum(one.log_prob for one in best) / tokens)
    for one, other in zip(found.segments, found.segments[1:], strict=False):
        assert one.end == pytest.approx(other.start)
        assert all(one.start <= word.start <= word.end <= one.end for word in one.words)


def test_a_transcript_has_the_length_of_its_recording_and_a_score(
    speech_model: Path, wavs: Path
) -> None:
    sound = np.pad(read_sound(wavs / "dev0.wav", 8000), (0, 8000 * 30))
    found = Transcriber.read(speech_model).transcribe(sound, rate=8000)
    assert found.seconds == pytest.approx(len(sound) / 8000)
    best = [each.hypotheses[0] for each in found.segments]
    tokens = sum(len(one.ids) + 1 for one in best)
    assert found.score == pytest.approx(sum(one.log_prob for one in best) / tokens)


def test_what_cannot_be_transcribed_is_one_line(speech_model: Path, wavs: Path) -> None:
    transcriber, path = Transcriber.read(speech_model), wavs / "dev0.wav"
    transcriber.spoken = ("en",)
    assert transcriber.languages("en-GB", "en") is transcriber
    with torch.no_grad():
        transcriber.model.output.bias.fill_(torch.nan)
    calls: dict[str, Callable[[], Any]] = {
        "know the language de; expected en or no": lambda: transcriber.languages("de"),
        "a list of recordings .2. in place of one": lambda: transcriber.transcribe([path, path]),
        "without its rate": lambda: transcriber.transcribe(np.ones(9)),
        "rate of -5": lambda: transcriber.transcribe(np.ones(9), rate=-5),
        "not finite": lambda: transcriber.transcribe(path),
        "precision=int8": lambda: Transcriber.read(speech_model, precision="int8"),
    }
    for message, call in calls.items():
        with pytest.raises(attncli.ModelError, match=message):
            call()


def test_a_model_of_few_words_leaves_out_what_is_none_of_them(speech_model: Path) -> None:
    transcriber, sound = Transcriber.read(speech_model), torch.randn(8000 * 90)
    transcriber.search = replace(transcriber.search, split_above=60)
    every = transcriber.transcribe(sound, rate=8000)
    levels = sorted(surprise(each.hypotheses[0]) for each in every.segments)
    transcriber.knows = "tones"
    for known in range(len(levels)):
        transcriber.surprise = levels[known]
        if known + 1 < MOSTLY * len(levels):
            with pytest.raises(attncli.ModelError, match="noise or music.*expected tones"):
                transcriber.transcribe(sound, rate=8000)
            continue
        found = transcriber.transcribe(sound, rate=8000)
        assert {*found.segments} <= {*every.segments} and found.left_out == len(levels) - known - 1
    assert found == every
    transcriber.surprise, transcriber.doubtful = levels[0] / 2, True
    assert transcriber.transcribe(sound, rate=8000) == every


def test_the_model_in_the_box_writes_no_digits_for_noise(attn: Attn, tmp_path: Path) -> None:
    noise = np.random.default_rng(4).standard_normal(8000 * 3) / 10
    soundfile.write(tmp_path / "noise.wav", noise, 8000)
    out, err = attn("transcribe", tmp_path / "noise.wav", status=1)
    assert not out and err.count("\n") == 1 and "attn models add openai/whisper" in err
    doubtful = ("-s", "transcribe.doubtful=true")
    assert attn("transcribe", tmp_path / "noise.wav", *doubtful).out.strip()


def test_pieces_are_no_longer_than_the_sounds_of_the_training(speech_model: Path) -> None:
    transcriber = Transcriber.read(speech_model)
    slot = transcriber.encoder.slot_seconds
    for given, seconds in ((0, 20.0), (50, 50 * slot), (10_000, 20.0)):
        other = transcriber.with_search(replace(transcriber.search, split_above=given))
        assert other.longest_piece == pytest.approx(seconds)
        pieces = list(other.pieces(SampleArray(torch.randn(8000 * 45), 8000)))
        lengths = [len(piece.samples) / 8000 for piece in pieces]
        assert sum(lengths) == pytest.approx(45) and max(lengths) <= seconds + 1e-3


def test_attention_of_a_segment_belongs_to_its_tokens(speech_model: Path, wavs: Path) -> None:
    transcriber = Transcriber.read(speech_model)
    [segment] = transcriber.transcribe(wavs / "dev0.wav", attention=True).segments
    attention = segment.attention
    assert attention is not None and attention.tokens == segment.hypotheses[0].tokens
    tokens, slots = attention.weights.shape
    assert tokens == len(attention.tokens)
    assert torch.allclose(attention.weights.sum(1), torch.ones(tokens), atol=1e-4)
    seconds = segment.end - segment.start
    assert seconds <= slots * attention.slot_seconds + 0.02
    assert len(attention.spectrogram) * attention.frame_seconds == pytest.approx(seconds, abs=0.02)


def test_spans_of_words_are_in_order_and_do_not_overlap() -> None:
    weights = torch.tensor([[0.1, 0.8, 0.1, 0, 0], [0, 0.5, 0.5, 0, 0], [0, 0, 0, 0.1, 0.9]])
    spans = word_spans(weights, [(0, 1), (1, 2), (2, 3)], 0.1, 0.45)
    assert spans[0][0] == pytest.approx(0.1) and spans[2] == pytest.approx((0.4, 0.45))
    assert all(one[1] <= other[0] for one, other in zip(spans, spans[1:], strict=False))


def test_scores_are_those_of_jiwer(
    speech_model: Path, wavs: Path, tmp_path: Path, attn: Attn
) -> None:
    jiwer = pytest.importorskip("jiwer")
    save = tmp_path / "found.txt"
    options = ("--audio", wavs, "--save", save, "--json")
    out = attn("evaluate", "transcripts", wavs / "dev.tsv", "-m", speech_model, *options).out
    references = [line.split("\t")[1] for line in (wavs / "dev.tsv").read_text().splitlines()]
    found = save.read_text().splitlines()
    [system] = json.loads(out)["systems"]
    assert len(found) == len(references)
    scores = {name: score["score"] for name, score in system["scores"].items()}
    assert scores["WER"] == pytest.approx(100 * jiwer.wer(references, found))
    assert scores["CER"] == pytest.approx(100 * jiwer.cer(references, found))


def test_an_explanation_has_the_attention_of_the_words_over_slots(
    speech_model: Path, wavs: Path, attn: Attn
) -> None:
    path = wavs / "dev0.wav"
    words = ["explain", "-m", str(speech_model), str(path), "--format", "jsonl"]
    found = json.loads(attn(*words).out)
    [segment] = Transcriber.read(speech_model).transcribe(path, attention=True).segments
    assert segment.attention is not None
    assert found["target"] == [word.text for word in segment.words]
    weights = segment.attention.weights
    assert len(found["source"]) == weights.shape[1]
    if len(found["target"]) == len(weights):  # each word is a token
        rows = torch.tensor(found["methods"]["attention"]["relevances"])
        assert torch.allclose(rows, weights, atol=2e-4)
    gaps = found["methods"]["integrated"]["gaps"]
    assert max(gaps) < 0.02  # relevances sum to f(x) - f(b)


def test_pictures_have_the_words_with_their_times_and_the_sound(
    speech_model: Path, wavs: Path, tmp_path: Path, attn: Attn
) -> None:
    names, page = [wavs / "dev0.wav", wavs / "dev1.wav"], tmp_path / "a.html"
    out, err = attn(*TASK, speech_model, names[0], "--picture", page)
    found = load(speech_model, "transcribe").transcribe(names[0], times=True)
    starts = re.findall(r'data-start="([\d.]+)"', page.read_text())
    assert not err and out.strip() == found.text
    assert starts == [f"{word.start:.3f}" for word in found.words] and starts
    assert "data:audio/wav;base64," in page.read_text()
    shown = attn(*TASK, speech_model, names[0], "--show", "--picture", tmp_path / "a.svg").out
    assert shown.startswith(out) and "█" in shown
    assert (tmp_path / "a.svg").read_text().lstrip().startswith("<?xml")
    task = (*TASK, speech_model, *names, "--picture")
    assert "{name}" in attn(*task, tmp_path / "x.npz", status=2).err
    attn(*task, tmp_path / "{name}.npz")
    for name in names:
        with np.load(tmp_path / f"{name.stem}.npz") as arrays:
            np.testing.assert_allclose(arrays["weights-1"].sum(1), 1, atol=1e-4)
            assert len(arrays["tokens-1"]) == len(arrays["weights-1"])
