"""The models of the service: the only module that opens and runs them, through `attncli.jobs`.

A job is a frozen dataclass with the options of one kind of work. Requests whose jobs are equal are
computed in one batch: ``job.run(model, inputs)`` returns one result per input, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol

from attncli.data.images.named import ImageFile
from attncli.data.lines import ClassifiedLine, Line, TranslatedLine
from attncli.data.panels import AlignedPair
from attncli.data.text.corpus import PairLine
from attncli.jobs import loading
from attncli.tasks.align.pairs import Aligner, align_pairs, aligner_of, self_heads
from attncli.tasks.caption.images import CaptionRunner
from attncli.tasks.caption.writers import CaptionedImage
from attncli.tasks.classify.lines import ClassifyRunner
from attncli.tasks.translate.engine import TranslateOptions
from attncli.tasks.translate.runner import TranslateRunner
from attncli.terminal import console
from models.base.errors import ConfigurationError
from models.text.languages import Glossary, Term

if TYPE_CHECKING:
    from attncli.render.transcripts import TranscribedFile
    from models.explain.self_attention import SelfWeights
    from models.inference.captioner import Captioner
    from models.inference.classifier import Classifier
    from models.inference.text_translator import TextTranslator
    from models.inference.transcriber import Transcriber


WORDS = {"units": "word"}  # of alignments


class ServedModel:
    """A model of a folder, opened by the job that uses it first."""

    def __init__(self, folder: Path, device: str = "auto", threads: int = 0) -> None:
        self.folder, self.device, self.threads = folder, device, threads

    @cached_property
    def options(self) -> TranslateOptions:
        """Options to open the model; a multilingual one gets a language, which each job changes."""
        to = (*loading.languages_of(self.folder), "")[0]
        return TranslateOptions(self.device, self.threads, to=to, messages=console)

    @cached_property
    def translator(self) -> TextTranslator:
        """The translator."""
        return TranslateRunner.open([self.folder], self.options).translator

    @cached_property
    def captioner(self) -> Captioner:
        """The captioner."""
        return loading.open_captioner(self.folder, self.options)

    @cached_property
    def transcriber(self) -> Transcriber:
        """The model of speech."""
        return loading.open_transcriber(self.folder, replace(self.options, to=""))

    @cached_property
    def classifier(self) -> Classifier:
        """The classifier."""
        return loading.open_classifier(self.folder, self.options)


class ModelJob(Protocol):
    """Options of one kind of work."""

    def run(self, model: ServedModel, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return one result per input, in order. Raises ModelError for an input."""


@dataclass(frozen=True)
class TranslateJob:
    """Translation of lines of text (str)."""

    languages: tuple[str, str] = ("", "")  # source and target; empty for a single direction
    nbest: int = 1
    document: bool = False  # texts are segments of a document, with neutral tags
    weights: bool = False  # add the word alignment of the best output
    heads: bool = False  # and the weights of each layer and head
    terms: tuple[Term, ...] = ()  # of a glossary

    def run(self, model: ServedModel, inputs: Sequence[str]) -> list[TranslatedLine]:
        """Translate; a text that cannot be translated has no translation and a note."""
        translator = _listing(_directed(model.translator, self.languages), self.nbest)
        if self.terms:
            translator = translator.with_glossary(Glossary(self.terms))
        options = TranslateOptions(document=self.document, align=WORDS, heads=self.heads)
        lines = [Line(n, text) for n, text in enumerate(inputs, 1)]
        [found] = TranslateRunner(translator, options).run([lines], weights=self.weights)
        return found


@dataclass(frozen=True)
class AlignJob:
    """Alignment of pairs of texts (source, translation)."""

    languages: tuple[str, str] = ("", "")
    heads: bool = False

    def run(self, model: ServedModel, inputs: Sequence[tuple[str, str]]) -> list[AlignedPair]:
        """Align; a pair that cannot be aligned has a note."""
        pairs = [PairLine(number, *texts) for number, texts in enumerate(inputs, 1)]
        aligner = _aligner(model, self.languages, self.heads)
        found = align_pairs(pairs, aligner)
        if not self.heads:
            return found
        return [*map(_with_self_attention, found, self_heads(aligner, inputs))]


@dataclass(frozen=True)
class ClassifyJob:
    """Classification of texts (str)."""

    nbest: int = 1
    attention: bool = False

    def run(self, model: ServedModel, inputs: Sequence[str]) -> list[ClassifiedLine]:
        """Classify; an empty text has no label."""
        lines = [Line(number, text) for number, text in enumerate(inputs, 1)]
        [found] = ClassifyRunner(model.classifier, nbest=self.nbest).run(
            [lines], weights=self.attention
        )
        return found


@dataclass(frozen=True)
class CaptionJob:
    """Captions of images (bytes of their files)."""

    nbest: int = 1
    attention: bool = True

    def run(self, model: ServedModel, inputs: Sequence[bytes]) -> list[CaptionedImage]:
        """Caption; an image that cannot be read has a note and no caption."""
        captioner = _listing(model.captioner, self.nbest)
        files = [ImageFile("the image", content) for content in inputs]
        found = CaptionRunner(captioner).run([files], weights=self.attention)
        return [outcome for group in found for outcome in group]


@dataclass(frozen=True)
class TranscribeJob:
    """Transcripts of recordings (bytes of their files)."""

    attention: bool = False
    language: str = ""  # of a model of several languages; empty: it is recognised

    def run(self, model: ServedModel, inputs: Sequence[bytes]) -> list[TranscribedFile]:
        """Transcribe; a recording that cannot be read has a note and no transcript."""
        transcriber = model.transcriber
        if self.language:
            transcriber = transcriber.languages(self.language)
        files = [ImageFile("the recording", content) for content in inputs]
        runner: Any = resolve_name("attncli.tasks.transcribe.runner:TranscribeRunner")
        return [*runner(transcriber).run(files, times=True, weights=self.attention)]


def _listing(model: Any, nbest: int) -> Any:
    """Return a model that lists a number of outputs; the first of them does not depend on it."""
    return model.with_search(replace(model.search, nbest=nbest))


def _with_self_attention(pair: AlignedPair, own: SelfWeights) -> AlignedPair:
    """Return a pair whose first panel has the self-attention of both sides."""
    source, target = (None if each is None else each.numpy() for each in own)
    first = pair.panels[0]._replace(source_heads=source, target_heads=target)
    return pair._replace(panels=(first, *pair.panels[1:]))


def _directed(translator: Any, languages: tuple[str, str]) -> Any:
    source, to = languages
    if bool(to) != bool(translator.languages):
        raise ConfigurationError(f"target language {to!r} for this model", "one that it has")
    return translator.for_direction(to, source) if to else translator


def _aligner(model: ServedModel, languages: tuple[str, str], heads: bool) -> Aligner:
    [translator] = _directed(model.translator, languages).in_torch()
    return aligner_of(translator, WORDS, heads=heads, scored=False)
