"""Messages on stderr: one line each, no terminal control, dropped where nobody reads."""

from __future__ import annotations

import pytest

from attncli.terminal import console


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 日本 \U0001f600", "plain é 日本 \U0001f600"),
        ("a\x1b[2Jb\x07", "a\\x1b[2Jb\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("abc\u202etxt", "abc\\u202etxt"),
        ("nam\udce9.txt", "nam\\udce9.txt"),
        ("क्\u200dष", "क्\u200dष"),
    ],
)
def test_control_characters_are_shown_as_escapes(
    text: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    console.say(text)
    assert capsys.readouterr().err == shown + "\n"


@pytest.mark.parametrize("total", [10, None])
def test_progress_ends_at_its_total(total: int | None, capsys: pytest.CaptureFixture[str]) -> None:
    with console.progress("working", total=total) as advance:
        advance(7, "7 lines")
    assert capsys.readouterr().err == f"working{' 100 %' if total else ''}  7 lines\n"
    with pytest.raises(KeyboardInterrupt), console.progress("working", total=total) as advance:
        advance(7)
        raise KeyboardInterrupt
    assert "100" not in capsys.readouterr().err


def test_a_bar_ends_at_its_total_unless_the_work_is_interrupted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "is_terminal", lambda: True)
    with console.progress("working", total=10) as advance:
        advance(7)
    assert "100%" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt), console.progress("working", total=10) as advance:
        advance(7)
        raise KeyboardInterrupt
    shown = capsys.readouterr().err
    assert "70%" in shown and "100%" not in shown
