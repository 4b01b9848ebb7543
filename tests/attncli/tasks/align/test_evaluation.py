"""attn evaluate alignments: files and models against gold, by the real command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attncli.data.alignments import PairLinks
from attncli.data.grammar import Pair
from attncli.scoring.sequences import score_alignments
from models.alignment import align
from models.engines.translator import Translator
from tests.attncli.command_line import Attn
from tests.attncli.files import write

TASK = ("evaluate", "alignments")
TEXTS = "a b c ||| x y\n\nd ||| z\n".replace("\n\n", "\n ||| \n")


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTN_MODEL", raising=False)


def test_a_file_against_gold_that_counts_from_one(tmp_path: Path, attn: Attn) -> None:
    gold = write(tmp_path / "gold", "1-1 3p2\n\n1-1\n")
    found = write(tmp_path / "found", "0-0 1-1\n\n0-0\n")
    texts = write(tmp_path / "texts", TEXTS)
    task = [*TASK, "--gold", gold, "--hypotheses", found, texts]
    record = json.loads(attn(*task, "--json").out)
    [scores] = record["systems"]
    assert record["gold"]["sure"] == 2 and record["gold"]["possible"] == 1
    assert scores["scores"]["AER"]["score"] == pytest.approx(100 * (1 - (2 + 2) / (3 + 2)))
    assert "counts from 1 (line 1 has 3p2, and 3 source words)" in record["gold"]["note"]
    assert "counts from 0 (line 1 has 0-0)" in scores["note"]
    table = attn(*task).out
    assert "20.00" in table and "counts from 1" in table and "counts from 0" in table


def test_what_a_file_counts_from_is_asked_for_where_it_is_not_sure(
    tmp_path: Path, attn: Attn
) -> None:
    gold = write(tmp_path / "gold", "1-1 3p2\n\n1-1\n")
    task = [*TASK, "--gold", gold, "--hypotheses", gold]
    out, err = attn(*task, status=1)
    assert out == "" and "from 0 or from 1" in err and "--gold-index" in err
    out, err = attn(*task, "--gold-index", "1", status=1)
    assert out == "" and "give the texts" in err
    texts = write(tmp_path / "texts", TEXTS)
    assert " 0.00" in attn(*task, "--gold-index", "1", texts).out


def test_a_model_is_scored_by_its_own_links(
    tmp_path: Path,
    attn: Attn,
    tiny_bundle: Path,
    tiny_translator: Translator,
    tiny_pairs: list[Pair],
) -> None:
    pairs = tiny_pairs[:30]
    table = "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs)
    gold = "".join(" ".join(f"{i}-{j}" for i, j in sorted(p.links)) + "\n" for p in pairs)
    texts, links = write(tmp_path / "texts.tsv", table), write(tmp_path / "gold", gold)
    task = [*TASK, "--gold", links, "-m", tiny_bundle]
    [scores] = json.loads(attn(*task, "--json", texts).out)["systems"]
    found = align(tiny_translator, [(pair.source, pair.target) for pair in pairs])
    wanted = [PairLinks(frozenset(pair.links)) for pair in pairs]
    rate = score_alignments([one.links for one in found], wanted).error_rate
    assert (
        scores["scores"]["AER"]["score"] == pytest.approx(100 * rate) and "layer" in scores["note"]
    )
    assert "source and target" in attn(*task, status=2).err
