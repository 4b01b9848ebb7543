"""Options and files of ``attn train``, and the configuration of a run that they describe."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncli.options.fields import HelpPage
from attncli.options.settings import Options, given_values
from attncli.options.shared import Device, Threads
from attncli.train._fitting import measured, new_weights, short_warm_up
from attncli.train.configuration import data_names, run_config
from attncli.training.config import (
    DataConfig,
    RunConfig,
    absolute_path,
    read_toml,
)
from attncli.training.sources import find_training_source, named_kind
from attncli.translate.corpora import CorpusConfig, languages_of
from models.core.annexes import need_part
from models.core.config import ImageModelConfig
from models.core.errors import ModelError, unknown_name
from models.core.settings import Tables, Values, to_dict
from models.core.use_config import TokenizerConfig
from models.storage.installed import find_model
from models.text.vocabulary import own_kind

if TYPE_CHECKING:
    from typing_extensions import Self


GUIDED = 0.05  # weight of the loss on data.links (Garg et al. 2019, section 4.3)
TIMED = {"schedule": "linear", "steps": 0, "epochs": 0, "patience": 0}
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


def settings(
    files: Sequence[Path],
    dev: Sequence[Path] = (),
    preset: str | None = None,
    assignments: Iterable[str] = (),
    *,
    start: Path | None = None,
    inputs: Mapping[str, Path | None] | None = None,
    corpora: Sequence[CorpusConfig] = (),
    dev_corpora: Sequence[CorpusConfig] = (),
) -> RunConfig:
    """Return the settings of a run.

    files: training data, and at most one TOML file with settings. start: a trained model that the
    run starts from; its settings of model, tokenizer and search, and those of fine-tuning, are the
    defaults, which the TOML file and the assignments override. inputs: files by their settings in
    [data], such as "labels". Paths become absolute, so that the run can be resumed from any folder.
    A file of captions with splits is also the dev set if no other is named.
    """
    assignments = list(assignments)
    values = tables_of(files)
    named: Values = {
        "train": [str(path) for path in files if path.suffix != ".toml"],
        "dev": [str(path) for path in dev],
        "corpora": [to_dict(corpus) for corpus in corpora],
        "dev_corpora": [to_dict(corpus) for corpus in dev_corpora],
        **{name: str(path) for name, path in (inputs or {}).items() if path},
    }
    if named := {name: value for name, value in named.items() if value}:
        values["data"] = {**table_of(values, "data"), **named}
    values = _begun(values, find_model(start)) if start else values
    values["preset"] = chosen = _preset(values, preset, assignments)
    given = _given(values, assignments)
    fit = _fitted(chosen, values, assignments, given, is_trained=bool(start))
    values["tokenizer"] = {**fit.get("tokenizer", {}), **table_of(values, "tokenizer")}
    values["train"] = _with_time_limit(values, assignments, fit.get("train", {}))
    config = _short(absolute(run_config(chosen, values, assignments)), given)
    tokenizer = with_languages(config.tokenizer, config.data, config.start_from)
    return replace(config, tokenizer=tokenizer)


def _given(values: Values, assignments: Iterable[str]) -> set[str]:
    """Return the names of the settings that the user set, those of [train] from a file too."""
    names = {text.partition("=")[0].strip() for text in assignments}
    return names | {f"train.{name}" for name in table_of(values, "train")}


def _short(config: RunConfig, given: Collection[str]) -> RunConfig:
    """Return the settings with a warm-up that fits the run; unread files are reported later."""
    with suppress(ModelError):
        return replace(config, train=short_warm_up(config.train, given, config.data.texts()))
    return config


def _fitted(
    preset: str,
    values: Values,
    assignments: Sequence[str],
    given: Collection[str],
    *,
    is_trained: bool,
) -> Tables:
    """Return the defaults of [train] and [tokenizer] that fit the examples.

    given: names of the settings that the user set. is_trained: the run starts from a trained model.
    Files that cannot be read are reported later.
    """
    if is_trained:
        trained: Tables = need_part("start", "settings", "--start-from").fitted(values, given)
        return trained
    names = [text for text in assignments if text.strip().startswith(("data.", "model."))]
    with suppress(ModelError):
        config = run_config(preset, {**values, "train": {}, "tokenizer": {}}, names)
        limits = run_config(preset, values, assignments).train
        if not (limits.steps or limits.epochs or limits.minutes):  # refused later, by its reason
            return {}
        # a limit of 0 is none, as if it was not given
        given = {*given} - ({"train.steps"} if not limits.steps else {""})
        found = new_weights(measured(config.data.texts()), config.train, given)
        if getattr(config.data, "corpora", ()):  # languages share a vocabulary
            return {name: table for name, table in found.items() if name != "tokenizer"}
        return found
    return {}


def _begun(values: Values, start: Path) -> Values:
    """Return the values merged over the settings of the initial model, with its preset."""
    found: Values = need_part("start", "settings", "--start-from").begun(values, start)
    return found


def _with_time_limit(
    values: Values, assignments: Iterable[str], defaults: Mapping[str, Any]
) -> Values:
    """Return the [train] table over its defaults, completed if train.minutes limits the run.

    Then the learning rate falls to 0 at the end of that time, so the preset's number of updates or
    epochs and its early stopping do not apply. Those of fine-tuning, which has defaults, do: more
    passes over few examples cost old knowledge. Values of the table take precedence; assignments
    override both.
    """
    parts = (text.partition("=") for text in assignments)
    given = {name.strip(): value for name, _, value in parts}
    table, keeps = table_of(values, "train"), defaults and values.get("start_from")
    is_timed = given.get("train.minutes", table.get("minutes", 0)) not in (0, "0", "0.0", "")
    return {**defaults, **(TIMED if is_timed and not keeps else {}), **table}


def with_languages(
    tokenizer: TokenizerConfig, data: DataConfig, start_from: str
) -> TokenizerConfig:
    """Return the settings with the languages and directions of the corpora.

    An initial model keeps its languages; raise a ModelError if a corpus has another one, or files
    have none.
    """
    corpora, dev_corpora = (getattr(data, name, ()) for name in ("corpora", "dev_corpora"))
    if start_from and tokenizer.languages and not corpora:
        raise ModelError(
            f"no corpora with languages for the multilingual initial model {start_from}",
            f"two of {', '.join(tokenizer.languages)}",
            f"add --from {tokenizer.languages[0]} --to {tokenizer.languages[1]}, or give files as "
            f"--corpus {'-'.join(tokenizer.languages[:2])}=FILE",
        )
    if not corpora:
        return tokenizer
    languages = languages_of(corpora)
    if start_from:
        for language in languages:
            if language not in tokenizer.languages:
                raise unknown_name("language of a corpus", language, tokenizer.languages)
        languages = tokenizer.languages  # in the order of that model
    else:
        languages = tuple(sorted({*languages, *tokenizer.languages}))
    for language in languages_of(dev_corpora):
        if language not in languages:
            raise unknown_name("language of a dev corpus", language, languages)
    trained = {"-".join(pair) for corpus in corpora for pair in corpus.directions}
    directions = tuple(sorted(trained | {*tokenizer.directions}))
    return replace(tokenizer, languages=languages, directions=directions)


def tables_of(files: Sequence[Path]) -> Values:
    """Return the tables of the TOML file among some files; a ModelError for several."""
    files = [path for path in files if path.suffix == ".toml"]
    if len(files) > 1:
        raise ModelError(f"{len(files)} TOML files, {' and '.join(map(str, files))}", "one")
    return read_toml(files[0]) if files else {}


def table_of(values: Values, name: str) -> Values:
    """Return a table of settings, {} without it; a ModelError for another value."""
    table = values.get(name, {})
    if not isinstance(table, dict):
        raise ModelError(f"{name} = {table!r}", f"a table, [{name}]")
    return table


def _preset(values: Values, preset: str | None, assignments: list[str]) -> str:
    """Return the preset; raise a ModelError if two different ones are named."""
    if preset and values.get("start_from"):
        raise ModelError(f"--preset {preset} with --start-from", "one of them")
    stored = str(values.get("preset", ""))
    if preset and stored and preset != stored:
        raise ModelError(
            f"--preset {preset} and a TOML file of preset {stored}",
            "one preset",
            "leave --preset out, or the file's settings of [model] and [train]",
        )
    if preset or stored:
        return preset or stored
    kind = named_kind(data_names(values, assignments))
    return find_training_source(kind).preset_for(table_of(values, "data")) if kind else "demo"


def absolute(config: RunConfig) -> RunConfig:
    """Return the settings with absolute paths, and with what the named files imply."""
    start, vectors = config.start_from, tuple(map(absolute_path, config.model.vectors))
    model, attention = replace(config.model, vectors=vectors), config.train.attention
    image = model.image if isinstance(model, ImageModelConfig) else None
    if image and image.weights not in ("DEFAULT", "none"):
        model = replace(model, image=replace(image, weights=absolute_path(image.weights)))
    if getattr(config.data, "links", "") and not attention.regions:
        attention = replace(attention, regions=GUIDED)
    return replace(
        config,
        train=replace(config.train, attention=attention),
        start_from=absolute_path(start),
        data=config.data.absolute(),
        model=model,
        tokenizer=_own_vocabulary(config.tokenizer, start),
    )


def _own_vocabulary(tokenizer: TokenizerConfig, start: str) -> TokenizerConfig:
    """Return the settings with the kinds of token of one's own vocabulary, whose size is its own.

    That of an initial model keeps its kinds.
    """
    files = tuple(map(absolute_path, tokenizer.model))
    if start or not files:
        return replace(tokenizer, model=files)
    if tokenizer.size:
        raise ModelError(f"tokenizer.size={tokenizer.size} with tokenizer.model", "one of them")
    kinds = [own_kind(Path(path), tokenizer.kind) for path in files]
    target = kinds[-1] if kinds[-1] != kinds[0] else ""
    return replace(tokenizer, model=files, kind=kinds[0], target_kind=target)


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
