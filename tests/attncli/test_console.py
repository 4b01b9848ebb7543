"""Messages on stderr: one line each, no terminal control, dropped where nobody reads."""

from __future__ import annotations

import io

import pytest

from attncli import console


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


def test_a_stream_that_fails_drops_what_is_written() -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    stream = console.LossyStream(Broken())
    assert stream.write("lost") == 4
    stream.flush()
    assert not stream.isatty()
    closed = io.StringIO()
    closed.close()
    console.LossyStream(closed).write("lost")
