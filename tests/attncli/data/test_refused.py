"""Files with a mistake: every reader refuses them in one line that names what was found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from attncli.caption._captions import read_captions
from attncli.classify._table import read_labelled
from attncli.data.alignments import read_external_alignments, read_links
from attncli.data.corpus import read_pairs
from attncli.data.tables import read_glossary
from models.core.errors import ModelError
from tests.attncli.files import write

LENGTHS = [(2, 2), (1, 2)]
LONG = "1" * 5000
TWO = "x y ||| {}\nz w ||| \n"  # the alignments of two pairs
READERS: dict[str, Callable[[Path], object]] = {
    "captions": read_captions,
    "links": read_links,
    "links of pairs": lambda path: read_links(path, [(1, 1), (2, 2)]),
    "links from 1": lambda path: read_links(path, [(1, 1), (2, 2)], index="1"),
    "alignments": lambda path: read_external_alignments(path, LENGTHS),
    "glossary": read_glossary,
    "labels": read_labelled,
    "pairs": lambda path: [*read_pairs([path])],
}
REFUSED: list[tuple[str, str | bytes, str]] = [  # reader, content, what the line says
    (
        "captions",
        "a.jpg\tA dog.\nb.jpg A cat.\n",
        "line 2 has no tab; expected image, tab, caption",
    ),
    ("captions", "a.jpg\tA dog.\n\tA cat.\n", "line 2 has no image's name"),
    ("captions", b"a.jpg\tA dog.\nb.jpg\tA c\xe4t.\n", "line 2 is not valid UTF-8"),
    ("captions", "image,caption\na.jpg,b,c\n", "row 2 has 3 columns"),
    ("captions", '{"images": [\n}', "is not JSON .*line 2"),
    ("captions", '{"pictures": []}', "JSON of another kind .no 'images'."),
    ("captions", '{"images": [1], "annotations": [{}]}', "JSON of another kind"),
    ("captions", "[1, 2]", "JSON of another kind"),
    ("captions", "[" * 100_000, "is not JSON"),
    ("captions", '{"images": ' + LONG + "}", "is not JSON"),
    (
        "captions",
        '{"images": [{"id": 1, "file_name": 7}], "annotations": []}',
        "7 is not a file name",
    ),
    ("captions", '{"images": [{"filename": ["x"], "sentences": []}]}', "is not a file name"),
    ("captions", 'image,caption\na.jpg,"' + "x" * 200_000 + '"\n', "is not a CSV file"),
    ("captions", "", "has no captions"),
    *(("links", text, r"line \d: .* is not a link") for text in ("0-0 1_2\n", "0-0 x\n", "1 2\n")),
    *(
        ("links", text, r"line \d: .* is not a link")
        for text in ("0-0:x\n", "0-0:.\n", "1 1 1\n1 1\n")
    ),
    *(
        ("links", f"{text}\n", "file")
        for text in ("1000000000 1 1", f"{LONG} 1 1", f"0-{LONG}", "²-0")
    ),
    ("links of pairs", "0-0\n0-0 1-2 2-0\n", "line 2: 1-2 has target word 2 of 2"),
    ("links from 1", "0-0\n0-0\n", "line 1: 0-0 has source word 0.*counting from 1"),
    ("alignments", "x ||| 0-0\n", "alignments of 1 pair"),
    ("alignments", TWO.format("0-5"), "line 1: 0-5 in a pair of 2 and 2 words"),
    ("alignments", TWO.format("0.1,0.9 0.5"), "no table of weights"),
    ("alignments", TWO.format("0,0,0,0 0,0,0,0"), "weights of 4 source tokens, the text 2 words"),
    ("alignments", TWO.format("zero"), "'zero' is not a link"),
    ("alignments", '{"links": []}\n', "is not a link"),
    ("alignments", "A-0\t0-0\n", "'A-0' is not a link"),
    ("alignments", "x y ||| 1e999,0 0,1\nz w ||| \n", "no table of weights"),
    ("alignments", TWO.format(f"{LONG}-0"), "is not a link"),
    *(
        ("glossary", f"a\tb\n{line}\n", "line 2 is not an entry of a glossary")
        for line in ("dog", "dog\t", "\tHund", "dog\tHund\tm")
    ),
    ("glossary", "dog\tHund\nDog\tKöter\n", "line 2 has another translation of 'Dog'"),
    ("labels", "x y\n", "line 1 has no tab"),
    ("labels", "\tx\n", "line 1 has no label"),
    ("labels", "x\t\ny\t \n", "has no texts"),
    ("pairs", "", "is empty; expected a sentence on each line"),
    ("pairs", "a\tA\nb\n", "line 2 has no tab"),
    ("pairs", "a ||| b\nc\n", r"line 2 has no \|\|\|"),
    ("pairs", "a\tA\n".encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
    (
        "pairs",
        b"a\tA\nb\xff\tB\n",
        r"line 2 is not valid UTF-8 \(byte 0xff at position 2\).*LATIN1",
    ),
]


@pytest.mark.parametrize(("reader", "content", "said"), REFUSED)
def test_a_file_with_a_mistake_is_refused_in_one_line(
    reader: str, content: str | bytes, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=said) as refused:
        READERS[reader](write(tmp_path / "file", content))
    assert "\n" not in str(refused.value)
