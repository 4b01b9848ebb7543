"""Every tutorial runs as written, from its first line to its last, in one folder.

The folder has the files of the other pages (workplace.py), and those that FILES writes for a page.
ADDED and FEWER make trainings tiny. A block needs what the word after its language names, as in
test_commands.py.
"""

from __future__ import annotations

import os
import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs import shell
from tests.docs.pages import ROOT, TUTORIALS, all_blocks, lines_of, require_models
from tests.docs.workplace import TINY, write_everyday, write_pairs

pytestmark = pytest.mark.skipif(os.name != "posix", reason="fork")
PAGES = [page for page in sorted(TUTORIALS.glob("*.md")) if page.name != "README.md"]
RECIPES = {"phonemes": "g2p", "parses": "cogs", "commands": "scan", "summaries": "scitldr"}


def write_opus(folder: Path) -> None:
    """Write a tiny model with the files of OPUS-MT."""
    pytest.importorskip("transformers")
    from tests.models.importers.published import marian

    marian(folder / "opus-mt-en-de", learns=False)


FILES: dict[str, Callable[[Path], None]] = {  # pages whose files the workplace does not have
    **dict.fromkeys(RECIPES, write_pairs),
    "translator": write_everyday,
    "fine-tuning": write_opus,
}
SETTINGS = (*TINY, "search.method=beam")
SMALL = " ".join(f"-s {setting}" for setting in SETTINGS)
GREEDY = "-s search.method=greedy"
ADDED = (  # the first pattern that matches a line adds to it
    (
        r"^attn train .*--start-from opus",
        "-s train.steps=2 -s train.samples=0 -s train.metric=loss",
    ),
    (r"^attn (translate|evaluate) -m opus", "-s search.max_extra=2 -s search.max_ratio=0.2"),
    (r"^attn train .*--start-from photos ", "-s train.steps=1 -s search.max_caption=5"),
    (r"^attn train .*--images ", f"-s model.image.encoder=small-cnn {SMALL}"),
    (r"^attn caption ", "-s search.beam=1 -s search.max_caption=5"),
    (r"^attn train --labels ", "-s train.steps=2 -s model.embedding=16 -s model.hidden=16"),
    (r"^attn train -o ", f"{SMALL} -s data.demo_size=60"),
    (r"^attn train ", SMALL),
    (r"^attn models compare none", f"--seeds 1 {SMALL} -s data.demo_size=60 {GREEDY}"),
    (r"^attn evaluate -m runs/why", GREEDY),
    (r"^attn models compare ", f"--seeds 1 {SMALL} -s data.demo_size=60"),
    (r"^python recipes/sequences.py .*--data-only", ""),
    (r"^python recipes/sequences.py cogs ", " ".join(SETTINGS)),
    (r"^python recipes/sequences.py ", "--data-only"),  # its commands stand in the page, too
)
FEWER = (  # numbers of examples in Python that the tests reduce
    ("split(300, 10, 10, ", "split(12, 1, 8, "),
    ("generate(600)", "generate(60)"),
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_runs_from_top_to_bottom(page: Path, workplace: Path) -> None:
    if page.stem in FILES:
        FILES[page.stem](workplace)
    printed = ""
    for language, needs, text in all_blocks(page):
        require_models(needs)
        if language == "python":
            for number, fewer in FEWER:
                text = text.replace(number, fewer)
            exec(compile(text, page.name, "exec"), {"__name__": "__main__"})
        elif language == "sh":
            printed = "".join(run(line) for line in lines_of(text))
        elif language == "text":
            assert headers(text) <= headers(printed), "columns that the program does not print"


def run(line: str) -> str:
    """Run a command line with what the table adds to it; it must succeed; return its output."""
    added = next((more for pattern, more in ADDED if re.search(pattern, line)), "")
    done = shell.run(f"{line} {added}")
    assert done.status == 0 and "Traceback" not in done.err, f"{line} {added}\n{done.err}"
    return done.out


def headers(text: str) -> set[tuple[str, ...]]:
    """Return the names of the columns of each table of scores or times in a text."""
    rows = {tuple(re.split(" {2,}", line.strip())) for line in text.splitlines()}
    return {row for row in rows if not {"BLEU", "dev BLEU", "AER", "ms/update"}.isdisjoint(row)}


@pytest.mark.parametrize(("page", "name"), RECIPES.items())
def test_a_page_explains_the_commands_that_its_recipe_runs(page: str, name: str) -> None:
    commands = runpy.run_path(str(ROOT / "recipes/sequences.py"))["COMMANDS"][name]
    blocks = [text for kind, _, text in all_blocks(TUTORIALS / f"{page}.md") if kind == "sh"]
    shown = [words(line) for block in blocks for line in lines_of(block)]
    for command in commands:
        assert words(command.replace("WORK", name)) in shown, command


def words(line: str) -> list[str]:
    """Return the words of a command line, sorted, because the order of options is free."""
    return sorted(line.split())


def test_the_index_names_every_tutorial() -> None:
    index = (TUTORIALS / "README.md").read_text("utf-8")
    assert [page.name for page in PAGES if f"]({page.name})" not in index] == []
