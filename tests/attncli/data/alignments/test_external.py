"""Alignments of other programs: Marian's and files of links."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.data.panels import Panel
from attncli.data.text.alignments import read_external_alignments
from models.base.errors import ModelError
from tests.attncli.files import write

LENGTHS = [(2, 2), (1, 2)]


def weights_of(panel: Panel) -> object:
    """Return the weights as nested lists."""
    assert panel.weights is not None
    return panel.weights.tolist()


def test_marian_hard_and_soft_the_end_marks_left_out(tmp_path: Path) -> None:
    hard = read_external_alignments(
        write(tmp_path / "view", "x y ||| 0-0 1-1\nz w ||| 0-1\n"), LENGTHS
    )
    assert [panel.links for panel in hard.panels] == [{(0, 0), (1, 1)}, {(0, 1)}]
    text = "x y ||| 0.1,0.9,0 0.8,0.1,0.1 0,0,1\nz w ||| 0.7,0.3 0.6,0.4\n"
    soft = read_external_alignments(write(tmp_path / "view", text), LENGTHS)
    assert weights_of(soft.panels[0]) == [[0.1, 0.9], [0.8, 0.1]]
    assert soft.panels[0].links == {(1, 0), (0, 1)}
    assert weights_of(soft.panels[1]) == [[0.7], [0.6]]


def test_links_are_read_with_what_they_count_from(tmp_path: Path) -> None:
    found = read_external_alignments(write(tmp_path / "view", "1-1\n1-2\n"), LENGTHS)
    assert [panel.links for panel in found.panels] == [{(0, 0)}, {(0, 1)}]
    assert found.note.startswith("counts from 1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x ||| 0-0\n", "alignments of 1 pair"),
        ("x y ||| 0-5\nz w ||| \n", "line 1: 0-5 in a pair of 2 and 2 words"),
        ("x y ||| 0.1,0.9 0.5\nz w ||| \n", "no table of weights"),
        ("x y ||| 0,0,0,0 0,0,0,0\nz w ||| \n", "weights of 4 source tokens, the text 2 words"),
        ("x y ||| zero\nz w ||| \n", "'zero' is not a link"),
        ('{"links": []}\n', "is not a link"),
        ("A-0\t0-0\n", "'A-0' is not a link"),
    ],
)
def test_alignments_that_do_not_fit_the_texts_are_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(ModelError, match=said):
        read_external_alignments(write(tmp_path / "view", text), LENGTHS)
