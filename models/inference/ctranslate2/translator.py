"""A text Transformer searched by CTranslate2: the outputs of `Translator`, without torch.

CTranslate2 returns finished hypotheses with their log-probabilities; they are scored and ranked
here, with the length penalty of Wu et al. CTranslate2 stops at a number of finished hypotheses,
and `beam_search` when no live one can rank among the best. PATIENCE * beam hypotheses are
requested, so that both find the same best outputs.

An output that reaches its length limit is searched again with this limit, and ended. torch searches
what CTranslate2 treats differently: sampling, and inputs whose outputs have forbidden tokens.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from models.base.errors import DamagedError, naming
from models.base.process import interruptible, processors
from models.base.settings import from_dict
from models.base.types import VocabularySizes
from models.config import ModelConfig
from models.inference.ctranslate2.cache import cached, checked_digest
from models.inference.search.hypotheses import (
    Finished,
    beam_width,
    check_search,
    led_by,
    length_limit,
    length_penalty,
)
from models.inference.text_translator import EncodedText, TextTranslator
from models.storage.settings import NAME as CONFIG
from models.storage.settings import WEIGHTS, read_settings
from models.text.languages import control_tokens
from models.text.tokenizer import END, NEVER_OUTPUT, Tokenizer
from models.use_config import AlignConfig, PrepareConfig, SearchConfig, TokenizerConfig

if TYPE_CHECKING:
    from models.inference.translator import Translator

PATIENCE = 2.0
MOST_WORKERS = 4  # threads, unless more are asked for
LEAST_BATCH = 8  # sentences that are not divided among threads
MOST_BATCH = 1024  # tokens; larger batches leave the cache of the processor and take longer
MOST_POSITIONS = 8192  # of the table of positions, in tokens
COMPUTE_TYPES = {"fp32": "float32", "int8": "int8"}


class CTranslate2Translator(TextTranslator):
    """A text Transformer on the processor. Its output for a text does not depend on the batch."""

    engine: Any  # ctranslate2.Translator
    positions: int  # longest source or output
    workers: int  # threads, each of which searches a part of a batch
    torch: Callable[[], Translator]  # the model in torch, read at the first call

    @classmethod
    def read(
        cls, folder: str | Path, *, precision: str = "fp32", threads: int = 0
    ) -> CTranslate2Translator:
        """Read the text Transformer of a bundle folder; see `obstacle` for those that it reads.

        precision: of the computation, fp32 or int8. threads: 0 for a number that suits the machine.
        Raises ModelError if the bundle is damaged.
        """
        folder = Path(folder)
        settings = read_settings(folder)
        with naming(folder / CONFIG):
            translator = cls(
                from_dict(ModelConfig, settings["model"], where="model"),
                Tokenizer.read(folder),
                from_dict(TokenizerConfig, settings["tokenizer"], where="tokenizer"),
                from_dict(SearchConfig, settings["search"], where="search"),
                from_dict(AlignConfig, settings.get("alignment", {}), where="alignment"),
            )
            stored = settings.get("prepare", {})
            translator.prepare = from_dict(PrepareConfig, stored, where="prepare")
        for language in translator.languages:
            translator.tokenizer.language_id(language)  # raises if the token is missing
        if settings["vocabulary"] != translator._sizes._asdict():
            raise DamagedError(
                f"the tokenizer in {folder} does not fit its config.json", "those of one model"
            )
        translator.torch = cache(partial(read_in_torch, folder, threads))
        translator.workers = threads or min(MOST_WORKERS, processors())
        translator.positions = table_size(translator.config, translator.search)
        translator.engine = translator._opened(folder, precision)
        return translator

    def in_torch(self) -> tuple[Translator, ...]:
        """Return the model in torch, in this direction; it is read at the first call."""
        model = self.torch().with_search(self.search)
        return (model.for_direction(self.to, self.source_language) if self.languages else model,)

    @property
    def _sizes(self) -> VocabularySizes:
        tokenizer = self.tokenizer
        return VocabularySizes(len(tokenizer.source), len(tokenizer.target), tokenizer.joint)

    def _opened(self, bundle: Path, precision: str) -> Any:
        """Return the engine with the model of a bundle, converted if the cache does not have it."""
        digest = checked_digest(bundle, [CONFIG, WEIGHTS, *self.tokenizer.files()])
        folder, files = cached(f"{digest}-{precision}", lambda: self._converted(bundle, precision))
        opened = partial(
            imported().Translator,
            str(folder),
            compute_type=COMPUTE_TYPES[precision],
            inter_threads=self.workers,
            intra_threads=1,
        )
        try:
            return opened(files=files)
        except RuntimeError:  # the cache is damaged, or was removed at this moment
            return opened(files=self._converted(bundle, precision))

    def _converted(self, folder: Path, precision: str) -> dict[str, bytes]:
        """Return the files of the converted model. Only this imports numpy."""
        from models.inference.ctranslate2.convert import converted, read_weights

        weights = read_weights(folder / WEIGHTS)
        return converted(
            weights, self.config, self._sizes, positions=self.positions, precision=precision
        )

    @cached_property
    def _forbidden(self) -> frozenset[int]:
        """Ids that no output may contain."""
        controls = control_tokens(self.tokenizer_config)
        target = self.tokenizer.target
        ids = [target.piece_to_id(token) for token in controls]
        return frozenset([*NEVER_OUTPUT, *filter(target.is_control, ids)]) - {END}

    def _search(self, sources: Sequence[EncodedText], config: SearchConfig) -> list[list[Finished]]:
        found = self._unconstrained(sources, config)
        phrases = self._phrases(sources, config)
        if not any(phrases):
            return found
        from models.inference.search.constrained import with_phrases

        [model] = self.in_torch()
        model = model.with_glossary(self.glossary) if self.glossary else model
        return with_phrases(found, phrases, lambda n: model._search([sources[n]], config)[0])

    def _unconstrained(
        self, sources: Sequence[EncodedText], config: SearchConfig
    ) -> list[list[Finished]]:
        check_search(config)
        width = beam_width(config)
        if config.method == "sample" or 2 * width > len(self.tokenizer.target):
            return self.torch()._search(sources, config)
        limits = [length_limit(len(each.ids), config) for each in sources]
        results = self._results(sources, max(limits), config)
        starts = [self.tokenizer.target_start(each.to) for each in sources]
        outputs = [
            self._finished(result, limit, config, len(start))
            for result, limit, start in zip(results, limits, starts, strict=True)
        ]
        for index, (source, limit) in enumerate(zip(sources, limits, strict=True)):
            if not outputs[index]:
                outputs[index] = self._at_limit(source, limit, config)
        again = [index for index, found in enumerate(outputs) if len(found) < config.nbest]
        if again:
            found = self.torch()._search([sources[index] for index in again], config)
            for index, of_torch in zip(again, found, strict=True):
                outputs[index] = led_by(outputs[index][:1], of_torch)[: config.nbest]
        return outputs

    def _results(
        self, sources: Sequence[EncodedText], limit: int, config: SearchConfig
    ) -> list[Any]:
        """Return the hypotheses of CTranslate2, of at most `limit` tokens."""
        starts = [[*map(str, self.tokenizer.target_start(each.to))] for each in sources]
        translate = partial(
            self.engine.translate_batch,
            [[*map(str, each.ids)] for each in sources],
            target_prefix=starts if any(starts) else None,
            **_options(beam_width(config)),
            no_repeat_ngram_size=config.no_repeat,
            repetition_penalty=config.repetition_penalty,
            batch_type="tokens",
            max_batch_size=self._batch_tokens(sources),
            max_decoding_length=max(1, min(self.positions, limit)),
        )
        found: list[Any] = interruptible(translate)
        return found

    def _at_limit(self, source: EncodedText, limit: int, config: SearchConfig) -> list[Finished]:
        """Return the best outputs of a source whose hypotheses reach the length limit.

        Those that have not ended by then get an end mark. None if this needs torch: for penalties
        on tokens, and if every output has a forbidden token.
        """
        if limit < 2 or config.no_repeat or config.repetition_penalty != 1:
            return []
        if self.tokenizer.target_start(source.to):  # a given first token
            return []
        [result] = self._results([source], limit - 1, config)
        ids = [tuple(map(int, tokens)) for tokens in result.hypotheses]
        ended = [one[-1:] == (END,) for one in ids]
        cut = [[*map(str, one)] for one, end in zip(ids, ended, strict=True) if not end]
        scored, ending = self._scored(source, cut) if cut else (iter(()), iter(()))
        found = []
        for one, end, log_prob in zip(ids, ended, result.scores, strict=True):
            body, whole = (one[:-1], log_prob) if end else (one, next(scored))
            truncated = not end and not next(ending)
            if self._forbidden.isdisjoint(body):
                score = whole / length_penalty(len(body) + 1, config)
                found.append(Finished(body, whole, score, truncated))
        return sorted(found, key=lambda one: -one.score)[: config.nbest]

    def _scored(
        self, source: EncodedText, outputs: list[list[str]]
    ) -> tuple[Iterator[float], Iterator[bool]]:
        """Return log p of each output with an end mark, and True if the model would end it so."""
        sources = [[*map(str, source.ids)]] * len(outputs)
        scored = self.engine.score_batch(sources, outputs)
        options = _options(1) | {"max_decoding_length": len(outputs[0]) + 1}
        next_ones = self.engine.translate_batch(sources, target_prefix=outputs, **options)
        ends = (one.hypotheses[0][len(outputs[0])] == str(END) for one in next_ones)
        return (sum(one.log_probs) for one in scored), ends

    def _batch_tokens(self, sources: Sequence[EncodedText]) -> int:
        """Return the most tokens, padding included, that one thread searches together."""
        longest = max(len(each.ids) for each in sources)
        share = math.ceil(len(sources) / self.workers)  # sentences for each thread
        return min(MOST_BATCH, longest * max(LEAST_BATCH, share))

    def _finished(
        self, result: Any, limit: int, config: SearchConfig, given: int = 0
    ) -> list[Finished]:
        """Return the best outputs, best first; none if one may have reached the length limit.

        given: number of first tokens that were given to the search.
        """
        found = []
        for tokens, log_prob in zip(result.hypotheses, result.scores, strict=True):
            ids = tuple(map(int, tokens))
            if ids[-1:] != (END,) or len(ids) >= limit:
                return []
            if self._forbidden.isdisjoint(ids[given:]):
                score = log_prob / length_penalty(len(ids), config)
                found.append(Finished(ids[:-1], log_prob, score))
        return sorted(found, key=lambda one: -one.score)[: config.nbest]


class Later(ModuleType):
    """A module that is imported when one of its names is used."""

    def __getattr__(self, name: str) -> Any:
        """Return a name of the module. `LazyLoader` would import it at any `import` statement."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def imported() -> ModuleType:
    """Import CTranslate2, whose package names asyncio but uses it in no search of this program.

    asyncio takes longer to import than all of CTranslate2.
    """
    later = sys.modules.setdefault("asyncio", Later("asyncio"))
    try:
        return import_module("ctranslate2")
    finally:
        if sys.modules.get("asyncio") is later and isinstance(later, Later):
            del sys.modules["asyncio"]


def read_in_torch(folder: Path, threads: int) -> Translator:
    """Read the model of a bundle in torch, which then has that many threads unless it is 0."""
    import torch

    from models.inference.translator import Translator

    if threads:
        torch.set_num_threads(threads)
    return Translator.read(folder)


def table_size(config: ModelConfig, search: SearchConfig) -> int:
    """Return the size of the table of positions: the longest output of the longest source."""
    longest = length_limit(config.max_source, search)
    return max(config.max_source, min(MOST_POSITIONS, longest))


def _options(width: int) -> dict[str, Any]:
    """Return the options of a search with a beam of `width` that returns log-probabilities."""
    patience = 1.0 if width == 1 else PATIENCE
    return {
        "beam_size": width,
        "patience": patience,
        "num_hypotheses": math.floor(width * patience),
        "length_penalty": 0.0,
        "min_decoding_length": 0,  # an output may be empty
        "max_input_length": 0,  # no limit; texts that are too long are refused before
        "return_scores": True,
        "return_end_token": True,
    }
