"""`attn translate --to` and the other commands on a multilingual model."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.data.embedded import Pair
from tests.attncli.command_line import Attn
from tests.models.text.small import learned, multilingual


@pytest.fixture(scope="module")
def bundle(tiny_pairs: list[Pair], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a bundle of three languages with random weights."""
    return str(multilingual(learned(tiny_pairs), tmp_path_factory.mktemp("multi")))


def test_translate_to_a_language(attn: Attn, bundle: str) -> None:
    task, given = ("translate", "-m", bundle), "He ran.\n\n"
    german = attn(*task, "--to", "de", given=given)
    french = attn(*task, "--to", "fr", "--from", "en", given=given)
    assert german.out.endswith("\n\n") and german.out != french.out
    for found in (german, french):  # random weights: cut, and noise that a check names
        cut, *failed = found.err.splitlines()
        assert cut.startswith("attn: line 1: the output was cut at its length limit, after ")
        assert failed and all(message.startswith("attn: line 1: ") for message in failed)


def test_a_direction_without_training_data_is_translated_through_a_third_language(
    attn: Attn, bundle: str
) -> None:
    task = ("translate", "-m", bundle, "--to", "fr", "--from", "de")
    out, err = attn(*task, given="A\nB\n")
    assert out.count("\n") == 2 and err.count("translated through en") == 1


def test_alignments_tags_and_scores_take_the_language(
    attn: Attn, bundle: str, tmp_path: Path
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("He ran.\tEr lief.\nI ran.\tIch lief.\n")
    to_german = ("-m", bundle, "--to", "de")
    attn("translate", *to_german, "--align", "He ran.")
    attn("translate", *to_german, "--keep-tags", "<b>He</b> ran.")
    assert attn("align", *to_german, pairs).out.count("\n") == 2
    both = ("align", *to_german, "--reverse-model", bundle, pairs)
    attn(*both, "--from", "en")
    assert "--from" in attn(*both, status=1).err
    attn("evaluate", *to_german, pairs)
    attn("evaluate", "-m", bundle, pairs, status=1)
