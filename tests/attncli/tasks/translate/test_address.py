"""The form of address, `text.address`: one output behind every door, and nothing else changes."""

from __future__ import annotations

import json
import re

import pytest

from attncli import load
from models.storage.installed import BOX, is_bundle
from tests.attncli.command_line import Attn

if not is_bundle(BOX / "everyday"):
    pytest.skip("the models are not in the box", allow_module_level=True)

LETTER = ["Where do you live?", "", "I have found your keys.", "The house is red.", "Call me."]
FORMAL = {"de": r"\b(Sie|Ihnen|Ihren?)\b", "fr": r"\b(vous|vos|votre)\b", "es": r"\b(usted|sus?)\b"}
INFORMAL = {"de": r"\b([Dd]u|deine?n?)\b", "fr": r"\b([Tt]u|tes)\b", "es": r"\b([Tt]u|tus|vives)\b"}


def lines(attn: Attn, form: str, to: str, *more: str) -> list[str]:
    texts = "".join(f"{text}\n" for text in LETTER)
    given = ("--from", "en", "--to", to, "-s", f"text.address={form}", *more)
    return attn("translate", *given, given=texts).out.split("\n")[:-1]


@pytest.mark.parametrize("to", FORMAL)
def test_every_line_of_a_letter_has_the_form(attn: Attn, to: str) -> None:
    formal, informal = lines(attn, "formal", to), lines(attn, "informal", to)
    for number in (0, 2):
        assert not re.search(INFORMAL[to], formal[number])
        assert not re.search(FORMAL[to], informal[number]) or to == "es"
        assert formal[number] != informal[number]
    assert formal[1] == informal[1] == "" and formal[3] == informal[3]


def test_commands_and_python_agree_alone_and_in_a_batch(attn: Attn) -> None:
    model = load("everyday").with_address("formal")
    texts = [one for one in LETTER if one]
    together = [one.text for one in model.translate(texts, to="de", source="en")]
    assert together == [model.translate(text, to="de", source="en").text for text in texts]
    assert together == [line for line in lines(attn, "formal", "de") if line]
    again = lines(attn, "formal", "de", "-s", "compute.backend=torch", "--precision", "fp32")
    assert again[3] == together[2]


def test_alignments_link_the_words_of_the_text_alone(attn: Attn) -> None:
    plain, formal = (
        [json.loads(line) for line in lines(attn, form, "de", "--align", "--format", "jsonl")]
        for form in ("", "formal")
    )
    for one, other in zip(plain, formal, strict=True):
        assert one["source"] == other["source"]
        if one["source"]:
            texts = [each["hypotheses"][0]["alignment"]["source"] for each in (one, other)]
            assert texts[0] == texts[1] == one["source"].split()


def test_a_model_without_the_tokens_says_so(attn: Attn) -> None:
    words = ("-m", "grammar-en-de", "-s", "text.address=formal", "A dog.")
    assert "has not learned any" in attn("translate", *words, status=1).err
