"""Options and files of ``attn train``, some of which other commands have too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from attncli.options.help_page import HelpPage
from attncli.options.settings import SetOption
from attncli.training.settings.config import RunConfig
from attncli.training.settings.corpora import CorpusConfig
from models.core.errors import ModelError

DEV = "--dev"
ARGUMENTS = "attn.arguments"  # of the context: the arguments as they were given

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Source and target, or one TSV; the folder of a run, to continue it; or a TOML file "
        "such as the config.toml of a run."
    ),
]
Dev = Annotated[
    list[Path] | None,
    typer.Option(
        DEV,
        metavar="FILE...",
        help="Dev source and target, or one TSV; further files or columns are further references. "
        "With --captions, --labels or --transcripts: a file of that kind; without it, a tenth "
        "of 100 or more is held out.",
    ),
]
Corpora = Annotated[
    list[str] | None,
    typer.Option(
        "--corpus",
        metavar="en-de=FILE[,FILE]",
        help="Multilingual: a corpus and its languages, one TSV or two files, for both directions; "
        "en-to-de=FILE for one direction; en-de:3=FILE multiplies its share of an epoch by 3. May "
        "be repeated.",
    ),
]
TaggedCorpora = Annotated[
    list[str] | None,
    typer.Option(
        "--tagged-corpus",
        metavar="en-de=FILE[,FILE]",
        help="Multilingual: a corpus whose first side is back-translated; its sources begin with "
        "the token <bt>, and only the direction to the second language is trained.",
    ),
]
DevCorpora = Annotated[
    list[str] | None,
    typer.Option(
        "--dev-corpus",
        metavar="en-de=FILE[,FILE]",
        help="Multilingual: a corpus for evaluation during training, as for --corpus.",
    ),
]
LexiconFile = Annotated[
    Path | None,
    typer.Option(
        "--lexicon",
        metavar="FILE",
        help="Words and their translations, for words that the pairs hardly have; a line: word, "
        "tab, translation; perhaps a tab and a direction.",
    ),
]
SourceLanguage = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="LANGUAGE",
        help="Multilingual: language of the source file; with --to, short for --corpus.",
    ),
]
TargetLanguage = Annotated[
    str, typer.Option("--to", metavar="LANGUAGE", help="Multilingual: language of the target file.")
]
Images = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR|TAR", help="Captioners: the images, in a folder or an uncompressed TAR file."
    ),
]
Captions = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Captioners: image, tab, caption; or a Flickr8k, Karpathy or COCO file.",
    ),
]
Labels = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Classifiers: rows of label, tab, text.")
]
Audio = Annotated[
    Path | None,
    typer.Option(metavar="DIR|TAR", help="Speech: recordings, in a folder or TAR file."),
]
Transcripts = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Speech: rows of recording, tab, text.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Folder of the run.")]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        "-p",
        help="Preset that gives the defaults of all settings; `attn models` lists them.",
    ),
]
StartFrom = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL", help="Trained model to start from: its weights, tokenizer and settings."
    ),
]
Set = Annotated[list[str] | None, SetOption(RunConfig, example="train.batch_tokens=2048")]
Processes = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Train in N processes on this machine; for several machines, start attn by torchrun.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show sizes and time; write nothing.")]


class TrainCommand(HelpPage):
    """A command whose ``--dev`` takes all values that follow."""

    spread: tuple[str, ...] = (DEV,)  # options that take all values that follow

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments with one such option before each of its values."""
        ctx.meta[ARGUMENTS] = list(args)
        return super().parse_args(ctx, spread(args, self.spread))


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


def split_dev(dev: list[Path], **inputs: Path | None) -> tuple[list[Path], dict[str, Path]]:
    """Return the dev files of sentence pairs, and the inputs with a dev file of another kind.

    inputs: files by their settings in [data]; None: not given.
    """
    given = {name: path for name, path in inputs.items() if path}
    kinds = ("captions", "labels", "transcripts")
    kind = next((name for name in kinds if name in given), "")
    if not dev or not kind:
        return dev, given
    if len(dev) > 1:
        raise typer.BadParameter(f"one file, found {len(dev)}", param_hint=f"'{DEV}'")
    return [], {**given, f"dev_{kind}": dev[0]}
