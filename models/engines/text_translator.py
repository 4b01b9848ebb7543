"""Translation of a stream of texts, independent of the engine that searches. Imports no torch.

An engine is a subclass with `_search`. Its output for a text does not depend on the batch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, count, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from models.core.config import MAX_BATCH_TOKENS, FormOfAddress
from models.core.errors import ConfigurationError, InputError
from models.core.limits import GIVE_TURN, TERM_TOKENS
from models.core.types import EMPTY, Hypothesis, Translation
from models.core.use_config import (
    AlignConfig,
    ConfidenceConfig,
    PrepareConfig,
    SearchConfig,
    TokenizerConfig,
)
from models.engines._confidence import confidence, of_both
from models.engines.trained import TrainedModel, check_looks
from models.search.batching import in_order, length_batches, windows
from models.search.hypotheses import Finished, beam_width, length_limit
from models.search.steering import (
    EXTRA,
    FIRST_TOKENS,
    MAX_ALTERNATIVES,
    PLAIN,
    Alternative,
    Continuation,
    Look,
    Steering,
    TargetPrefix,
    alternatives_of,
)
from models.text.languages import (
    TO,
    Glossary,
    check_direction,
    is_zero_shot,
    known_language,
    pivot,
    with_source,
)
from models.text.lexicon import (
    OPEN,
    FoundForm,
    Lexicon,
    LexiconEntry,
    is_one_of,
    with_candidates,
)
from models.text.tokenizer import RESERVED, SPACE, UNKNOWN, Tokenizer

if TYPE_CHECKING:
    from typing_extensions import Self


USUAL_BEAM = 5  # for which batches may have MAX_BATCH_TOKENS
WINDOW = 2000  # texts that are read ahead and batched by length


class EncodedText(NamedTuple):
    """A text to translate."""

    text: str
    to: str  # target language of a multilingual model
    ids: list[int]  # of `read` with its entries, end mark included; none for an empty text
    read: str  # what the model reads: the text, or its translation into a third language
    language: str = ""  # of the text, if it is known
    entries: tuple[FoundForm, ...] = ()  # of the lexicon, that are read in the places of forms
    known: tuple[str, ...] = ()  # translations in the lexicon, of a text that is one word
    members: tuple[EncodedText, ...] = ()  # the text as each model of an ensemble reads it
    prefix: TargetPrefix = TargetPrefix()  # of its outputs
    looks: tuple[Look, ...] = ()  # places are characters of the text
    direction: str = ""  # such as de-en, of what the model reads
    step: Translation | None = None  # from the text to what the model reads, in a third language

    @property
    def is_steered(self) -> bool:
        """True if the search must do more than for a plain text."""
        return bool(self.prefix.ids or self.prefix.open or self.looks)


def limit_of(source: EncodedText, config: SearchConfig) -> int:
    """Return the greatest length of an output in tokens, prefix and end mark included."""
    return length_limit(len(source.ids), config) + len(source.prefix.ids)


class TextTranslator(TrainedModel):
    """A trained text model ready for use: texts in, translations with scores out."""

    to = ""  # target language of a multilingual model; see `for_direction`
    inputs: tuple[str, ...] = ()  # columns of a row, for a model of several inputs
    source_language = ""  # of the texts, if it is known
    address = ""  # form of address in the outputs; see `with_address`
    lexicon: Lexicon | None = None  # translations of rare words, which the model reads
    glossary: Glossary | None = None  # terms that the outputs must contain; see `with_glossary`
    calibration = ConfidenceConfig()  # of the confidence of outputs; see models.engines._confidence
    prepare = PrepareConfig()  # of a text, before it is translated; `stream` takes prepared texts
    config: Any  # the Config of its family
    tokenizer_config: TokenizerConfig
    alignment: AlignConfig

    def __init__(
        self,
        config: Any,
        tokenizer: Tokenizer,
        tokenizer_config: TokenizerConfig,
        search: SearchConfig,
        alignment: AlignConfig,
    ) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self.tokenizer_config = tokenizer_config
        self.search = search
        self.alignment = alignment

    def _search(self, sources: Sequence[EncodedText], config: SearchConfig) -> list[list[Finished]]:
        """Return the best `config.nbest` outputs of each source, best first."""
        raise NotImplementedError

    def _most_tokens(self, config: SearchConfig) -> int:
        """Return the most source tokens of a batch, fewer for a wider beam."""
        # memory grows with source tokens times hypotheses
        return max(1, MAX_BATCH_TOKENS * USUAL_BEAM // beam_width(config))

    def in_torch(self) -> tuple[Any, ...]:
        """Return this model, or the members of this ensemble, as a Translator: with attention."""
        raise NotImplementedError

    @property
    def max_source_length(self) -> int:
        """Maximum source length in tokens, end mark included."""
        return self.config.max_source

    @property
    def languages(self) -> tuple[str, ...]:
        """The target languages of a multilingual model; empty for a model of one direction."""
        return self.tokenizer_config.languages

    def with_glossary(self, glossary: Glossary) -> Self:
        """Return this model with a glossary: outputs contain the translations of its terms.

        Only torch searches with a glossary, by beam search.
        """
        other = copy.copy(self)
        other.glossary = glossary
        return other

    def with_lexicon(self, entries: Sequence[tuple[str, LexiconEntry]]) -> Self:
        """Return this model with further entries of its lexicon, as (direction, entry).

        Raises ConfigurationError for a model that has not learned to read a lexicon.
        """
        if self.tokenizer.source.piece_to_id(OPEN) == UNKNOWN:
            raise ConfigurationError(
                "a lexicon for a model that has not learned to read one",
                "a model that has, such as everyday, or one of `attn train --lexicon`",
                "use --glossary, whose terms the search forces into the output",
            )
        other = copy.copy(self)
        other.lexicon = (self.lexicon or Lexicon()).with_entries(entries)
        return other

    def _phrases(
        self, sources: Sequence[EncodedText], config: SearchConfig
    ) -> list[list[tuple[int, ...]]]:
        """Return the target tokens of the glossary's terms in each source.

        Raises ConfigurationError for a search that cannot force them, and InputError for a source
        whose terms have too many tokens.
        """
        if self.glossary is None:
            return [[] for _ in sources]
        if config.method != "beam" or beam_width(config) < 2:
            raise ConfigurationError(
                f"a glossary with search.method = {config.method}, search.beam = {config.beam}",
                "beam search with a beam of 2 or more",
            )
        targets = (self.glossary.targets(source.text) for source in sources)
        phrases = [[tuple(self.tokenizer.target.encode(one)) for one in each] for each in targets]
        # before the search: terms of 40,000 tokens took 60 s and 512 MB before they were refused
        if (most := max(sum(map(len, each)) for each in phrases)) > TERM_TOKENS:
            raise InputError(
                f"the terms of the glossary in one sentence have {most:,} tokens",
                f"at most {TERM_TOKENS}",
                "use shorter translations, or fewer terms",
            )
        return phrases

    def for_direction(self, to: str = "", source: str = "") -> Self:
        """Return this model with a fixed target language, so that `to` need not be given again.

        source: language of the sources. If the training data had no pairs of the direction, texts
        are translated through a third language where that is possible. Raises ModelError for an
        unknown language, a missing `to`, and for any language if the model has a single direction.
        """
        other = copy.copy(self)
        other.to = check_direction(self.tokenizer_config, to or self.to, source)
        other.source_language = known_language(source, self.languages)
        return other

    def like(self, other: TextTranslator) -> Self:
        """Return this model with the search, glossary, address and languages of another one."""
        model = self.with_search(other.search)
        model = model.with_glossary(other.glossary) if other.glossary else model
        model = model.with_address(other.address) if other.address else model
        model.lexicon = other.lexicon
        return model.for_direction(other.to, other.source_language) if self.languages else model

    def with_address(self, form: str) -> Self:
        """Return this model with a form of address, formal or informal, in its outputs.

        The token of the form stands in front of a text, behind the language. Raises
        ConfigurationError for another form, and for a model that has no such token.
        """
        if form not in get_args(FormOfAddress):
            expected = " or ".join(get_args(FormOfAddress))
            raise ConfigurationError(f"the form of address {form!r}", expected)
        find = self.tokenizer.source
        if not find.is_control(find.piece_to_id(f"<{form}>")):
            raise ConfigurationError(
                f"a form of address ({form}) for a model that has not learned any",
                "a model that has, such as everyday",
                "leave it out",
            )
        other = copy.copy(self)
        other.address = form
        return other

    @property
    def through(self) -> str:
        """The language between source and target; "" for a direction with training data."""
        return pivot(self.tokenizer_config, self.source_language, self.to)

    def is_zero_shot(self, source: str = "") -> bool:
        """Return True if no training data had the direction from `source` to `self.to`."""
        return is_zero_shot(self.tokenizer_config, self.to, known_language(source, self.languages))

    def encode(self, text: str, to: str = "") -> list[int]:
        """Return the ids of a source text, target-language token and end mark included.

        to: target language of a multilingual model; without it, that of `for_direction`.
        """
        return self._ids(text, check_direction(self.tokenizer_config, to or self.to))

    def read_with_entries(
        self, text: str, to: str = "", language: str = ""
    ) -> tuple[list[int], tuple[FoundForm, ...]]:
        """Return the ids of a text with its entries of the lexicon, and these entries.

        language: of the text; without it, that of `for_direction`, or the one that the lexicon
        recognises. There are no entries if the text would be too long with them.
        """
        target = check_direction(self.tokenizer_config, to or self.to)
        found = self.entries(text, target, language or self.source_language)
        if found:
            ids = self._ids(with_candidates(text, found), target)
            # the candidates lengthen the text; a text that fits without them must stay translatable
            if len(ids) <= self.max_source_length:
                return ids, found
        return self._ids(text, target), ()

    def entries(self, text: str, to: str, language: str) -> tuple[FoundForm, ...]:
        """Return the forms of a text whose candidates the model reads, in order."""
        if self.lexicon is None or not text.strip():
            return ()
        return tuple(self.lexicon.found(text, self._direction(text, language, to)))

    def in_sentence_case(self, text: str, language: str = "") -> str:
        """Return a heading With Capitals as a sentence has it, by what the lexicon knows.

        A text with terms of the glossary stays as it is, because these have their own case.
        language: of the text; without it, that of `for_direction`, or the one that the lexicon
        recognises.
        """
        if self.lexicon is None:
            return text
        direction = self._direction(text, language or self.source_language, self.to)
        found = self.lexicon.in_sentence_case(text, direction)
        has_terms = found != text and self.glossary and self.glossary.targets(text)
        return text if has_terms else found

    def has_translation(self, word: str, text: str, language: str = "") -> bool:
        """Return True for a word of a text that the lexicon alone knows, such as MwSt.

        language: of the text; see `in_sentence_case`.
        """
        if self.lexicon is None:
            return False
        direction = self._direction(text, language or self.source_language, self.to)
        return self.lexicon.has_translation(word, direction)

    def begins_sentence(self, text: str, language: str) -> bool:
        """Return True if the capital of the first word, as in "Nur heute", is no noun's or name's.

        language: of the text; False if it is unknown.
        """
        lexicon = self.lexicon
        if lexicon is None:
            return False
        own = (one for one in lexicon.directions if one.partition("-")[0] == language)
        return any(lexicon.begins_sentence(text, one) for one in own)

    def _ids(self, text: str, to: str) -> list[int]:
        """Return the ids of a text: language token, token of the form of address, text, END."""
        ids, language = self.tokenizer.encode(text, to), bool(to)
        form = [self.tokenizer.control_id(f"<{self.address}>")] if self.address else []
        return [*ids[:language], *form, *ids[language:]]

    def source_length(self, text: str) -> int:
        """Return the number of tokens of a source text, control tokens and end mark included."""
        return len(self.tokenizer.encode(text)) + bool(self.languages) + bool(self.address)

    def fault(self, text: str) -> str:
        """Return why a text cannot be read, in one line; "" for a text without files."""
        return ""

    def unknown_characters(self, text: str) -> str:
        """Return the characters of a text that the model has no token for, each once, in order.

        Empty for a vocabulary of words, whose unknown words are spelled in bytes.
        """
        if self.tokenizer_config.kind == "word":
            return ""
        return "".join(filter(self.tokenizer.is_unknown, dict.fromkeys(text)))

    @cached_property
    def reserved(self) -> int:
        """Number of reserved tokens, from the character RESERVED on, for protected parts."""
        known = self.tokenizer.source.piece_to_id
        return next(n for n in count() if known(chr(RESERVED + n)) == UNKNOWN)

    def is_small(self, word: str) -> bool:
        """Return True for a word of the target that has a small letter inside a sentence.

        A language with capitals for nouns alone is German, where the vocabulary tells it: of both
        forms, the more frequent one has the smaller id.
        """
        if self.to not in ("", "de"):
            return word != "I"
        find = self.tokenizer.target.piece_to_id
        small, capital = (find(SPACE + form) for form in (word.lower(), word))
        return bool(small > UNKNOWN and (capital <= UNKNOWN or small < capital))

    def translate(
        self,
        texts: Iterable[str],
        *,
        to: str | Sequence[str] = "",
        source: str | Sequence[str] = "",
        search: SearchConfig | None = None,
        max_batch_tokens: int = MAX_BATCH_TOKENS,
    ) -> list[Translation]:
        """Translate texts; see `stream`. All of them are batched by length together.

        Raises ModelError for a direction that the model does not have, unlike `stream`, whose
        source languages may be recognised ones.
        """
        texts = list(texts)
        self.checked_directions(len(texts), to, source)
        return list(
            self.stream(
                texts,
                to=to,
                source=source,
                search=search,
                max_batch_tokens=max_batch_tokens,
                window=max(1, len(texts)),
            )
        )

    def checked_directions(
        self, count: int, to: str | Sequence[str], source: str | Sequence[str]
    ) -> list[tuple[str, str]]:
        """Return source and target language of each of `count` texts, "" where none is given.

        Raises ModelError for a direction that the model does not have, and for another count.
        """
        for languages, side in ((to, "target"), (source, "source")):
            if not isinstance(languages, str) and len(languages) != count:
                found = f"{len(languages)} {side} languages for {count} texts"
                raise InputError(found, "one for each")
        targets = [to] * count if isinstance(to, str) else to
        sources = [source] * count if isinstance(source, str) else source
        known = self.languages
        sides = ([known_language(code, known) for code in side] for side in (sources, targets))
        directions = list(zip(*sides, strict=True))
        for start, target in {*directions}:
            check_direction(self.tokenizer_config, target or self.to, start)
        return directions

    def stream(
        self,
        texts: Iterable[str],
        *,
        to: str | Iterable[str] = "",
        source: str | Iterable[str] = "",
        search: SearchConfig | None = None,
        max_batch_tokens: int = MAX_BATCH_TOKENS,
        window: int = WINDOW,
        on_batch: Callable[[int], None] = lambda done: None,
        steering: Iterable[Steering] = (),
    ) -> Iterator[Translation]:
        """Translate texts; yield each result as soon as it and all before it are done.

        Memory stays constant: at most `window` texts are read ahead, and batched by length.
        An empty text has one empty output, and the model is not called.
        to: target language of a multilingual model, or one for each text; without it, that of
        `for_direction`. source: language of the texts, or of each text ("" if it is unknown);
        without it, that of `for_direction`. search: settings; the default is `self.search`.
        max_batch_tokens: source tokens per batch, padding included. on_batch: called after each
        batch with the number of texts done so far. steering: of each text; the default is none.
        Raises ModelError for a text longer than `max_source_length`, for an unknown language, and
        for what cannot be steered.
        """
        config, done = search or self.search, 0
        targets = repeat(to) if isinstance(to, str) else to
        starts = repeat(source or self.source_language) if isinstance(source, str) else source
        steerings = chain(steering, repeat(PLAIN))
        for group in windows(zip(texts, targets, starts, steerings, strict=False), window):
            directions = (
                (text, with_source(self.tokenizer_config, target or self.to, start))
                for text, target, start, _ in group
            )
            languages = [known_language(start, self.languages) for *_, start, _ in group]
            sources = self._encoded([*directions], languages, first=done + 1)
            sources = self._in_pivots(sources, languages, config, max_batch_tokens)
            sources = self._steered(sources, [one for *_, one in group])
            yield from in_order(self._translated(sources, config, max_batch_tokens, on_batch, done))
            done += len(group)

    def _encoded(
        self, texts: Sequence[tuple[str, str]], languages: Sequence[str], *, first: int
    ) -> list[EncodedText]:
        """Encode texts with their target languages.

        languages: of the texts; "" if unknown. first: number of the first text.
        """
        targets = {
            to: check_direction(self.tokenizer_config, to or self.to)
            for to in {to for _, to in texts}
        }
        sources = []
        for number, ((text, to), language) in enumerate(zip(texts, languages, strict=True), first):
            direction = self._direction(text, language, targets[to])
            ids, entries = self.read_with_entries(text, targets[to], language)
            # a text without words is its own output; the model would invent one
            ids = ids if text.strip() else []
            if len(ids) > self.max_source_length:
                raise InputError(
                    f"text {number} has {len(ids)} tokens",
                    f"at most {self.max_source_length}, end mark included",
                    "split it into sentences",
                )
            known = self.lexicon.translations(text, direction) if self.lexicon else ()
            given = text, targets[to], ids, text, language, entries, known
            sources.append(EncodedText(*given, direction=direction))
        return sources

    def _steered(
        self, sources: list[EncodedText], steerings: Sequence[Steering]
    ) -> list[EncodedText]:
        """Return the sources with what steers their outputs."""
        if all(one == PLAIN for one in steerings):
            return sources
        check_looks(self, steerings)
        found = []
        for source, one in zip(sources, steerings, strict=True):
            start = self.tokenizer.target_start(source.to) if one.prefix else ()
            if one.looks and (self.inputs or source.read != source.text):
                through = (
                    "several inputs" if self.inputs else "a direction through a third language"
                )
                raise InputError(f"a look with {through}", "a model that reads the text itself")
            prefix = TargetPrefix.of(one.prefix, self.tokenizer, start)
            found.append(source._replace(prefix=prefix, looks=one.looks))
        return found

    def next_words(
        self, text: str, steering: Steering = PLAIN, count: int = 8, *, to: str = ""
    ) -> list[Alternative]:
        """Return the words that the output of a text can go on with, the most probable first.

        steering: its prefix is what is written so far, and ends with a word.
        count: at most MAX_ALTERNATIVES.
        """
        if not 1 <= count <= MAX_ALTERNATIVES:
            raise InputError(f"{count} alternatives", f"1 to {MAX_ALTERNATIVES}")
        sources = self._encoded([(text, to)], [self.source_language], first=1)
        if not sources[0].ids:
            return []
        given = steering._replace(prefix=f"{steering.prefix.rstrip()} ".lstrip())
        [source] = self._steered(sources, [given])
        written = source.prefix.ids or tuple(self.tokenizer.target_start(source.to))
        source = source._replace(prefix=TargetPrefix(written))
        found = self._continued(source, count)
        return alternatives_of(found, self.tokenizer, count, starts=not given.prefix)

    def _first_tokens(self, count: int) -> int:
        """Return the number of first tokens that are continued for a list of `count` words."""
        # several first tokens may begin one word, or none; CTranslate2 takes at most half of the
        # vocabulary
        return min(EXTRA * count + FIRST_TOKENS, len(self.tokenizer.target) // 2)

    def _continued(self, source: EncodedText, count: int) -> list[Continuation]:
        """Return continuations by the most probable first tokens, for a list of `count` words."""
        raise NotImplementedError

    def untrained_source(self, text: str) -> str:
        """Return the language that a text surely is in, if it has no trained direction; or "".

        Such a text is translated through a third language. "" for a model of a given source.
        """
        if self.source_language or not (self.languages and self.lexicon):
            return ""
        language = self.lexicon.sure_language(text)
        is_read = language != self.to and pivot(self.tokenizer_config, language, self.to)
        return language if is_read else ""

    def _direction(self, text: str, language: str, to: str) -> str:
        """Return the direction of a text, whose language the lexicon tells if it is unknown."""
        if self.languages:
            to = to.rpartition(TO)[2]
            if not language and self.lexicon:
                language = self.lexicon.language(text, to, self.languages)
        return f"{language}-{to}"

    def _in_pivots(
        self,
        sources: list[EncodedText],
        languages: Sequence[str],
        config: SearchConfig,
        max_batch_tokens: int,
    ) -> list[EncodedText]:
        """Return the sources; those of untrained directions as their translations into a pivot.

        languages: of each source; "" if it is unknown.
        """
        between = [
            pivot(self.tokenizer_config, language, source.to)
            for source, language in zip(sources, languages, strict=True)
        ]
        for language in {*between} - {""}:
            first = copy.copy(self)
            # the terms of the glossary are those of the target language, not of the one between
            first.source_language, first.glossary = "", None
            numbers = [n for n, one in enumerate(between) if one == language]
            texts = [sources[n].text for n in numbers]
            # only the best intermediate text is read, so a list would be searched for nothing
            search = replace(config, nbest=1)
            found = first.translate(
                texts, to=language, search=search, max_batch_tokens=max_batch_tokens
            )
            read = [each.text for each in found]
            targets = [sources[n].to for n in numbers]
            between_texts = [*zip(read, targets, strict=True)]
            again = self._encoded(between_texts, [language] * len(read), first=1)
            for n, each, step in zip(numbers, again, found, strict=True):
                own = sources[n]
                sources[n] = each._replace(text=own.text, language=own.language, step=step)
        return sources

    def _translated(
        self,
        sources: Sequence[EncodedText],
        config: SearchConfig,
        max_batch_tokens: int,
        on_batch: Callable[[int], None],
        before: int,
    ) -> Iterator[tuple[int, Translation]]:
        """Yield the index and the translation of each source, batch by batch.

        before: number of texts that were done before.
        """
        empty = [index for index, source in enumerate(sources) if not source.ids]
        for index in empty:
            yield index, Translation(sources[index].text, (EMPTY,), sources[index].to)
        done, lengths = before + len(empty), [len(source.ids) for source in sources]
        # in batches of their own: beside a steered text, torch would search the plain ones, too
        steered = [length * one.is_steered for length, one in zip(lengths, sources, strict=True)]
        plain = [length - own for length, own in zip(lengths, steered, strict=True)]
        most = min(max_batch_tokens, self._most_tokens(config))
        batches = (
            batch
            for some in (plain, steered)
            for batch in length_batches(some, max_tokens=most, longest_first=True)
        )
        for batch in batches:
            found = self._lists(self._search, [sources[index] for index in batch], config)
            done += len(found)
            on_batch(done)
            # a service computes other requests between two batches
            GIVE_TURN.get()()
            for index, hypotheses in zip(batch, found, strict=True):
                source = sources[index]
                yield index, self._judged(source, self._with_known(source, hypotheses, config))

    def _with_known(
        self, source: EncodedText, found: tuple[Hypothesis, ...], config: SearchConfig
    ) -> tuple[Hypothesis, ...]:
        """Return the outputs of a text, led by the translation of a word that the best one lacks.

        What steers an output, a term of a glossary and samples come before the lexicon.
        """
        # an explanation of several words is no translation of a label
        if not source.known or " " in source.known[0] or is_one_of(found[0].text, source.known):
            return found
        has_terms = self.glossary and self.glossary.targets(source.text)
        if source.is_steered or config.method == "sample" or has_terms:
            return found
        word, read = source.known[0], source.read.strip()
        # a German capital is that of a noun, another one may be that of a sentence
        if read[0].isupper() and not source.direction.startswith("de"):
            word = word[0].upper() + word[1:]
        word += read[-1] if read[-1] in ".:" else ""
        first = self._hypothesis(self._scored(source, word, config))
        return (first, *(one for one in found if one.text != first.text))[: len(found)]

    def _scored(self, source: EncodedText, text: str, config: SearchConfig) -> Finished:
        """Return a text as an output with its log-probability, for a model with a lexicon."""
        raise NotImplementedError

    def _judged(self, source: EncodedText, hypotheses: tuple[Hypothesis, ...]) -> Translation:
        """Return the translation of a text, with its confidence if the model has a calibration."""
        best = hypotheses[0]
        terms = self.glossary.terms_in(source.text) if self.glossary else ()
        known = self.calibration, source.read, best, source.direction, self.lexicon
        found = confidence(*known, terms)
        if found and source.step:
            first = source.step.confidence
            found = of_both(first, found, self.calibration) if first else None
        elif found and source.known and is_one_of(best.text, source.known):
            # the score of a word alone tells little: of 869 that it named, 493 were right
            value = max(found.value, self.calibration.threshold)
            found = found._replace(value=value, is_doubtful=False)
        return Translation(source.text, hypotheses, source.to, found, source.language)
