"""Long recordings by Whisper: where windows begin, what is searched again, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from models.core.use_config import SearchConfig
from models.speech._whisper import Stream, WhisperTranscriber, divided
from models.speech._whisper_engine import Decoded
from models.speech._whisper_words import TimedPart, words_of
from models.speech.config import AudioConfig, SpeechTransformerConfig
from models.speech.transcripts import Word

TIMES = 100  # the first timestamp
RATE = 1000
SOUND = AudioConfig(rate=RATE, padded=2.0)  # 100 slots
CONFIG = SpeechTransformerConfig(max_source=40, audio=SOUND)


class Letters:
    """A tokenizer, and the special tokens, of a model whose text tokens are letters."""

    times, codes = TIMES, ("en", "de")

    def prompt(
        self, language: str, *, to: str = "", timed: bool = False, before: Sequence[int] = ()
    ) -> list[int]:
        return [self.codes.index(language), *before]

    def of_text(self, ids: Sequence[int]) -> list[int]:
        return [number for number in ids if number < TIMES]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.pieces(ids))

    def pieces(self, ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(chr(96 + number) for number in ids)


class Scripted:
    """An engine with outputs that are given, and the searches that were asked for."""

    def __init__(self, outputs: list[Decoded]) -> None:
        self.outputs, self.prompts, self.temperatures = iter(outputs), list[Any](), list[float]()
        self.starts = list[int]()

    def encode(self, samples: Any) -> None:
        self.starts.append(int(samples[0]))

    def decode(self, memory: Any, prompt: list[int], search: SearchConfig, key: str) -> Decoded:
        self.prompts.append(tuple(prompt))
        self.temperatures.append(search.temperature if search.method == "sample" else 0.0)
        return next(self.outputs)


def recording(seconds: float) -> Iterator[Any]:
    samples = np.arange(int(seconds * RATE), dtype=np.float32)
    return iter(np.split(samples, range(700, len(samples), 700)))


def heard(seconds: float, *outputs: Decoded) -> tuple[Scripted, list[Any]]:
    """Return the engine after a recording, and the segments."""
    model: Any = WhisperTranscriber()
    model.tokens = model.tokenizer = Letters()
    model.engine, model.config, model.search = Scripted([*outputs]), CONFIG, SearchConfig()
    model.language, model.rate = "en", RATE
    return model.engine, [*model.segments(Stream(recording(seconds)))]


def good(*ids: int) -> Decoded:
    return Decoded(ids, -0.1 * len(ids))


BAD = Decoded((1, 2), -9.0)
LOOP = good(*[1, 2, 3] * 20)


def test_the_next_window_begins_at_the_last_timestamp_with_the_text_as_prompt() -> None:
    first = good(TIMES, 1, 2, TIMES + 40, TIMES + 40, 3, TIMES + 70, TIMES + 70)
    others = (good(TIMES, 4, TIMES + 50), good(TIMES, 5, TIMES + 10))
    engine, found = heard(4.5, first, *others)
    assert engine.starts == [0, 1400, 3400]
    assert engine.prompts[:2] == [(0,), (0, *first.ids[:-1])]
    times = [(0, 0.8, "ab"), (0.8, 1.4, "c"), (1.4, 2.4, "d"), (3.4, 3.6, "e")]
    assert [(one.start, one.end, one.text) for one in found] == times


@pytest.mark.parametrize(
    ("outputs", "temperatures", "texts"),
    [
        ([LOOP, BAD, good(4, 5), good(TIMES, 6)], [0.0, 0.2, 0.4, 0.0], ["de", "f"]),
        ([BAD, BAD, Decoded((7,), -3.0), BAD, BAD, BAD], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0], ["g"]),
        ([Decoded((1,), -9.0, no_speech=0.9), good(TIMES, 2)], [0.0, 0.0], ["b"]),
    ],
    ids=["loops and improbable outputs", "the best of all temperatures", "no speech"],
)
def test_bad_outputs_are_searched_again(
    outputs: list[Decoded], temperatures: list[float], texts: list[str]
) -> None:
    engine, found = heard(2.0 if texts == ["g"] else 2.5, *outputs)
    assert engine.temperatures == temperatures
    assert [one.text for one in found] == texts


def test_a_text_that_was_sampled_hot_is_no_prompt() -> None:
    engine, _ = heard(2.5, *[BAD] * 5, good(TIMES, 3), good(TIMES, 4))
    assert engine.prompts[-1] == (0,)


@pytest.mark.parametrize("seconds", [0.06, 0.1, 0.19])
def test_a_sound_that_is_too_short_for_a_word_has_none(seconds: float) -> None:
    assert heard(seconds)[1] == [] and len(heard(2 + seconds, good(TIMES, 1))[1]) == 1


@pytest.mark.parametrize(
    ("ids", "parts", "moved"),
    [
        ((1, 2), [(0, 90)], 90),
        ((), [(0, 90)], 90),
        ((TIMES, 1, TIMES + 30), [(0, 30)], 90),
        ((TIMES, 1, TIMES + 30, TIMES + 30), [(0, 30)], 30),
        ((TIMES, 1, TIMES + 30, TIMES + 35, 2), [(0, 30)], 30),
        ((TIMES, 1, TIMES + 30, TIMES + 35, 2, TIMES + 60), [(0, 30), (35, 60)], 90),
        ((TIMES, TIMES), [(0, 0)], 90),  # it must not stay where it is
    ],
)
def test_outputs_are_divided_where_timestamps_meet(
    ids: tuple[int, ...], parts: list[tuple[int, int]], moved: int
) -> None:
    found, place = divided(ids, TIMES, 90)
    assert [(part.start * 50, part.end * 50) for part in found] == parts and place == moved


@pytest.mark.parametrize(
    ("pieces", "spaced", "words"),
    [
        ([" cold", "-", "hearted", ",", " he"], True, [(" cold-hearted,", 0, 3), (" he", 4, 5)]),
        ([' "', "No", '."', " A"], True, [(' "No."', 1, 2), (" A", 3, 4)]),
        ([' "', '"', " ...", " A"], True, [(' ""', 1, 2), (" ...", 2, 3), (" A", 3, 4)]),
        (["你", "好", "。", "「", "再"], False, [("你", 0, 1), ("好。", 1, 2), ("「再", 4, 5)]),
    ],
)
def test_marks_are_parts_of_words_and_do_not_change_their_times(
    pieces: list[str], spaced: bool, words: list[tuple[str, int, int]]
) -> None:
    class Pieces:
        def decode(self, ids: list[int]) -> str:
            return "".join(pieces[number] for number in ids)

    ids: Any = [*range(len(pieces))]
    found = words_of(Pieces(), ids, [*ids, len(ids)], [0.5] * len(ids), spaced=spaced)  # type: ignore[arg-type]
    assert [(word.text, word.start, word.end) for word in found] == words


@pytest.mark.parametrize("quiet", [0, 100, 300, 900])
def test_the_first_word_begins_where_it_is_loud(quiet: int) -> None:
    samples = np.random.default_rng(1).standard_normal(2000).astype(np.float32)
    samples[:quiet] *= 0.01
    part = TimedPart(0.0, 1.5, (1, 2), (Word("a", 0.0, 1.0), Word("b", 1.0, 1.5)))
    found = part.aloud(samples, RATE)
    assert found.start == found.words[0].start == pytest.approx(quiet / RATE, abs=0.03)
    assert found.words[1] == part.words[1]


def test_a_stream_holds_no_more_than_is_asked_for() -> None:
    stream = Stream(recording(100))
    while len(part := stream.ahead(2000)):
        assert part[0] == stream.place and len(stream.held) < 2000 + 700
        stream.skip(1300)
