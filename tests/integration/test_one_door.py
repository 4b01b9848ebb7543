"""One door: a text has one translation, whichever command, program or service asks for it.

Asking for more (scores, alternatives, attention, an explanation) never changes the first output.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import attncli
from attncli.tasks.translate.training.dev import DevTexts
from models.bundle import read
from models.catalogue.installed import BOX, is_bundle
from tests.attncli.command_line import Attn

TEXTS = [
    "WHERE IS THE NEXT STATION?",
    "I don\u2019t know, it\u2019s late.",
    "https://example.org/a?b=1",
    "12:30",
    "The train leaves at half past seven. \U0001f600",
    "  The  old   dog sleeps.  ",
    "I am tired. Where is my bed?",
    " ".join(["We went home because it was raining, and then we slept."] * 6),
    "",
    "\u6771\u4eac\u90fd",
    "The <b>red</b> car costs {price} euros.",
    "- Good morning",
    "I have 3,500 books, e.g. about Zo\u00eb and Ma\u0308x.",
]
FEW = [TEXTS[n] for n in (0, 1, 4, 5, 6, 10)]  # that are not copied; pictures and so on of all
TASK = ("--to", "de", "--device", "cpu")
Serve = Callable[..., Any]

pytestmark = pytest.mark.skipif(not is_bundle(BOX / "everyday"), reason="not in the box")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("door") / "texts.txt"
    path.write_text("".join(f"{text}\n" for text in TEXTS), "utf-8")
    return path


@pytest.fixture
def plain(attn: Attn, texts: Path) -> list[str]:
    """Return the outputs of `attn translate` for the lines of a file."""
    return lines(attn("translate", *TASK, "-i", texts).out)


@pytest.fixture(scope="module")
def ask() -> Iterator[Serve]:
    """Return a function that asks a service."""
    testing = pytest.importorskip("starlette.testclient")
    from attncli.serve.http.app import application
    from attncli.serve.options import ServeOptions
    from attncli.serve.service import Service

    service = Service(ServeOptions(threads=1))
    client = testing.TestClient(application(service), base_url="http://127.0.0.1")
    yield lambda **given: client.post("/translate", json={**given, "target": "de"}).json()
    service.close()


def lines(out: str) -> list[str]:
    return out.split("\n")[:-1]


@cache
def everyday() -> Any:
    return attncli.load("everyday")


def test_arguments_and_a_pipe_give_the_outputs_of_a_file(attn: Attn, plain: list[str]) -> None:
    given = "".join(f"{text}\n" for text in TEXTS)
    assert lines(attn("translate", *TASK, given=given).out) == plain
    for text, output in zip(TEXTS, plain, strict=True):
        if text:
            assert lines(attn("translate", *TASK, "--", text).out) == [output]


@pytest.mark.parametrize(
    "more",
    [
        ("--format", "jsonl", "--nbest", "3"),
        ("--format", "jsonl", "--align"),
        ("--format", "jsonl", "--nbest", "10"),
        ("--show",),
    ],
    ids=" ".join,
)
def test_asking_for_more_does_not_change_the_first_output(
    more: tuple[str, ...], attn: Attn, texts: Path, plain: list[str]
) -> None:
    found = attn("translate", *TASK, "-i", texts, *more).out.splitlines()
    if "jsonl" in more:
        assert [json.loads(line)["hypotheses"][0]["text"] for line in found] == plain
    else:
        assert [line for line in found if line in plain and line] == list(filter(None, plain))


def test_python_gives_the_outputs_of_the_command(plain: list[str]) -> None:
    model = everyday()
    assert [found.text for found in model.translate(TEXTS, to="de")] == plain
    assert [model.translate(text, to="de").text for text in TEXTS] == plain
    results = model.translate(TEXTS, to="de", search=replace(model.search, nbest=8))
    assert [found.text for found in results] == plain
    assert len(results[0].hypotheses) == 8


def test_evaluation_scores_the_outputs_of_the_command(
    attn: Attn, texts: Path, tmp_path: Path, plain: list[str]
) -> None:
    attn("evaluate", *TASK, "--save", tmp_path / "out", texts, texts)
    assert lines((tmp_path / "out").read_text("utf-8")) == plain


def test_an_explanation_is_that_of_the_output_of_the_command(
    attn: Attn, tmp_path: Path, plain: list[str]
) -> None:
    (tmp_path / "few").write_text("".join(f"{text}\n" for text in FEW), "utf-8")
    options = ("--method", "attention", "-i", tmp_path / "few")
    out = attn("explain", *TASK, *options).out
    shown = [line.partition("  ")[2] for line in out.splitlines() if line[:1].isdigit()]
    assert [text.strip() for text in shown] == [plain[TEXTS.index(text)].strip() for text in FEW]


@pytest.mark.usefixtures("no_workers")
def test_a_bulk_job_gives_the_outputs_of_the_command(
    attn: Attn, texts: Path, tmp_path: Path, plain: list[str]
) -> None:
    attn("bulk", texts, tmp_path / "out.txt", "--", "translate", "--to", "de")
    assert lines((tmp_path / "out.txt").read_text("utf-8")) == plain


@pytest.mark.parametrize("more", [{}, {"alternatives": 8}, {"alignments": True}, {"heads": True}])
def test_the_service_gives_the_outputs_of_the_command(
    more: dict[str, Any], ask: Serve, plain: list[str]
) -> None:
    answer = ask(q=TEXTS, source="en", **more)
    assert answer["translatedText"] == plain


def test_a_dev_set_is_scored_by_the_outputs_of_the_command(
    attn: Attn, texts: Path, tiny_bundle: Path
) -> None:
    options = ("translate", "--device", "cpu", "-m", tiny_bundle, "-i", texts)
    dev = DevTexts(TEXTS, [TEXTS])
    outputs = dev.outputs(read(tiny_bundle), "cpu", lambda share: None)
    assert outputs == lines(attn(*options).out)
    shown = dev.samples(read(tiny_bundle), "cpu", len(TEXTS))
    assert [one.output for one in shown] == [out for out in outputs if out]


def test_html_has_the_outputs_of_the_lines(ask: Serve, plain: list[str]) -> None:
    for text in (TEXTS[0], TEXTS[6], TEXTS[11]):
        answer = ask(q=f"<p>{text}</p>", source="en", format="html", alternatives=2)
        assert answer["translatedText"] == f"<p>{plain[TEXTS.index(text)]}</p>"
