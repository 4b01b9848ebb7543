"""What is said of a model when it is first used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attncli.options.loading import say_sense
from attncli.options.settings import Options
from attncli.terminal.messages import Silent

SENSE = {"about": {"sense": {"en-de": 21, "de-en": 9, "fr-en": 12}}, "tokenizer": {}}


class Heard(Silent):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, message: str) -> None:
        self.said.append(message)


def test_a_direction_says_once_how_often_it_changes_the_sense(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    heard: Any = Heard()

    def said(to: str, source: str = "", settings: Any = SENSE) -> str:
        heard.said.clear()
        say_sense(Path("some"), settings, Options(to=to, source=source, messages=heard))
        return " ".join(heard.said)

    first = said("de")
    assert "changes the sense of 21 (en-de)" in first and "opus-mt-en-de`" in first
    assert said("de") == said("de", "en") == ""
    assert "9 (de-en), 12 (fr-en)" in said("en", "auto") and "12 (fr-en)" in said("en", "fr")
    changed = {**SENSE, "about": {"sense": {"en-de": 5}}}  # of new weights
    assert "sense of 5 (en-de)" in said("de", settings=changed)
    assert said("fr") == said("") == said("de", settings={"tokenizer": {}}) == ""
