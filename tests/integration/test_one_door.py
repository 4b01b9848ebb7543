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

import numpy
import pytest
from PIL import Image

import attncli
from attncli.data.named_files import ImageFile
from attncli.serve.models import Job, ServedModel
from attncli.translate.dev import DevTexts
from models.networks.bundle import read
from models.storage.installed import BOX, is_bundle
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
    from attncli.serve.app import application
    from attncli.serve.catalogue import ServeOptions
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
    shown = [
        line.partition("  ")[2] for line in out.splitlines() if line.partition("  ")[0].isdigit()
    ]
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


@pytest.fixture
def pictures(tmp_path: Path) -> list[Path]:
    """Return images of several formats; a JPEG that is rotated, and one that is much too large."""
    paths = [tmp_path / "images" / name for name in ("a.png", "b.jpg", "large.jpg", "grey.gif")]
    paths[0].parent.mkdir()
    rng = numpy.random.default_rng(1)
    for path, size in zip(paths, (40, 60, 700, 33), strict=True):
        squares = Image.fromarray(rng.integers(0, 255, (5, 7, 3), numpy.uint8))
        picture = squares.resize((size * 4 // 3, size), Image.Resampling.BICUBIC)
        exif = Image.Exif()
        exif[0x0112] = 6 if path.name == "b.jpg" else 1  # the camera was turned
        picture.convert("L" if path.suffix == ".gif" else "RGB").save(path, exif=exif)
    return paths


@pytest.mark.usefixtures("no_workers")
def test_an_image_has_one_caption(
    attn: Attn, pictures: list[Path], soft_captioner: Path, tmp_path: Path
) -> None:
    folder = pictures[0].parent
    options = ("--device", "cpu", "-m", soft_captioner)
    expected = [attn("caption", *options, path).out for path in pictures]
    assert len({*expected}) > 1
    table = lines(attn("caption", *options, *pictures).out)
    assert [row.partition("\t")[2] + "\n" for row in table] == expected
    out = attn("caption", *options, "--format", "jsonl", "-n", "7", *pictures)
    assert [json.loads(row)["caption"] + "\n" for row in lines(out.out)] == expected
    model: Any = attncli.load(soft_captioner)
    for given in (pictures, [*map(str, pictures)], [path.read_bytes() for path in pictures]):
        assert [found.text + "\n" for found in model.caption(given)] == expected
    pil = [Image.open(path) for path in pictures if path.stem != "large"]
    assert [found.text + "\n" for found in model.caption(pil)] == [expected[n] for n in (0, 1, 3)]
    served = Job.of("caption", nbest=7, weights=True).run(
        ServedModel(soft_captioner), [ImageFile("an image", p.read_bytes()) for p in pictures]
    )
    assert [found.caption + "\n" for found in served] == expected
    (tmp_path / "gold.tsv").write_text("".join(f"{p.name}\ta dog\n" for p in pictures))
    save = ("--images", folder, "--save", tmp_path / "saved", tmp_path / "gold.tsv")
    attn("evaluate", "captions", *options, *save)
    saved = lines((tmp_path / "saved").read_text("utf-8"))
    assert [row.partition("\t")[2] + "\n" for row in saved] == expected
    explained = attn("explain", *options, "--method", "attention", *pictures).out
    assert [
        line.split("  ")[2] + "\n" for line in lines(explained) if line[:1].isdigit()
    ] == expected
    attn("bulk", folder, tmp_path / "bulk.tsv", "--", "caption", "-m", soft_captioner)
    rows = dict(row.split("\t") for row in lines((tmp_path / "bulk.tsv").read_text("utf-8")))
    assert [rows[str(path)] + "\n" for path in pictures] == expected


@pytest.mark.usefixtures("no_workers")
def test_a_text_has_one_label(
    attn: Attn, texts: Path, toy_classifier: Path, tmp_path: Path
) -> None:
    options = ("--device", "cpu", "-m", toy_classifier)
    expected = lines(attn("classify", *options, "-i", texts).out)
    for more in (("--format", "jsonl"), ("--format", "jsonl", "-n", "2")):
        rows = lines(attn("classify", *options, "-i", texts, *more).out)
        assert [_label(json.loads(row)) for row in rows] == expected
    model: Any = attncli.load(toy_classifier)
    assert [found.label for found in model.classify(TEXTS)] == expected
    assert [model.classify(text, attention=False).label for text in TEXTS] == expected
    served = Job.of("classify", nbest=2, weights=True).run(ServedModel(toy_classifier), TEXTS)
    assert [found.result.label if found.result else "" for found in served] == expected
    (tmp_path / "gold.tsv").write_text("".join(f"colour\t{t}\n" for t in TEXTS if t), "utf-8")
    saved = tmp_path / "saved"
    attn("evaluate", "labels", *options, "--save", saved, tmp_path / "gold.tsv")
    assert lines(saved.read_text("utf-8")) == list(filter(None, expected))
    attn("bulk", texts, tmp_path / "out.txt", "--", "classify", "-m", toy_classifier)
    assert lines((tmp_path / "out.txt").read_text("utf-8")) == expected


def test_python_names_the_languages_that_the_command_names(attn: Attn, texts: Path) -> None:
    model: Any = attncli.load("languages")
    expected = lines(attn("classify", "--device", "cpu", "-i", texts).out)
    assert [found.label for found in model.classify(TEXTS)] == expected


def _label(record: dict[str, Any]) -> str:
    return record["labels"][0]["label"] if record["labels"] else ""
