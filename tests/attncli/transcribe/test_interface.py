"""A model of speech in Python gives the transcripts and explanations of the commands; mistakes."""

from __future__ import annotations

import io
import json
import pickle
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch

import attncli
from models.explain import METHODS
from models.speech.recordings import SampleArray
from models.storage.installed import BOX, is_bundle
from tests.attncli.command_line import Attn

OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    ((), {}),
    (("--align",), {"times": True}),
    (("--align", "--prefix", "tone"), {"times": True, "prefix": "tone"}),
    (("--look", "0.1-0.4@1"), {"look": "0.1-0.4@1"}),
    (("--look", "0.1-0.4"), {"look": (0.1, 0.4)}),
    (("--look", "0-0.2@1", "--look", "0.3-0.6@2-"), {"look": ["0-0.2@1", "0.3-0.6@2-"]}),
    (("-s", "transcribe.doubtful=true"), {"doubtful": True}),
)


@pytest.fixture
def model(speech_model: Path) -> Any:
    return attncli.load(speech_model)


@pytest.fixture
def names(wavs: Path) -> list[Path]:
    return sorted(wavs.glob("dev*.wav"))[:3]


@pytest.mark.parametrize("number", range(len(OPTIONS)))
def test_alone_and_in_a_list_a_recording_has_the_transcript_of_the_command(
    number: int, model: Any, speech_model: Path, names: list[Path], attn: Attn
) -> None:
    flags, options = OPTIONS[number]
    rows = attn("transcribe", "-m", speech_model, *names, *flags, "--format", "jsonl").out
    expected = [json.loads(row) for row in rows.splitlines()]
    found = model.transcribe(names, **options)
    assert [one.by.record(one) for one in found] == expected
    for path, result in zip(names, found, strict=True):
        alone, more = (
            model.transcribe(path, **options, **extra) for extra in ({}, {"attention": True})
        )
        assert alone.text == result.text == more.text and alone.text
        for one in (alone, more):
            assert [s.start for s in one.segments] == [s.start for s in result.segments]
            assert one.score == pytest.approx(result.score, abs=1e-5)
        assert alone.words == result.words
        assert more.words == alone.words or "times" not in options


def test_a_search_is_that_of_the_command(
    model: Any, speech_model: Path, names: list[Path], attn: Attn
) -> None:
    rows = attn("transcribe", "-m", speech_model, *names, "-s", "search.beam=2").out
    found = model.transcribe(names, search=replace(model.search, beam=2))
    assert [one.text for one in found] == [row.split("\t")[1] for row in rows.splitlines()]


def test_weights_are_those_of_the_command_and_a_picture_needs_no_asking(
    model: Any, speech_model: Path, names: list[Path], tmp_path: Path, attn: Attn
) -> None:
    attn("transcribe", "-m", speech_model, *names, "--picture", tmp_path / "{name}.npz")
    for path, one in zip(names, model.transcribe(names, attention=True), strict=True):
        with np.load(tmp_path / f"{path.stem}.npz") as arrays:
            assert np.array_equal(arrays["weights-1"], one.segments[0].attention.weights.numpy())
            assert [*arrays["words-1"]] == [word.text for word in one.words]
    plain = model.transcribe(names[2])
    assert plain.segments[0].attention is None and plain.picture == one.picture
    assert plain.weighed.words == one.words and plain.text in plain.picture
    assert plain.picture == attn(
        "transcribe", "-m", speech_model, names[2], "--show"
    ).out.removeprefix(f"{plain.text}\n")
    page = plain._repr_html_()
    assert page == one._repr_html_() and "data:audio/wav" in page and "<iframe" in page
    assert pickle.loads(pickle.dumps(plain)) == plain


def test_recordings_of_any_kind_have_the_transcript_of_the_file(
    model: Any, names: list[Path]
) -> None:
    path = names[0]
    expected = model.transcribe(path)
    samples, rate = soundfile.read(path, dtype="float32")
    for given in (str(path), path.read_bytes(), bytearray(path.read_bytes())):
        assert model.transcribe(given).transcript == expected.transcript
    with path.open("rb") as stream:
        assert model.transcribe(stream).transcript == expected.transcript
    arrays = [samples, torch.from_numpy(samples), samples.tolist(), np.stack([samples] * 2, 1)]
    for array in arrays:
        found = model.transcribe(array, rate=rate)
        assert found.transcript == expected.transcript and found.picture == expected.picture
    assert model.transcribe(SampleArray(samples, rate)).text == expected.text
    many = model.transcribe(iter([path, path.read_bytes(), *arrays]), rate=rate)
    assert [one.text for one in many] == [expected.text] * 6
    assert model.transcribe([]) == []


def test_what_the_library_streams_is_still_there(model: Any, names: list[Path]) -> None:
    opened = [(path.name, lambda path=path: path) for path in names]
    found = [one.text for one in model.stream(iter(opened))]
    assert found == [one.text for one in model.transcribe(names)]


def test_mistakes_are_one_line(model: Any, names: list[Path], tmp_path: Path) -> None:
    samples = np.sin(np.arange(8000) / 9)
    (tmp_path / "text.wav").write_text("no recording")
    path = names[0]
    stream = io.BytesIO(path.read_bytes())
    calls: dict[str, Callable[[], Any]] = {
        "recording of type NoneType; expected a path": lambda: model.transcribe(None),
        "recording of type int": lambda: model.transcribe(3, rate=8000),
        "recording of type dict": lambda: model.transcribe([path, {}]),
        "without its rate; expected": lambda: model.transcribe(samples),
        "rate of type str": lambda: model.transcribe(samples, rate="8k"),
        "rate of -5": lambda: model.transcribe(samples, rate=-5),
        "no file none.wav": lambda: model.transcribe([path, "none.wav"]),
        "text.wav cannot be read": lambda: model.transcribe(tmp_path / "text.wav"),
        "language xx": lambda: model.transcribe(path, source="xx"),
        "source of type int": lambda: model.transcribe(path, source=3),
        "prefix of type bytes": lambda: model.transcribe(path, prefix=b"a"),
        "a look at '2-1'": lambda: model.transcribe(path, look=(2, 1)),
        "a look of type int": lambda: model.transcribe(path, look=3),
        "settings of type dict": lambda: model.transcribe(path, search={}),
        "a stream without attention": lambda: model.transcribe(stream).picture,
    }
    for message, call in calls.items():
        with pytest.raises(attncli.ModelError, match=message):
            call()


@pytest.mark.parametrize("method", METHODS)
def test_an_explanation_has_the_numbers_of_the_command_alone_and_in_a_list(
    method: str, model: Any, speech_model: Path, names: list[Path], attn: Attn
) -> None:
    words = ("explain", "-m", speech_model, *names, "--method", method, "--format", "jsonl")
    try:
        found = model.explain(names, method=method)
    except attncli.ModelError as error:
        assert f"attn: {error}\n" in attn(*words, status=1).err and method in str(error)
        return
    expected = [json.loads(row) for row in attn(*words).out.splitlines()]
    samples, rate = soundfile.read(names[0], dtype="float32")
    alone = [model.explain(name, method=method) for name in names]
    for some in (found, alone):
        assert [json.loads(json.dumps(one.by.record(one))) for one in some] == expected
    for given in (names[0].read_bytes(), io.BytesIO(names[0].read_bytes()), str(names[0])):
        assert (
            model.explain(given, method=method)
            .relevances[method]
            .equal(found[0].relevances[method])
        )
    array = model.explain(samples, rate=rate, method=method)
    assert array.relevances[method].equal(found[0].relevances[method])
    assert array.text == found[0].text and [*array.source] == expected[0]["source"]
    assert method in array.picture and "<iframe" in array._repr_html_()


def test_recordings_are_explained_from_wherever_they_are_transcribed(
    speech_model: Path, names: list[Path], tmp_path: Path, attn: Attn
) -> None:
    """From a folder, a pattern, an archive, a list of paths and standard input."""
    folder = tmp_path / "sounds"
    folder.mkdir()
    for name in names:
        (folder / name.name).write_bytes(name.read_bytes())
    with tarfile.open(tmp_path / "sounds.tar", "w") as archive:
        archive.add(folder, "")
    words = ("explain", "-m", speech_model, "--method", "erasure", "--format", "jsonl")

    def explained(*inputs: object, given: str | bytes = "") -> list[dict[str, Any]]:
        return [json.loads(row) for row in attn(*words, *inputs, given=given).out.splitlines()]

    expected = explained(*names)
    assert [row.pop("recording") for row in expected] == [*map(str, names)]
    listed = "".join(f"{name}\n" for name in names)
    places = (folder, folder / "*.wav", tmp_path / "sounds.tar")
    for found in (*map(explained, places), explained(given=listed)):
        shown = [Path(row.pop("recording")).name for row in found]
        assert shown == [name.name for name in names] and found == expected
    [row] = explained("-", given=names[0].read_bytes())
    assert row.pop("recording") == "-" and row == expected[0]


@pytest.mark.skipif(not is_bundle(BOX / "digits"), reason="not in the box")
def test_what_a_model_does_not_transcribe_it_does_not_explain() -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, 16_000)
    model: Any = attncli.load("digits")
    for call in (model.transcribe, model.explain):
        with pytest.raises(attncli.ModelError, match="probably other speech"):
            call(noise, rate=16_000)


def test_what_cannot_be_explained_is_one_line(
    model: Any, names: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "unknown method 'atention'": lambda: model.explain(names[0], method="atention"),
        "a recording of type NoneType": lambda: model.explain(None),
        "without its rate": lambda: model.explain(np.ones(9)),
        "no file none.wav": lambda: model.explain("none.wav"),
        "word 99 of an output": lambda: model.explain(names[0], word=99),
        "of several pieces; expected at most": lambda: model.explain(
            np.sin(np.arange(8000 * 50) / 9), rate=8000
        ),
    }
    for message, call in calls.items():
        with pytest.raises(attncli.ModelError, match=message):
            call()
