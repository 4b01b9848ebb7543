"""One door: an input has one output, whichever command, program or service asks for it.

Asking for more (scores, alternatives, attention, an explanation) never changes the first output.
The contract holds for every task with a runner; a new task needs a case here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
from PIL import Image

import attncli
from attncli.bulk.mapper import BatchMapper
from attncli.data.embedded import generate
from attncli.data.named_files import NamedFile
from attncli.serve.models import Job, ServedModel
from attncli.task.table import RUNNERS, find_runner
from attncli.transcribe import tones
from attncli.translate.dev import DevTexts
from models.networks.bundle import read
from models.storage.installed import BOX, is_bundle
from tests.attncli.command_line import Attn
from tests.attncli.files import write

TEXTS = [
    "WHERE IS THE NEXT STATION?",
    "I don\u2019t know, it\u2019s late.",
    "https://example.org/a?b=1",
    "12:30",
    "The train leaves at seven. \U0001f600",  # no near tie: in int8 scores depend on the batch
    "  The  old   dog sleeps.  ",
    "I am tired. Where is my bed?",
    " ".join(["We went home because it was raining, and then we slept."] * 6),
    "",
    "\u6771\u4eac\u90fd",
    "The <b>red</b> car costs {price} euros.",
    "- Good morning",
    "I have 3,500 books, e.g. about Zo\u00eb and Ma\u0308x.",
    "Cancel",  # one word: its translation is the lexicon's
    "Add New Rule",  # a heading: read in sentence case
]
TRANSLATED = [0, 1, 4, 5, 6, 10]  # that are not copied
Ask = Callable[..., Any]

pytestmark = pytest.mark.skipif(not is_bundle(BOX / "everyday"), reason="not in the box")


class Case(NamedTuple):
    """A task with its model and its inputs."""

    task: str
    model: Path
    items: list[Any]  # lines, pairs with a tab between them, or files in one folder
    first: Callable[[dict[str, Any]], str]  # the best output in a record of JSON lines
    more: tuple[str, ...] = ()  # options that ask for more
    words: tuple[str, ...] = ()  # options that are always given

    @property
    def options(self) -> tuple[str, ...]:
        return "-m", str(self.model), *self.words, "--device", "cpu"

    def outputs(self, attn: Attn, *more: str, items: list[Any] | None = None) -> list[str]:
        """Return the rows of the command, which reads lines from a pipe."""
        given = self.items if items is None else items
        command = (self.task, *self.options, *more)
        if find_runner(self.task).files:
            rows = lines(attn(*command, *given).out)
            return rows if more or len(given) == 1 else [row.partition("\t")[2] for row in rows]
        return lines(attn(*command, given="".join(f"{one}\n" for one in given)).out)

    def file(self, folder: Path) -> Path:
        """Return the inputs as a file of lines, or the folder of the files."""
        if find_runner(self.task).files:
            return Path(self.items[0]).parent
        write(folder / "in.txt", self.items)
        return folder / "in.txt"


@pytest.fixture(scope="module")
def cases(
    tmp_path_factory: pytest.TempPathFactory,
    toy_classifier: Path,
    soft_captioner: Path,
    tiny_bundle: Path,
) -> dict[str, Case]:
    pytest.importorskip("soundfile")
    from tests.attncli.transcribe.conftest import save_random, tokenizer_of_tones

    speech, sounds = tmp_path_factory.mktemp("speech"), tmp_path_factory.mktemp("sounds")
    save_random("listen-attend-spell-nano", tokenizer_of_tones(), speech)
    for number, melody in enumerate(tones.split(12, 4, 0, seed=1).dev):
        (sounds / f"{number}.wav").write_bytes(melody.wav)
    pairs = [f"{pair.source}\t{pair.target}" for pair in generate(6)]
    jsonl, to = "--format jsonl", ("--to", "de")
    found = (
        Case(
            "translate",
            BOX / "everyday",
            TEXTS,
            lambda record: record["hypotheses"][0]["text"],
            (f"{jsonl} --nbest 3", f"{jsonl} --align", f"{jsonl} --nbest 10", "--show"),
            to,
        ),
        Case("classify", toy_classifier, TEXTS, label, (jsonl, f"{jsonl} -n 2", "--show")),
        Case(
            "caption",
            soft_captioner,
            pictures(tmp_path_factory.mktemp("images")),
            lambda record: record["caption"],
            (f"{jsonl} -n 7", "--show"),
        ),
        Case(
            "transcribe",
            speech,
            sorted(sounds.iterdir()),
            lambda record: record["text"],
            (jsonl, f"{jsonl} --align", "--show"),
        ),
        Case(
            "align",
            tiny_bundle,
            pairs,
            lambda record: " ".join(f"{i}-{j}" for i, j in record["links"]),
            (jsonl,),
        ),
    )
    return {case.task: case for case in found}


def pictures(folder: Path) -> list[Path]:
    """Write images of several formats; a JPEG that is rotated, and one that is much too large."""
    rng = numpy.random.default_rng(1)
    paths = [folder / name for name in ("a.png", "b.jpg", "grey.gif", "large.jpg")]
    for path, size in zip(paths, (40, 60, 33, 700), strict=True):
        squares = Image.fromarray(rng.integers(0, 255, (5, 7, 3), numpy.uint8))
        picture = squares.resize((size * 4 // 3, size), Image.Resampling.BICUBIC)
        exif = Image.Exif()
        exif[0x0112] = 6 if path.name == "b.jpg" else 1  # the camera was turned
        picture.convert("L" if path.suffix == ".gif" else "RGB").save(path, exif=exif)
    return paths


def label(record: dict[str, Any]) -> str:
    return str(record["labels"][0]["label"]) if record["labels"] else ""


def lines(out: str) -> list[str]:
    return out.split("\n")[:-1]


@pytest.fixture(params=RUNNERS)
def case(request: pytest.FixtureRequest, cases: dict[str, Case]) -> Case:
    if request.param not in cases:
        pytest.skip("a task of one's own, whose test compares its doors")
    return cases[request.param]


@pytest.fixture
def plain(case: Case, attn: Attn) -> list[str]:
    found = case.outputs(attn)
    assert len(found) == len(case.items) and len({*found}) > 1
    return found


@pytest.mark.usefixtures("no_workers")
def test_an_input_alone_from_a_file_and_in_bulk_has_the_output_that_it_has_with_others(
    case: Case, plain: list[str], attn: Attn, tmp_path: Path
) -> None:
    for number in range(min(5, len(plain))):
        assert case.outputs(attn, items=[case.items[number]]) == [plain[number]]
    given, out, files = case.file(tmp_path), tmp_path / "out", find_runner(case.task).files
    option = (
        ("-r",) if case.task == "caption" else ("-i",) * (case.task not in ("align", "transcribe"))
    )
    found = lines(attn(case.task, *case.options, *option, given).out)
    attn("bulk", "--shard", "3", given, out, "--", case.task, *case.options)
    assert lines(out.read_text("utf-8")) == found
    assert [row.partition("\t")[2] for row in found] == plain if files else found == plain


def test_asking_for_more_does_not_change_the_first_output(
    case: Case, plain: list[str], attn: Attn
) -> None:
    for more in map(str.split, case.more):
        found = case.outputs(attn, *more)
        if "jsonl" in more:
            assert [case.first(json.loads(row)) for row in found] == plain
        else:
            rows = [row.rpartition("\t")[2] for row in found]
            assert [row for row in rows if row in plain and row] == list(filter(None, plain))


def test_python_and_tables_have_the_outputs_of_the_command(case: Case, plain: list[str]) -> None:
    model: Any = attncli.load(case.model)
    columns = {"text": [*map(str, case.items)]}
    if case.task == "align":
        pairs = [one.split("\t") for one in case.items]
        columns = {"text": [one for one, _ in pairs], "target": [other for _, other in pairs]}
    target = "target" if "target" in columns else ""
    mapper = BatchMapper([case.task, *case.options], target=target)
    assert list(mapper(columns)[mapper.into]) == plain
    if case.task == "align":
        found = [
            " ".join(f"{i}-{j}" for i, j in sorted(one.links))
            for one in model.align(*map(list, columns.values()))
        ]
    elif case.task == "translate":
        found = [one.text for one in model.translate(case.items, to="de")]
        assert [model.translate(case.items[n], to="de").text for n in TRANSLATED] == [
            plain[n] for n in TRANSLATED
        ]
    elif case.task == "classify":
        found = [one.label for one in model.classify(case.items)]
    elif case.task == "caption":
        found = [one.text for one in model.caption(case.items)]
        pil = [Image.open(path) for path in case.items[:3]]
        assert [one.text for one in model.caption(pil)] == plain[:3]
        content = [path.read_bytes() for path in case.items]
        assert [one.text for one in model.caption(content)] == plain
    else:
        found = [one.text for one in model.transcribe(case.items)]
    assert found == plain


def test_the_jobs_of_the_service_have_the_outputs_of_the_command(
    case: Case, plain: list[str]
) -> None:
    more: dict[str, Any] = {} if case.task in ("align", "transcribe") else {"nbest": 3}
    to = "de" if case.task == "translate" else ""
    job = Job.of(case.task, weights=case.task != "align", to=to, **more)
    items, served = case.items, ServedModel(case.model)
    if find_runner(case.task).files:
        items = [NamedFile("a file", path.read_bytes()) for path in items]
    runner = find_runner(case.task).of(served.model, job.options)
    assert [runner.text(found) for found in job.run(served, items)] == plain


def test_evaluation_scores_the_outputs_of_the_command(
    case: Case, plain: list[str], attn: Attn, tmp_path: Path
) -> None:
    gold, given, saved = tmp_path / "gold.tsv", case.file(tmp_path), tmp_path / "saved"
    names = [Path(str(one)).name for one in case.items]
    gold.write_text("".join(f"{name}\ta dog\n" for name in names if name), "utf-8")
    words: dict[str, tuple[object, ...]] = {
        "translate": (given, given),
        "classify": ("labels", tmp_path / "labels.tsv"),
        "caption": ("captions", gold, "--images", given),
        "transcribe": ("transcripts", gold, "--audio", given),
    }
    if case.task not in words:
        pytest.skip("links are not saved")
    texts = [one for one in TEXTS if one]
    (tmp_path / "labels.tsv").write_text("".join(f"colour\t{one}\n" for one in texts), "utf-8")
    attn("evaluate", *words[case.task], *case.options, "--save", saved)
    found = [row.rpartition("\t")[2] for row in lines(saved.read_text("utf-8"))]
    assert found == (list(filter(None, plain)) if case.task == "classify" else plain)


def test_an_explanation_is_that_of_the_output_of_the_command(
    case: Case, plain: list[str], attn: Attn, tmp_path: Path
) -> None:
    if case.task == "align":
        pytest.skip("links are not explained")
    few = [n for n in (TRANSLATED if case.task == "translate" else range(3)) if plain[n]]
    (tmp_path / "few").write_text("".join(f"{case.items[n]}\n" for n in few), "utf-8")
    options = ("--method", "attention", "-i", tmp_path / "few")
    rows = attn("explain", *case.options, *options).out.splitlines()
    shown = [row.partition("  ") for row in rows if row.partition("  ")[0].isdigit()]
    found = [text.rpartition("  ")[2] if case.task == "caption" else text for _, _, text in shown]
    assert [text.strip() for text in found] == [plain[n].strip() for n in few]


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Return a function that asks a service."""
    testing = pytest.importorskip("starlette.testclient")
    from attncli.serve._app import application
    from attncli.serve._options import ServeOptions
    from attncli.serve._service import Service

    service = Service(ServeOptions(threads=1))
    client = testing.TestClient(application(service), base_url="http://127.0.0.1")
    yield lambda **given: client.post("/translate", json={**given, "target": "de"}).json()
    service.close()


@pytest.mark.parametrize("case", ["translate"], indirect=True)
@pytest.mark.parametrize("more", [{}, {"alternatives": 8}, {"alignments": True}, {"heads": True}])
def test_the_service_gives_the_outputs_of_the_command(
    more: dict[str, Any], ask: Ask, plain: list[str]
) -> None:
    assert ask(q=TEXTS, source="en", **more)["translatedText"] == plain
    if not more:
        for n in (0, 6, 11):
            answer = ask(q=f"<p>{TEXTS[n]}</p>", source="en", format="html", alternatives=2)
            assert answer["translatedText"] == f"<p>{plain[n]}</p>"


def test_a_dev_set_is_scored_by_the_outputs_of_the_command(attn: Attn, tiny_bundle: Path) -> None:
    outputs = DevTexts(TEXTS, [[text] for text in TEXTS]).outputs(
        read(tiny_bundle), "cpu", lambda share: None
    )
    given = "".join(f"{text}\n" for text in TEXTS)
    assert outputs == lines(
        attn("translate", "-m", tiny_bundle, "--device", "cpu", given=given).out
    )
    shown = DevTexts(TEXTS, [[text] for text in TEXTS]).samples(
        read(tiny_bundle), "cpu", len(TEXTS)
    )
    assert [one.output for one in shown] == [out for out in outputs if out]


def test_python_names_the_languages_that_the_command_names(attn: Attn) -> None:
    model: Any = attncli.load("languages")
    given = "".join(f"{text}\n" for text in TEXTS)
    expected = lines(attn("classify", "--device", "cpu", given=given).out)
    assert [found.label for found in model.classify(TEXTS)] == expected
