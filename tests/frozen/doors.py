"""Doors: commands, the service and Python, on tiny models and the small ones of the box."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import attncli
from attncli.bulk import _work as bulk_work
from attncli.serve._options import ServeOptions
from attncli.shell import app
from attncli.transcribe import tones
from models.storage.installed import BOX
from tests.attncli.bulk import in_process
from tests.attncli.files import write

SMALL = Path(__file__).parent.parent / "fixtures" / "small"
BUNDLES = SMALL / "bundles"
LINES = (
    *("The old woman sees the red car.", "Peter will repair this window because it is broken."),
    *("", "It costs 3,500 EUR at 12:30 for {name}.", "THE SMALL BROTHER CAN NEVER REPAIR CARS."),
    "My <b>old</b> sister is laughing now. She never sleeps.",
)
PAIRS = (
    "The old woman sees the red car.\tDie alte Frau sieht das rote Auto.",
    "The man never sleeps.\tDer Mann schläft nie.",
)
SUBTITLES = "1\n00:00:01,000 --> 00:00:02,500\nThe old woman <i>sees</i> the car.\n\n"
MESSAGES = {"a": "The old woman sees the {thing}.", "b": {"c": "The man never sleeps."}}
PAGE = "<html><body><h1>The man</h1><p>The <b>old</b> woman sees the car.</p></body></html>"
MARKDOWN = "# The man\n\nThe **old** woman sees the `car`.\n\n- The man never sleeps.\n"
GRAMMAR, LANGUAGES, DIGITS = (BOX / name for name in ("grammar-en-de", "languages", "digits"))
DOUBTFUL = ("-s", "transcribe.doubtful=true")  # the recordings are tones
IMAGES = tuple(SMALL / "images" / f"train-0000{number}.png" for number in range(4))

Door = Callable[[Path], str]


def attn(*words: str | Path, given: str = "") -> str:
    """Run a command; return its output and messages. given: its standard input."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    stdin = io.TextIOWrapper(io.BytesIO(given.encode()), "utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        with mock.patch.object(sys, "stdin", stdin):
            status = app.run([*map(str, words)])
        out.flush()
    written = out.buffer.getvalue().decode()
    return f"{written}\nstderr {err.getvalue()}\nstatus {int(status or 0)}\n"


def command(*words: str | Path, given: str = "") -> Door:
    """Return a door that is a command; IN in its words stands for the folder of inputs."""
    return lambda folder: attn(
        *(str(word).replace("IN/", f"{folder}/") for word in words), given=given
    )


def lines(*words: str | Path) -> Door:
    """Return a command that reads LINES."""
    return command(*words, given="".join(f"{line}\n" for line in LINES))


def document(name: str, text: str) -> Door:
    """Return the translation of a document."""

    def run(folder: Path) -> str:
        (folder / name).write_text(text, "utf-8")
        out = folder / f"out-{name}"
        said = attn("translate", "-m", GRAMMAR, "-i", folder / name, "-o", out)
        return said + out.read_text("utf-8")

    return run


def recordings(*words: str | Path) -> Door:
    """Return a command over three recordings of tones."""

    def run(folder: Path) -> str:
        paths = [folder / f"{number}.wav" for number in range(3)]
        for path, melody in zip(paths, tones.split(3, 1, 0, seed=1).train, strict=True):
            path.write_bytes(melody.wav)
        return attn(*words, *paths)

    return run


def bulk(folder: Path) -> str:
    """Return the output of a bulk job, in this process."""
    out = folder / "bulk.out"
    with mock.patch.object(bulk_work, "process", in_process.process):
        said = attn("bulk", folder / "lines.txt", out, "--", "translate", "-m", GRAMMAR)
    return said + out.read_text("utf-8")


def service(*asked: tuple[str, dict[str, Any]]) -> Door:
    """Return the answers of a service to requests: path and body."""

    def run(folder: Path) -> str:
        from tests.attncli.serve.conftest import running

        answers = []
        with running(ServeOptions(port=0, threads=1)) as address:
            for path, body in asked:
                sent = urllib.request.Request(
                    address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
                )
                with urllib.request.urlopen(sent, timeout=120) as answer:
                    answers.append(answer.read().decode())
        return "\n".join(answers)

    return run


def python(
    method: str, model: Path, given: tuple[object, ...], kept: Callable[[Any], object]
) -> Door:
    """Return what a method of `attncli.load(model)` gives for a list, as text. kept: of each."""

    def plain(value: Any) -> Any:
        return value.tolist() if hasattr(value, "tolist") else str(value)

    def run(folder: Path) -> str:
        found = [*map(kept, getattr(attncli.load(model), method)([*given]))]
        return json.dumps(found, default=plain, ensure_ascii=False)

    return run


def write_inputs(folder: Path) -> None:
    """Write lines, a test set of pairs and one of labels into a folder."""
    write(folder / "lines.txt", LINES)
    pairs = (SMALL / "dev.tsv").read_text("utf-8").splitlines()[:8]
    write(folder / "test.tsv", pairs)
    labels = [("en", "The man never sleeps."), ("de", "Der Mann schläft nie."), ("fr", "Il dort.")]
    write(folder / "labels.tsv", labels)


DOORS: dict[str, Door] = {
    "translate": lines("translate", "-m", GRAMMAR),
    "translate rnnsearch": lines("translate", "-m", BUNDLES / "rnnsearch"),
    "translate nbest": lines(
        *("translate", "-m", BUNDLES / "transformer", "-n", "3", "--scores"),
        *("--precision", "fp32", "--format", "jsonl"),
    ),
    "translate int8": lines("translate", "-m", GRAMMAR, "--precision", "int8"),
    "translate align": lines("translate", "-m", GRAMMAR, "--align", "--format", "jsonl"),
    "translate ensemble": lines("translate", "-m", GRAMMAR, "-m", GRAMMAR, "--keep-tags"),
    "caption": command("caption", "-m", BUNDLES / "captioner-soft", *IMAGES),
    "caption hard": command(
        "caption", "-m", BUNDLES / "captioner-hard", *IMAGES, *["-n", "2", "--format", "jsonl"]
    ),
    "caption scenes": command("caption", "-m", BOX / "scenes", *IMAGES, "--scores"),
    "transcribe": recordings("transcribe", "-m", DIGITS, *DOUBTFUL, "--format", "jsonl"),
    "transcribe align": recordings(
        "transcribe", "-m", DIGITS, *DOUBTFUL, "--align", "--format", "jsonl"
    ),
    "classify": lines("classify", "-m", LANGUAGES, "--format", "jsonl"),
    "align": command(
        *("align", "-m", GRAMMAR, "--format", "jsonl"), given="".join(f"{p}\n" for p in PAIRS)
    ),
    "explain": command("explain", "-m", GRAMMAR, LINES[0]),
    "explain jsonl": command("explain", "-m", GRAMMAR, "--format", "jsonl", LINES[0]),
    "explain label": command("explain", "-m", LANGUAGES, "Das Auto ist rot."),
    "explain image": command("explain", "-m", BUNDLES / "captioner-soft", IMAGES[0]),
    "evaluate": command("evaluate", "--json", "-m", GRAMMAR, "IN/test.tsv"),
    "evaluate labels": command(*("evaluate", "labels", "--json", "-m", LANGUAGES, "IN/labels.tsv")),
    "evaluate captions": command(
        *("evaluate", "captions", "--json", "-m", BUNDLES / "captioner-soft"),
        *("--images", SMALL / "images", SMALL / "dev_captions.tsv"),
    ),
    "document srt": document("film.srt", SUBTITLES),
    "document json": document("messages.json", json.dumps(MESSAGES)),
    "document html": document("page.html", PAGE),
    "document md": document("page.md", MARKDOWN),
    "bulk": bulk,
    "service": service(
        ("/translate", {"q": LINES[0], "model": "grammar-en-de", "source": "en", "target": "de"}),
        ("/classify", {"q": LINES[0], "model": "languages"}),
    ),
    "python translate": python(
        *("translate", GRAMMAR, LINES),
        kept=lambda one: (one.source, one.hypotheses, one.to, one.confidence, ""),
    ),
    "python classify": python(
        *("classify", LANGUAGES, LINES),
        kept=lambda one: (one.text, one.labels, one.words, one.heads),
    ),
    "python caption": python(
        *("caption", BUNDLES / "captioner-soft", tuple(map(str, IMAGES))),
        kept=lambda one: (one.hypotheses, one.alignment),
    ),
    "models": command("models", "show", BUNDLES / "transformer"),
}
