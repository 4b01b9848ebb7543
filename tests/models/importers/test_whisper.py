"""Whisper: an imported model is the one that `transformers` runs, for windows and recordings."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

import attncli
from models.core.errors import ModelError
from models.core.use_config import SearchConfig
from models.importers.base import import_model, importer_of
from models.networks.bundle import Bundle, read
from models.networks.decoder import Wanted
from models.speech._whisper import Stream
from models.speech._whisper import WhisperTranscriber as Transcriber
from models.speech._whisper_engine import CTranslate2Whisper, WhisperTokens, window_features
from models.speech._whisper_torch import TorchWhisper
from models.speech.config import AudioConfig
from models.speech.recordings import SampleArray
from models.text.tokenizer import END
from tests.models.importers import published

RATE = 16_000
GREEDY = SearchConfig(method="greedy")


class Both(NamedTuple):
    """A published model and its bundle."""

    theirs: Any
    bundle: Bundle
    rows: tuple[int, ...]
    silent: frozenset[int]
    engine: TorchWhisper
    fast: CTranslate2Whisper
    folder: Path

    @property
    def tokens(self) -> WhisperTokens:
        """The special tokens."""
        return self.engine.tokens

    def theirs_of(self, ids: Any) -> list[int]:
        """Return published ids of ours."""
        return [self.rows[number] for number in ids]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder, out = (tmp_path_factory.mktemp(name) for name in ("hub", "bundle"))
    theirs = published.whisper(folder)
    import_model(folder, out, name="tiny")
    vocabulary, bundle = importer_of(folder).imported.target, read(out)
    tokens = WhisperTokens(bundle.tokenizer, bundle.tokenizer_config)
    suppressed = map(vocabulary.rows.index, theirs.generation_config.suppress_tokens)
    return Both(
        theirs,
        bundle,
        vocabulary.rows,
        frozenset({*vocabulary.silent, *suppressed}),
        TorchWhisper(bundle.model, tokens, torch.device("cpu")),
        CTranslate2Whisper(out, tokens, bundle.model.config, threads=1),
        out,
    )


LENGTHS = (12, 4, 8, 12, 3, 11)  # quarters of a second


def sounds(lengths: tuple[int, ...] = LENGTHS) -> Iterator[Any]:
    """Yield recordings of noise of several lengths up to a window."""
    generator = torch.Generator().manual_seed(1)
    for number, quarters in enumerate(lengths):
        samples = torch.randn(quarters * RATE // 4, generator=generator)
        yield (samples * torch.linspace(0.1, 1, len(samples)) * 0.1 * (number + 1)).numpy()


def extracted(samples: Any) -> torch.Tensor:
    """Return the features (1, bands, F) that the publisher's program computes."""
    extractor = published.transformers.WhisperFeatureExtractor(chunk_length=published.SECONDS)
    found = extractor(samples, sampling_rate=RATE, return_tensors="pt")
    return torch.as_tensor(found.input_features)


@torch.no_grad()
def test_features_logits_and_attention_are_those_of_its_model(both: Both) -> None:
    real = [number for number in range(len(both.rows)) if number not in both.silent]
    ids = [*both.tokens.prompt("de"), *range(40, 50)]
    for samples in sounds():
        features = extracted(samples)
        found = torch.tensor(window_features(samples, both.bundle.model.config.audio)).mT
        torch.testing.assert_close(found, features[0], atol=1e-5, rtol=0)
        theirs = both.theirs(
            input_features=features,
            decoder_input_ids=torch.tensor([both.theirs_of(ids)]),
            output_attentions=True,
        )
        prepared, state = both.bundle.model.start(both.engine.encode(samples))
        ours = both.bundle.model.decoder.advance(
            torch.tensor([ids]), state, prepared, Wanted(heads=[0, 1])
        )
        logits = both.bundle.model.output(ours.features)[..., real]
        expected = theirs.logits[..., both.theirs_of(real)]
        torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)
        attention = torch.stack(theirs.cross_attentions, 1)
        torch.testing.assert_close(ours.heads, attention, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("task", ["transcribe", "translate"])
@pytest.mark.parametrize("timed", [False, True])
def test_greedy_tokens_are_those_of_generate(both: Both, timed: bool, task: str) -> None:
    seen = set()
    for samples in sounds():
        features = extracted(samples)
        options = {"language": "de", "task": task, "return_timestamps": timed}
        [expected] = both.theirs.generate(features, **options).tolist()
        to = "en" if task == "translate" else ""
        prompt = both.tokens.prompt("de", to=to, timed=timed)
        whole = [number for number in expected if number != both.rows[END]]
        for engine in (both.engine, both.fast):
            output = engine.decode(engine.encode(samples), prompt, GREEDY, "")
            found = both.theirs_of(output.ids)
            assert found == (whole[: len(found)] if timed else whole)  # it goes on behind a time
        seen.add(tuple(found))
    assert task == "translate" or (len(seen) > 1 and max(map(len, seen)) > 3)


def test_the_language_is_the_most_probable_first_token(both: Both) -> None:
    for samples in sounds():
        [expected] = both.theirs.detect_language(extracted(samples)).tolist()
        for engine in (both.engine, both.fast):
            code = engine.language(engine.encode(samples))
            assert both.rows[both.tokens.languages[both.tokens.codes.index(code)]] == expected


def test_a_long_recording_is_read_as_generate_reads_it(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The samples are their numbers, by which the features of a window are found."""
    generator = torch.Generator().manual_seed(3)
    whole = torch.randn(80, 1150, generator=generator) / 4
    whole += torch.randn(80, 12, generator=generator).repeat_interleave(96, 1)[:, :1150]

    def features(samples: Any, config: AudioConfig) -> Any:
        first = int(samples[0]) // 160
        part = whole[:, first : first + len(samples) // 160].numpy()
        return np.pad(part, [(0, 0), (0, published.SECONDS * 100 - part.shape[1])]).T

    monkeypatch.setattr("models.speech._whisper_torch.window_features", features)
    monkeypatch.setattr("models.speech._whisper.TEMPERATURES", (0.0,))
    result = both.theirs.generate(
        whole[None],
        attention_mask=torch.ones(1, 1150, dtype=torch.long),
        language="en",
        task="transcribe",
        return_timestamps=True,
        condition_on_prev_tokens=True,
        return_segments=True,
    )
    [expected] = result["segments"]
    model = Transcriber.read(both.folder).languages("en").with_search(GREEDY)
    model.engine = both.engine
    found = [*model.segments(Stream(iter(np.arange(1150 * 160, dtype=np.float32).reshape(4, -1))))]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.start == pytest.approx(float(theirs["start"]), abs=1e-3)
        assert ours.end == pytest.approx(float(theirs["end"]), abs=1e-3)
        first = both.rows[both.tokens.times]
        text = [number for number in theirs["tokens"].tolist() if number < first]
        assert both.theirs_of(ours.hypotheses[0].ids) == text
    assert len(found) > 4


def test_ctranslate2_is_as_torch(both: Both) -> None:
    engines: tuple[Any, ...] = (both.engine, both.fast)
    prompt, text = both.tokens.prompt("en", before=(20, 21, 22, 23)), [*range(30, 42)]
    for samples in sounds():
        pairs = [(engine, engine.encode(samples)) for engine in engines]
        ours, theirs = (engine.decode(memory, prompt, GREEDY, "") for engine, memory in pairs)
        assert theirs.ids == ours.ids
        assert theirs.log_prob == pytest.approx(ours.log_prob, rel=1e-2)
        assert theirs.no_speech == pytest.approx(ours.no_speech, abs=1e-5)
        short = both.tokens.prompt("en")
        ours, theirs = (engine.align(memory, short, text, 150) for engine, memory in pairs)
        assert sum(a != b for a, b in zip(theirs[0], ours[0], strict=True)) <= 4
        assert theirs[1] == pytest.approx(ours[1], abs=1e-4)
        assert theirs[0] == sorted(theirs[0]) and len({*theirs[0]}) > 3


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
@pytest.mark.parametrize("quarters", [7, 38])
def test_a_transcript_is_that_of_its_windows(
    both: Both, monkeypatch: pytest.MonkeyPatch, quarters: int, engine: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(both.folder))
    if engine == "torch":
        monkeypatch.setitem(sys.modules, "ctranslate2", None)
        with pytest.raises(ModelError, match="int8 with no usable library"):
            Transcriber.read(both.folder, precision="int8")
    model = Transcriber.read(both.folder)
    assert isinstance(model.engine, TorchWhisper) is (engine == "torch")
    generator = torch.Generator().manual_seed(quarters)
    samples = SampleArray(torch.randn(quarters * RATE // 4, generator=generator) / 4, RATE)
    plain = model.transcribe(samples)
    timed = model.transcribe(samples, times=True)
    found = model.transcribe(samples, attention=True)
    assert plain.text == timed.text == found.text and found.text
    assert found.words == timed.words
    for segment in found.segments:
        assert " ".join(word.text for word in segment.words).split() == segment.text.split()
        ends = [time for word in segment.words for time in (word.start, word.end)]
        assert ends == sorted(ends) and all(segment.start <= t <= segment.end for t in ends)
        shown = segment.attention
        assert shown is not None and shown.slot_seconds == 0.02
        assert len(shown.weights) == len(shown.tokens) == len(segment.hypotheses[0].ids)
        assert len(shown.spectrogram) == 2 * shown.weights.shape[1]
    starts = [segment.start for segment in found.segments]
    assert starts == sorted(starts) and found.seconds <= quarters / 4 + 1e-6
    german = model.languages("de", "en").transcribe(samples)
    assert german.text != plain.text or engine == "torch"
    door: Any = attncli.load(both.folder)
    assert door.transcribe(samples).transcript == plain
    assert door.transcribe(samples, times=True).words == timed.words
    assert door.transcribe(samples).picture == door.transcribe(samples, attention=True).picture
    assert door.transcribe(samples, source="de", to="en").text == german.text
    assert door.languages("de", "en").transcribe(samples).text == german.text
    with pytest.raises(ModelError, match="the recording for Whisper; expected a model of speech"):
        door.explain(samples)


@pytest.mark.parametrize(
    ("languages", "message"), [(("xx",), "xx"), (("en", "de"), "English alone"), (("en", "y"), "y")]
)
def test_a_language_that_is_not_known_is_refused(
    both: Both, languages: tuple[str, ...], message: str
) -> None:
    model = Transcriber.read(both.folder)
    assert model.languages("EN", "EN").language == "en"
    with pytest.raises(ModelError, match=message):
        model.languages(*languages)


def test_every_published_form_gives_one_bundle(tmp_path: Path) -> None:
    """The folder of the hub, those of faster-whisper, and OpenAI's file have equal outputs."""
    published.whisper(tmp_path / "hub")
    bundles = {name: tmp_path / "bundles" / name for name in published.spoken_forms(tmp_path)}
    for name, out in bundles.items():
        out.mkdir(parents=True)
        import_model(tmp_path / name, out, name="tiny")
    files = {name: read(out) for name, out in bundles.items()}
    expected = read(bundles["hub"])
    weights = expected.model.state_dict()
    error = {"float16": 1e-3, "int8": 2e-2}
    for name, found in files.items():
        config = expected.model.config
        if name == "openai":  # the heads of the times are known by its sizes alone
            config = replace(config, audio=replace(config.audio, alignment_heads=()))
        assert found.model.config == config, name
        assert found.tokenizer_config == expected.tokenizer_config
        tokens = [one.tokenizer.tokens(one.tokenizer.target) for one in (found, expected)]
        first = tokens[1].index("<|0.00|>")  # a list of tokens does not name the timestamps
        assert tokens[0][:first] == tokens[1][:first] and len({*map(len, tokens)}) == 1, name
        for text in published.SCRIPTS:
            assert found.tokenizer.encode(text) == expected.tokenizer.encode(text)
        for key, tensor in found.model.state_dict().items():
            if name == "openai" and key == "output.bias":
                continue  # what is never an output is found by the texts of the tokens
            near = error.get(name.partition("-")[0], 0)
            torch.testing.assert_close(tensor, weights[key], atol=near, rtol=0, msg=f"{name} {key}")
