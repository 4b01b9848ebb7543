"""Messages that name a command: the command exists, and works where a test follows it."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from attncli.caption._captions import _rows
from attncli.classify._table import read_labelled
from attncli.shell import app as shell
from attncli.train.command_line import settings
from attncli.translate.data import SHOWN
from models.core.errors import ModelError, is_exhausted
from tests.attncli.command_line import Attn, flags
from tests.attncli.training.kinds import write_corpus
from tests.attncli.training.small import SMALL
from tests.source import FILES, tree

COMMAND = re.compile(r"`(attn [^`]*)`|try: (attn [^`]*)$")


def texts_of(node: ast.AST) -> Iterator[str]:
    """Yield the texts of a module; values inside are X."""
    inside: set[ast.AST] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.JoinedStr):
            inside.update(one.values)
            parts = (p.value if isinstance(p, ast.Constant) else "X" for p in one.values)
            yield "".join(map(str, parts))
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and one not in inside:
            yield one.value


COMMANDS = sorted(
    {
        " ".join((match[1] or match[2]).split())
        for module in FILES
        for text in texts_of(tree(module))
        for match in COMMAND.finditer(text)
        if not (match[1] or match[2]).split()[1].isupper()  # the name of a command is inside
    }
)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_in_a_message_and_its_options_exist(line: str) -> None:
    first, *words = shlex.split(line.partition("|")[0].partition(" -- ")[0].replace("...", ""))[1:]
    command = shell.load_command(first)
    while words and (found := getattr(command, "commands", {}).get(words[0])):
        command, words = found, words[1:]
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    for word in words:
        if word.startswith("--"):
            assert word.partition("=")[0] in known, f"{line}: no option {word}"


@pytest.fixture
def trained(tmp_path: Path, attn: Attn) -> tuple[list[str | Path], Path, str]:
    """Return the words of a short run, its folder, and its messages."""
    table = Path(write_corpus(tmp_path, "en", "fr", 40))
    other = Path(write_corpus(tmp_path, "en", "de", 40))
    words: list[str | Path] = ["train", "-p", "transformer-nano", "--corpus", f"en-to-fr={table}"]
    words += ["--corpus", f"de-to-en={other}", "-o", tmp_path / "run"]
    words += flags((*SMALL, "train.steps=2"))
    return words, table, attn(*words).err


def test_the_advice_of_a_run_is_followed(
    trained: tuple[list[str | Path], Path, str], tmp_path: Path, attn: Attn
) -> None:
    words, table, said = trained
    text, _, command = said.partition("try: echo ")[2].partition(" | ")
    assert "--to fr" in command
    attn(*shlex.split(command)[1:], given=f"{text}\n")
    refused = attn(*words, "-s", "train.seed=3", status=1).err.replace("\n", " ")
    advised = refused.partition("`attn ")[2].partition("`")[0]
    attn(*shlex.split(advised))
    table.write_text(table.read_text("utf-8") + "A dog.\tUn chien.\n", "utf-8")
    refused = attn(*words, status=1).err
    assert "data have changed" in refused and "continues" not in refused


def test_a_table_that_is_not_read_gets_advice(tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.write_text("text,label\nA dog.,yes\n", "utf-8")
    for read in (lambda: [*settings([table]).data.texts()], lambda: read_labelled(table)):
        with pytest.raises(ModelError, match="save a table of commas with tabs"):
            read()
    with pytest.raises(ModelError, match="leave it out"):
        settings([], [], "transformer-nano", ["data.caption_style=plain"])


def test_captions_of_flickr30k_are_read(tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    table.write_text("image_name| comment_number| comment\na.png| 0| A dog | runs .\n", "utf-8")
    assert [*_rows(table)] == [("a.png", "A dog | runs .")]


def test_line_ends_of_carriage_returns_are_named(tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_bytes(b"".join(b"a %d\tb\r" % n for n in range(60)))
    with pytest.raises(ModelError, match="carriage returns alone"):
        [*settings([table]).data.texts()]
    table.write_bytes(table.read_bytes().replace(b"\r", b"\r\n"))
    assert len([*settings([table]).data.texts()]) == 60


def test_memory_that_is_exhausted_by_other_names() -> None:
    panic = type("PanicException", (BaseException,), {})
    assert is_exhausted(RuntimeError("could not create a primitive"))
    assert is_exhausted(
        panic('Os { code: 12, kind: OutOfMemory, message: "Cannot allocate memory" }')
    )
    assert not is_exhausted(panic("index out of bounds"))


def test_many_directions_are_ten_and_a_count() -> None:
    assert SHOWN == 10
