"""A translator: one text or many in, one translation or many out, with their alignments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, overload

from attncli.align.pairs import Aligner, AlignOptions, AlignRunner
from attncli.data.corpus import PairLine
from attncli.data.tables import read_glossary
from attncli.explain.result import ExplainedLine
from attncli.explain.runner import ExplainSettings, explain
from attncli.faithful.result import Line, TranslatedLine
from attncli.options.arguments import checked, fits
from attncli.options.loading import as_list, searching
from attncli.task.panels import AlignedPair
from attncli.translate import engine as engines
from attncli.translate.engine import LineSettings, TranslateOptions
from attncli.translate.memory import read_memory
from attncli.translate.runner import TranslateRunner
from models.core.errors import InputError
from models.core.use_config import SearchConfig
from models.engines.text_translator import TextTranslator
from models.engines.translator import Translator as TextModel
from models.search.steering import Alternative
from models.storage.settings import read_settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

# a dictionary, pairs, or a path
GivenPairs: TypeAlias = Mapping[str, str] | Iterable[Sequence[str]] | str | Path | None
GivenLook = str | int  # words of a text, by themselves or by number


def looks_of(look: GivenLook | Sequence[GivenLook]) -> tuple[str, ...]:
    """Return one look or several as texts."""
    looks: Any = [look] if isinstance(look, (str, Integral)) else look
    return tuple(map(str, looks))


def lines_of(
    texts: Sequence[str], prefix: str | Sequence[str], looks: tuple[str, ...]
) -> list[Line]:
    """Return texts as lines that are steered. prefix: of all, or one for each."""
    prefixes = [prefix] * len(texts) if isinstance(prefix, str) else [*prefix]
    if len(prefixes) != len(texts):
        raise InputError(f"{len(prefixes)} prefixes for {len(texts)} texts", "one for each")
    pairs = enumerate(zip(texts, prefixes, strict=True), 1)
    return [Line(number, text, prefix=own, looks=looks) for number, (text, own) in pairs]


def options_of(address: str, glossary: GivenPairs, **options: object) -> TranslateOptions:
    """Return the options of a translation, whose alignment is that of words by every head."""
    terms = pairs_of(glossary, lambda path: read_glossary(path).terms)
    text = LineSettings(address=address)
    return TranslateOptions.read(
        ["align.units=word"], text=text, glossary=terms, heads=True, **options
    )


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
    ) -> TranslatedLine: ...

    @overload
    def translate(
        self, texts: Iterable[str], **settings: Unpack[TranslateSettings]
    ) -> list[TranslatedLine]: ...

    @checked
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
    ) -> TranslatedLine | list[TranslatedLine]:
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
        model, found = searching(self, search), as_list(texts)
        directions = self.checked_directions(len(found), to, source)
        start, target = directions[0] if directions else ("", "")
        known = pairs_of(memory, lambda path: read_memory(path, start, target))
        options = options_of(address, glossary, verbatim=verbatim, memory=known)
        lines = lines_of(found, prefix, looks_of(look))
        results = model._translated_lines(lines, directions, options)
        return results[0] if isinstance(texts, str) else results

    @checked
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
    ) -> list[TranslatedLine]:
        """Translate lines with source and target languages; those of each target together."""
        starts = [source or self.source_language for source, _ in directions]
        results: dict[int, TranslatedLine] = {}
        for to in dict.fromkeys(target for _, target in directions):
            engine = self.for_direction(to, self.source_language)._engine()
            own = replace(options, to=to, source=self.source_language)
            runner = TranslateRunner.of(engine, own)
            runner.languages = lambda lines: [starts[line.number - 1] for line in lines]
            lines = zip(texts, directions, strict=True)
            [found] = runner.run([[line for line, (_, target) in lines if target == to]])
            results |= {one.line.number: one for one in found}
        for one in results.values():
            if one.translation is None:  # long texts are split; what cannot be steered is refused
                raise InputError(one.note, "another prefix or look")
        return [results[line.number] for line in texts]

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

    @checked
    def align(
        self, source: str | Iterable[str], target: str | Iterable[str], *, to: str = ""
    ) -> AlignedPair | list[AlignedPair]:
        """Align a text with its translation, or many with theirs; to: language of these."""
        model = self.for_direction(to) if to else self
        pairs = [PairLine(n, *pair) for n, pair in enumerate(_paired(source, target), 1)]
        config = replace(model.alignment, units="word")
        [found] = AlignRunner([Aligner(model, config)], AlignOptions()).run([pairs])
        return found[0] if isinstance(source, str) else found

    @checked
    def explain(
        self,
        texts: str | Iterable[str],
        *,
        target: str | Iterable[str] | None = None,
        to: str = "",
        source: str = "",
        **how: Unpack[ExplainSettings],
    ) -> ExplainedLine | list[ExplainedLine]:
        """Explain the words of the translation of a text, or of many, by those of the text.

        target: translation to explain, or one for each text; None: that of `translate`. to, source:
        languages. method: of docs/explain.md, or several, or all; the default is attention and
        erasure. word: number of the only word that is explained, from 1.
        """
        given = as_list(texts) if target is None else _paired(texts, target)
        start = source or self.source_language
        engine = self.for_direction(to, start)._engine()
        runner = TranslateRunner.of(engine, TranslateOptions(to=to, source=start))
        return explain(runner, given, alone=isinstance(texts, str), **how)


def _paired(source: str | Iterable[str], target: str | Iterable[str]) -> list[tuple[str, str]]:
    """Return texts with their translations."""
    sources, targets = as_list(source), as_list(target)
    if len(sources) != len(targets):
        raise InputError(f"{len(targets)} translations of {len(sources)} texts", "one for each")
    return [*zip(sources, targets, strict=True)]


def pairs_of(
    given: GivenPairs, read: Callable[[Path], Iterable[Sequence[str]]]
) -> tuple[Sequence[str], ...]:
    """Return the pairs of a dictionary, of pairs, or of a file, which `read` reads."""
    if isinstance(given, (str, Path)):
        given = read(Path(given))
    pairs = tuple(given.items() if isinstance(given, Mapping) else given or ())
    for pair in pairs:
        if not fits(pair, tuple[str, str]):
            raise InputError(f"{pair!r}"[:80], "a text and its translation")
    return pairs


def _without_torch(folder: Path, model: TextModel) -> TextTranslator | None:
    """Return the model of a folder searched by CTranslate2; None if it cannot be."""
    options = TranslateOptions.read(device=model.device.type)
    fast = engines.fast_engine(folder, options, read_settings(folder))
    if fast is not None:
        fast.torch = lambda: model
    return fast
