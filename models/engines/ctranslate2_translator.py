"""A text Transformer searched by CTranslate2: the outputs of `Translator`, without torch.

CTranslate2 returns finished hypotheses with their log-probabilities; they are scored and ranked
here, with the length penalty of Wu et al. CTranslate2 stops at a number of finished hypotheses,
and `beam_search` when no live one can rank among the best. PATIENCE * beam hypotheses are
requested, so that both find the same best outputs.

An output that reaches its length limit is ended there. CTranslate2 stops all outputs of a batch at
one length, so sources with a smaller limit are searched again, together if they share it. torch
searches what CTranslate2 treats differently: sampling, steered outputs (tokens that continue the
last word of a prefix would stay in its beam), and inputs whose outputs have forbidden tokens.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from models.core.config import NO_COPY
from models.core.limits import interruptible, processors
from models.core.settings import Values
from models.core.types import VocabularySizes
from models.core.use_config import SearchConfig
from models.engines.ctranslate2_cache import cached, checked_digest
from models.engines.text_translator import EncodedText, TextTranslator, limit_of
from models.networks.config import TransformerConfig
from models.search.hypotheses import Finished, beam_width, check_search, length_limit
from models.search.steering import WORD_TOKENS, Continuation, words_of
from models.storage.archive import read_lexicon
from models.storage.settings import NAME as CONFIG
from models.storage.settings import WEIGHTS, family_of, read_model, read_stored
from models.text.languages import control_tokens
from models.text.tokenizer import END, NEVER_OUTPUT, PAD

if TYPE_CHECKING:
    from models.engines.translator import Translator

# CTranslate2 stops at a number of finished hypotheses, torch when no live one can rank among the
# best; twice the beam finds the outputs of torch
PATIENCE = 2.0
MIN_BATCH_SENTENCES = 8  # sentences that are not divided among threads
# Tokens x beam of a call for each thread. One call for a line of 25 kB took up to 4 s, in which no
# other request was answered. For a file of 2,000 lines, 384 takes 1.03 of the time of 1024 on an
# idle processor, 1.17 on a busy one; 3072 takes 0.97 and 60 MB more.
MAX_WORK = 1024
MAX_SCORED_TOKENS = 1024  # tokens of a batch that only scores
MAX_POSITIONS = 8192  # of the table of positions, in tokens
COMPUTE_TYPES = {"fp32": "float32", "int8": "int8"}
Engine = Literal["auto", "torch", "ctranslate2"]
ComputePrecision = Literal["fp32", "int8"]  # int8: ctranslate2


class CTranslate2Translator(TextTranslator):
    """A text Transformer on the processor. Its output for a text does not depend on the batch."""

    engine: Any  # ctranslate2.Translator
    sizes: VocabularySizes
    positions: int  # longest source or output
    workers: int  # threads, each of which searches a part of a batch
    torch: Callable[[], Translator]  # the model in torch, read at the first call

    @classmethod
    def read(
        cls,
        folder: str | Path,
        *,
        precision: str = "fp32",
        threads: int = 0,
        settings: Values | None = None,
    ) -> CTranslate2Translator:
        """Read the text Transformer of a bundle folder; see `obstacle` for those that it reads.

        precision: of the computation, fp32 or int8. threads: 0: one for each processor.
        settings: those of the bundle, if they are read already. Raises ModelError if the bundle is
        damaged.
        """
        folder = Path(folder)
        stored = read_stored(folder, settings)
        translator = cls(*stored[:5])
        translator.prepare, translator.sizes = stored.prepare, stored.sizes
        translator.calibration = stored.confidence
        translator.lexicon = read_lexicon(folder)
        translator.torch = cache(partial(read_in_torch, folder, threads))
        # of 9.7 processor seconds for 3,952 lines, 1.2 are outside the engine's threads
        translator.workers = threads or processors()
        translator.positions = table_size(translator.config, translator.search)
        translator.engine = translator._opened(folder, precision)
        return translator

    def in_torch(self) -> tuple[Translator, ...]:
        """Return the model in torch, with the settings of this; it is read at the first call."""
        return (self.torch().like(self),)

    def _most_tokens(self, config: SearchConfig) -> int:
        return max(1, self.workers * MAX_WORK // beam_width(config))

    def _opened(self, bundle: Path, precision: str) -> Any:
        """Return the engine with the model of a bundle, converted if the cache does not have it."""
        # by content: a model of the same name that was trained again is converted again
        digest = checked_digest(bundle, [CONFIG, WEIGHTS, *self.tokenizer.files()])
        folder, files = cached(f"{digest}-{precision}", lambda: self._converted(bundle, precision))
        opened = partial(
            import_module("ctranslate2").Translator,
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
        from models.engines.ctranslate2_convert import converted, read_weights

        weights = read_weights(folder / WEIGHTS)
        return converted(
            weights, self.config, self.sizes, positions=self.positions, precision=precision
        )

    @cached_property
    def _forbidden(self) -> frozenset[int]:
        """Ids that no output may contain."""
        controls = control_tokens(self.tokenizer_config)
        target = self.tokenizer.target
        ids = [target.piece_to_id(token) for token in controls]
        return frozenset([*NEVER_OUTPUT, *filter(target.is_control, ids)]) - {END}

    def _search(self, sources: Sequence[EncodedText], config: SearchConfig) -> list[list[Finished]]:
        phrases = self._phrases(sources, config)  # refuses too many before the search
        steered = [number for number, one in enumerate(sources) if one.is_steered]
        plain = [one for one in sources if not one.is_steered]
        found = self._unconstrained(plain, config)
        # CTranslate2 keeps tokens that continue the last word of a prefix: 10 of 40 outputs
        # differed from those of torch
        if steered:
            of_torch = self.torch()._search([sources[number] for number in steered], config)
            for number, one in zip(steered, of_torch, strict=True):
                found.insert(number, one)
        if not any(phrases):
            return found
        from models.engines._constrained import with_phrases

        # torch alone searches with phrases, so it is read only if an output lacks one
        [model] = self.in_torch()
        return with_phrases(found, phrases, lambda n: model._search([sources[n]], config)[0])

    def _unconstrained(
        self, sources: Sequence[EncodedText], config: SearchConfig
    ) -> list[list[Finished]]:
        check_search(config)
        width = beam_width(config)
        if not sources:
            return []
        # CTranslate2 takes 2 * width candidates a step, which a tiny vocabulary does not have
        if config.method == "sample" or 2 * width > len(self.tokenizer.target):
            return self.torch()._search(sources, config)
        # one call has one limit for all its texts, so those with a smaller one are searched again
        # below
        limits = [limit_of(each, config) for each in sources]
        found = self._hypotheses(sources, max(limits) - 1, config)
        outputs = [self._best(*each, config) for each in zip(found, sources, strict=True)]
        over = defaultdict[int, list[int]](list)  # numbers of sources for each limit
        for number, limit in enumerate(limits):
            if any(one.truncated or len(one.ids) + 1 >= limit for one in found[number]):
                over[limit].append(number)
        for limit, numbers in over.items():
            cut = [sources[number] for number in numbers]
            known = [found[number] for number in numbers] if limit == max(limits) else []
            for number, ended in zip(
                numbers, self._at_limit(cut, limit, config, known), strict=True
            ):
                outputs[number] = ended
        # too few hypotheses are without forbidden tokens, which torch excludes at each step
        again = [index for index, found in enumerate(outputs) if len(found) < config.nbest]
        if again:
            found = self.torch()._search([sources[index] for index in again], config)
            for index, of_torch in zip(again, found, strict=True):
                # asking for more outputs never changes the first one
                outputs[index] = led_by(outputs[index][:1], of_torch)[: config.nbest]
        return outputs

    def _hypotheses(
        self, sources: Sequence[EncodedText], limit: int, config: SearchConfig
    ) -> list[list[Finished]]:
        """Return the hypotheses of CTranslate2, of at most `limit` tokens.

        Those that the limit cut are `truncated`, and their log-probabilities lack an end mark.
        """
        starts = [[*map(str, self.tokenizer.target_start(each.to))] for each in sources]
        longest = max(len(each.ids) for each in sources)
        share = math.ceil(len(sources) / self.workers)  # sentences for each thread
        translate = partial(
            self.engine.translate_batch,
            [[*map(str, each.ids)] for each in sources],
            target_prefix=starts if any(starts) else None,
            **_options(beam_width(config)),
            no_repeat_ngram_size=config.no_repeat,
            repetition_penalty=config.repetition_penalty,
            # batches of tokens fit the cache of the processor: up to a sixth less time than batches
            # of sentences
            batch_type="tokens",
            max_batch_size=longest * max(MIN_BATCH_SENTENCES, share),
            max_decoding_length=max(1, min(self.positions - 1, limit)),  # an end mark follows
        )
        found = []
        # in a thread, because Python handles Ctrl-C only between its own instructions
        for result in interruptible(translate):
            outputs = zip(result.hypotheses, result.scores, strict=True)
            each = []
            for tokens, log_prob in outputs:  # truncated if there is no end mark
                ids, cut = tuple(map(int, tokens)), tokens[-1:] != [str(END)]
                ids = ids if cut else ids[:-1]
                each.append(Finished.scored(ids, log_prob, config, cut))
            found.append(each)
        return found

    def _scored(self, source: EncodedText, text: str, config: SearchConfig) -> Finished:
        tokenizer = self.tokenizer
        ids = (*tokenizer.target_start(source.to), *tokenizer.target.encode(text))
        texts, outputs = [[*map(str, source.ids)]], [[*map(str, ids)]]
        [found] = self.engine.score_batch(texts, outputs, max_input_length=0)
        return Finished.scored(ids, sum(found.log_probs), config)

    def _continued(self, source: EncodedText, count: int) -> list[Continuation]:
        if source.looks:
            found: list[Continuation] = self.torch()._continued(source, count)
            return found
        text, start = [*map(str, source.ids)], [*map(str, source.prefix.ids)]
        most = self._first_tokens(count)
        options = _options(1) | {"num_hypotheses": most, "return_alternatives": True}
        options |= {"target_prefix": [start]} if start else {}
        options |= {"max_decoding_length": len(start) + WORD_TOKENS}
        [result] = self.engine.translate_batch([text], **options)
        outputs = [[*map(int, each[len(start) :])] for each in result.hypotheses]
        starts = len(start) <= len(self.tokenizer.target_start(source.to))
        words = words_of(outputs, self.tokenizer, count, starts=starts)
        written = [[*start, *map(str, outputs[number][:size])] for number, size in words]
        scored = self.engine.score_batch([text] * len(words), written, max_input_length=0)
        return [
            Continuation(outputs[number], one.log_probs[len(start) : len(start) + size])
            for (number, size), one in zip(words, scored, strict=True)
        ]

    def _best(
        self, found: list[Finished], source: EncodedText, config: SearchConfig
    ) -> list[Finished]:
        """Return the best allowed hypotheses, and the cut ones that may rank among them."""
        given = len(self.tokenizer.target_start(source.to))
        best, ended = list[Finished](), 0
        for one in sorted(found, key=lambda one: -one.score):
            if ended < config.nbest and self._forbidden.isdisjoint(one.ids[given:]):
                best.append(one)
                # cut outputs do not count, because their log-probability lacks an end mark and is
                # too high
                ended += not one.truncated
        return best

    def _at_limit(
        self,
        sources: Sequence[EncodedText],
        limit: int,
        config: SearchConfig,
        known: list[list[Finished]],
    ) -> list[list[Finished]]:
        """Return the best outputs of sources whose hypotheses reach their length limit.

        Those that have not ended by then get an end mark. known: of a search that stopped there;
        empty if it went further. None if this needs torch: for penalties on tokens, for limits
        without a choice, and if every output has a forbidden token.
        """
        given = max(len(self.tokenizer.target_start(each.to)) for each in sources)
        # penalties change the probability of the end mark, which is scored here without them
        if limit < 2 + given or config.no_repeat or config.repetition_penalty != 1:
            return [[] for _ in sources]
        known = known or self._hypotheses(sources, limit - 1, config)
        best = [self._best(*each, config) for each in zip(known, sources, strict=True)]
        cut = [(n, one) for n, found in enumerate(best) for one in found if one.truncated]
        outputs = [[one for one in found if not one.truncated] for found in best]
        # an end mark of more than 1/2 is the preferred token, one of less than 1/Y is not; the
        # model is asked in between
        likely, doubtful = math.log(0.5), set[tuple[int, tuple[int, ...]]]()
        for (n, one), end in zip(cut, self._log_probs_of_end(sources, cut), strict=True):
            outputs[n].append(Finished.scored(one.ids, one.log_prob + end, config, end < likely))
            if likely - math.log(len(self.tokenizer.target)) < end < likely:  # below, no maximum
                doubtful.add((n, one.ids))
        outputs = [sorted(found, key=lambda one: -one.score)[: config.nbest] for found in outputs]
        every = ((n, one) for n, found in enumerate(outputs) for one in found)
        cut = [(n, one) for n, one in every if (n, one.ids) in doubtful]
        for (n, one), ends in zip(cut, self._would_end(sources, cut), strict=True):
            outputs[n][outputs[n].index(one)] = one._replace(truncated=not ends)
        return outputs

    def _log_probs_of_end(
        self, sources: Sequence[EncodedText], cut: Sequence[tuple[int, Finished]]
    ) -> list[float]:
        """Return log p of an end mark after each output, given with the number of its source."""
        if not cut:
            return []
        texts, outputs = token_pairs(sources, cut)
        most = max(1, MAX_SCORED_TOKENS // len(outputs[0]))
        scored = self.engine.score_batch(texts, outputs, max_batch_size=most, max_input_length=0)
        return [one.log_probs[-1] for one in scored]

    def _would_end(
        self, sources: Sequence[EncodedText], cut: Sequence[tuple[int, Finished]]
    ) -> list[bool]:
        """Return True for each output of a source that the model prefers to end here."""
        if not cut:
            return []
        texts, outputs = token_pairs(sources, cut)
        options = _options(1) | {
            "return_alternatives": True,  # reads all of an output in one step
            "end_token": [str(PAD)],  # no alternative may be an end
            "max_decoding_length": len(outputs[0]) + 1,
        }
        found = self.engine.translate_batch(texts, target_prefix=outputs, **options)
        return [one.hypotheses[0][-1] == str(END) for one in found]


def read_in_torch(folder: Path, threads: int) -> Translator:
    """Read the model of a bundle in torch, which then has that many threads unless it is 0."""
    import torch

    from models.engines.translator import Translator

    if threads:
        torch.set_num_threads(threads)
    return Translator.read(folder)


def table_size(config: TransformerConfig, search: SearchConfig) -> int:
    """Return the size of the table of positions: the longest output of the longest source."""
    longest = length_limit(config.max_source, search)
    return max(config.max_source, min(MAX_POSITIONS, longest))


def token_pairs(
    sources: Sequence[EncodedText], cut: Sequence[tuple[int, Finished]]
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the tokens of the sources and of the outputs, one pair for each output."""
    texts = [[*map(str, sources[number].ids)] for number, _ in cut]
    return texts, [[*map(str, one.ids)] for _, one in cut]


def _options(width: int) -> dict[str, object]:
    """Return the options of a search with a beam of `width` that returns log-probabilities."""
    patience = 1.0 if width == 1 else PATIENCE
    return {
        "beam_size": width,
        "patience": patience,
        "num_hypotheses": math.floor(width * patience),
        # scores are computed here, because CTranslate2 does not know the penalty of Wu et al.
        "length_penalty": 0.0,
        "min_decoding_length": 0,  # an output may be empty
        "max_input_length": 0,  # no limit; texts that are too long are refused before
        "return_scores": True,
        # the end mark tells an output that ended from one that the limit cut
        "return_end_token": True,
    }


def obstacle(settings: Values, search: SearchConfig, device: str = "auto") -> str:
    """Return why CTranslate2 cannot run a model, for a message; "" if it can.

    settings: of its bundle. search: of the search. device: as in `attn translate --device`.
    """
    if reason := unsuitable(settings):
        return reason
    if search.method == "sample":
        return "search.method=sample"
    if device not in ("auto", "cpu"):
        return f"--device {device}"
    return missing_library(gpu=device == "auto")


def unsuitable(settings: Values) -> str:
    """Return why the model of a bundle cannot be converted for CTranslate2; "" if it can."""
    # its specification has no recurrent layers and no parts of attention but the usual ones
    if family_of(settings) != "transformer":
        return f"a model of family {family_of(settings)}"
    config = read_model(settings)
    if config.position not in ("sinusoidal", "sinusoidal_2017", "learned"):
        return f"positions of kind {config.position}"
    if config.copy != NO_COPY:
        return f"copying of kind {config.copy}"
    if config.mixing != "attention":
        return f"mixing of kind {config.mixing}"
    for table in ("attention", "self_attention"):
        own = getattr(config, table)
        # the usual score has two spellings: not named, or named
        if own not in (type(own)(), type(own)(score="scaled_dot")):
            return f"settings of model.{table}"
    if config.output_transform:
        return "an output layer with a transformation"
    if not config.encoder_layers or config.max_source > MAX_POSITIONS or settings.get("shared"):
        return "a model of unusual settings"
    return ""


def missing_library(*, gpu: bool) -> str:
    """Return why the library cannot be used. gpu: True if a GPU is preferred to it."""
    try:
        library = import_module("ctranslate2")
    except (ImportError, OSError) as error:
        return f"no usable library ({error})"
    if not hasattr(library, "Translator"):
        return "no usable library (its compiled part is missing)"
    return "a GPU, which torch uses" if gpu and library.get_cuda_device_count() else ""


def led_by(first: list[Finished], others: list[Finished]) -> list[Finished]:
    """Return outputs with those of another search behind them, each once."""
    # compared by tokens, because two outputs of equal text are merged later with their
    # probabilities
    known = {one.ids for one in first}
    return [*first, *(one for one in others if one.ids not in known)]
