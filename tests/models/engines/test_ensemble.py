"""An ensemble averages probabilities: alone with itself it equals the model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from attncli.data.embedded import Pair
from models import load_ensemble
from models.core.errors import ConfigurationError, InputError
from models.core.use_config import SearchConfig, TokenizerConfig
from models.engines.translator import EnsembleTranslator, Translator, mean_log_probs
from models.networks.bundle import build, read, save, sizes_of
from models.search.batching import pad_pairs
from models.text.tokenizer import END, Tokenizer, train
from tests.models.engines.small import random_translator

TEXTS = ["The old dog sees a small house.", "He sleeps.", "", "The man runs and the dog sleeps."]
SEARCHES = [
    SearchConfig(nbest=3),
    SearchConfig(method="greedy"),
    SearchConfig(method="sample", nbest=2),
]


def test_the_mean_is_of_probabilities_and_exact_for_equal_ones() -> None:
    one, other = (torch.randn(4, 9).mul(30).log_softmax(-1) for _ in range(2))
    mean = mean_log_probs([one, other])
    torch.testing.assert_close(mean.exp(), (one.exp() + other.exp()) / 2)
    for count in (1, 2, 3, 7):
        assert torch.equal(mean_log_probs([one] * count), one)


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.method)
@pytest.mark.parametrize("preset", ["transformer-nano", "rnnsearch-nano", "seq2seq", "luong-small"])
def test_an_ensemble_of_a_model_with_itself_equals_the_model(
    preset: str, search: SearchConfig, tiny_tokenizer: Tokenizer
) -> None:
    alone = random_translator(preset, tiny_tokenizer)
    twice = EnsembleTranslator([alone, alone])
    assert twice.translate(TEXTS, search=search) == alone.translate(TEXTS, search=search)


def test_members_of_other_families_share_each_step(
    tiny_translator: Translator, tiny_tokenizer: Tokenizer
) -> None:
    other = random_translator("rnnsearch-nano", tiny_tokenizer)
    both = EnsembleTranslator([tiny_translator, other])
    for text in TEXTS[:2]:
        [best] = both.translate([text])[0].hypotheses
        batch = pad_pairs([tiny_tokenizer.encode(text)], [[*best.ids, END]], other.device)
        with torch.inference_mode():
            steps = mean_log_probs([m.model.target_log_probs(batch) for m in both.members])
        assert best.log_prob == pytest.approx(float(steps.sum()), abs=1e-4)
    [alone] = both.translate(TEXTS[:1])
    assert alone.text == both.translate(TEXTS)[0].text, "the output depends on the batch"


def test_members_may_read_other_source_vocabularies(
    tiny_translator: Translator, tiny_tokenizer: Tokenizer, tiny_pairs: list[Pair]
) -> None:
    own = train([p.source for p in tiny_pairs], ["a"], 400, TokenizerConfig()).files()
    tokenizer = Tokenizer(own["tokenizer.model"], tiny_tokenizer.files()["tokenizer.model"])
    other = random_translator("rnnsearch-nano", tokenizer)
    outputs = [
        EnsembleTranslator(order).translate(TEXTS, search=SearchConfig())
        for order in ([tiny_translator, other], [other, tiny_translator])
    ]
    assert [t.text for t in outputs[0]] == [t.text for t in outputs[1]]
    assert outputs[0][0].text
    long = "a" * 600
    with pytest.raises(InputError, match="tokens"):
        EnsembleTranslator([other, tiny_translator]).translate([long])


def test_another_target_vocabulary_is_refused_with_the_names(
    tiny_bundle: Path, tiny_pairs: list[Pair], tmp_path: Path
) -> None:
    bundle = read(tiny_bundle)
    texts = [pair.target for pair in tiny_pairs]
    tokenizer = train(texts, texts, 500, TokenizerConfig())
    model = build(bundle.model.config, sizes_of(tokenizer, bundle.model.config.family))
    save(bundle._replace(model=model, tokenizer=tokenizer), tmp_path)
    with pytest.raises(ConfigurationError, match="different target vocabularies") as refused:
        load_ensemble([tiny_bundle, tmp_path])
    assert str(tmp_path) in str(refused.value) and "\n" not in str(refused.value)
