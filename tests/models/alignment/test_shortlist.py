"""Shortlists are the sums of attention weights, and bundles store them."""

from __future__ import annotations

import copy
import dataclasses
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from attncli.embedded.grammar import Pair
from models import load_translator
from models.alignment.encoded import as_batch, encode
from models.alignment.shortlist import LEAST, shortlist
from models.alignment.weights import teacher_forced_weights
from models.base.errors import ConfigurationError, DamagedError
from models.base.types import VocabularySizes
from models.bundle import Bundle, read, save
from models.inference.translator import Translator
from models.storage.settings import SHORTLIST
from models.storage.shortlist import Shortlist, read_shortlists, write_shortlists
from models.text.tokenizer import END, PAD
from tests.models.test_bundle_files import flip

SIZES = VocabularySizes(6, 9, False)
LISTS = Shortlist(
    torch.tensor([0, 1, 2, 3, 6]),
    torch.tensor([[0, 0], [4, 0], [5, 8], [0, 0], [7, 4], [8, 0]]),
    torch.tensor([2, 5]),
)


def weight_sums(
    translator: Translator, pairs: list[tuple[str, str]]
) -> tuple[dict[int, Counter[int]], Counter[int]]:
    """Return the sums of each source token, and the target frequencies, in plain loops."""
    sums: dict[int, Counter[int]] = defaultdict(Counter)
    frequency: Counter[int] = Counter()
    config = dataclasses.replace(translator.alignment, head=0)
    for pair in pairs:
        one = encode(translator, *pair)
        weights, _ = teacher_forced_weights(translator.model, as_batch(translator, [one]), config)
        frequency.update(one.target)
        for t, target in enumerate(one.target):
            for s, source in enumerate(one.source):
                if weights[0, t, s] >= LEAST:
                    sums[source][target] += float(weights[0, t, s])  # type: ignore[assignment]
    return sums, frequency


def test_lists_have_the_tokens_of_the_greatest_weights(
    tiny_translator: Translator, tiny_pairs: list[Pair]
) -> None:
    pairs = [(pair.source, pair.target) for pair in tiny_pairs[:30]]
    found = shortlist(tiny_translator, pairs, common=20, per_token=3)
    sums, frequency = weight_sums(tiny_translator, pairs)
    common = set(found.common.tolist())
    assert len(common) == 20 and found.common.equal(found.common.sort().values)
    least = min(frequency[token] for token in common if token > END)
    assert all(token in common for token, count in frequency.items() if count > least)
    seen = {token for pair in pairs for token in tiny_translator.encode(pair[0])}
    assert set(range(len(found.rows))) - seen == set(found.unseen.tolist())
    for source, row in enumerate(found.rows.tolist()):
        tokens = [token for token in row if token != PAD]
        others = {t: n for t, n in sums[source].items() if t not in common and t != source}
        if source > END and source not in common:
            assert tokens[0] == source  # one vocabulary: the token itself, to copy names
            tokens = tokens[1:]
        got = [others[token] for token in tokens]
        assert got == pytest.approx(sorted(others.values(), reverse=True)[: len(got)], abs=1e-4)
        assert len(tokens) == min(len(others), 3 - (source > END and source not in common))


def test_a_pair_that_cannot_be_aligned_is_left_out(tiny_translator: Translator) -> None:
    pairs = [("", "Hund"), ("dog", " "), ("a" * 600, "b"), ("dog", "Hund")]
    done: list[int] = []
    found = shortlist(tiny_translator, pairs, on_pairs=done.append)
    alone = shortlist(tiny_translator, pairs[3:])
    assert all(one.equal(other) for one, other in zip(found, alone, strict=True)) and done == [4]
    assert shortlist(tiny_translator, []).common.tolist() == [*range(END + 1)]


def test_a_bundle_gives_its_shortlists_back(tiny_bundle: Path, tmp_path: Path) -> None:
    assert read_shortlists(tiny_bundle, SIZES) == {}
    write_shortlists({"": LISTS, "de": LISTS, "pt-br": LISTS}, tmp_path)
    stored = read_shortlists(tmp_path, SIZES)
    assert sorted(stored) == ["", "de", "pt-br"]
    for one in stored.values():
        assert all(part.equal(other) for part, other in zip(one, LISTS, strict=True))
    bundle = read(tiny_bundle)
    size = len(bundle.tokenizer.target)
    whole = Shortlist(torch.arange(size), torch.full((size, 1), PAD))
    folder = tmp_path / "bundle"
    folder.mkdir()
    save(Bundle(*bundle[:-1], {"": whole}), folder)
    assert load_translator(folder).shortlists[""].common.equal(whole.common)


def test_a_file_of_an_earlier_version_has_no_unseen_tokens(tmp_path: Path) -> None:
    parts = [part.int() for part in LISTS[:2]]
    save_file(dict(zip(["common", "rows"], parts, strict=True)), tmp_path / SHORTLIST)
    stored = read_shortlists(tmp_path, SIZES)[""]
    assert stored.rows.equal(LISTS.rows) and stored.covers([0, 5]) and not LISTS.covers([0, 5])
    other = {"common": parts[0], "rows": parts[1], "other": parts[0].clone()}
    save_file(other, tmp_path / SHORTLIST)
    with pytest.raises(DamagedError, match="unknown parts"):
        read_shortlists(tmp_path, SIZES)


def test_a_damaged_file_is_reported(tiny_bundle: Path, tmp_path: Path) -> None:
    common, rows, unseen = LISTS
    twice = LISTS._replace(rows=torch.where(rows == 7, 6, rows))
    backwards = LISTS._replace(common=common[[0, 1, 2, 3, 3]])
    for bad in (
        LISTS._replace(common=common + 1),
        LISTS._replace(common=torch.cat([common, torch.tensor([9])])),
        LISTS._replace(rows=rows[:5]),
        LISTS._replace(rows=rows + 2),
        LISTS._replace(rows=rows - 1),
        LISTS._replace(common=common[:2]),
        LISTS._replace(unseen=unseen + 1),
        twice,
        backwards,
    ):
        write_shortlists({"": bad}, tmp_path)
        with pytest.raises(DamagedError, match="attn models shortlist"):
            read_shortlists(tmp_path, SIZES)
    write_shortlists({"": LISTS}, tmp_path)
    path = tmp_path / SHORTLIST
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(DamagedError):
        read_shortlists(tmp_path, SIZES)


def test_a_changed_byte_is_noticed_by_its_digest(tiny_bundle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(tiny_bundle, folder)
    size = len(read(folder).tokenizer.target)
    write_shortlists({"": Shortlist(torch.arange(size), torch.full((size, 1), PAD))}, folder)
    read(folder)
    flip(folder / SHORTLIST, 0.999)
    with pytest.raises(DamagedError, match=f"{SHORTLIST} differs from its digest"):
        read(folder)


def test_a_model_without_attention_has_no_shortlist(tiny_translator: Translator) -> None:
    model = copy.copy(tiny_translator)
    model.model = copy.deepcopy(tiny_translator.model)
    model.model.decoder.attends = False
    with pytest.raises(ConfigurationError, match="a model without attention"):
        shortlist(model, [("dog", "Hund")])
