"""Steered searches of texts: prefixes and looks in every engine and method, and next words."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from models.core.errors import InputError
from models.core.types import Hypothesis
from models.core.use_config import SearchConfig
from models.engines.ctranslate2_translator import CTranslate2Translator
from models.engines.steering import SteeredBackend, backend_of, with_looks
from models.engines.translator import EnsembleTranslator, Translator
from models.search.batching import pad_pairs
from models.search.steering import PLAIN, Look, Steering, TargetPrefix
from models.text.tokenizer import END, SPACE
from models.text.units import decoded_spans
from tests.models.engines.small import GLOSSARY, SEARCHES, random_translator

LONG = 20  # tokens from which on a tiny model repeats words that are equally probable
TEXTS = ["the dog sees a house", "a cat runs", "", "my old dog sleeps in the garden"]


def outputs(model: Any, steering: list[Steering], **more: Any) -> list[tuple[Hypothesis, ...]]:
    return [one.hypotheses for one in model.stream(TEXTS, steering=steering, **more)]


def prefixes(pairs: Any) -> list[Steering]:
    """Return beginnings of sentences, which end anywhere, one for each text."""
    rng, found = random.Random(random.getrandbits(16)), []
    for _ in TEXTS:
        text = rng.choice(pairs).target
        size = rng.randrange(len(text))
        found.append(Steering(f"{text[:size].strip()}{' ' * rng.randrange(2)}"))
    return found


def nearly(one: Any, other: Any) -> None:
    """Compare outputs; other texts have the same probability, because rounding decides on them."""
    for a, b in zip(one, other, strict=True):
        assert [h.score for h in a] == pytest.approx([h.score for h in b], abs=1e-3)
        others = [m for h, m in zip(a, b, strict=True) if h.text != m.text]
        assert all(len(one.ids) > LONG for one in others), (a, b)


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("engine", ["torch", "ctranslate2", "ensemble", "glossary"])
def test_every_output_begins_with_its_prefix(
    name: str, engine: str, tiny_translator: Translator, tiny_bundle: Path, tiny_pairs: Any
) -> None:
    model: Any = tiny_translator
    if engine == "ctranslate2":
        model = CTranslate2Translator.read(tiny_bundle)
    elif engine == "ensemble":
        other = random_translator("rnnsearch-nano", tiny_translator.tokenizer)
        model = EnsembleTranslator([tiny_translator, other])
    elif engine == "glossary":
        if name != "beam":
            pytest.skip("a glossary needs a beam")
        model = tiny_translator.with_glossary(GLOSSARY)
    given = prefixes(tiny_pairs)
    found = outputs(model, given, search=SEARCHES[name])
    for text, steering, each in zip(TEXTS, given, found, strict=True):
        for one in each if text else ():
            assert one.text.startswith(steering.prefix.strip()), (steering, one.text)
            rest = one.text[len(steering.prefix.strip()) :]
            whole = bool(steering.prefix.strip()) and steering.prefix.endswith(" ")
            assert not (whole and rest[:1].isalpha()), (steering, one.text)
    found = outputs(model, given[::-1], search=SEARCHES[name])
    if name != "sample":
        nearly(found, again(model, given[::-1], name))
        return
    pairs = zip(found, again(model, given[::-1], name), strict=True)
    texts = [(one.text, other.text) for a, b in pairs for one, other in zip(a, b, strict=True)]
    # a random number may fall between two roundings of a sum over the vocabulary: 1 in 5,000 tokens
    assert sum(one != other for one, other in texts) <= 1, texts


def again(model: Any, given: list[Steering], name: str) -> list[tuple[Hypothesis, ...]]:
    """Return the outputs of each text alone."""
    return [
        next(model.stream([text], steering=[one], search=SEARCHES[name])).hypotheses
        for text, one in zip(TEXTS, given, strict=True)
    ]


def test_no_steering_changes_no_bit(tiny_translator: Translator, tiny_bundle: Path) -> None:
    for model in (tiny_translator, CTranslate2Translator.read(tiny_bundle)):
        plain = outputs(model, [])
        assert outputs(model, [PLAIN] * 4) == plain
        assert outputs(model, [PLAIN, Steering("Ein "), PLAIN, PLAIN])[3] == plain[3]


def test_both_engines_write_the_same(
    tiny_translator: Translator, tiny_bundle: Path, tiny_pairs: Any
) -> None:
    fast = CTranslate2Translator.read(tiny_bundle)
    for config in (SearchConfig(), SearchConfig(nbest=3), SearchConfig(method="greedy")):
        given = prefixes(tiny_pairs)
        expected = outputs(tiny_translator, given, search=config)
        nearly(outputs(fast, given, search=config), expected)


def test_log_probs_are_those_of_teacher_forcing(
    tiny_translator: Translator, tiny_pairs: Any
) -> None:
    model, text = tiny_translator, TEXTS[3]
    word = (text.index("dog"), text.index("dog") + 3)
    looks = (Look((word,), 1, 2), Look(((0, 2),), 4, 4))
    for steering in (Steering("ein "), Steering("", looks), Steering("mein", (Look((word,)),))):
        [best] = next(model.stream([text], steering=[steering])).hypotheses
        ids, source = [*best.ids, END], model.encode(text)
        batch = pad_pairs([source], [ids], model.device)
        with torch.inference_mode():
            memory = model.model.encode_batch(batch)
            spans = [decoded_spans(model.tokenizer.source, source)[1]]
            if steering.looks:
                memory = with_looks(memory, [steering.looks], spans)
                numbers = backend_of(model, [steering]).numbers(batch.target_out)
                memory = memory._replace(looks=memory.looks._replace(number=numbers))  # type: ignore[union-attr]
            expected = float(model.model.target_log_probs(batch, memory=memory).sum())
        assert best.log_prob == pytest.approx(expected, abs=1e-3), steering


def test_looks_change_at_the_words_that_they_name(tiny_translator: Translator) -> None:
    """The look of a step is that of the word that the step writes, wherever words divide."""
    looks = (Look(((0, 3),), 2, 3), Look(((4, 7),), 4))
    backend = backend_of(tiny_translator, [Steering("", looks)])
    found = outputs(tiny_translator, [Steering("", looks)] * 4)
    for each in found:
        ids = torch.tensor([[*each[0].ids, END]])
        pieces = tiny_translator.tokenizer.pieces(ids[0].tolist())
        counts, number = [], 0
        for n, piece in enumerate(pieces):
            number += piece.startswith(SPACE) or n == 0 or int(ids[0, n]) == END
            counts.append(number)
        expected = [0 if n < 2 else 1 if n < 4 else 2 for n in counts]
        assert backend.numbers(ids)[0].tolist() == expected


def test_a_look_at_nothing_and_odd_prefixes_are_refused(tiny_translator: Translator) -> None:
    with pytest.raises(InputError, match="a part of the input"):
        outputs(tiny_translator, [Steering(looks=(Look(((90, 99),)),))])
    none = random_translator("seq2seq-nano", tiny_translator.tokenizer)
    with pytest.raises(InputError, match="without attention"):
        outputs(none, [Steering(looks=(Look(((0, 3),)),))])
    assert outputs(none, [Steering("ein ")])[0][0].text.startswith("ein")


def test_an_open_word_goes_on_by_any_tokens(tiny_translator: Translator) -> None:
    tokenizer = tiny_translator.tokenizer
    prefix = TargetPrefix.of("ein Hun", tokenizer)
    assert prefix.ids == (*tokenizer.target.encode("ein"),) and prefix.open == f"{SPACE}Hun"
    assert TargetPrefix.of("ein Hund ", tokenizer).ends
    assert TargetPrefix.of(" ", tokenizer) == TargetPrefix()
    backend = backend_of(tiny_translator, [Steering("ein Hun")])
    assert isinstance(backend, SteeredBackend)
    for text in (f"{SPACE}Hun", "un"):
        allowed = backend.vocabulary.continuing(text).nonzero()[:, 0].tolist()
        found = {tokenizer.target.id_to_piece(one) for one in allowed}
        every = tokenizer.pieces(range(len(tokenizer.target)))
        assert found == {p for p in every if text.startswith(p) or p.startswith(text)}


def test_next_words_of_both_engines_are_equal(
    tiny_translator: Translator, tiny_bundle: Path, tiny_pairs: Any
) -> None:
    fast, rng = CTranslate2Translator.read(tiny_bundle), random.Random(random.getrandbits(16))
    for text in filter(None, TEXTS):
        words = rng.choice(tiny_pairs).target.split()
        prefix = Steering(" ".join(words[: rng.randrange(len(words))]))
        expected = tiny_translator.next_words(text, prefix, 4)
        found = fast.next_words(text, prefix, 4)
        assert [one.word for one in found] == [one.word for one in expected]
        shares = [one.probability for one in found]
        assert shares == pytest.approx([one.probability for one in expected], abs=1e-4)
        assert shares == sorted(shares, reverse=True) and sum(shares) <= 1 + 1e-6
    with pytest.raises(InputError, match="1 to 20"):
        fast.next_words("a dog", count=21)
