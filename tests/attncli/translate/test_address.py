"""The form of address, `text.address`: one output behind every door, and nothing else changes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from attncli import load
from models.core.errors import ConfigurationError
from models.storage.installed import BOX, is_bundle
from tests.attncli.command_line import Attn

if not is_bundle(BOX / "everyday"):
    pytest.skip("the models are not in the box", allow_module_level=True)

LETTER = ["Your house is old.", "", "I have found your keys.", "The house is red.", "Call me."]
ASKED = [
    f"{start} {rest}?"
    for start in ("Do you have", "Did you see", "Can you sell", "Would you like")
    for rest in ("my book", "a small house", "two dogs", "the old car", "your friend")
]
FORMAL = {"de": r"\b(Sie|Ihnen|Ihr(en?)?)\b", "fr": r"(?i)\b(vous|vos|votre)\b"}
INFORMAL = {"de": r"(?i)\b(du|dir|deinen?)\b", "fr": r"(?i)\b(tu|te|tes|ton)\b"}


def lines(attn: Attn, form: str, to: str, *more: str, texts: Sequence[str] = LETTER) -> list[str]:
    given_texts = "".join(f"{text}\n" for text in texts)
    given = ("--from", "en", "--to", to, "-s", f"text.address={form}", *more)
    return attn("translate", *given, given=given_texts).out.split("\n")[:-1]


@pytest.mark.parametrize("to", FORMAL)
def test_most_sentences_have_the_form_and_others_do_not_change(attn: Attn, to: str) -> None:
    found = {form: lines(attn, form, to, texts=ASKED) for form in ("formal", "", "informal")}
    for pattern, form in ((FORMAL[to], "formal"), (INFORMAL[to], "informal")):
        counts = {name: sum(bool(re.search(pattern, one)) for one in found[name]) for name in found}
        assert counts[form] >= 0.7 * len(ASKED) and counts[form] == max(counts.values())
    red = {lines(attn, form, to)[3] for form in found}
    assert len(red) == 1


def test_commands_and_python_agree_alone_and_in_a_batch(attn: Attn) -> None:
    plain: Any = load("everyday")
    model = plain.with_address("formal")
    texts = [one for one in LETTER if one]
    together = [one.text for one in model.translate(texts, to="de", source="en")]
    assert together == [model.translate(text, to="de", source="en").text for text in texts]
    assert together == [line for line in lines(attn, "formal", "de") if line]
    option = ("--address", "formal", "--to", "de", "--from", "en")
    assert attn("translate", *option, *texts).out.splitlines() == together
    found = plain.translate(texts, to="de", source="en", address="formal")
    assert [one.text for one in found] == together
    assert together != [one.text for one in plain.translate(texts, to="de", source="en")]


def test_another_form_is_refused_with_the_two_that_there_are() -> None:
    model: Any = load("everyday")
    with pytest.raises(ConfigurationError, match="'rude'; expected formal or informal"):
        model.translate("Call me.", to="de", address="rude")


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


@pytest.mark.parametrize("more", [(), ("--address", "formal"), ("--nbest", "2")])
def test_lines_translated_back_are_those_of_the_other_direction(
    attn: Attn, more: tuple[str, ...]
) -> None:
    given = ("translate", "--to", "de", "--format", "jsonl", *more)
    out = attn(*given, "--back", given="".join(f"{one}\n" for one in LETTER)).out
    records = [json.loads(line) for line in out.splitlines()]
    best = [one["hypotheses"][0]["text"] for one in records]
    backwards = ("translate", "--from", "de", "--to", "en")
    expected = attn(*backwards, given="".join(f"{one}\n" for one in best)).out
    assert "".join(f"{one['back']}\n" for one in records) == expected
    plain = attn(*given, given="".join(f"{one}\n" for one in LETTER)).out
    without = [{k: v for k, v in one.items() if k != "back"} for one in records]
    assert without == [json.loads(line) for line in plain.splitlines()]
    text = attn(*given[:3], "--back", LETTER[0]).out
    assert text.count("\t") == 1


def test_a_model_of_one_direction_cannot_translate_back(attn: Attn) -> None:
    err = attn("translate", "-m", "grammar-en-de", "--back", "A dog.", status=1).err
    assert "a model of both directions" in err and err.count("\n") == 1
    assert "--from" in attn("translate", "--to", "en", "--back", "Hallo.", status=1).err
