"""Scores of captions equal those of the COCO tools."""

from __future__ import annotations

from typing import Any

import pytest
import sacrebleu

from attncli.caption._cider import DocumentFrequency, Reward, repeated, words
from attncli.caption._scores import caption_scores
from models.core.errors import ModelError

OUTPUTS = [
    "A red circle above a blue square.",
    "two dogs run",
    "The man's kite isn't flying over the beach",
    "a small green triangle",
    "",
    "a child in a t-shirt , jumping !",
]
TEXTS = """
a red circle over a blue square|There is a red circle above a square.|a circle and a square
Two brown dogs run through tall grass .|dogs running|Two dogs play in a field
A man flies a kite over the beach|The man's kite is flying high.|a kite that isn't flying|\
somebody at the sea
a large green triangle|A green triangle, on the left|one triangle
a white cat on a sofa|A cat sleeps
A child in a red t-shirt is jumping|the child jumps|a jumping child|kid in mid-air
"""
REFERENCES = [line.split("|") for line in TEXTS.strip().splitlines()]


@pytest.mark.parametrize(
    "caption, tokens",
    [
        ('A man\'s t-shirt, (red) and "blue"', "a man 's t-shirt -lrb- red -rrb- and blue"),
        ("don't can't won't I'm cannot", "do n't ca n't wo n't i 'm can not"),
        ("Mr. X of the U.S. eats at 5 p.m. in St. B.", "mr. x of the u.s. eats at 5 p.m. in st. b"),
        ("black/white dog & cat #1 $5.00 50%", "black/white dog & cat # 1 $ 5.00 50 %"),
        ("A dog -- running - fast...", "a dog running fast"),
        ("the dogs' toys, the 'quoted' word", "the dogs toys the quoted word"),
        ("“curly” don’t — it’s…", "curly do n't it 's"),
        ("a bike!!! What?! Hmm.", "a bike !!! what ?! hmm"),
        ("a 3-year-old at 12:30, 1,000 people", "a 3-year-old at 12:30 1,000 people"),
        ("It is No. 5. She said no.", "it is no. 5 she said no"),
        ("R&B &amp; <b>", "r&b & < b >"),
        (" . ", ""),
        ("", ""),
    ],
)
def test_words_are_those_of_stanfords_tokenizer(caption: str, tokens: str) -> None:
    assert words(caption) == tokens.split()


def test_decomposed_accents_are_those_of_composed_words() -> None:
    assert words("A cafe\u0301 here") == words("a caf\u00e9 here") == ["a", "caf\u00e9", "here"]


def test_scores_are_those_of_the_coco_tools() -> None:
    found = caption_scores(OUTPUTS, REFERENCES)
    tools = [87.31398526379672, 80.8370425481979, 69.53607699869487, 56.903513686447596]
    assert found.bleu.penalised == pytest.approx(tools, abs=1e-6)
    assert found.rouge_l == pytest.approx(63.34514900365183, abs=1e-9)
    assert found.cider == pytest.approx(1.9313005794796068, abs=1e-9)
    assert found.captions == 6
    turned = caption_scores(OUTPUTS, [texts[::-1] for texts in REFERENCES])
    assert turned.bleu == found.bleu and turned.cider == pytest.approx(found.cider)


def test_the_reward_of_each_caption_is_that_of_the_coco_tools() -> None:
    tools = [3.901121700630004, 1.6195114850606205, 2.297231926082092, 1.843472408640544]
    tools += [0.0, 1.9264659564643805]
    reward = Reward(REFERENCES)
    assert [reward([OUTPUTS[n]], n)[0] for n in range(6)] == pytest.approx(tools, abs=1e-9)
    assert sum(tools) / 6 == pytest.approx(caption_scores(OUTPUTS, REFERENCES).cider)
    several = reward([OUTPUTS[0], OUTPUTS[3], OUTPUTS[0]], 3)
    assert several[1] == pytest.approx(tools[3]) and several[0] == several[2] != several[1]


@pytest.mark.parametrize(
    ("caption", "times"),
    [
        ("a sink and a sink", 1),
        ("a white and white penguin on a penguin", 2),
        ("a dog and a dog with a cat", 0),  # as a reference has it
        ("a dog, a dog and a dog", 1),
        ("in the front of the front", 0),  # no content word
    ],
)
def test_a_repeated_content_word_lowers_the_reward(caption: str, times: int) -> None:
    references = [["a dog and a dog", "two dogs"], ["a cat"]]
    known = [[words(text) for text in of_one] for of_one in references]
    assert repeated(words(caption), known[0]) == times
    cider = DocumentFrequency(known).scores([words(caption)], known[0])[0]
    assert Reward(references)([caption], 0) == [pytest.approx(cider - 0.5 * times)]


def test_bleu_is_sacrebleus_and_without_the_penalty_its_precisions() -> None:
    found = caption_scores(OUTPUTS, REFERENCES).bleu
    texts = [" ".join(words(text)) for text in OUTPUTS]
    columns: list[Any] = [
        [" ".join(words(texts[n])) if n < len(texts) else None for texts in REFERENCES]
        for n in range(4)
    ]
    for order in range(1, 5):
        metric = sacrebleu.BLEU(max_ngram_order=order, tokenize="none", smooth_method="none")
        result = metric.corpus_score(texts, columns)
        assert found.penalised[order - 1] == pytest.approx(result.score)
        assert found.plain[order - 1] == pytest.approx(result.score / result.bp)
    assert found.length_ratio == result.ratio < 1


def test_references_score_highest_and_empty_captions_score_0() -> None:
    same = [texts[0] for texts in REFERENCES]
    best = caption_scores(same, [[text] for text in same])
    assert best.bleu.penalised == best.bleu.plain == pytest.approx((100.0,) * 4)
    assert (best.rouge_l, best.cider) == pytest.approx((100, 10))
    none = caption_scores([""] * 6, REFERENCES)
    assert (*none.bleu.penalised, *none.bleu.plain, none.rouge_l, none.cider) == (0,) * 10


@pytest.mark.parametrize("references", [REFERENCES[:5], [[], *REFERENCES[1:]]])
def test_outputs_without_references_are_refused(references: list[list[str]]) -> None:
    with pytest.raises(ModelError, match="6 captions for"):
        caption_scores(OUTPUTS, references)
