"""The command line itself: quick, helpful, clear about mistakes, and its own modules alone."""

from __future__ import annotations

import errno
import importlib
import inspect
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attncli.processes.several import PROGRAM
from attncli.shell import app
from attncli.shell.app import COMMANDS, GRACE, Termination
from attncli.terminal import console
from tests.attncli.command_line import Attn
from tests.forks import Program


def program(*arguments: str, **environment: str) -> tuple[int, str, str]:
    """Return exit status, stdout and stderr of `attn` in a fork with environment variables."""
    started = Program([*arguments], changes=environment)
    out, said = started.communicate()
    return started.wait(), out, said


def test_help_lists_every_command_and_ends_with_an_example() -> None:
    command = [sys.executable, "-m", "attncli", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True).stdout
    listed = [name for names in app.GROUPS.values() for name in names]
    assert len(app.GROUPS) == 3 and len({*listed}) == len(listed) <= 18
    for name in listed:
        line = next(line for line in shown.splitlines() if line.startswith(f"  {name}  "))
        assert line.split(None, len(name.split()))[-1] in app.summary(name)
    also = " ".join(shown.partition("Also:")[2].split())
    assert all(name in also for name in app.COMMANDS if name not in listed)
    assert shown.rstrip().splitlines()[-1].strip().endswith("attn translate --to de")


def test_help_takes_at_most_four_times_as_long_as_typer_alone() -> None:
    def seconds(*command: str) -> float:
        """Return the processor time of a command, which other programs change little."""
        start = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *command], capture_output=True, check=True)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        return end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime

    pairs = [
        (seconds("-m", "attncli", "--help"), seconds("-c", "import typer.main")) for _ in range(5)
    ]
    ours, typers = map(min, zip(*pairs, strict=True))
    assert ours < 4 * typers


@pytest.mark.parametrize("name", app.COMMANDS)
def test_the_line_in_the_list_is_the_first_of_the_docstring(name: str) -> None:
    module, _, function = app.COMMANDS[name].partition(":")
    doc = inspect.getdoc(getattr(importlib.import_module(module), function)) or ""
    assert app.summary(name) == doc.splitlines()[0]
    assert len(app.summary(name)) <= 58, "longer ones are cut in the list at 80 columns"


@pytest.mark.parametrize("word", ["--help", "models"])
def test_help_and_the_list_of_models_import_nothing_heavy(word: str) -> None:
    code = (
        f"import sys; from attncli.shell.app import run; run([{word!r}]);"
        "heavy = {'torch', 'torchvision', 'PIL', 'numpy', 'sentencepiece', 'rich', 'sacrebleu'};"
        "print(heavy & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.stdout.endswith("set()\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(shell: str) -> None:
    script = program(_ATTN_COMPLETE=f"source_{shell}")[1]
    assert f"_ATTN_COMPLETE=complete_{shell}" in script
    bash = {"_ATTN_COMPLETE": "complete_bash", "COMP_CWORD": "1", "COMP_WORDS": "attn tr"}
    assert program(**bash)[1].split() == ["train", "translate", "transcribe"]
    options = {**bash, "COMP_CWORD": "2", "COMP_WORDS": "attn translate --gl"}
    assert program(**options)[1].split() == ["--glossary"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("attn train --preset transformer-n", ["transformer-nano"]),
        ("attn train -s train.schedule=li", ["train.schedule=linear"]),
        ("attn translate -s search.top", ["search.top_k=", "search.top_p="]),
        ("attn caption -s search.max_ra", []),
        ("attn train -s model.tie", ["model.tied=true", "model.tied=false"]),
        ("attn train -s model.image.encoder=small", ["model.image.encoder=small-cnn"]),
        ("attn train -s model.image.encoder=resn", ["model.image.encoder=resnet50"]),
        ("attn translate -m everyd", ["everyday"]),
        ("attn models show addi", ["additive"]),
        ("attn models compare sparse", ["sparsemax"]),
        ("attn models compare --grid train.label_", ["train.label_smoothing=0.1"]),
    ],
)
def test_values_are_completed(words: str, expected: list[str]) -> None:
    count = str(len(words.split()) - 1)
    environment = {"_ATTN_COMPLETE": "complete_bash", "COMP_CWORD": count, "COMP_WORDS": words}
    assert program(**environment)[1].split() == expected


def table_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def broken() -> None:
        """Fail."""
        raise error

    monkeypatch.setattr(app, "broken", broken, raising=False)
    monkeypatch.setitem(app.COMMANDS, "broken", "attncli.shell.app:broken")


def failing(error: BaseException) -> Callable[..., None]:
    def fail(*, texts: list[str] | None = None) -> None:
        raise error

    return fail


@pytest.mark.parametrize("name", app.COMMANDS)
@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(
            "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 9 bytes"
        ),
        RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("std::bad_alloc"),
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ImportError("libtorch.so: failed to map segment from shared object"),
    ],
)
def test_exhausted_memory_is_one_line_in_every_command(
    name: str, error: Exception, monkeypatch: pytest.MonkeyPatch, attn: Attn
) -> None:
    monkeypatch.setattr(app, "resolve_name", lambda place: failing(error))
    shown = attn(*name.split(), status=1).err
    assert shown.startswith("attn: the memory is exhausted; ") and "compute.batch_tokens" in shown
    assert shown.count("\n") == 1


@pytest.mark.parametrize("number", app.OF_FILES)
def test_a_disk_or_a_name_at_fault_is_one_line(
    number: int, monkeypatch: pytest.MonkeyPatch, attn: Attn
) -> None:
    table_with(monkeypatch, OSError(number, os.strerror(number), "a\nb"))
    assert attn("broken", status=1).err.count("\n") == 1


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    table_with(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        app.run(["broken"])


@pytest.mark.parametrize("name", ["", *app.COMMANDS])
def test_h_is_help_and_every_command_can_be_quiet(name: str, attn: Attn) -> None:
    shown = attn(*name.split(), "--help").out
    assert attn(*name.split(), "-h").out == shown and "-h, --help" in shown
    assert not name or "-q, --quiet" in shown


def test_a_quiet_command_reports_problems_only(monkeypatch: pytest.MonkeyPatch, attn: Attn) -> None:
    def talk() -> None:
        """Talk."""
        console.say("a remark")
        with console.progress("working", total=1) as advance:
            advance(1)
        console.warn("a problem")

    monkeypatch.setattr(app, "talk", talk, raising=False)
    monkeypatch.setitem(app.COMMANDS, "talk", "attncli.shell.app:talk")
    assert attn("talk", "-q").err == "attn: a problem\n"
    assert attn("talk").err == "a remark\nworking 100 %\nattn: a problem\n"


WRONG_PATHS = [  # a command line, and what its error names
    ("train no.en no.de", "no.en"),
    ("train {table} --dev no.tsv", "no.tsv"),
    ("train --corpus en-de=no.tsv", "no.tsv"),
    ("train --images no --captions {table}", "no: "),
    ("train {table} -o {table}", "is a file"),
    ("translate -m no/such hi", "no/such"),
    ("caption -m no/such {table}", "no/such"),
    ("caption no.jpg", "no.jpg"),
    ("align no.en no.de", "no.en"),
    ("classify -m no/such hi", "no/such"),
    ("models compare --train no.tsv --dev {table}", "no.tsv"),
    ("translate --to de hi -o no/such", "no folder no"),
    ("caption {table} -o no/such", "no folder no"),
    ("align {table} -o no/such.txt", "no folder no"),
    ("evaluate -m no/such no.tsv", "no.tsv"),
]


def test_wrong_paths_are_reported_before_torch_is_imported(tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("a\tb\n" * 3, "utf-8")
    code = (
        "import sys; from attncli.shell.app import run\n"
        "for line in sys.argv[1:]:\n"
        "    print(run(line.split()), 'torch' in sys.modules)\n"
        "    print(end='\\0', file=sys.stderr, flush=True)\n"
    )
    lines = [words.format(table=table) for words, _ in WRONG_PATHS]
    command = [sys.executable, "-c", code, *lines]
    shown = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found = zip(
        lines, shown.stdout.splitlines(), shown.stderr.split("\0"), WRONG_PATHS, strict=False
    )
    for line, status, error, (_, said) in found:
        assert status == "1 False" and said in error.replace("\n", ": "), f"{line}: {error}"
    assert shown.stdout.count("\n") == len(WRONG_PATHS)


def test_what_runs_at_the_end_of_the_process_can_write() -> None:
    code = (
        "import atexit, sys; atexit.register(lambda: print('written last'));"
        "sys.argv = ['attn', '--version']; from attncli.shell.app import main; main()"
    )
    buffered = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", code]
    shown = subprocess.run(command, capture_output=True, text=True, env=buffered)
    assert shown.stdout.splitlines()[-1] == "written last" and shown.returncode == 0


def test_a_profiler_writes_its_result(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cProfile", "-o", str(tmp_path / "profile")]
    shown = subprocess.run([*command, "-m", "attncli", "--version"], capture_output=True, text=True)
    assert shown.stdout.startswith("attn ")
    assert (tmp_path / "profile").stat().st_size > 0


def test_no_command_imports_torch_before_it_is_called() -> None:
    places = [place.partition(":")[0] for place in COMMANDS.values()]
    code = (
        "import sys, importlib\n"
        f"for name in {sorted(set(places))}:\n"
        "    importlib.import_module(name)\n"
        "    assert 'torch' not in sys.modules, name\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Return a folder with another package `models`."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "__init__.py").write_text("")
    return tmp_path


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    root = str(Path(__file__).parents[3])
    found = f"import sys; sys.path.append({root!r}); {code}"
    return subprocess.run([sys.executable, "-c", found], cwd=folder, capture_output=True, text=True)


def test_attncli_imports_its_own_models_beside_another_package(elsewhere: Path) -> None:
    code = "from attncli import load; import models.core.errors; print(load.__module__)"
    done = python(code, elsewhere)
    assert (done.returncode, done.stdout) == (0, "attncli.interface\n"), done.stderr


def test_another_package_imported_before_is_named_in_one_line(elsewhere: Path) -> None:
    done = python("import models; import attncli", elsewhere)
    [line] = [line for line in done.stderr.splitlines() if line.startswith("ImportError:")]
    assert done.returncode == 1 and str(elsewhere / "models" / "__init__.py") in line


@pytest.mark.parametrize("words", [["models", "show", "dot"], ["translate", "--help"]])
def test_a_child_runs_no_module_of_the_current_folder(words: list[str], tmp_path: Path) -> None:
    """Neither of Python nor of attn; see attncli.processes.several.launch."""
    for name in (*sorted(sys.stdlib_module_names), "attncli", "models", "torch", "numpy"):
        (tmp_path / f"{name}.py").write_text("open('EXECUTED', 'w').close()")
    command = [sys.executable, "-I", "-c", PROGRAM.format([*map(str, sys.path)]), *words]
    assert subprocess.run(command, cwd=tmp_path, stdout=subprocess.DEVNULL).returncode == 0
    assert not (tmp_path / "EXECUTED").exists()


def test_only_a_late_second_signal_ends_a_program_during_its_clean_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    termination, ended = Termination(), list[str]()
    monkeypatch.setattr(termination, "end_process", lambda: ended.append("by the signal"))
    with pytest.raises(KeyboardInterrupt):
        termination.interrupt(signal.SIGTERM, None)
    termination.interrupt(signal.SIGTERM, None)  # at once, as `timeout` sends it
    assert not ended
    termination.received -= 2 * GRACE
    termination.interrupt(signal.SIGTERM, None)
    assert ended == ["by the signal"]
