"""Every command line and Python example of README.md and docs/ runs as written.

The lines run in a folder that holds the files they name: data and bundles of
tests/fixtures/before_restructuring. What a line needs beyond that is in the table ADDED: training
gets tiny settings or `--dry-run`. Blocks of commands are fenced with ```sh, Python with ```python.
A word after the language says what a block needs: `box` the models in the box, `make` a Makefile
(its targets are checked without running them), `copy` a copy of the repository (test_adding.py).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from models.installed import BOX
from tests.attncli.labels import write_toy
from tests.docs import shell
from tests.fixtures.before_restructuring import make

pytestmark = pytest.mark.skipif(os.name != "posix", reason="fork")
ROOT = Path(__file__).parents[2]
NAMES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
PAGES = [*(ROOT / name for name in NAMES), *sorted((ROOT / "docs").rglob("*.md"))]
FILES = Path(make.__file__).parent
TINY = (
    *("model.embedding=16", "model.hidden=16", "model.encoder_layers=1", "model.decoder_layers=1"),
    *("train.steps=2", "train.batch_tokens=200", "tokenizer.size=330", "search.method=greedy"),
    *("search.max_extra=2", "search.max_ratio=0.2"),
)
SMALL = " ".join(f"-s {value}" for value in TINY)
NETWORK = "--encoder small-cnn"
ADDED = (  # the first pattern that matches a line adds to it
    (r"^attn train train.en .* -o runs/en-de ", f"-s train.seed=2 {SMALL}"),
    (r"^attn train --images ", f"--dry-run {NETWORK}"),
    (r"^attn train ", "--dry-run"),
    (r"^attn models compare .*--dry-run", "--seeds 1 -s data.demo_pairs=60 -s train.steps=2"),
    (r"^attn models compare .*--train", f"--seeds 1 -p rnnsearch-nano {SMALL}"),
    (r"^attn models compare ", "--help"),
    (r"^python ", "--help"),
)
COMMAND = re.compile(r"^(?:    |\$ )?(?:attn|python|pip|make) .*", re.M)


class Line(NamedTuple):
    """A command line of the documentation."""

    page: str
    text: str
    needs: str  # the word after ```sh


def blocks(page: Path, language: str) -> Iterator[tuple[str, str]]:
    """Yield the word after the language, and the text, of each fenced block."""
    pattern = rf"^```{language}(?: (\w+))?\n(.*?)^```$"
    yield from re.findall(pattern, page.read_text("utf-8"), flags=re.S | re.M)


LINES = [
    Line(page.name, text, needs)
    for page in PAGES
    for needs, block in blocks(page, "sh")
    for text in block.replace("\\\n", " ").splitlines()
    if text.strip() and not text.startswith("#")
]
EXAMPLES = [
    Line(page.name, text, needs) for page in PAGES for needs, text in blocks(page, "python")
]
TABLES = [(page.name, text) for page in PAGES for _, text in blocks(page, "toml")]
NEEDED = ("everyday", "photos", "grammar-en-de")  # of the blocks marked box
MISSING = [name for name in NEEDED if not (BOX / name).exists()]


@pytest.fixture
def workplace(tmp_path: Path, toy_classifier: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder: the files and models that the documentation names."""
    pairs = [line.split("\t") for line in (FILES / "train.tsv").read_text("utf-8").splitlines()]
    for name in ("train", "val", "test", "dev", "mine", "in", "letter", "distilled", "more"):
        rows = pairs if name in ("train", "mine", "distilled") else pairs[:4]
        for language, column in (("en", 0), ("de", 1), ("fr", 1)):
            text = "".join(f"{row[column]}\n" for row in rows)
            (tmp_path / f"{name}.{language}").write_text(text, "utf-8")
    shutil.copy(FILES / "train.tsv", tmp_path)
    shutil.copy(FILES / "dev.tsv", tmp_path / "pairs.tsv")
    last = [f"1-1 {len(source.split())}-{len(target.split())}\n" for source, target in pairs[:4]]
    for name in ("gold.talp", "dev.talp"):  # links to last words show that words count from 1
        (tmp_path / name).write_text("".join(last))
    (tmp_path / "links").write_text("0-0 1-1\n" * 4)
    (tmp_path / "links.txt").write_text("0-0 1-1\n" * len(pairs))
    write_documents(tmp_path)
    write_images(tmp_path)
    write_runs(tmp_path / "runs")
    shutil.copytree(toy_classifier, tmp_path / "runs" / "intents")
    for name in ("intents", "dev-intents", "test-intents"):
        write_toy(tmp_path / f"{name}.tsv", 60, seed=len(name))
    (tmp_path / "mixed.txt").write_text("The dog is old.\nDer Hund ist alt.\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def write_documents(folder: Path) -> None:
    """Write a document of each format, with a sentence."""
    text = "A dog runs."
    documents = {
        "terms.tsv": "dog\tHund\n",
        "film.srt": f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n",
        "page.md": f"# {text}\n",
        "page.html": f"<p>{text}</p>\n",
        "products.csv": f"id,name,note\n1,{text},{text}\n",
        "reviews.jsonl": f'{{"id": "a", "text": "{text}"}}\n',
        "app.po": f'msgid "{text}"\nmsgstr ""\n',
    }
    for name, content in documents.items():
        (folder / name).write_text(content, "utf-8")


def write_images(folder: Path) -> None:
    """Write photos/, photo.jpg, images.tar and files of captions."""
    from PIL import Image

    shutil.copytree(FILES / "images", folder / "photos")
    first = sorted((folder / "photos").iterdir())[0]
    for path in (folder / "photo.jpg", folder / "photos" / "a.jpg"):
        Image.open(first).convert("RGB").save(path)
    subprocess.run(["tar", "cf", folder / "images.tar", "-C", FILES / "images", "."], check=True)
    shutil.copy(FILES / "captions.tsv", folder / "captions.tsv")
    shutil.copy(FILES / "dev_captions.tsv", folder / "dev.tsv")
    rows = (FILES / "captions.tsv").read_text("utf-8").splitlines()
    other = "".join("\t".join(row.split("\t")[:2]) + "\n" for row in rows)
    (folder / "other.tsv").write_text(other, "utf-8")


def write_runs(folder: Path) -> None:
    """Copy bundles under the names that the documentation gives them."""
    named = {
        "en-de": "transformer",
        "de-en": "transformer",
        "demo": "transformer",
        "rnn": "rnnsearch",
        "cap": "captioner-soft",
        "cap-hard": "captioner-hard",
    }
    for name, bundle in named.items():
        shutil.copytree(FILES / "bundles" / bundle, folder / name)
    if not MISSING:
        (folder / "multi").symlink_to(BOX / "everyday")
    for name in ("dev.tsv", "test.tsv"):
        shutil.copy(FILES / "dev.tsv", folder / "demo" / name)
    for path in folder.rglob("config.toml"):  # dev.tsv has captions here
        path.write_text(path.read_text("utf-8").replace('"dev.tsv"', '"pairs.tsv"'), "utf-8")


def require(line: Line) -> None:
    """Expect a failure if the models that a line needs are missing."""
    if line.needs == "box" and MISSING:
        pytest.xfail(f"not in the box: {MISSING}")


@pytest.mark.parametrize(
    "line",
    [line for line in LINES if line.needs in ("", "box")],
    ids=lambda line: f"{line.page}: {line.text}",
)
def test_a_command_line_runs(line: Line, workplace: Path) -> None:
    require(line)
    text = with_additions(line.text)
    if " -o runs/en-de " in text:
        shutil.rmtree(workplace / "runs/en-de")
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


def with_additions(text: str) -> str:
    """Return the line with what the table adds to it."""
    text = next((f"{text} {more}" for pattern, more in ADDED if re.search(pattern, text)), text)
    return text


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.page)
def test_a_python_example_runs(example: Line, workplace: Path) -> None:
    require(example)
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
