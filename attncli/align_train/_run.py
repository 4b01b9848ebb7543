"""Training of a word aligner in stages, from sentence pairs to one bundle that also translates.

    pairs.tsv        the sentence pairs of all files
    statistical/     word links learned from the pairs alone, and the statistical aligner, whose
                     surest pairs of words are written to the file of align.lexicon
    translator/      a run of `attn train` in both directions, unless a translator is given
    RUN              the translator, unchanged, with an alignment layer trained by the links, the
                     statistical aligner, and a threshold chosen without gold

The first three are in RUN/alignment. Each is complete or absent, so the same command continues an
interrupted run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attncli.data.corpus import fingerprint, read_pairs
from attncli.train.command_line import settings
from attncli.train.configuration import check_effects
from attncli.train.folder import RunFolder
from attncli.training.config import RunConfig
from attncli.training.interfaces import Progress
from attncli.translate.corpora import CorpusConfig
from models.core.errors import ModelError
from models.core.files import LOCK, write_errors, write_folder, write_text
from models.core.settings import option, parse_json
from models.storage.digests import weights_hash
from models.storage.settings import family_of, read_settings
from models.text.lexicon import CANDIDATES, is_form

if TYPE_CHECKING:
    from models.alignment import Links

PRESET = "transformer-tiny"
INSIDE = 10  # weight of the spelling of a word that does not begin a sentence
RECIPE = ("data.concatenate=0.25",)  # texts to align are often longer than those to learn from


class AlignerRun(NamedTuple):
    """A run of `attn align train`: its files, languages, settings and folder."""

    files: tuple[tuple[str, ...], ...]  # of each corpus: source and target, or one table
    languages: str  # of source and target, such as en-fr
    assignments: tuple[str, ...]  # settings of the translator, if one is trained
    path: Path
    start: Path | None = None  # the translator, if it is given
    seed: int = 1  # of the alignment layer
    lexicon: Path | None = None  # file of translations of words, if one is written

    @property
    def stages(self) -> Path:
        """The folder of the stages before the bundle."""
        return self.path / "alignment"

    @property
    def pairs(self) -> Path:
        """The sentence pairs of all files, one table."""
        return self.stages / "pairs.tsv"

    @property
    def links(self) -> Path:
        """Word links of the sentence pairs, in Pharaoh format."""
        return self.stages / "statistical" / "links"

    @property
    def translator(self) -> Path:
        """The translator: the one that is given, or the run that trains it."""
        return self.start or self.stages / "translator"

    @property
    def result(self) -> Path:
        """The figures of the last stage, and the translator that it belongs to."""
        return self.stages / "result.json"


class LayerResult(NamedTuple):
    """The last stage: its inputs and its figures."""

    translator: str  # hash of its weights
    seed: int
    held_out_loss: float  # of the alignment layer, in nats per token
    threshold: float
    expected_f: float  # of the links on the training pairs, 0 to 1


@dataclass(frozen=True)
class LexiconSettings:
    """What `attn align train` also writes."""

    lexicon: str = option(
        "",
        "a file to write: a table of words and their translations, as `attn train --lexicon` and "
        "`attn translate --lexicon` read it",
    )


@dataclass(frozen=True)
class AlignerConfig(RunConfig):
    """Settings of `attn align train`: those of its translator, and its own."""

    align: LexiconSettings = option(LexiconSettings, "word alignment")


def prepare(run: AlignerRun, progress: Progress) -> RunConfig | None:
    """Run the stages before the translator; return its settings, or None if it is given."""
    check(run)
    write_stage_inputs(run)
    if not run.pairs.exists():
        write_pairs(run)
    if not run.links.exists():
        write_folder(run.links.parent, lambda folder: write_statistical(run, folder, progress))
    if run.lexicon:
        write_lexicon(run, run.lexicon)
    if run.start:
        return None
    corpus = CorpusConfig(run.languages, (str(run.pairs),))
    config = settings([], (), PRESET, [*RECIPE, *run.assignments], corpora=[corpus])
    check_effects(config, {}, run.assignments)
    return config


def check(run: AlignerRun) -> None:
    """Raise ModelError for a translator that cannot get an alignment layer."""
    if run.start is None:
        return
    if run.start.resolve() == run.path.resolve():
        raise ModelError(f"{run.path} is the translator", "a new folder", "choose another -o")
    if run.assignments:
        raise ModelError(
            f"-s {run.assignments[0]} with --start-from {run.start}",
            "one of them: the translator is used as it is",
            "leave out -s; to change the translator, train it with `attn train --start-from` first",
        )
    check_translator(run.start, run.languages)


def check_translator(folder: Path, languages: str) -> None:
    """Raise ModelError for a model that is not a text Transformer, or has other languages.

    languages: of source and target, such as en-fr; a model of a single direction names none.
    """
    stored = read_settings(folder)
    if (family := family_of(stored)) != "transformer":
        raise ModelError(
            f"{folder} of family {family}", "a text Transformer", "choose another --start-from"
        )
    source, target = CorpusConfig(languages).sides
    ways = (f"{source}-{target}", f"{target}-{source}")
    known = stored["tokenizer"].get("languages") or (source, target)
    for language in (source, target):
        if language not in known:
            raise ModelError(
                f"{folder} has no language '{language}', which the files tell",
                f"two of {', '.join(sorted(known))}",
                "give --languages, such as en-de",
            )
    for way in ways:
        if way not in (stored["tokenizer"].get("directions") or ways):
            raise ModelError(
                f"{folder} was not trained from {way.replace('-', ' to ')}",
                "a translator of both directions, or one without languages",
                "choose another --start-from",
            )


def write_stage_inputs(run: AlignerRun) -> None:
    """Store the inputs of the first stages; raise ModelError if other inputs are stored there.

    Settings of the translator are compared by its own run.
    """
    record = {"files": [fingerprint(files) for files in run.files], "languages": run.languages}
    path = run.stages / "inputs.json"
    names = {file.name for file in run.path.iterdir()} if run.path.exists() else set()
    if (
        RunFolder(run.path).config.exists()
        or run.stages.is_symlink()
        or (not path.exists() and names - {LOCK, "alignment"})
    ):
        raise ModelError(
            f"{run.path} contains files but no aligner",
            "a new or empty folder",
            "choose another -o",
        )
    if path.exists() and run.pairs.exists():  # a command whose files were refused binds none
        old = parse_json(path.read_text("utf-8"))
        if differing := [name for name in record if old.get(name) != record[name]]:
            raise ModelError(
                f"{run.path} is an aligner of other {' and '.join(differing)}",
                "the same files and languages",
                "choose another -o, or remove that folder",
            )
        return
    with write_errors(run.stages):
        run.stages.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(record, indent=2) + "\n")


def write_pairs(run: AlignerRun) -> None:
    """Write the sentence pairs of all files, without tabs inside them."""
    rows = (
        f"{' '.join(pair.source.split())}\t{' '.join(pair.references[0].split())}\n"
        for files in run.files
        for pair in read_pairs(files)
        if pair.source.strip() and pair.references[0].strip()
    )
    write_text(run.pairs, "".join(rows))


def texts_of(run: AlignerRun) -> list[tuple[str, str]]:
    """Return the sentence pairs."""
    return [(pair.source, pair.references[0]) for pair in read_pairs([run.pairs])]


def write_statistical(run: AlignerRun, folder: Path, progress: Progress) -> None:
    """Train the statistical aligner; write it, and the links of the pairs."""
    from models.align_train.hmm import trained
    from models.align_train.tables import write_statistical as write_tables

    pairs = texts_of(run)
    joint = trained(pairs, progress)
    write_tables(joint.tables(), folder)
    write_text(folder / run.links.name, "".join(map(pharaoh, joint.links(len(pairs)))))


def write_lexicon(run: AlignerRun, path: Path) -> None:
    """Write a table of words and their translations, which the statistical aligner is sure of."""
    from models.align_train.hmm import translations
    from models.align_train.tables import read_statistical

    tables = read_statistical(run.links.parent)
    pairs = texts_of(run)
    written = [written_forms(side) for side in zip(*pairs, strict=True)] or [{}, {}]
    write_text(path, "".join(lexicon_lines(translations(tables) if tables else {}, *written)))


def lexicon_lines(
    found: Mapping[str, Sequence[str]], source: Mapping[str, str], target: Mapping[str, str]
) -> Iterator[str]:
    """Yield lines of form, tab, translation, at most CANDIDATES of a form.

    source, target: forms as they are written, by normalised words.
    """
    for word in sorted(found, key=source.__getitem__):
        form = source[word]
        fitting = [target[one] for one in found[word] if is_form(target[one])]
        for translation in fitting[:CANDIDATES] if is_form(form) else ():
            yield f"{form}\t{translation}\n"


def written_forms(texts: Iterable[str]) -> dict[str, str]:
    """Return the usual spelling of each normalised word: a capital may be that of a sentence."""
    from models.align_train.tables import normalised

    counts: dict[str, Counter[str]] = {}
    for text in texts:
        for place, word in enumerate(text.split()):
            lowered = normalised(word)
            start = word.lower().find(lowered)
            form = word[start : start + len(lowered)] if len(word) == len(word.lower()) else lowered
            counts.setdefault(lowered, Counter())[form] += INSIDE if place else 1
    return {word: max(sorted(each), key=each.__getitem__) for word, each in counts.items()}


def pharaoh(links: Links) -> str:
    """Return links as a line in Pharaoh format, counted from 0."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links)) + "\n"


def finished(run: AlignerRun) -> LayerResult | None:
    """Return the result if the bundle is that of this translator and seed; None otherwise."""
    if not (run.result.exists() and (run.translator / "model.safetensors").exists()):
        return None
    result = LayerResult(**parse_json(run.result.read_text("utf-8")))
    known = result.translator == weights_hash(run.translator) and result.seed == run.seed
    return result if known else None
