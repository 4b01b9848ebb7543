"""Build the wheel, install it into a new environment, and use it in a folder of somebody else.

    python .ci/check_wheel.py

The new environment gets the wheel only; libraries come from the environment that runs this script,
so that nothing is downloaded. The folder holds a package `models`, which must not be in the way.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUNDLE = ROOT / "tests/fixtures/small/bundles/rnnsearch"
SOURCES = ("attncli", "models", "pyproject.toml", "README.md", "LICENSE")
SENTENCE = "The dog sees the red car."
IN_PYTHON = (
    "import attncli, sys; from attncli import load; assert '{home}' in attncli.__file__, attncli;"
    "print(load(sys.argv[1]).translate([sys.argv[2]])[0].hypotheses[0].text)"
)


def main() -> None:
    """Run every check; stop at the first that fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        python = install(build(folder), folder / "environment")
        elsewhere = folder / "elsewhere"
        (elsewhere / "models").mkdir(parents=True)
        (elsewhere / "models" / "__init__.py").write_text("raise SystemExit('the wrong models')\n")
        check(python, elsewhere, folder / "environment")


def build(folder: Path) -> Path:
    """Return the path of a wheel built from a copy of the sources."""
    copy = folder / "sources"
    copy.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, copy / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, copy / name)
    wheels = folder / "wheels"
    options = ("--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check")
    run([sys.executable, "-m", "pip", "wheel", *options, "-w", str(wheels), str(copy)], folder)
    [wheel] = wheels.glob("attn-*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        str(path.relative_to(copy).as_posix())
        for package in ("attncli", "models")
        for path in (copy / package).rglob("*")
        if path.is_file()
    }
    if missing := sorted(wanted - held):
        sys.exit(f"not in the wheel, add to package-data in pyproject.toml: {', '.join(missing)}")
    return wheel


def install(wheel: Path, environment: Path) -> Path:
    """Return the Python of a new environment with the wheel and the libraries of this one."""
    venv.create(environment, with_pip=False)
    python = environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet"]
    options = ("--no-deps", "--no-index", "--disable-pip-version-check")
    run([*pip, "install", *options, str(wheel)], environment)
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run([str(python), "-c", code], environment).strip())
    libraries = [path for path in sys.path if "site-packages" in path]
    (packages / "libraries.pth").write_text("\n".join(libraries) + "\n")
    return python


def check(python: Path, elsewhere: Path, environment: Path) -> None:
    """Run the program as a command, as a module, and from Python, in another folder."""
    attn = [str(python.parent / "attn")]
    module = [str(python), "-m", "attncli"]
    translate = ("translate", "-m", str(BUNDLE), "--device", "cpu", SENTENCE)
    outputs = []
    for command in (attn, module):
        assert run([*command, "--version"], elsewhere).startswith("attn ")
        assert "transformer-tiny" in run([*command, "models"], elsewhere)
        outputs.append(run([*command, *translate], elsewhere))
    code = IN_PYTHON.format(home=environment)
    outputs.append(run([str(python), "-c", code, str(BUNDLE), SENTENCE], elsewhere))
    assert len(set(outputs)) == 1 and outputs[0].strip(), outputs
    print("wheel: attn, python -m attncli and attncli.load work beside another package 'models'")


def run(command: list[str], folder: Path) -> str:
    """Run a command in a folder; return its output, and stop with its messages if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
