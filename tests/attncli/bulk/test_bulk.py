"""`attn bulk` writes what the command for one process writes, whatever happens in between."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

from attncli.bulk import _run as bulk_run
from attncli.bulk import _work as bulk_work
from attncli.bulk._job import BulkJob, chunk_results, read_job
from attncli.bulk._run import part_name, read_part, write_part
from attncli.bulk._shards import BulkSource, Shard, ShardResult, shards_of
from attncli.bulk.mapper import BatchMapper
from attncli.data.embedded import generate
from attncli.data.named_files import named_images, open_images
from attncli.faithful.result import Line
from attncli.shell import app
from attncli.translate.runner import TranslateRunner
from models.core.errors import InputError, ResourceError
from models.engines.translator import Translator
from tests.attncli.bulk import in_process

SHARD = ["--shard", "7"]
pytestmark = pytest.mark.usefixtures("no_workers")


def text(path: Path, count: int = 40) -> Path:
    """Write sentences, some empty and one that is no UTF-8; the last line has no end."""
    lines = [pair.source.encode() for pair in generate(count)]
    lines[3], lines[11], lines[20] = b"", b"\xff\xfe bad", b"two  spaces \r"
    path.write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines))
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return text(tmp_path / "in.txt")


@pytest.fixture
def expected(source: Path, tiny_bundle: Path, tmp_path: Path) -> bytes:
    """Return what `attn translate` writes."""
    out = tmp_path / "expected"
    assert app.run(["translate", "-m", str(tiny_bundle), "-i", str(source), "-o", str(out)]) == 1
    return out.read_bytes()


def bulk(given: Path, out: Path, *task: object) -> int:
    return app.run(["bulk", *SHARD, str(given), str(out), "--", *map(str, task)])


def test_a_worker_gets_the_settings_of_the_command(tiny_bundle: Path, tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("dog\tHund\n", "utf-8")
    job = read_job(["translate", "-m", str(tiny_bundle), "--beam", "3", "--glossary", str(terms)])
    assert (job.settings["beam"], job.settings["glossary"]) == (3, [["dog", "Hund"]])
    job.open()


def test_the_output_is_that_of_one_process(
    source: Path, expected: bytes, tiny_bundle: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert bulk(source, out, "translate", "-m", tiny_bundle) == 1  # a line is no UTF-8
    assert out.read_bytes() == expected
    [row] = (tmp_path / "out.bulk" / "errors.jsonl").read_text().splitlines()
    error = json.loads(row)
    assert (error["file"], error["record"]) == (str(source), 12)
    assert "line 12 is not valid UTF-8" in error["error"]
    assert not (tmp_path / "out.bulk" / "parts").exists()


def test_folders_are_mirrored_without_compression(
    source: Path, expected: bytes, tiny_bundle: Path, tmp_path: Path
) -> None:
    corpus = tmp_path / "corpus"
    (corpus / "deep").mkdir(parents=True)
    (corpus / "a.txt").write_bytes(source.read_bytes())
    (corpus / "deep" / "b.txt.gz").write_bytes(gzip.compress(source.read_bytes()))
    (corpus / ".hidden").write_text("no text")
    assert bulk(corpus, tmp_path / "out", "translate", "-m", tiny_bundle) == 1
    assert (tmp_path / "out" / "a.txt").read_bytes() == expected
    assert (tmp_path / "out" / "deep" / "b.txt").read_bytes() == expected
    assert len([*(tmp_path / "out").rglob("*")]) == 3
    assert (tmp_path / "out.bulk" / "errors.jsonl").read_text().count("\n") == 2


def test_a_finished_job_is_not_repeated(
    source: Path, tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    assert bulk(source, out, "translate", "-m", tiny_bundle) == 1
    with monkeypatch.context() as context:
        context.setattr(bulk_work, "process", None)  # a call would fail
        assert bulk(source, out, "translate", "-m", tiny_bundle) == 1
    out.write_bytes(b"changed")
    assert bulk(source, out, "translate", "-m", tiny_bundle) == 1
    assert out.read_bytes() != b"changed"


def test_finished_parts_are_not_processed_again(
    source: Path,
    expected: bytes,
    tiny_bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A full disk after two parts: one line, and the same command needs only the other parts."""
    out, written = tmp_path / "out", list[int]()

    def limited(path: Path, part: ShardResult) -> None:
        if len(written) == 2:
            raise ResourceError("cannot write: No space left on device")
        write_part(path, part)
        written.append(part.number)

    monkeypatch.setattr(bulk_run, "write_part", limited)
    assert bulk(source, out, "translate", "-m", tiny_bundle) == 1
    assert not out.exists()
    monkeypatch.setattr(bulk_run, "write_part", write_part)
    seen: list[int] = []

    def watched(*job: Any) -> Iterator[ShardResult]:
        for part in in_process.process(*job):
            seen.append(part.number)
            yield part

    monkeypatch.setattr(bulk_work, "process", watched)
    assert bulk(source, out, "translate", "-m", tiny_bundle) == 1
    assert out.read_bytes() == expected
    assert sorted([*seen, *written]) == list(range(6))


def test_a_damaged_part_is_processed_again(tmp_path: Path) -> None:
    path, part = tmp_path / "name", ShardResult(3, 2, ((7, "error", "bad"),), b"a\nb\n")
    write_part(path, part)
    assert read_part(path) == part
    path.write_bytes(path.read_bytes()[:-1])
    assert read_part(path) is None


def test_line_ends_of_carriage_returns_are_named(tmp_path: Path) -> None:
    (path := tmp_path / "f.txt").write_bytes(b"a dog\ra cat\r")
    with pytest.raises(InputError, match="f.txt has line ends of carriage returns alone"):
        next(shards_of(BulkJob("translate", ()), [BulkSource((path,), path)], 9))


def test_another_setting_has_other_parts(tiny_bundle: Path) -> None:
    job = BulkJob("translate", (str(tiny_bundle),), {"format": "text"})
    other = BulkJob("translate", (str(tiny_bundle),), {"format": "tsv", "threads": 2})
    same = BulkJob("translate", (str(tiny_bundle),), {"format": "text", "threads": 2})
    shard = Shard(0, 0, 1, 2, b"a\nb\n")
    names = [part_name(one.digest(), shard) for one in (job, other, same)]
    assert names[0] == names[2] != names[1]
    assert part_name(job.digest(), shard._replace(first=3)) != names[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_broken_job_loses_nothing(
    number: int, source: Path, expected: bytes, tiny_bundle: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = ["bulk", "-q", *SHARD, str(source), str(out)]
    words += ["--", "translate", "-m", str(tiny_bundle)]
    command = [sys.executable, "-m", "tests.attncli.bulk.in_process", *words]
    driver = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not [*tmp_path.glob("out.bulk/parts/[0-9a-f]*")]:
        time.sleep(0.01)
    driver.send_signal(number)
    error = driver.communicate()[1]
    if driver.returncode == 130:  # unless it had finished
        assert error.splitlines() == [
            "attn: interrupted; finished shards are kept, the same command continues"
        ]
        assert not out.exists() and [*(tmp_path / "out.bulk").glob("parts/[0-9a-f]*")]
    assert subprocess.run(command).returncode == 1
    assert out.read_bytes() == expected


class Uppercase:
    """A runner that fails on a word, and on more than one record with it."""

    def run(self, chunks: list[list[Line]]) -> Iterator[list[str]]:
        for records in chunks:
            if any(record.text == "bad" and not record.fault for record in records):
                raise RuntimeError("out of memory")
            yield [record.fault or record.text.upper() for record in records]


def test_a_record_that_raises_costs_its_row_unless_all_do() -> None:
    task: Any = Uppercase()
    found = chunk_results(task, [Line(1, "a"), Line(2, "bad"), Line(3, "b")])
    assert found == ["A", "not processed (RuntimeError: out of memory)", "B"]
    with pytest.raises(RuntimeError, match="out of memory"):
        chunk_results(task, [Line(1, "bad"), Line(2, "bad")])


def test_a_mistake_that_a_worker_finds_is_one_line(
    source: Path, tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert bulk(source, out, "translate", "-m", tiny_bundle, "--to", "de") == 1
    error = capsys.readouterr().err
    assert "attn: " in error and "Traceback" not in error


def test_files_of_others_are_not_touched(
    source: Path, tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """State in a link or a folder of others, and an output below a link, are refused."""
    task, mine, out = ["translate", "-m", tiny_bundle], tmp_path / "mine", tmp_path / "out"
    (mine / "parts").mkdir(parents=True)
    (mine / "parts" / "thesis.txt").write_text("precious")
    (mine / "errors.jsonl").write_text("mine")
    state, corpus = tmp_path / "out.bulk", tmp_path / "corpus"
    state.symlink_to(mine)
    assert bulk(source, out, *task) == 1 and "a link; expected" in capsys.readouterr().err
    state.unlink()
    mine.rename(state)
    assert bulk(source, out, *task) == 1 and "which no `attn bulk` made" in capsys.readouterr().err
    assert (state / "parts" / "thesis.txt").exists()
    (corpus / "sub").mkdir(parents=True)
    (corpus / "sub" / "a.txt").write_text("A dog.\n")
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "sub").symlink_to(state)
    assert bulk(corpus, tmp_path / "to", *task) == 1 and "leads to" in capsys.readouterr().err
    assert sorted(path.name for path in state.iterdir()) == ["errors.jsonl", "parts"]


def test_a_pipe_in_a_folder_is_left_out(
    tiny_bundle: Path, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    corpus.mkdir()
    (corpus / "a.txt").write_text("A dog.\n")
    os.mkfifo(corpus / "b.txt")
    assert bulk(corpus, out, "translate", "-m", tiny_bundle) == 1
    assert f"{corpus / 'b.txt'} is left out" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == ["a.txt"]
    os.mkfifo(photos / "pipe.png")
    found = [one for group in named_images([str(photos)], recursive=True) for one in group]
    assert [one.name for one in found if one.fault] == [str(photos / "pipe.png")]
    assert "pipe.png" not in open_images(str(photos)).places


def test_an_output_that_would_replace_something_is_refused(
    source: Path, tiny_bundle: Path, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever forgets OUT names an input or another file last."""
    other, image, corpus = source.with_name("other.txt"), photos / "a.png", source.with_name("both")
    other.write_text("not to be lost\n")
    corpus.mkdir()
    for name in ("a.txt", "a.txt.gz"):
        (corpus / name).write_bytes(b"A dog.\n")
    for given, out, task, message in (
        (photos, image, ["caption", "-m", "photos"], "no earlier `attn bulk` wrote it"),
        (source, other, ["translate", "-m", tiny_bundle], "no earlier `attn bulk` wrote it"),
        (corpus, source.with_name("out"), ["translate", "-m", tiny_bundle], "have the same output"),
    ):
        before = out.read_bytes() if out.exists() else None
        assert bulk(given, out, *task) == 1
        assert message in capsys.readouterr().err
        assert before == (out.read_bytes() if out.exists() else None)


TEXTS = ["The dog sees a house.", "", "The old cat sleeps.", "A girl reads."]


def bulk_of_fields(given: Path, out: Path, fields: list[str], *task: object) -> int:
    words = [word for field in fields for word in ("--field", field)]
    words += ["--shard", "2", "-q", str(given), str(out)]
    return app.run(["bulk", *words, "--", *map(str, task)])


@pytest.fixture
def expected_texts(tiny_translator: Translator) -> list[str]:
    return [found.text for found in TranslateRunner(tiny_translator).results(TEXTS)]


def test_json_lines_keep_their_fields_and_get_the_result(
    tiny_bundle: Path, tmp_path: Path, expected_texts: list[str]
) -> None:
    rows = [json.dumps({"id": n, "meta": {"text": text}}) for n, text in enumerate(TEXTS)]
    lines = [*rows[:2], "", "[1]", '{"meta": 7}', *rows[2:]]
    source, out = tmp_path / "in.jsonl.gz", tmp_path / "out.jsonl"
    source.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    assert bulk_of_fields(source, out, ["meta.text"], "translate", "-m", tiny_bundle) == 1
    found = out.read_text().split("\n")
    assert found[2:5] == ["", "[1]", '{"meta": 7}'] and found[-1] == ""
    objects = [json.loads(row) for row in found[:2] + found[5:-1]]
    assert [one["translation"] for one in objects] == expected_texts
    assert [one["meta"]["text"] for one in objects] == TEXTS
    errors = (tmp_path / "out.jsonl.bulk" / "errors.jsonl").read_text().splitlines()
    assert [json.loads(row)["record"] for row in errors] == [4, 5]


def test_pairs_of_two_fields_are_aligned(tiny_bundle: Path, tmp_path: Path) -> None:
    pair = {"en": "The dog sees\ta house.", "de": "Der Hund sieht ein Haus."}
    (tmp_path / "in").write_text(json.dumps(pair) + "\n")
    words = ("align", "-m", tiny_bundle, "--reverse-model", tiny_bundle)
    assert bulk_of_fields(tmp_path / "in", tmp_path / "out", ["en", "de"], *words) == 0
    assert "-" in json.loads((tmp_path / "out").read_text())["links"]
    assert bulk_of_fields(tmp_path / "in", tmp_path / "out", ["en"], *words) == 2


def test_a_batch_gets_a_column_of_results(
    tiny_bundle: Path, soft_captioner: Path, photos: Path, expected_texts: list[str]
) -> None:
    mapper = BatchMapper(["translate", "-m", str(tiny_bundle)])
    found = mapper({"text": numpy.array(TEXTS), "id": numpy.arange(4)})
    assert list(found["translation"]) == expected_texts and list(found["id"]) == [0, 1, 2, 3]
    assert isinstance(found["translation"], numpy.ndarray)
    content = (photos / "a.png").read_bytes()
    captions = BatchMapper(["caption", "-m", str(soft_captioner)], column="image", into="said")
    found = captions({"image": [content, b"none"]})
    assert found["said"][0] and "not a readable image" in found["said_error"][1]
