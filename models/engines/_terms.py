"""Terms of a glossary put into an output by attention.

Where a search is forced to write a term, it often writes it beside the word that it replaces, or in
another place. The output of the free search is kept instead, and the words that read the source
term most are replaced.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from models.core.types import Span
from models.core.use_config import AlignConfig, SearchConfig
from models.engines.text_translator import EncodedText
from models.engines.trained import TorchModel
from models.networks.decoder import shifted
from models.networks.losses import sequence_loss
from models.search.batching import pad_pairs
from models.search.hypotheses import Finished
from models.text.languages import FoundTerm, Glossary
from models.text.tokenizer import END
from models.text.units import SourceText, Units, decoded_spans, source_text, units

MIN_ATTENTION = 0.3  # attention of a word on a term from which on the word translates it
ALONE = 0.7  # share of that in its attention on all words: a compound translates other words too
NEXT = 0.5  # of the largest attention, for a word beside it that belongs to the translation
# of 16 sentences whose terms cost more than this, the forced search spoilt 9
LOWER = 7.5  # nats for each term by which a search may lower the log-probability to write it
MARKS = ".,;:!?()[]\"'“”„‚‘’«»…"  # at the ends of a word, which stay


def with_terms(
    model: TorchModel,
    glossary: Glossary,
    alignment: AlignConfig,
    source: EncodedText,
    *,
    free: Sequence[Finished],
    forced: list[Finished],
    config: SearchConfig,
) -> list[Finished]:
    """Return forced outputs, or free ones with the terms put in where forcing lowers the score.

    alignment: settings of the model. free: outputs of the search without terms, best first.
    """
    terms = glossary.found(source_of(model, source).text)
    # a forced search that costs little has put the term in a natural place
    if not terms or not forced or free[0].log_prob - forced[0].log_prob <= LOWER * len(terms):
        return forced
    texts = [put_in(model, alignment, source, one, terms) for one in free]
    if texts[0] is None:
        return forced
    different = dict.fromkeys(text for text in texts if text is not None)
    found = [rescored(model, source, text, config) for text in different]
    ids = {one.ids for one in found}
    return [*found, *(one for one in forced if one.ids not in ids)][: config.nbest]


def source_of(model: TorchModel, source: EncodedText) -> SourceText:
    """Return the text that a model reads, without the candidates of its lexicon."""
    return source_text(model.tokenizer.source, source.ids, source.read, source.entries)


def put_in(
    model: TorchModel,
    alignment: AlignConfig,
    source: EncodedText,
    free: Finished,
    terms: Sequence[FoundTerm],
) -> str | None:
    """Return the text of an output with the terms in place of what translates them.

    None if a term is translated by no word for sure, or by a word that translates others too.
    """
    ids, tokenizer = [*free.ids, END], model.tokenizer
    layer = alignment.layer - 1 if alignment.layer else model.model.decoder.shown_layer
    batch = pad_pairs([source.ids], [ids], model.device)
    heads = model.model.teacher_force(batch, want_heads=(layer,)).heads
    assert heads is not None
    every = heads[0, 0].float()  # (H, T, S)
    weights = every[alignment.head - 1] if alignment.head else every.mean(0)
    weights = shifted(weights, alignment.shift).cpu()  # (T, S)
    of_source = source_of(model, source).tokens
    # control tokens have no characters, and take attention that means no word
    words = torch.tensor([b > a for a, b in of_source])
    target = units(tokenizer.target, ids, kind="word", marks=False)
    text = decoded_spans(tokenizer.target, ids)[0]
    places = []
    for term in terms:
        inside = torch.tensor([a < term.span[1] and b > term.span[0] for a, b in of_source])
        place = translated_by(weights[:, inside].sum(-1), weights[:, words].sum(-1), target)
        if place is None:
            return None
        places.append((place, term.target))
    places.sort()
    # one word translates two terms, so neither can replace it
    if any(one[0][1] > other[0][0] for one, other in zip(places, places[1:], strict=False)):
        return None
    # from the end, so that the places before stay valid
    for (start, end), written in reversed(places):
        text = text[:start] + written + text[end:]
    return text


def translated_by(shares: Tensor, totals: Tensor, target: Units) -> Span | None:
    """Return the characters of the words whose tokens read a term most, their marks left out.

    shares, totals: attention (T,) on the term, and on all words. None if no word reads it alone.
    """
    sizes = target.shares.sum(0).clamp_min(1e-9)
    of_words, of_all = ((each @ target.shares / sizes).tolist() for each in (shares, totals))
    best = max(range(len(of_words)), key=of_words.__getitem__, default=-1)
    # a compound such as Kundendienst translates other words too, and is left to the forced search
    if best < 0 or of_words[best] < max(MIN_ATTENTION, ALONE * of_all[best]):
        return None
    first = last = best
    while first and of_words[first - 1] > NEXT * of_words[best]:
        first -= 1
    while last + 1 < len(of_words) and of_words[last + 1] > NEXT * of_words[best]:
        last += 1
    start, end = target.spans[first][0], target.spans[last][1]
    words = " ".join(target.texts[first : last + 1])
    before = len(words) - len(words.lstrip(MARKS))
    return start + before, end - (len(words) - len(words.rstrip(MARKS)))


def rescored(model: TorchModel, source: EncodedText, text: str, config: SearchConfig) -> Finished:
    """Return a text as an output of a model with its log-probability."""
    tokenizer = model.tokenizer
    ids = [*tokenizer.target_start(source.to), *tokenizer.target.encode(text)]
    batch = pad_pairs([source.ids], [[*ids, END]], model.device)
    found = model.model.teacher_force(batch)
    log_prob = -float(sequence_loss(found, batch, model.model.output).nll.sum())
    return Finished.scored(ids, log_prob, config)
