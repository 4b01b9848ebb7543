"""Options and files of ``attn train``, some of which other commands have too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncli.options.fields import HelpPage
from attncli.options.settings import Options, given_values
from attncli.options.shared import Device, Threads
from attncli.translate.corpora import CorpusConfig
from models.core.errors import ModelError

if TYPE_CHECKING:
    from typing_extensions import Self

DEV = "--dev"
ARGUMENTS = "attn.arguments"  # of the context: the arguments as they were given

Dev = Annotated[
    tuple[Path, ...],
    list[Path] | None,
    typer.Option(
        DEV,
        metavar="FILE...",
        help="Dev source and target, or one TSV; further files or columns are further references. "
        "With --captions, --labels or --transcripts: a file of that kind; without it, a tenth "
        "of 100 or more is held out.",
    ),
]


class SpreadCommand(HelpPage):
    """A command whose ``--dev`` takes all values that follow."""

    spread: tuple[str, ...] = (DEV,)  # options that take all values that follow

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments with one such option before each of its values."""
        ctx.meta[ARGUMENTS] = list(args)
        return super().parse_args(ctx, spread(args, self.spread))


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of the commands that train: their data, the initial model, and where they run."""

    EXAMPLE = "train.batch_tokens=2048"
    command_class = SpreadCommand
    dev: tuple[Path, ...] = ()
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR|TAR",
            help="Captioners: the images, in a folder or an uncompressed TAR file.",
        ),
    ] = None
    captions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Captioners: image, tab, caption; or a Flickr8k, Karpathy or COCO file.",
        ),
    ] = None
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Classifiers: rows of label, tab, text.")
    ] = None
    audio: Annotated[
        Path | None,
        typer.Option(metavar="DIR|TAR", help="Speech: recordings, in a folder or TAR file."),
    ] = None
    transcripts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Speech: rows of recording, tab, text.")
    ] = None
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            "-p",
            help="Preset that gives the defaults of all settings; `attn models` lists them.",
        ),
    ] = None
    start_from: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            help="Trained model to start from: its weights, tokenizer and settings.",
        ),
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show sizes and time; write nothing.")
    ] = False
    device: Device = "auto"
    threads: Threads = 0
    assigned: tuple[str, ...] = ()  # settings

    @classmethod
    def of_command(cls, *, set: Sequence[str] | None, **values: Any) -> Self:
        """Return the command that a command line describes."""
        return cls(assigned=tuple(set or ()), **given_values(cls, values))

    @property
    def computed(self) -> Options:
        """The device and its threads."""
        return Options(self.device, self.threads)

    def data_files(self) -> tuple[list[Path], dict[str, Path]]:
        """Return the dev files of sentence pairs, and the files of other kinds by setting."""
        names = ("images", "captions", "labels", "audio", "transcripts")
        given = {name: path for name in names if (path := getattr(self, name))}
        kind = next((one for one in ("captions", "labels", "transcripts") if one in given), "")
        if not self.dev or not kind:
            return [*self.dev], given
        if len(self.dev) > 1:
            found = f"one file, found {len(self.dev)}"
            raise typer.BadParameter(found, param_hint=f"'{DEV}'")
        return [], {**given, f"dev_{kind}": self.dev[0]}


def run_folder(files: list[Path]) -> tuple[Path | None, list[Path]]:
    """Return the run's folder if it is the only argument, and the files, its config.toml then."""
    if len(files) != 1 or not files[0].is_dir():
        return None, files
    folder = files[0]
    if not (folder / "config.toml").is_file():
        raise ModelError(
            f"{folder} is a folder without config.toml",
            "files of sentence pairs, or the folder of a run",
            "give images with --images and --captions",
        )
    return folder, [folder / "config.toml"]


def files_of_direction(
    files: list[Path], source: str, target: str
) -> tuple[list[Path], list[CorpusConfig]]:
    """Return the files that are no sentence pairs, and the pairs as a corpus of a direction."""
    if not (source and target):
        missing = "--to" if source else "--from"
        raise typer.BadParameter("needs both languages, --from and --to", param_hint=f"'{missing}'")
    pairs = [path for path in files if path.suffix != ".toml"]
    if not pairs:
        return files, []
    corpus = CorpusConfig(f"{source}-{target}", tuple(map(str, pairs)), both=False)
    corpus.sides  # noqa: B018  # raises for another form
    return [path for path in files if path not in pairs], [corpus]


def spread(args: list[str], options: Sequence[str] = (DEV,)) -> list[str]:
    """Return the arguments with ``--dev a b`` written as ``--dev a --dev b``."""
    found: list[str] = []
    option = ""  # the option that takes the next value
    for position, value in enumerate(args):
        if value == "--":
            return found + args[position:]
        follows = option and not value.startswith("-")
        if not follows:
            option = value if value in options else ""
        found += [option, value] if follows and found[-1] != option else [value]
    return found


def check_run_folder(path: Path | None) -> None:
    """Raise ModelError if the folder of a run is a file."""
    if path and path.exists() and not path.is_dir():
        raise ModelError(f"{path} is a file", "a new folder, or that of the run")
