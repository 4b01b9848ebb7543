"""``attn caption`` through the real command line: what goes in, comes out and is said."""

from __future__ import annotations

import io
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from attncli.shell import app
from models import load
from models.core.use_config import SearchConfig
from models.signals.images import open_image

ROOT = Path(__file__).parents[2]
SHORT = ["-s", "search.max_caption=7", "--device", "cpu"]
SEARCH = SearchConfig(max_caption=7)

Run = Callable[..., tuple[str, list[str], int]]


@pytest.fixture
def caption(
    soft_captioner: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Run the command; return its output, its messages and its status."""
    monkeypatch.setenv("ATTN_MODEL", str(soft_captioner))

    def run(*arguments: object, stdin: bytes = b"") -> tuple[str, list[str], int]:
        with monkeypatch.context() as context:
            context.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            status = app.run(["caption", *SHORT, *map(str, arguments)])
        shown = capsys.readouterr()
        return shown.out, shown.err.splitlines(), status

    return run


def started(model: Path, *arguments: str) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "attncli", "caption", "-m", str(model), *SHORT, *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe)


def files(photos: Path) -> list[Path]:
    return sorted(path for path in photos.rglob("*.*"))


def expected(model: Path, paths: list[Path]) -> list[str]:
    """Return the captions in Python, each image by itself; all are cut at the limit of SHORT."""
    captioner = load(model, "caption")
    images = [open_image(path, least=32) for path in paths]
    found = [captioner.caption([image], search=SEARCH)[0].hypotheses[0] for image in images]
    assert all(best.truncated for best in found)
    return [re.sub(r"[\r\n\t]", " ", best.text) for best in found]


def all_cut(count: int) -> str:
    """Return the message after `count` captions, all of which are cut."""
    raised = "(search.max_caption raises the limit)"
    return f"attn: captions cut at their length limit: {count} of {count} {raised}"


def rows(paths: list[Path], captions: list[str]) -> str:
    return "".join(f"{path}\t{text}\n" for path, text in zip(paths, captions, strict=True))


def test_several_are_rows_in_order_however_they_are_named(
    caption: Run,
    soft_captioner: Path,
    photos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paths = files(photos)
    wanted, said = rows(paths, expected(soft_captioner, paths)), [all_cut(5)]
    listed = "".join(f"{path}\n" for path in paths).encode()
    (photos / "notes.txt").write_text("no image")
    (photos / ".hidden.png").write_bytes(b"no image")
    for batch in ("1", "2", "32"):
        assert caption(*paths, "-s", f"compute.batch_images={batch}") == (wanted, said, 0)
    [text] = expected(soft_captioner, paths[:1])
    assert caption("-", stdin=paths[0].read_bytes()) == (f"{text}\n", [all_cut(1)], 0)
    assert caption("-r", photos) == (wanted, said, 0)
    output, progress, status = caption("-r", photos, "-o", tmp_path / "captions.tsv")
    assert (output, status, progress) == ("", 0, ["captioning 100 %  5 images", all_cut(5)])
    assert (tmp_path / "captions.tsv").read_text() == wanted
    assert caption(photos / "**" / "*.[pjwg]*[!t]") == (wanted, said, 0)
    assert caption(stdin=listed) == (wanted, said, 0)
    assert caption(stdin=listed.replace(b"\n", b"\r\n").removesuffix(b"\r\n")) == (wanted, said, 0)
    monkeypatch.chdir(photos)
    assert caption("*.png")[0].startswith("a.png\t")


def test_what_is_no_image_costs_a_line_and_the_rest_is_captioned(
    caption: Run, soft_captioner: Path, photos: Path
) -> None:
    paths = files(photos)
    captions = expected(soft_captioner, paths)
    (photos / "cut.jpg").write_bytes((photos / "b.jpg").read_bytes()[:200])
    bad = ["nowhere.jpg", photos / "cut.jpg", photos, "no*.png"]
    output, said, status = caption(*bad, *paths)
    assert status == 1
    assert output == rows([*map(Path, map(str, bad)), *paths], [""] * 4 + captions)
    assert said.pop() == all_cut(5)
    assert [line.split(";")[0].split(" (")[0] for line in said] == [
        "attn: no file nowhere.jpg",
        f"attn: {photos / 'cut.jpg'} cannot be read",
        f"attn: {photos} is a folder",
        "attn: no file matches no*.png",
    ]
    assert caption("nowhere.jpg")[0::2] == ("", 1)
    assert caption(photos) == ("", [f"attn: {photos} is a folder; -r captions the images in it"], 1)
    output, said, status = caption("-", stdin=b"no image")
    assert (output, status, len(said)) == ("", 1, 1) and said[0].startswith("attn: standard input ")


def test_a_list_keeps_its_lines(caption: Run, photos: Path) -> None:
    output, said, status = caption(stdin=f"\n{photos / 'a.png'}\nnowhere\n\xff\n".encode("latin1"))
    names = [row.split("\t")[0] for row in output.splitlines()]
    assert names == ["", str(photos / "a.png"), "nowhere", "\ufffd"]
    assert said.pop() == all_cut(1)
    assert status == 1 and [line[:26] for line in said] == [
        "attn: line 1 names no imag",
        "attn: no file nowhere; exp",
        "attn: line 4 is not valid ",
    ]
    output, said, status = caption(stdin=(photos / "a.png").read_bytes())
    assert (output, status) == ("", 1)
    assert said[0].endswith("say `attn caption -`")
    assert caption() == ("", [], 0)


def test_every_output_of_a_hard_model_says_how_it_was_read(
    caption: Run, hard_captioner: Path, photos: Path, tmp_path: Path
) -> None:
    model = ["-m", hard_captioner, photos / "a.png"]
    for decode in ("argmax", "sample", "expected"):
        read = f"hard {decode}"
        for kind in ("text", "tsv", "jsonl", "html"):
            output, said, status = caption(
                *model, "-s", f"attention.read_decode={decode}", "--format", kind
            )
            assert (said[0], status) == (f"hard attention, read by {decode}", 0)
            assert (read in output) == (kind != "text")
        assert read in caption(*model, "-s", f"attention.read_decode={decode}", "--show")[0]
        caption(*model, "-s", f"attention.read_decode={decode}", "--picture", tmp_path / "x.npz")
        assert str(np.load(tmp_path / "x.npz")["read"]) == read
    output, said, status = caption(photos / "a.png", "-s", "attention.read_decode=sample")
    assert (output, status) == ("", 1) and "not hard" in said[-1]


def test_text_beside_images(caption: Run, soft_captioner: Path, photos: Path) -> None:
    paths = files(photos)
    captions = expected(soft_captioner, paths)
    mine = photos / "a.txt"
    mine.write_text("my notes")
    output, said, status = caption("-r", photos, "--sidecar")
    kept = "existed before, not replaced (-s output.overwrite=true replaces them)"
    assert (said, status) == ([f"attn: 1 text file {kept}", all_cut(5)], 1)
    assert mine.read_text() == "my notes"
    assert output == rows(paths, captions)
    for path, text in list(zip(paths, captions, strict=True))[1:]:
        assert path.with_suffix(".txt").read_text() == " ".join(text.split()) + "\n"
    _, said, status = caption("-r", photos, "--sidecar", "-s", "compute.batch_images=2")
    assert (said, status) == ([f"attn: 5 text files {kept}", all_cut(5)], 1)
    replaced = caption("-r", photos, "--sidecar", "-s", "output.overwrite=true")
    assert replaced[1:] == ([all_cut(5)], 0)
    assert mine.read_text() == " ".join(captions[0].split()) + "\n"


def test_images_that_differ_in_their_suffix_have_text_files_of_their_own(
    caption: Run, photos: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "more"
    folder.mkdir()
    for name in ("a.png", "a.jpg", "b.png"):
        (folder / name).write_bytes((photos / "a.png").read_bytes())
    (folder / "a.png").write_bytes((photos / "b.jpg").read_bytes())
    caption("-r", folder, "--sidecar")
    written = {path.name: path.read_text() for path in folder.glob("*.txt")}
    assert sorted(written) == ["a.png.txt", "a.txt", "b.txt"]
    caption(folder / "a.png", "--sidecar", "-s", "output.overwrite=true")
    assert {path.name: path.read_text() for path in folder.glob("*.txt")} == written


def test_maps_of_several_images_have_files_of_their_own_or_one_page(
    caption: Run, photos: Path, tmp_path: Path
) -> None:
    (photos / "more" / "a.png").write_bytes((photos / "a.png").read_bytes())
    paths = [*files(photos), "nowhere.jpg"]
    folder = tmp_path / "new" / "maps"
    caption(*paths, "--picture", f"{folder}/")
    names = ["a-2.png", "a.png", "b.png", "c.png", "d.png", "e.png"]
    assert sorted(path.name for path in folder.iterdir()) == names
    caption(*paths, "--picture", f"{folder}/{{name}}.map.npz", "-s", "compute.batch_images=2")
    assert len(list(folder.glob("*.map.npz"))) == 6
    caption(*paths, "--picture", tmp_path / "all.html")
    page = (tmp_path / "all.html").read_text()
    assert page.count("<figure>") == 7 and "no file nowhere.jpg" in page
    assert page.endswith("</html>\n") and caption(*paths, "--format", "html")[0] == page


# a live program with both ends open


def test_each_path_is_answered_while_the_list_stays_open(
    soft_captioner: Path, photos: Path
) -> None:
    with started(soft_captioner) as program:
        assert program.stdin and program.stdout
        for path in files(photos)[:3]:
            program.stdin.write(f"{path}\n".encode())
            program.stdin.flush()
            assert program.stdout.readline().startswith(f"{path}\t".encode())
        program.send_signal(signal.SIGINT)
        assert program.communicate() == (b"", b"")
    assert program.returncode == 130
