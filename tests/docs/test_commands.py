"""Every command line and Python example of README.md and docs/ runs as written.

Each line runs in a new folder that holds the files it names (workplace.py); the lines of a tutorial
run one after the other (test_tutorials.py). What a line needs beyond that is in the table ADDED:
training gets tiny settings or a light `--dry-run`. Blocks of commands are fenced with ```sh, Python
with ```python. A word after the language says what a block needs: `box` the models in the box,
`make` a Makefile (its targets are checked without running them), `copy` a copy of the repository
(test_adding.py), any other word a package.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs import shell
from tests.docs.pages import ROOT, TUTORIALS, blocks, lines_of, require_models
from tests.docs.workplace import SMALL

pytestmark = pytest.mark.skipif(os.name != "posix", reason="fork")
NAMES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
PAGES = [*(ROOT / name for name in NAMES), *sorted((ROOT / "docs").rglob("*.md"))]
OTHERS = [ROOT / "benchmarks/README.md", *sorted((ROOT / "recipes").rglob("*.md"))]
SEPARATE = [page for page in PAGES if page.parent != TUTORIALS]  # their lines run one by one
LIGHT = "--dry-run -s train.precision=fp32 -s train.batch_tokens=200"
NETWORK = "-s model.image.encoder=small-cnn"
ADDED = (  # the first pattern that matches a line adds to it
    (r"^attn models add [\w.-]+/[a-z]", "--list"),  # public models: without network
    (r" -m (opus-mt|nllb|blip|whisper)-", "--help"),  # public models; tests/integration runs them
    (r"^attn models show opus", "--help"),
    (r"^attn train train.en .* -o runs/en-de ", f"-s train.seed=2 {SMALL}"),
    (r"^attn train --images |^attn train .*:image", f"{LIGHT} {NETWORK}"),
    (r"^attn train -[op] ", f"{LIGHT} -s data.demo_size=12"),
    (r"^attn train ", LIGHT),
    (r"^attn align train ", "--dry-run"),
    (
        r"^attn models compare .*--dry-run",
        "--seeds 1 -s data.demo_size=60 -s train.steps=2",
    ),
    (r"^attn models compare .*--start-from ", f"--seeds 1 {LIGHT}"),
    (r"^attn models compare flat ", f"--seeds 1 -p multi-source-nano {SMALL}"),
    (r"^attn models compare .*--train", f"--seeds 1 -p rnnsearch-nano {SMALL}"),
    (r"^attn models compare soft .*--images", f"--seeds 1 {NETWORK} {SMALL}"),
    (r"^attn models compare .*--audio", f"--seeds 1 -p listen-attend-spell-nano {SMALL}"),
    (r"^attn models compare ", "--help"),
    (r"^attn transcribe memo", "-s transcribe.doubtful=true"),  # it has tones
    (r"^attn serve", "--help"),  # tests/attncli/serve runs them
    (r"^python ", "--help"),
)
CLUSTERS = ("ray",)  # packages that an example needs
EXTRAS = {name: (name,) for name in (*CLUSTERS, "comet")}
COMMAND = re.compile(r"^(?:    |\$ )?(?:attn|python|pip|make) .*", re.M)


class Line(NamedTuple):
    """A command line of the documentation."""

    page: str
    text: str
    needs: str  # the word after ```sh


LINES = [
    Line(page.name, text, needs)
    for (text, needs), page in {
        (text.partition("  #")[0], needs): page
        for page in SEPARATE
        for needs, block in blocks(page, "sh")
        for text in lines_of(block)
    }.items()
]  # each once
EXAMPLES = [
    Line(page.name, text, needs) for page in SEPARATE for needs, text in blocks(page, "python")
]
TABLES = [(page.name, text) for page in PAGES for _, text in blocks(page, "toml")]


@pytest.mark.usefixtures("no_workers")
@pytest.mark.parametrize(
    "line",
    [line for line in LINES if line.needs in ("", "box", *EXTRAS)],
    ids=lambda line: f"{line.page}: {line.text}",
)
def test_a_command_line_runs(line: Line, workplace: Path) -> None:
    require(line.needs)
    text = with_additions(line.text)
    if " -o runs/en-de " in text:
        shutil.rmtree(workplace / "runs/en-de")
    if " --picture maps/" in text:  # drawing takes a second for each image
        for path in sorted((workplace / "photos").iterdir())[2:]:
            path.unlink()
    done = shell.run(text)
    assert done.status == 0, f"{text}\n{done.err}"
    assert "Traceback" not in done.err, done.err


@pytest.mark.parametrize("line", [line for line in LINES if line.needs == "make"], ids=str)
def test_a_target_of_make_exists(line: Line) -> None:
    program, *targets = line.text.partition("#")[0].split()
    if program == "make":
        done = subprocess.run(["make", "-n", *targets], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    else:
        assert os.access(ROOT / program, os.X_OK)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_is_in_a_block_that_a_test_runs(page: Path) -> None:
    text = re.sub(r"^```(sh|python|toml).*?^```$", "", page.read_text("utf-8"), flags=re.S | re.M)
    assert COMMAND.findall(text) == []


def require(needs: str) -> None:
    """Skip a block whose package is missing; expect a failure if its model is missing."""
    require_models(needs)
    for package in EXTRAS.get(needs, ()):
        pytest.importorskip(package)


def with_additions(text: str) -> str:
    """Return the line with what the table adds to it; `attn bulk` takes options before `--`."""
    text = text.replace("attn bulk ", "attn bulk --processes 1 ")
    text = next((f"{text} {more}" for pattern, more in ADDED if re.search(pattern, text)), text)
    return text


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(one, marks=[pytest.mark.slow] if one.needs in CLUSTERS else [])
        for one in EXAMPLES
    ],
    ids=lambda example: f"{example.page} {example.needs}".strip(),
)
def test_a_python_example_runs(example: Line, workplace: Path) -> None:
    require(example.needs)
    exec(compile(example.text, example.page, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize(("page", "text"), TABLES, ids=[page for page, _ in TABLES])
def test_a_table_of_settings_is_a_valid_run(page: str, text: str, workplace: Path) -> None:
    (workplace / "run.toml").write_text(text, "utf-8")
    done = shell.run(f"attn train run.toml --dry-run {SMALL}")
    assert done.status == 0, done.err


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").read_text("utf-8").count("\n") <= 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8"))
    missing = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert not missing


@pytest.mark.parametrize(
    "page", [*PAGES, *OTHERS], ids=lambda page: f"{page.parent.name}/{page.name}"
)
def test_paths_that_a_page_names_exist(page: Path) -> None:
    if page.name in ("CHANGELOG.md", "adding.md"):
        pytest.skip("names files of the past, and files that its recipes write")
    found = re.findall(
        r"(?<![\w./-])(?:attncli|models|tests|recipes|benchmarks|docs|\.ci)/[\w./*-]+",
        page.read_text("utf-8"),
    )
    assert not [path for path in found if not any(ROOT.glob(path.rstrip("./")))]
