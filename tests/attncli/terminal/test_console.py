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


@pytest.mark.parametrize(
    ("total", "bar", "end", "interrupted"),
    [(10, False, "working 100 %  7 lines\n", ""), (None, False, "working  7 lines\n", ""),
     (10, True, "100%", "70%")],
)  # fmt: skip
def test_progress_ends_at_its_total_unless_the_work_is_interrupted(
    total: int | None, bar: bool, end: str, interrupted: str,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(console, "is_terminal", lambda: bar)
    with console.progress("working", total=total) as advance:
        advance(7, "7 lines")
    shown = capsys.readouterr().err
    assert end in shown if bar else shown == end
    with pytest.raises(KeyboardInterrupt), console.progress("working", total=total) as advance:
        advance(7)
        raise KeyboardInterrupt
    shown = capsys.readouterr().err
    assert interrupted in shown and "100" not in shown


def test_a_plain_line_says_how_much_time_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, *[float(each) for each in range(0, 6000, 60) for _ in range(3)]])
    monkeypatch.setattr("attncli.terminal.console.time.monotonic", lambda: next(clock))
    monkeypatch.setattr(console, "is_terminal", lambda: False)
    with console.progress("training", total=10) as advance:
        for done in range(4):
            advance(done)
    shown = capsys.readouterr().err
    assert " min left" in shown and shown.endswith("training 100 %\n")
