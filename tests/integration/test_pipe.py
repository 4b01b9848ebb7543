"""The pipe contract: a live program with both ends open, and forks for what needs no program."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from attncli.shell import app
from attncli.translate.runner import TranslateRunner
from tests.forks import in_child, use_files
from tests.upper_model import opened

STAND_IN = [sys.executable, "-m", "tests.upper_model", "translate", "-m", "upper"]
ROOT = Path(__file__).parents[2]


def start(*options: str, before: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*before, *STAND_IN, *options], cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe
    )


def send(program: subprocess.Popen[bytes], data: bytes) -> None:
    assert program.stdin
    program.stdin.write(data)
    program.stdin.flush()


def translate(data: bytes, *options: str) -> tuple[bytes, str, int]:
    """Send data through a pipe to a fork of this process; return stdout, stderr and status."""
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:

        def answer() -> None:
            os.close(writer)
            use_files((reader, out.fileno(), err.fileno()))
            TranslateRunner.load = opened  # type: ignore[assignment]
            sys.argv = ["attn", "translate", "-m", "upper", *options]
            app.main()

        child = in_child(answer)
        os.close(reader)
        with contextlib.suppress(BrokenPipeError), open(writer, "wb") as stdin:
            stdin.write(data)
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        return out.read(), err.read().decode(), os.waitstatus_to_exitcode(status)


def shell(line: str) -> subprocess.CompletedProcess[bytes]:
    script = f"set -o pipefail; {line}"
    command = ["bash", "-c", script, " ".join(STAND_IN)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=30)


def wait_for(condition: Callable[[], bool], program: subprocess.Popen[bytes]) -> None:
    """Wait until a condition holds, at most a minute, while a program runs."""
    end = time.monotonic() + 60
    while not condition():
        assert program.poll() is None, "the program ended before"
        assert time.monotonic() < end, "nothing happened for a minute"
        time.sleep(0.001)


def test_each_line_is_answered_while_the_input_stays_open() -> None:
    with start() as program:
        assert program.stdout
        for number in range(3):
            send(program, f"line {number}\n".encode())
            assert program.stdout.readline() == f"LINE {number}\n".encode()
        send(program, b"half a line, ")
        time.sleep(0.05)
        send(program, b"and the rest\nmore")
        assert program.stdout.readline() == b"HALF A LINE, AND THE REST\n"
        assert program.communicate()[0] == b"MORE\n"
    assert program.returncode == 0


@pytest.mark.parametrize(
    "data, expected",
    [
        (b"", b""),
        (b"\n", b"\n"),
        (b"no newline", b"NO NEWLINE\n"),
        (b"a\n\n  \nb\n", b"A\n\n\nB\n"),
        (b"a\r\n\r\nb\n", b"A\r\n\r\nB\n"),
        ("a\u2028b\x85c\n".encode(), b"A B C\n"),
        (b"nul\x00nul\n\x00\n", b"NUL\x00NUL\n\x00\n"),
        (b"a <b>c</b>\r\n<br/>\n\n3 < 4 {x}\n", b"A <b>C</b>\r\n<br/>\n\n3 < 4 {x}\n"),
    ],
)
def test_n_lines_in_n_lines_out(data: bytes, expected: bytes) -> None:
    options = ["--keep-tags"] if b"<" in data else []
    assert translate(data, *options) == (expected, "", 0)


def test_invalid_utf8_is_reported_and_the_rest_goes_on() -> None:
    said = "attn: line 2 is not valid UTF-8 (byte 0xff at position 2); not translated\n"
    assert translate(b"a\nb\xff\nc\n") == (b"A\n\nC\n", said, 1)


def test_a_line_of_100_000_characters_is_split_copied_or_refused_never_cut() -> None:
    data = b"short\n" + b"It is a line. " * 7143 + b"\n" + b"x" * 100_000 + b"\nshort\n"
    output, said, status = translate(data)
    first, words, letters, last, end = output.split(b"\n")
    assert (first, last, end, status) == (b"SHORT", b"SHORT", b"", 0)
    assert words.count(b"IT IS A LINE.") == 7143
    assert letters == b"x" * 100_000  # one word is copied
    assert [line[:12] for line in said.splitlines()] == ["attn: line 2", "attn: line 3"]
    output, said, status = translate(data, "-s", "text.long_lines=refuse")
    assert (output, status) == (b"SHORT\n\n\nSHORT\n", 1)
    assert len(said.splitlines()) == 2


def test_endless_input_and_a_reader_that_leaves() -> None:
    ended = shell("yes | $0 | head -1; echo ${PIPESTATUS[1]}")
    assert (ended.stdout, ended.stderr) == (b"Y\n0\n", b"")
    assert shell("$0 --help | true").stderr == b""


def test_memory_does_not_grow_with_the_input() -> None:
    peak = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
    peak += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"

    def kilobytes(lines: int) -> int:
        ended = subprocess.run(
            [sys.executable, "-c", peak, *STAND_IN],
            cwd=ROOT,
            input=b"one line of text\n" * lines,
            capture_output=True,
            check=True,
        )
        assert ended.stdout.count(b"\n") == lines
        return int(ended.stderr)

    # the first 20,000 lines fill the caches
    assert kilobytes(60_000) < kilobytes(20_000) + 1_150  # 29 bytes a line


def test_ctrl_c_is_130_and_quiet() -> None:
    with start() as program:
        assert program.stdout
        send(program, b"ready\n")
        assert program.stdout.readline() == b"READY\n"
        program.send_signal(signal.SIGINT)
        assert program.communicate() == (b"", b"")
    assert program.returncode == 130


def test_a_terminal_gets_a_prompt_on_stderr() -> None:
    import pty

    person, terminal = pty.openpty()
    with subprocess.Popen(
        STAND_IN, cwd=ROOT, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout
        os.write(person, b"hello\n")
        assert program.stdout.readline() == b"HELLO\n"
        os.write(person, b"\x04")
        output, said = program.communicate(timeout=10)
    assert output == b""
    assert said.count(b"> ") == 2


@pytest.mark.parametrize("to_file", [True, False])
def test_a_terminal_shows_progress_if_results_go_to_a_file(to_file: bool, tmp_path: Path) -> None:
    import pty

    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(b"A dog runs. A man sleeps. " * 300)  # one line, translated in parts
    person, terminal = pty.openpty()
    with source.open("rb") as stdin, target.open("wb") as file:
        stdout = file if to_file else subprocess.PIPE  # the reader of a pipe may be `less`
        ended = subprocess.run(STAND_IN, cwd=ROOT, stdin=stdin, stdout=stdout, stderr=terminal)
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # at the end
        while block := os.read(person, 1 << 16):
            shown += block
    os.close(person)
    assert ended.returncode == 0
    assert (b"translating" in shown) == to_file


def test_arguments_are_lines_and_files_are_replaced_when_whole(tmp_path: Path) -> None:
    assert translate(b"", "one", "", "two\nthree")[0] == b"ONE\n\nTWO\nTHREE\n"
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(b"a\r\nb")
    target.write_bytes(b"old")
    output, said, status = translate(b"", "-i", str(source), "-o", str(target))
    assert (output, status, target.read_bytes()) == (b"", 0, b"A\r\nB\n")
    assert said == "translating 100 %  2 lines\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


@pytest.mark.parametrize(
    ("before", "number", "status", "left"),
    [
        ((), signal.SIGINT, 130, b"old"),
        ((), signal.SIGTERM, -signal.SIGTERM, b"old"),  # the parent sees the signal itself
        ((), signal.SIGHUP, -signal.SIGHUP, b"old"),
        (("nohup",), signal.SIGHUP, 0, b"A\nB\n"),
    ],
)
def test_an_interrupted_run_leaves_the_old_file_and_nohup_ignores_sighup(
    before: tuple[str, ...], number: int, status: int, left: bytes, tmp_path: Path
) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    handler = signal.signal(number, signal.SIG_DFL)  # tests that `nohup` started ignore SIGHUP
    program = start("-o", str(target), before=before)
    signal.signal(number, handler)
    with program:
        send(program, b"a\n")
        wait_for(lambda: any(tmp_path.glob(".out.*.part")), program)
        program.send_signal(number)
        program.communicate(b"b\n", timeout=60)
    assert program.returncode == status
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [left]


def test_formats() -> None:
    data = b"a b\n\n\xff\r\n"
    assert translate(data, "--scores")[0] == b"-0.5000\tA B\n\t\n\t\r\n"
    nbest = b"0 ||| A B ||| -0.5000\n0 ||| A B! ||| -1.5000\n1 |||  ||| 0.0000\n2 |||  ||| \r\n"
    assert translate(data, "-n", "2")[0] == nbest
    table = "a b\tA B\t-0.5000\n\t\t0.0000\n\ufffd\t\t\r\n"
    assert translate(data, "--format", "tsv")[0].decode() == table
    first, empty, faulty = map(json.loads, translate(data, "--format", "jsonl")[0].splitlines())
    assert first["source"] == "a b"
    assert first["hypotheses"] == [
        {"text": "A B", "score": -0.5, "log_prob": -2.0, "tokens": ["A", "B"], "truncated": False}
    ]
    assert [hypothesis["text"] for hypothesis in empty["hypotheses"]] == [""]
    assert faulty["hypotheses"] == [] and faulty["error"].startswith("line 3 is not valid UTF-8")


def test_messages_that_nobody_receives_do_not_end_the_work() -> None:
    data = b"good\nbad\xff\n" * 1500
    expected = b"GOOD\n\n" * 1500
    reader, writer = os.pipe()
    os.close(reader)
    for stderr in (writer, os.open("/dev/full", os.O_WRONLY)):
        ended = subprocess.run(
            STAND_IN, cwd=ROOT, input=data, stdout=subprocess.PIPE, stderr=stderr, timeout=60
        )
        os.close(stderr)
        assert (ended.stdout == expected, ended.returncode) == (True, 1)


def test_a_closed_stderr_does_not_share_its_number_with_the_output(tmp_path: Path) -> None:
    ended = shell(f"printf 'a\\nb\\xff\\n' | $0 -o {tmp_path / 'out'} 2>&-")
    assert ended.returncode == 1 and (tmp_path / "out").read_bytes() == b"A\n\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "line", ["$0 --help >", "yes | head -9 | $0 >", "echo a | $0 >", "echo a | $0 -o"]
)
def test_results_that_are_lost_are_an_error_of_one_line(line: str) -> None:
    ended = shell(f"{line} /dev/full")
    assert ended.returncode == 1 and ended.stderr.count(b"\n") == 1, ended.stderr
    assert ended.stderr.startswith(b"attn: cannot write")
    assert b"No space left on device" in ended.stderr
