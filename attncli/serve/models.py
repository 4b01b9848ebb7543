"""The models of the service, each in a thread with a queue of work."""

from __future__ import annotations

import gc
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from attncli.align.pairs import align_pairs, aligner_of, self_heads
from attncli.caption.images import CaptionOptions, CaptionRunner
from attncli.caption.writers import CaptionedImage
from attncli.classify.lines import ClassifyOptions, ClassifyRunner
from attncli.data.corpus import PairLine
from attncli.data.lines import ClassifiedLine
from attncli.data.named_files import ImageFile
from attncli.faithful.result import Line, TranslatedLine
from attncli.jobs import loading
from attncli.options.settings import HardAttention, Options
from attncli.serve.requests import SECONDS, RequestError
from attncli.task.panels import AlignedPair
from attncli.terminal import console
from attncli.translate.engine import TranslateOptions
from attncli.translate.runner import TranslateRunner
from models.core.errors import (
    ConfigurationError,
    DamagedError,
    ModelError,
    NotFoundError,
    ResourceError,
    is_exhausted,
)
from models.storage.archive import read_facts
from models.text.languages import Glossary, Term

if TYPE_CHECKING:
    from attncli.render.transcripts import TranscribedFile


WORDS = {"units": "word"}  # of alignments


class ServedModel:
    """A model of a folder, opened by the job that uses it first."""

    def __init__(self, folder: Path, device: str = "auto", threads: int = 0) -> None:
        self.folder, self.device, self.threads = folder, device, threads
        self.between: Callable[[], None] = lambda: None  # called after each batch of a long job

    @cached_property
    def model(self) -> Any:
        """The model; a multilingual translator gets a language, which each job changes."""
        task = read_facts(self.folder).task
        options = Options(self.device, self.threads, messages=console)
        if task != "translate":
            return loading.open_model(task, self.folder, options)
        to = (*loading.languages_of(self.folder), "")[0]
        opening = TranslateOptions(self.device, self.threads, to=to, messages=console)
        return TranslateRunner.open([self.folder], opening).translator

    def reading(self, mode: str) -> Any:
        """Return the model with a read mode; "": as saved. Raises ConfigurationError if soft."""
        return self.model.with_read_mode(mode, seed=self.model.search.seed) if mode else self.model


class ModelJob(Protocol):
    """Options of one kind of work."""

    def run(self, served: ServedModel, inputs: Sequence[Any]) -> Sequence[Any]:
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
    read_mode: str = ""  # of hard attention; "": as saved with the model

    def run(self, served: ServedModel, inputs: Sequence[str | Line]) -> list[TranslatedLine]:
        """Translate; a text that cannot be translated has no translation and a note.

        inputs: texts, or lines of a document, whose numbers the notes name.
        """
        translator = served.reading(self.read_mode)
        translator = _listing(_directed(translator, self.languages), self.nbest)
        if self.terms:
            translator = translator.with_glossary(Glossary(self.terms))
        words = ("align.units",)  # whose default this is, also for a model that saves another
        options = TranslateOptions(document=self.document, heads=self.heads, given=words)
        lines = [one if isinstance(one, Line) else Line(n, one) for n, one in enumerate(inputs, 1)]
        runner = TranslateRunner(translator, options)
        report = lambda done, total: served.between()  # noqa: E731
        [found] = runner.run([lines], weights=self.weights, on_batch=report)
        return found


@dataclass(frozen=True)
class AlignJob:
    """Alignment of pairs of texts (source, translation)."""

    languages: tuple[str, str] = ("", "")
    heads: bool = False
    read_mode: str = ""

    def run(self, served: ServedModel, inputs: Sequence[tuple[str, str]]) -> list[AlignedPair]:
        """Align; a pair that cannot be aligned has a note."""
        pairs = [PairLine(number, *texts) for number, texts in enumerate(inputs, 1)]
        translator = _directed(served.reading(self.read_mode), self.languages)
        [translator] = translator.in_torch()
        aligner = aligner_of(translator, WORDS, heads=self.heads, scored=False)
        found = align_pairs(pairs, aligner)
        if not self.heads:
            return found
        drawn = []
        for pair, sides in zip(found, self_heads(aligner, inputs), strict=True):
            source, target = (None if each is None else each.numpy() for each in sides)
            first = pair.panels[0]._replace(source_heads=source, target_heads=target)
            drawn.append(pair._replace(panels=(first, *pair.panels[1:])))
        return drawn


@dataclass(frozen=True)
class ClassifyJob:
    """Classification of texts (str)."""

    nbest: int = 1
    attention: bool = False
    read_mode: str = ""

    def run(self, served: ServedModel, inputs: Sequence[str]) -> list[ClassifiedLine]:
        """Classify; an empty text has no label."""
        lines = [Line(number, text) for number, text in enumerate(inputs, 1)]
        runner = ClassifyRunner(served.reading(self.read_mode), ClassifyOptions(nbest=self.nbest))
        [found] = runner.run([lines], weights=self.attention)
        return found


@dataclass(frozen=True)
class CaptionJob:
    """Captions of images (bytes of their files)."""

    nbest: int = 1
    attention: bool = True
    read_mode: str = ""

    def run(self, served: ServedModel, inputs: Sequence[bytes]) -> list[CaptionedImage]:
        """Caption; an image that cannot be read has a note and no caption."""
        captioner = _listing(served.reading(self.read_mode), self.nbest)
        files = [ImageFile("the image", content) for content in inputs]
        options = CaptionOptions(attention=HardAttention(self.read_mode))
        found = CaptionRunner(captioner, options).run([files], weights=self.attention)
        return [outcome for group in found for outcome in group]


@dataclass(frozen=True)
class TranscribeJob:
    """Transcripts of recordings (bytes of their files)."""

    attention: bool = False
    language: str = ""  # of a model of several languages; empty: it is recognised
    read_mode: str = ""

    def run(self, served: ServedModel, inputs: Sequence[bytes]) -> list[TranscribedFile]:
        """Transcribe; a recording that cannot be read has a note and no transcript."""
        transcriber = served.reading(self.read_mode)
        if self.language:
            transcriber = transcriber.languages(self.language)
        files = [ImageFile("the recording", content) for content in inputs]
        runner: Any = resolve_name("attncli.transcribe.runner:TranscribeRunner")
        return [*runner(transcriber).run(files, times=True, weights=self.attention)]


def _listing(model: Any, nbest: int) -> Any:
    """Return a model that lists a number of outputs; the first of them does not depend on it."""
    return model.with_search(replace(model.search, nbest=nbest))


def _directed(translator: Any, languages: tuple[str, str]) -> Any:
    source, to = languages
    if bool(to) != bool(translator.languages):
        raise ConfigurationError(f"target language {to!r} for this model", "one that it has")
    return translator.for_direction(to, source) if to else translator


# A model in its own thread, with a queue of work.
#
# Requests that arrive while a batch runs form the next batch; the thread never waits for more.
# Urgent work comes before bulk work, and between the batches of a long line. Bulk work becomes
# urgent after PATIENCE seconds. Work is dropped if its future is cancelled, because its client has
# gone or its time limit has passed.


BATCH = 64  # inputs of one batch
PATIENCE = 5.0  # seconds that bulk work waits behind urgent work


class Work(NamedTuple):
    """Inputs of one request for one job, and where their results go."""

    job: ModelJob
    inputs: Sequence[Any]
    results: Future[Sequence[Any]]
    since: float  # by time.monotonic


class ModelThread:
    """The thread of a model. It opens the model for the first work, and releases it when idle."""

    def __init__(
        self,
        open_model: Callable[[], ServedModel],
        *,
        most: int,
        idle: float,
        on_batch: Callable[[int, float], None] = lambda inputs, seconds: None,
    ) -> None:
        self._open, self._most, self._idle, self._on_batch = open_model, most, idle, on_batch
        self._urgent: deque[Work] = deque()
        self._bulk: deque[Work] = deque()
        self._changed = threading.Condition()
        self._model: ServedModel | None = None
        self._closed = self._in_between = False
        self._thread = threading.Thread(target=self._work, name="engine", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Number of works that wait."""
        return len(self._urgent) + len(self._bulk)

    @property
    def is_open(self) -> bool:
        """True while the model is in memory."""
        return self._model is not None

    def submit(
        self, job: ModelJob, inputs: Sequence[Any], *, urgent: bool = True
    ) -> Future[Sequence[Any]]:
        """Add work; return the future of its results. Raises RequestError if too much waits."""
        work = Work(job, inputs, Future(), time.monotonic())
        with self._changed:
            if self.waiting >= self._most:  # drop the work of clients that have gone
                self._urgent, self._bulk = (
                    deque(each for each in queue if not each.results.cancelled())
                    for queue in (self._urgent, self._bulk)
                )
            if self._closed or self.waiting >= self._most:
                raise RequestError(503, "The service is busy: too many requests wait", SECONDS)
            (self._urgent if urgent else self._bulk).append(work)
            self._changed.notify()
        return work.results

    def close(self) -> None:
        """Finish the work that waits, then end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next():
            self._timed(batch)
            del batch  # so that an idle engine holds no results

    def _timed(self, batch: list[Work]) -> None:
        started = time.monotonic()
        self._run(batch)
        inputs = sum(len(work.inputs) for work in batch)
        self._on_batch(inputs, time.monotonic() - started)

    def _between(self) -> None:
        """Compute urgent work that arrived while a batch of long lines is computed."""
        with self._changed:
            batch = [] if self._in_between else self._taken([self._urgent])
        if batch:
            self._in_between = True
            self._timed(batch)
            self._in_between = False

    def _next(self) -> list[Work]:
        """Return the next batch, waiting for work; none at the end."""
        with self._changed:
            while True:
                queues = [self._urgent, self._bulk]
                if self._bulk and time.monotonic() - self._bulk[0].since > PATIENCE:
                    queues.reverse()
                if batch := self._taken(queues):
                    return batch
                if self._closed:
                    return []
                if not self._changed.wait(self._idle) and self._model is not None:
                    self._model = None
                    gc.collect()

    def _taken(self, queues: Sequence[deque[Work]]) -> list[Work]:
        """Take the first work of some queues and all of the same job that fits into its batch."""
        batch: list[Work] = []
        size = 0
        for queue in queues:
            for _ in range(len(queue)):
                work = queue.popleft()
                if batch and (work.job != batch[0].job or size + len(work.inputs) > BATCH):
                    queue.append(work)  # after one turn, the queue is in its order again
                elif work.results.set_running_or_notify_cancel():
                    batch.append(work)
                    size += len(work.inputs)
        return batch

    def _run(self, batch: list[Work]) -> None:
        """Compute a batch; if an input is at fault, compute each work alone."""
        inputs = [each for work in batch for each in work.inputs]
        try:
            if self._model is None:
                self._model = self._open()
                self._model.between = self._between
            results = batch[0].job.run(self._model, inputs)
        except BaseException as error:
            if isinstance(error, Exception) and len(batch) > 1:
                for work in batch:
                    self._run([work])
                return
            is_known = isinstance(error, ModelError) or is_exhausted(error)
            for work in batch:
                work.results.set_exception(_as_request_error(error) if is_known else error)
        else:
            rest = iter(results)
            for work in batch:
                work.results.set_result([next(rest) for _ in work.inputs])


def _as_request_error(error: BaseException) -> Exception:
    if isinstance(error, (DamagedError, NotFoundError, ResourceError)):
        return RequestError(503, str(error))
    if isinstance(error, ModelError):
        return RequestError(400, str(error))
    return RequestError(503, "Not enough memory for this request", 2)
