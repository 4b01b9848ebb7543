"""A translator: one text or many in, one translation or many out, with their alignments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, overload

from attncli.align.pairs import Aligner, drawn, every_head
from attncli.data.corpus import PairLine
from attncli.data.memory import read_memory
from attncli.data.tables import read_glossary
from attncli.faithful.checks import Check
from attncli.faithful.result import Line, TranslatedLine
from attncli.interface._results import RankedOutputs, as_list, check_search, framed
from attncli.render.alignment import html
from attncli.render.alignment_writers import heat_maps
from attncli.task.panels import AlignedPair
from attncli.terminal.messages import current_screen
from attncli.translate import engine as engines
from attncli.translate.aligned import joined, with_parts
from attncli.translate.doubts import reason
from attncli.translate.engine import TranslateOptions
from attncli.translate.runner import TranslateRunner
from models.alignment import Alignment, align, align_translations
from models.core.errors import InputError
from models.core.types import EMPTY, Translation
from models.core.use_config import SearchConfig
from models.engines.text_translator import TextTranslator
from models.engines.translator import Translator as TextModel
from models.search.alternatives import Alternative
from models.storage.settings import read_settings
from models.text.languages import Glossary, Term

if TYPE_CHECKING:
    from typing_extensions import Unpack

# a dictionary, pairs, or a path
GivenPairs: TypeAlias = Mapping[str, str] | Iterable[Sequence[str]] | str | Path | None
ROW, HEAD = 33, 305  # pixels of a row of a heat map, and of what is above it
GivenLook = str | int  # words of a text, by themselves or by number


def looks_of(look: GivenLook | Sequence[GivenLook]) -> tuple[str, ...]:
    """Return one look or several as texts."""
    return tuple(map(str, [look] if isinstance(look, (str, int)) else look))


def lines_of(
    texts: Sequence[str], prefix: str | Sequence[str], looks: tuple[str, ...]
) -> list[Line]:
    """Return texts as lines that are steered. prefix: of all, or one for each."""
    prefixes = [prefix] * len(texts) if isinstance(prefix, str) else [*prefix]
    if len(prefixes) != len(texts):
        raise InputError(f"{len(prefixes)} prefixes for {len(texts)} texts", "one for each")
    pairs = enumerate(zip(texts, prefixes, strict=True), 1)
    return [Line(number, text, prefix=own, looks=looks) for number, (text, own) in pairs]


class DrawnPair:
    """A result with an alignment, which shows itself."""

    @property
    def aligned_pair(self) -> AlignedPair:
        """The alignment in the form of the writers of pictures."""
        raise NotImplementedError

    @property
    def picture(self) -> str:
        """The heat map for a terminal: rows are words of the translation."""
        return heat_maps(self.aligned_pair, current_screen())

    def _repr_html_(self) -> str:
        """Return the heat map that can be pointed at, for a notebook."""
        pair = self.aligned_pair
        return framed(html([pair]), HEAD + ROW * len(pair.target))


class TranslatedText(DrawnPair, RankedOutputs, Translation):
    """A text and its translations, best first. `print(result.picture)` draws the attention.

    It is a `models.core.types.Translation`: source, hypotheses, to.
    """

    model: Translator
    parts: tuple[Translation, ...]  # what was translated: one for each part of the text
    checks: tuple[Check, ...] = ()  # that the best output fails: name and what was found
    stand_ins: tuple[tuple[tuple[str, str, str], ...], ...] = ()  # see `TranslatedLine`
    memory: str = ""  # how the text was found in a translation memory: exact or numbers
    doubt: str = ""  # why the output may have another sense

    @cached_property
    def alignment(self) -> Alignment:
        """Words of both sides, links, and weights (J, I) of each word on each source word."""
        found = align_translations(self.model, self.parts, config=self.model.word_alignment)
        if self.stand_ins:
            found = [with_parts(*pair) for pair in zip(found, self.stand_ins, strict=True)]
        return joined(found)

    @cached_property
    def aligned_pair(self) -> AlignedPair:
        """The alignment for the writers of pictures; of one part, with the weights of each head."""
        one = len(self.parts) == 1
        aligner = Aligner(self.model, self.model.word_alignment, heads=one)
        heads = every_head(aligner, self.parts)[0]
        return drawn(PairLine(1, self.source, self.text), self.alignment, aligner, heads)


class AlignedText(DrawnPair, Alignment):
    """The alignment of a given pair: source, target, weights (J, I), links, score."""

    text: str  # the translation, as it was given

    @property
    def alignment(self) -> Alignment:
        """Words of both sides, links, and weights: the result itself."""
        return self

    @property
    def aligned_pair(self) -> AlignedPair:
        """The alignment without weights of heads."""
        return drawn(PairLine(1, " ".join(self.source), " ".join(self.target)), self)


class TranslateSettings(TypedDict, total=False):
    """Options of `Translator.translate`."""

    to: str | list[str]
    source: str | list[str]
    search: SearchConfig | None
    verbatim: bool
    prefix: str | Sequence[str]
    look: GivenLook | Sequence[GivenLook]
    address: str
    glossary: GivenPairs
    memory: GivenPairs


class Translator(TextModel):
    """A `models.engines.translator.Translator` whose results show themselves.

    `translate` returns the outputs of `attn translate`: the same engine searches.
    """

    _fast: Callable[[], TextTranslator | None] = staticmethod(lambda: None)  # see `read`

    @overload  # type: ignore[override]
    def translate(  # type: ignore[overload-overlap]
        self, texts: str, **settings: Unpack[TranslateSettings]
    ) -> TranslatedText: ...

    @overload
    def translate(
        self, texts: Iterable[str], **settings: Unpack[TranslateSettings]
    ) -> list[TranslatedText]: ...

    def translate(
        self,
        texts: str | Iterable[str],
        *,
        to: str | Sequence[str] = "",
        source: str | Sequence[str] = "",
        search: SearchConfig | None = None,
        verbatim: bool = False,
        prefix: str | Sequence[str] = "",
        look: GivenLook | Sequence[GivenLook] = (),
        address: str = "",
        glossary: GivenPairs = None,
        memory: GivenPairs = None,
    ) -> TranslatedText | list[TranslatedText]:
        """Translate a text, or many: one in, one out; a list in, a list out.

        to: target language of a multilingual model, or one for each text. source: language of the
        texts, or one for each; a direction without training data then goes through a third
        language. search: settings; the default is `self.search`. Texts are prepared as `attn
        translate` prepares lines, and long ones are translated in parts; verbatim=True gives them
        to the model as they are. address: formal or informal. glossary: terms that outputs must
        contain, as a dictionary, pairs, or the path of a table. memory: texts whose translations
        come back as given, also where only numbers differ; as glossary, or the path of a TMX file.
        prefix: begin of the output, or one for each text; a space ends its last word. look: words
        that alone may be attended to: "dog", 3 or "2-4@1-3" (for words 1 to 3 of the output), or
        several. Raises ModelError for a direction that the model has not, and wrong steering.
        """
        check_search(search)
        for languages in (to, source):
            as_list(languages, "language")
        found = as_list(texts)
        directions = self.checked_directions(len(found), to, source)
        model = self._changed(search, address, glossary)
        start, target = directions[0] if directions else ("", "")
        known = pairs_of(memory, lambda path: read_memory(path, start, target))
        lines = lines_of(found, prefix, looks_of(look))
        options = TranslateOptions(verbatim=verbatim, memory=known)
        results = model._translated_lines(lines, directions, options)
        return results[0] if isinstance(texts, str) else results

    def _changed(
        self, search: SearchConfig | None, address: str, glossary: GivenPairs
    ) -> Translator:
        """Return this model with other settings of the search, an address and a glossary."""
        model = self.with_search(search) if search else self
        model = model.with_address(address) if address else model
        if terms := pairs_of(glossary, lambda path: read_glossary(path).terms):
            model = model.with_glossary(Glossary(tuple(Term(*term) for term in terms)))
        return model

    def alternatives(
        self,
        text: str,
        prefix: str = "",
        n: int = 8,
        *,
        to: str = "",
        source: str = "",
        look: GivenLook | Sequence[GivenLook] = (),
    ) -> list[Alternative]:
        """Return the words that the translation of a text can go on with, with probabilities.

        prefix: the translation so far. n: at most 20 words, the most probable first. look: see
        `translate`. Raises ModelError for a direction that the model does not have.
        """
        model = self.for_direction(to, source) if to or source else self
        line = Line(1, text, prefix=prefix, looks=looks_of(look))
        return TranslateRunner(model._engine()).alternatives(line, n)

    def _translated_lines(
        self, texts: list[Line], directions: list[tuple[str, str]], options: TranslateOptions
    ) -> list[TranslatedText]:
        """Translate lines with source and target languages; those of each target together."""
        numbered = [(line.number, (line, own)) for line, own in zip(texts, directions, strict=True)]
        starts = {n: source or self.source_language for n, (_, (source, _)) in numbered}
        results: dict[int, TranslatedText] = {}
        for to in dict.fromkeys(target for _, target in directions):
            model = self.for_direction(to, self.source_language)
            runner = TranslateRunner(
                model._engine(),
                options,
                languages=lambda lines: [starts[line.number] for line in lines],
            )
            lines = [line for _, (line, (_, target)) in numbered if target == to]
            [found] = runner.run([lines])
            results |= {one.line.number: model._result(one) for one in found}
        return [results[n] for n, _ in numbered]

    @classmethod
    def read(cls, folder: str | Path, *, device: str = "cpu") -> Translator:
        """Read the model of a bundle folder; a ModelError if it reads another kind of input."""
        model = super().read(folder, device=device)
        model._fast = cache(partial(_without_torch, Path(folder), model))
        return model

    def _engine(self) -> TextTranslator:
        """Return the engine that `attn translate` chooses for this model."""
        fast = self._fast()
        return self if fast is None else fast.like(self)

    def align(
        self, source: str | Iterable[str], target: str | Iterable[str], *, to: str = ""
    ) -> AlignedText | list[AlignedText]:
        """Align a text with its translation, or many with theirs; to: language of these."""
        model = self.for_direction(to) if to else self
        sources, targets = as_list(source), as_list(target)
        if len(sources) != len(targets):
            raise InputError(f"{len(targets)} translations of {len(sources)} texts", "one for each")
        pairs = list(zip(sources, targets, strict=True))
        found = [AlignedText._make(one) for one in align(model, pairs, config=self.word_alignment)]
        for one, text in zip(found, targets, strict=True):
            one.text = text
        return found[0] if isinstance(source, str) else found

    @property
    def word_alignment(self) -> Any:
        """The alignment settings of the model, with words as units."""
        return replace(self.alignment, units="word")

    def _result(self, outcome: TranslatedLine) -> TranslatedText:
        if outcome.translation is None:  # long texts are split; what cannot be steered is refused
            raise InputError(outcome.note, "another prefix or look")
        result = TranslatedText._make(
            outcome.translation._replace(to=self.to, confidence=outcome.confidence)
        )
        result.model = self
        result.stand_ins, result.checks = outcome.stand_ins, outcome.checks
        result.memory, result.doubt = outcome.memory, reason(outcome)
        result.parts = outcome.parts or (Translation(result.source, (EMPTY,), self.to),)
        return result


def pairs_of(
    given: GivenPairs, read: Callable[[Path], Iterable[Sequence[str]]]
) -> tuple[Sequence[str], ...]:
    """Return the pairs of a dictionary, of pairs, or of a file, which `read` reads."""
    if isinstance(given, (str, Path)):
        given = read(Path(given))
    pairs = tuple(given.items() if isinstance(given, Mapping) else given or ())
    for pair in pairs:
        if len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise InputError(f"{pair!r}"[:80], "a text and its translation")
    return pairs


def _without_torch(folder: Path, model: TextModel) -> TextTranslator | None:
    """Return the model of a folder searched by CTranslate2; None if it cannot be."""
    options = TranslateOptions.read(device=model.device.type)
    fast = engines.fast_engine(folder, options, read_settings(folder))
    if fast is not None:
        fast.torch = lambda: model
    return fast
