"""The settings of a training run: model, tokenizer, data, training and search in one.

Stored completely in the run folder, as config.toml.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import tomli_w

from attncli.scoring.score import BleuTokenizer
from attncli.task.table import TRAINING
from attncli.training.interfaces import METRICS
from models.core.annexes import entries
from models.core.attention_config import AttentionLossConfig
from models.core.config import ModelConfig, every_setting
from models.core.errors import ConfigurationError, ModelError
from models.core.registry import DEFAULT_SOURCE, source_name
from models.core.settings import (
    MAX_SEED,
    Limits,
    Need,
    Values,
    fields_of,
    from_dict,
    merged,
    option,
    parse_toml,
)
from models.core.use_config import SavedSearchConfig, TokenizerConfig

if TYPE_CHECKING:
    from typing_extensions import Self


MAX_SHARDS = 4096  # of an update
MAX_RATE = 1e30  # leaves room for the factors of optimisers in single precision (3.4e38)


@dataclass(frozen=True)
class DataConfig:
    """Training and dev data. Each kind of input declares its own table of these settings."""

    dev_share: float = option(
        0.1,
        "share of the training data that is held out for evaluation if no dev set is named: of "
        "sources or images, at most 500; classifiers: of texts, at most 2,000",
        below=1,
    )
    max_length: int = option(
        256, "longest side of a training pair in tokens; longer pairs are left out", least=1
    )
    demo_size: int = option(
        0,
        "number of pairs, labelled sentences or scenes that are generated if no files are given "
        "(0: 8,000 pairs or sentences, 2,000 scenes)",
        needs=Need("data.is_given=false", "the embedded data"),
    )

    PARTS: ClassVar[Mapping[str, str]] = {"train": "train", "dev": "dev"}  # part: its setting
    FOLDERS: ClassVar[tuple[str, ...]] = ()  # settings of further files and folders to read
    CACHES: ClassVar[tuple[str, ...]] = ()  # settings of folders to write
    HAS_BLEU: ClassVar[bool] = True  # BLEU, or the token error rate, measures outputs

    @classmethod
    def paths(cls) -> tuple[str, ...]:
        """Return the settings that name files and folders."""
        return (*cls.PARTS.values(), *cls.FOLDERS, *cls.CACHES)

    def named(self, *names: str) -> tuple[str, ...]:
        """Return the paths that some settings name."""
        values = (getattr(self, name) for name in names)
        return tuple(
            path for value in values for path in ((value,) if isinstance(value, str) else value)
        )

    @property
    def files(self) -> tuple[str, ...]:
        """The files to train on."""
        return tuple(filter(None, self.named(self.PARTS["train"])))

    @property
    def dev_files(self) -> tuple[str, ...]:
        """The files to evaluate on during training."""
        return tuple(filter(None, self.named(self.PARTS["dev"])))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The files and folders that a run reads."""
        others = [name for part, name in self.PARTS.items() if part not in ("train", "dev")]
        found = (*self.files, *self.dev_files, *self.named(*others, *self.FOLDERS))
        return tuple(filter(None, found))

    @property
    def is_given(self) -> bool:
        """True if there are files to train on."""
        return bool(self.files)

    @property
    def has_regions(self) -> bool:
        """True if it is known which slots a target token names."""
        return False

    def rows(self, files: Sequence[Path | str], part: str = "train") -> Iterable[object]:
        """Return the examples of files of this kind; a ModelError if they have another form.

        part: train, dev or test, of a file that has all of them.
        """
        raise NotImplementedError

    def count(self, most: int) -> int:
        """Return the number of training examples; counting stops at `most`."""
        return sum(1 for _ in islice(self.rows(self.files), most)) if self.files else most

    def texts(self) -> Iterable[tuple[str, str]]:
        """Return source and target of examples, by which the settings are fitted to little data."""
        return ()

    @property
    def dev_option(self) -> str:
        """The option of `attn train` that names a dev set for these data."""
        return "--dev"

    def absolute(self) -> Self:
        """Return the settings with absolute paths, and with what the named files imply."""
        values: dict[str, Any] = {name: getattr(self, name) for name in self.paths()}
        for name, value in values.items():
            several = not isinstance(value, str)
            values[name] = tuple(map(absolute_path, value)) if several else absolute_path(value)
        return replace(self, **values)


def absolute_path(path: str) -> str:
    """Return an absolute path; "" for no path."""
    return str(Path(path).absolute()) if path else ""


@dataclass(frozen=True)
class TrainConfig:
    """Optimiser, schedule, evaluation and checkpoints of a training run."""

    steps: int = option(0, "maximum number of updates (0: no limit)")
    epochs: int = option(100, "maximum number of passes over the data (0: no limit)")
    minutes: float = option(
        0.0,
        "maximum training time in minutes, evaluations included (0: no limit); unless they are "
        "set too: schedule=linear, and no limit of steps, epochs or patience",
    )
    batch_tokens: int = option(
        4096, "batch size in positions of the longer side, padding included", least=1
    )
    shards: int = option(
        0,
        "parts of an update that a process computes one after another, in less memory (0: all at "
        "once)",
        at_most=MAX_SHARDS,
    )
    optimiser: str = option(
        "adam",
        "adam, or muon (hidden matrices by Muon, the rest by Adam)",
        choices=("adam", "muon"),
    )
    lr: float = option(0.001, "peak learning rate", above=0, at_most=MAX_RATE)
    schedule: str = option(
        "inverse_sqrt",
        "learning rate after the warm-up: inverse_sqrt, plateau, constant, or linear (to 0 at "
        "train.steps, or at the end of train.minutes or train.epochs)",
        choices=("inverse_sqrt", "plateau", "constant", "linear"),
    )
    warmup: int = option(1000, "updates of linear warm-up")
    plateau_patience: int = option(
        2,
        "plateau: evaluations without improvement before the rate is halved",
        needs=Need("train.schedule=plateau"),
        least=1,
    )
    freeze: tuple[str, ...] = option(
        (),
        "parts that are not trained: encoder, decoder, embedding, or the name of a part such as "
        "encoder.layers.0",
    )
    clip: float = option(1.0, "maximum norm of the gradient (0: no clipping)")
    label_smoothing: float = option(
        0.1, "label smoothing: share of the target spread over the vocabulary", below=1
    )
    subword_sampling: float = option(
        0.0,
        "random segmentation into tokens: alpha of unigram (Kudo 2018; small values are more "
        "random, such as 0.2), or of bpe the probability of skipping a merge (Provilkov et al. "
        "2020; such as 0.1); 0: none",
        below=1,
        of_some=True,
    )
    r_drop: float = option(
        0.0,
        "weight of R-Drop: two passes with different dropout should agree (Wu et al. 2021; such as "
        "5; doubles the time); 0: none",
        of_some=True,
    )
    precision: str = option(
        "auto",
        "auto, fp32, bf16 or fp16 (with a loss scale); auto: what the hardware computes itself: "
        "bf16 (on a CPU only large products), else fp16 on GPUs of compute capability 7, else "
        "fp32; a run stores the choice",
        choices=("auto", "fp32", "bf16", "fp16"),
    )
    seed: int = option(
        1, "random seed of initial weights, data order and dropout", at_most=MAX_SEED
    )
    evaluate_every: int = option(
        0,
        "updates between evaluations (0: after an epoch, at most ten times in train.steps; without "
        "that limit at least 10 updates apart)",
    )
    metric: str = option(
        "auto",
        "metric of early stopping, measured by decoding the dev set: bleu, exact (exact match), "
        "error_rate (of tokens), rouge_l, chrf, ter, cider (captions), accuracy or macro_f1 "
        "(labels), wer or cer (error rates of transcripts in words or characters); or loss; auto: "
        "accuracy of labels, wer of transcripts, exact if most dev targets have at most 3 words, "
        "otherwise bleu",
        choices=("auto", *METRICS),
    )
    bleu_tokenizer: str = option(
        "13a",
        "sacreBLEU's tokenizer, for BLEU and the token error rate; none: tokens between spaces",
        needs=Need("data.HAS_BLEU", "outputs that BLEU measures"),
        choices=get_args(BleuTokenizer),
    )
    patience: int = option(
        10,
        "evaluations without improvement before training stops, after the warm-up at the earliest "
        "(0: never stop early)",
    )
    average: int = option(
        5, "number of last evaluations whose weights are averaged (0: no averaging)"
    )
    ema: float = option(
        0.0,
        "decay of the moving average of the weights, used for evaluation and saved (0: none)",
        below=1,
    )
    encoder_from: int = option(
        0,
        "captioners: epoch from which the pretrained encoder is trained (0: it stays frozen)",
        of_some=True,
    )
    encoder_lr: float = option(
        0.00005,
        "captioners: peak learning rate of the pretrained encoder",
        needs=Need("train.encoder_from"),
        above=0,
        at_most=MAX_RATE,
    )
    noun_swap: float = option(
        0.0,
        "captioners with model.image.labels: share of the captions with a label of their image in "
        "which that noun is replaced, in caption and labels, so that the model learns to copy it",
        needs=Need("model.image.labels"),
        at_most=1,
        of_some=True,
    )
    self_critical_lr: float = option(
        0.0,
        "captioners: peak learning rate, such as 0.00005, of training that maximises the CIDEr-D "
        "of 5 sampled captions per image, each compared with the mean of the others (0: none)",
        at_most=MAX_RATE,
        of_some=True,
    )
    self_critical_likelihood: float = option(
        0.0,
        "self-critical training: share of the loss that is the negative log-likelihood of the "
        "reference captions (Paulus et al. 2018, eq. 16; 0: rewards only)",
        needs=Need("train.self_critical_lr"),
        at_most=1,
    )
    checkpoint_minutes: float = option(
        5.0, "minutes between checkpoints, 1 at first; every evaluation writes one too"
    )
    log_every: int = option(50, "updates between lines of log.jsonl", least=1)
    samples: int = option(
        5,
        "dev examples whose outputs, with an attention map of one of them, are added to "
        "samples/index.html at each evaluation (0: none)",
        at_most=50,
    )
    loggers: tuple[str, ...] = option(
        (),
        "experiment trackers that receive the log too: "
        f"{', '.join(entries('logger'))} (extras of attn)",
        choices=tuple(entries("logger")),
    )
    attention: AttentionLossConfig = option(AttentionLossConfig, "loss terms on attention")


@dataclass(frozen=True)
class RunConfig:
    """Everything a run depends on."""

    preset: str = option("transformer-tiny", "preset that gives the defaults of the settings below")
    start_from: str = option("", "trained model whose weights and tokenizer the run starts with")
    data: Any = field(  # a DataConfig of the kind of input
        default_factory=lambda: resolve_name(TRAINING[DEFAULT_SOURCE]).table(),
        metadata={"doc": "data", "limits": Limits()},
    )
    model: Any = option(partial(from_dict, ModelConfig, {}), "model")  # the Config of its family
    tokenizer: TokenizerConfig = option(TokenizerConfig, "tokenizer")
    train: TrainConfig = option(TrainConfig, "training")
    search: SavedSearchConfig = option(
        SavedSearchConfig, "search in evaluations; saved with the model as its default"
    )

    def of_kind(self, family: str) -> RunConfig:
        """Return the settings with the table [data] of the family's kind of input."""
        kind: type[DataConfig] = resolve_name(TRAINING[source_name(family)]).table
        return self if type(self.data) is kind else replace(self, data=kind())

    @classmethod
    def kinds(cls) -> list[RunConfig]:
        """Return the defaults of all settings, with the table [data] of each kind of input."""
        model = every_setting()
        return [cls(data=resolve_name(one).table(), model=model) for one in TRAINING.values()]


def read_run_config(values: Mapping[str, object]) -> RunConfig:
    """Return the settings of a run from the tables of its file."""
    model, usual = values.get("model"), RunConfig()
    family = ModelConfig.upgraded(model).get("family") if isinstance(model, Mapping) else None
    return merged(usual.of_kind(str(family or usual.model.family)), values, stored=True)


def to_toml(config: Any, *, without: Collection[str] = (), section: str = "") -> str:
    """Return the configuration as TOML; a comment above each setting documents it.

    without: settings and tables that are left out, such as "model.copy" and "model.image". section:
    that the configuration is part of, whose head is left out.
    """
    lines = list(_toml_lines(config, section, without))
    return "\n".join(lines[1:] if section else lines)


def _toml_lines(config: Any, section: str, without: Collection[str]) -> Iterable[str]:
    tables = []
    if section:
        yield f"\n[{section}]"
    for name, declared in fields_of(type(config)).items():
        value, place = getattr(config, name), f"{section}.{name}" if section else name
        if place in without:
            continue
        if hasattr(value, "__dataclass_fields__"):
            tables.append((place, value))
            continue
        if isinstance(value, tuple) and value and hasattr(value[0], "__dataclass_fields__"):
            tables += [(f"[{place}]", item) for item in value]
            continue
        yield f"# {declared.metadata['doc']}"
        plain = list(value) if isinstance(value, tuple) else value
        yield tomli_w.dumps({name: plain}).strip()
    for place, table in tables:
        yield from _toml_lines(table, place, without)


def read_toml(path: Path) -> Values:
    """Return the tables of a TOML file; see `from_toml`. ModelError if it cannot be read."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"cannot read {path} ({reason})", "a TOML file") from None
    return from_toml(text, str(path))


def from_toml(text: str, name: str) -> Values:
    """Return the tables of a TOML file; raise ModelError with the line if it does not parse."""
    try:
        return parse_toml(text)
    except ValueError as error:
        raise ConfigurationError(
            f"{name} is not TOML ({error})", "key = value lines in tables"
        ) from None
