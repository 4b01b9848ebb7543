"""Long recordings by Whisper: where windows begin, what is searched again, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import pytest
import torch

from models.core.config import AudioConfig, ModelConfig
from models.core.use_config import SearchConfig
from models.engines.whisper_windows import (
    Decoded,
    Stream,
    WhisperPrompt,
    WhisperTokens,
    Windows,
    compression,
    divided,
)

TIMES = 100  # the first timestamp
RATE = 1000
CONFIG = ModelConfig(max_source=40, audio=AudioConfig(rate=RATE, padded=2.0))  # 100 slots


class Tokens:
    """Special tokens of a model whose text tokens are letters."""

    times, codes = TIMES, ("en", "de")

    def prompt(
        self, language: str, *, to: str = "", timed: bool = False, before: Sequence[int] = ()
    ) -> WhisperPrompt:
        return WhisperPrompt((self.codes.index(language), *before), timed)

    def text(self, ids: Sequence[int]) -> str:
        return "".join(chr(96 + number) for number in ids if number < TIMES)


class Call(NamedTuple):
    """A search that was asked for."""

    prompt: WhisperPrompt
    temperature: float


class Scripted:
    """An engine with outputs that are given."""

    def __init__(self, outputs: list[Decoded]) -> None:
        self.outputs, self.calls = iter(outputs), list[Call]()
        self.starts_of_windows: list[int] = []

    def encode(self, samples: torch.Tensor) -> Any:
        self.starts_of_windows.append(int(samples[0]))

    def languages(self, memory: Any) -> list[float]:
        return [0.2, 0.8]

    def decode(self, memory: Any, prompt: WhisperPrompt, search: SearchConfig, key: str) -> Decoded:
        self.calls.append(Call(prompt, search.temperature if search.method == "sample" else 0.0))
        return next(self.outputs)


def windows(engine: Scripted) -> Windows:
    return Windows(cast(Any, engine), cast(WhisperTokens, Tokens()), CONFIG)


def recording(seconds: float) -> Iterator[torch.Tensor]:
    return iter(torch.arange(int(seconds * RATE)).float().split(700))


def good(*ids: int) -> Decoded:
    return Decoded(ids, -0.1 * len(ids))


def test_the_next_window_begins_at_the_last_timestamp_with_the_text_as_prompt() -> None:
    first = good(TIMES, 1, 2, TIMES + 40, TIMES + 40, 3, TIMES + 70, TIMES + 70)
    engine = Scripted([first, good(TIMES, 4, TIMES + 50), good(TIMES, 5, TIMES + 10)])
    found = list(windows(engine).read(Stream(recording(4.5)), SearchConfig(), "en"))
    assert engine.starts_of_windows == [0, 1400, 3400]
    assert [call.prompt.ids[1:] for call in engine.calls[:2]] == [(), first.ids[:-1]]
    assert all(call.prompt.timed for call in engine.calls)
    assert [one.parts[0].ids for one in found[1:]] == [
        (TIMES, 4, TIMES + 50),
        (TIMES, 5, TIMES + 10),
    ]
    assert [(part.first, part.last) for part in found[0].parts] == [(0, 40), (40, 70)]


def test_loops_and_improbable_outputs_are_searched_again_hotter() -> None:
    loop = good(*[1, 2, 3] * 20)
    assert compression(Tokens().text(loop.ids)) > 2.4
    engine = Scripted([loop, Decoded((1, 2), -9.0), good(4, 5), good(TIMES, 6)])
    found = list(windows(engine).read(Stream(recording(2.5)), SearchConfig(), "en"))
    assert [call.temperature for call in engine.calls] == [0.0, 0.2, 0.4, 0.0]
    assert found[0].found.ids == (4, 5)


def test_a_text_that_was_sampled_hot_is_no_prompt() -> None:
    bad = [Decoded((1, 2), -9.0)] * 5
    engine = Scripted([*bad, good(TIMES, 3), good(TIMES, 4)])
    list(windows(engine).read(Stream(recording(2.5)), SearchConfig(), "en"))
    assert engine.calls[-1].prompt.ids == (0,)


def test_every_temperature_is_tried_once() -> None:
    engine = Scripted([Decoded((1, 2), -9.0)] * 6)
    [found] = windows(engine).read(Stream(recording(1.0)), SearchConfig(), "en")
    assert found.found.temperature == 1.0 and len(engine.calls) == 6


def test_a_window_without_speech_is_left_out() -> None:
    engine = Scripted([Decoded((1,), -9.0, no_speech=0.9), good(TIMES, 2)])
    [found] = windows(engine).read(Stream(recording(3.0)), SearchConfig(), "en")
    assert found.start == 2.0 and len(engine.calls) == 2


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
    assert [part[:2] for part in found] == parts and place == moved


def test_a_stream_holds_no_more_than_is_asked_for() -> None:
    stream = Stream(recording(100))
    while len(part := stream.ahead(2000)):
        assert part[0] == stream.place and len(stream.held) < 2000 + 700
        stream.skip(1300)
