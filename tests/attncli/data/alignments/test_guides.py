"""Links that guide: words to pieces, read beside the corpus, and what cannot be its links."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attncli.data.alignments.guides import Guide, guide_table, piece_links, read_guides
from attncli.data.text.token_writing import write_pairs
from attncli.data.text.tokens import read_pairs
from models.base.errors import ModelError
from models.text.tokenizer import Tokenizer
from models.text.units import units

PAIRS = [("The dog sees.", "Der Hund sieht."), ("", "x"), ("She is old.", "Sie ist alt.")]


def written(folder: Path, text: str) -> Path:
    path = folder / "links.txt"
    path.write_text(text, "utf-8")
    return path


def test_linked_words_link_all_their_pieces_but_no_marks(tiny_tokenizer: Tokenizer) -> None:
    source, target = tiny_tokenizer.encode(PAIRS[0][0]), tiny_tokenizer.encode_target(PAIRS[0][1])
    flat = piece_links(Guide("here", ((1, 1), (2, 2))), source, target, tiny_tokenizer)
    found = set(zip(flat[::2], flat[1::2], strict=True))
    words = [
        units(processor, ids, marks=False).shares
        for processor, ids in ((tiny_tokenizer.source, source), (tiny_tokenizer.target, target))
    ]
    assert found == {
        (s, t)
        for s in range(len(source))
        for t in range(len(target))
        for word in (1, 2)
        if words[0][s, word] and words[1][t, word]
    }
    stops = [
        tiny_tokenizer.source.id_to_piece(source).index("."),
        tiny_tokenizer.pieces(target).index("."),
    ]
    assert not any(s == stops[0] or t == stops[1] for s, t in found)


def test_linked_pieces_share_a_row() -> None:
    rows = [np.array([0, 1, 2, 1, 2, 0]), np.array([], np.uint16)]
    table = guide_table(rows, (3, 3))
    assert table[0].tolist() == [[0, 0, 1], [0.5, 0, 0.5], [0, 0, 0]]
    assert not table[1].any()


def test_links_stay_with_their_pairs(tiny_tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = written(tmp_path, "0-0\n\n2-1\n")
    dropped = write_pairs(
        PAIRS, tiny_tokenizer, tmp_path, max_length=50, guides=read_guides(path, len(PAIRS))
    )
    pairs = read_pairs(tmp_path)
    assert dropped.empty == 1 and pairs.count == 2
    batch = pairs.batch(np.array([1, 0]))
    assert batch.links is not None
    for row, links, texts in ((0, ((2, 1),), PAIRS[2]), (1, ((0, 0),), PAIRS[0])):
        source = tiny_tokenizer.encode(texts[0])
        target = tiny_tokenizer.encode_target(texts[1])
        flat = piece_links(Guide("here", links), source, target, tiny_tokenizer)
        table = np.zeros_like(batch.links[row].numpy())
        table[flat[1::2], flat[::2]] = 1
        assert ((batch.links[row].numpy() > 0) == (table > 0)).all()
        assert set(batch.links[row].sum(1).tolist()) == {0.0, 1.0}


def test_without_links_a_batch_has_none(tiny_tokenizer: Tokenizer, tmp_path: Path) -> None:
    write_pairs(PAIRS, tiny_tokenizer, tmp_path, max_length=50)
    assert read_pairs(tmp_path).batch(np.array([0])).links is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("0-0\n1-1\n", "2 lines for 3 pairs"),
        ("0-0\n\n1-1\n2-2\n", "more than 3 pairs"),
        ("1-1\n\n2-2\n", "names no first word"),
        ("\n\n\n", "has no links"),
        ("0-0\nx\n1-1\n", "line 2: 'x' is not a link"),
        ("0-0\n\n3-1\n", "line 3: 3-1 is outside the pair"),
        ("0-0\n0-0 0-1\n\n", "ok"),
    ],
)
def test_what_cannot_be_the_links_of_a_corpus_is_refused(
    text: str, fault: str, tiny_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    guides = read_guides(written(tmp_path, text), len(PAIRS))
    if fault == "ok":  # the pair with an empty side is left out, and its links with it
        write_pairs(PAIRS, tiny_tokenizer, tmp_path, max_length=50, guides=guides)
        return
    with pytest.raises(ModelError, match=fault):
        write_pairs(PAIRS, tiny_tokenizer, tmp_path, max_length=50, guides=guides)
