"""Captions from every kind of file, told apart by what they hold."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from attncli.data.images.captions import Captioned, parts_of, read_captions, styled
from models.base.errors import ModelError
from tests.attncli.files import write

TWO = [
    Captioned("a.jpg", ("A dog runs.", "A brown dog.")),
    Captioned("b.jpg", ("Two men talk.",)),
]
KARPATHY = {
    "images": [
        {
            "filename": "a.jpg",
            "split": "train",
            "sentences": [{"raw": "A dog runs."}, {"raw": "A brown dog."}],
        },
        {"filename": "b.jpg", "split": "val", "sentences": [{"raw": "Two men talk."}]},
        {
            "filename": "c.jpg",
            "filepath": "val2014",
            "split": "restval",
            "sentences": [{"tokens": ["a", "cat"]}],
        },
    ]
}
COCO = {
    "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 3, "file_name": "b.jpg"}],
    "annotations": [
        {"image_id": 7, "caption": "A dog runs."},
        {"image_id": 3, "caption": "Two men talk.\n"},
        {"image_id": 7, "caption": "A brown dog."},
    ],
}
FILES = {
    "table": "a.jpg\tA dog runs.\na.jpg\tA brown dog.\nb.jpg\tTwo men talk.\n",
    "wide table": "a.jpg\tA dog runs.\tA brown dog.\nb.jpg\tTwo men talk.\n",
    "empty lines": "a.jpg\tA dog runs.\n\na.jpg\tA brown dog.\nb.jpg\tTwo men talk.\n\n",
    "windows": "\ufeffa.jpg\tA dog runs.\r\na.jpg\tA brown dog.\r\nb.jpg\tTwo men talk.",
    "token file": "a.jpg#0\tA dog runs.\na.jpg#1\tA brown dog.\nb.jpg#0\tTwo men talk.\n",
    "csv": 'image,caption\na.jpg,A dog runs.\na.jpg,"A brown dog."\nb.jpg,Two men talk.\n',
    "coco": json.dumps(COCO),
    "coco, indented": json.dumps(COCO, indent=1),
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("packed", [False, True])
def test_every_kind_of_file_gives_the_same_captions(
    kind: str, packed: bool, tmp_path: Path
) -> None:
    content = FILES[kind].encode()
    path = write(tmp_path / "captions", gzip.compress(content) if packed else content)
    assert read_captions(path) == read_captions(path, part="dev") == TWO
    assert not parts_of(path)


@pytest.mark.parametrize("kind", FILES)
def test_accents_are_composed_in_captions_and_kept_in_names(kind: str, tmp_path: Path) -> None:
    name, caption = "cafe\u0301.jpg", "A cafe\u0301."
    content = FILES[kind].replace("a.jpg", name).replace("A dog runs.", caption)
    [first, _] = read_captions(write(tmp_path / "captions", content))
    assert first == Captioned(name, ("A caf\u00e9.", "A brown dog."))


def test_a_file_with_splits_is_read_by_its_parts(tmp_path: Path) -> None:
    path = write(tmp_path / "captions", json.dumps(KARPATHY))
    assert parts_of(path) == {"train", "dev"}
    assert read_captions(path) == [*TWO, Captioned("val2014/c.jpg", ("a cat",))]
    assert [image.image for image in read_captions(path, part="train")] == [
        "a.jpg",
        "val2014/c.jpg",
    ]
    assert read_captions(path, part="dev") == [TWO[1]]
    with pytest.raises(ModelError, match="no captions; expected an image of its part 'test'"):
        read_captions(path, part="test")


@pytest.mark.parametrize(
    "content, said",
    [
        ("a.jpg\tA dog.\nb.jpg A cat.\n", "line 2 has no tab; expected image, tab, caption"),
        ("a.jpg\tA dog.\n\tA cat.\n", "line 2 has no image's name"),
        (b"a.jpg\tA dog.\nb.jpg\tA c\xe4t.\n", "line 2 is not valid UTF-8"),
        ("image,caption\na.jpg,b,c\n", "row 2 has 3 columns"),
        ('{"images": [\n}', "is not JSON .*line 2"),
        ('{"pictures": []}', "JSON of another kind .no 'images'."),
        ('{"images": [1], "annotations": [{}]}', "JSON of another kind"),
        ("[1, 2]", "JSON of another kind"),
        ("", "has no captions"),
    ],
)
def test_a_mistake_is_said_in_one_line(content: str | bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=said) as refused:
        read_captions(write(tmp_path / "captions", content))
    assert "\n" not in str(refused.value)


def test_a_large_json_file_on_one_line_is_read(tmp_path: Path) -> None:
    many = {**COCO, "info": "x" * (1 << 24)}
    assert read_captions(write(tmp_path / "captions", json.dumps(many))) == TWO


@pytest.mark.parametrize(
    "caption, words",
    [
        ("A black dog , running .", "a black dog running"),
        ('The man\'s T-shirt says "HELLO"!', "the man's t-shirt says hello"),
        ("Two  men - one old -\u00a0talk", "two men one old talk"),
        ("Ein Mädchen läuft über’s Feld…", "ein mädchen läuft über's feld"),
        ("", ""),
    ],
)
def test_captions_as_words(caption: str, words: str) -> None:
    assert styled(caption, "words") == words
    assert styled(words, "words") == words
    assert styled(caption, "plain").split() == caption.split()
