"""Captions from every kind of file, told apart by what they hold."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from attncli.caption._captions import (
    Captioned,
    Images,
    augmented,
    parts_of,
    read_captions,
    styled,
)
from attncli.training.examples import Side, Table, epoch_plan
from models.core.attention_config import AttentionLossConfig
from models.core.errors import ModelError
from models.core.use_config import TokenizerConfig
from models.networks.bundle import build, sizes_of
from models.networks.losses import AttentionLoss
from models.storage.presets import model_config
from models.text.tokenizer import train
from tests.attncli.files import write

TWO = [
    Captioned("a.jpg", ("A dog runs.", "A brown dog.")),
    Captioned("b.jpg", ("Two men talk.",)),
]
DOGS, CAT = [{"raw": "A dog runs."}, {"raw": "A brown dog."}], [{"tokens": ["a", "cat"]}]
KARPATHY = [
    {"filename": "a.jpg", "split": "train", "sentences": DOGS},
    {"filename": "b.jpg", "split": "val", "sentences": [{"raw": "Two men talk."}]},
    {"filename": "c.jpg", "filepath": "val2014", "split": "restval", "sentences": CAT},
]
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
    path = write(tmp_path / "captions", json.dumps({"images": KARPATHY}))
    assert parts_of(path) == {"train", "dev"}
    assert read_captions(path) == [*TWO, Captioned("val2014/c.jpg", ("a cat",))]
    assert [image.image for image in read_captions(path, part="train")] == [
        "a.jpg",
        "val2014/c.jpg",
    ]
    assert read_captions(path, part="dev") == [TWO[1]]
    with pytest.raises(ModelError, match="no captions; expected an image of its part 'test'"):
        read_captions(path, part="test")


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


IMAGES, EACH = 40, 5


@pytest.fixture
def examples() -> Table:
    """Five captions of 3 to 11 pieces for each of forty images, in no order."""
    random = np.random.default_rng(1)
    lengths = random.integers(3, 12, IMAGES * EACH)
    offsets = np.concatenate([[0], lengths.cumsum()])
    target = Side(random.integers(4, 200, offsets[-1]), offsets)
    rows = random.permutation(np.repeat(np.arange(IMAGES), EACH))
    pixels = random.integers(0, 256, (IMAGES, 3, 64, 64), dtype=np.uint8)
    return Table(Images(pixels, rows, 64), target, sources=rows)


def plan(examples: Table, tokens: int = 200, epoch: int = 0) -> list[np.ndarray]:
    return epoch_plan(examples, tokens, seed=1, epoch=epoch)


def test_every_caption_comes_once_and_with_the_others_of_its_image(
    examples: Table,
) -> None:
    batches = plan(examples)
    assert sorted(np.concatenate(batches)) == list(range(IMAGES * EACH))
    assert all(len(b) * examples.lengths[1][b].max() <= 200 for b in batches)
    shown = sum(len(examples.batch(numbers).source) for numbers in batches)
    assert shown < 1.5 * IMAGES  # an image at the end of a batch may come again in the next
    assert [list(b) for b in plan(examples, epoch=1)] != [list(b) for b in batches]
    alone = dataclasses.replace(examples, sources=None)
    assert alone.batch(batches[0]).rows is None


def test_a_shared_image_gives_what_an_image_each_would(examples: Table) -> None:
    batch = examples.batch(max(plan(examples), key=len))
    assert batch.rows is not None
    each = batch._replace(source=batch.source[batch.rows], source_mask=batch.slots, rows=None)
    torch.manual_seed(1)
    config = model_config("show-attend-tell-soft-nano")
    tokenizer = train(["abc " * 9] * 9, [], 300, TokenizerConfig())
    whole = build(config, sizes_of(tokenizer, config.family)).eval()
    penalty = AttentionLoss(AttentionLossConfig(coverage="doubly_stochastic"), whole)
    found = []
    for one in (batch, each):
        whole.zero_grad()
        forced = whole.teacher_force(one, want_weights=True)
        terms, _ = penalty(forced, one, torch.zeros(int(one.target_mask.sum())), None)
        (forced.features[one.target_mask].square().sum() + terms).backward()
        found.append([forced.features.detach(), *(p.grad for p in whole.encoder.parameters())])
    assert len(batch.source) < len(batch.target_in)
    for left, right in zip(*found, strict=True):
        torch.testing.assert_close(left, right, rtol=1e-4, atol=1e-5)


SHOWN = torch.rand(6, 3, 16, 16, generator=torch.Generator().manual_seed(1))


def test_none_all_or_some_are_mirrored_as_the_seed_says() -> None:
    torch.testing.assert_close(augmented(SHOWN, flip=0.0, crop=1.0), SHOWN)
    torch.testing.assert_close(augmented(SHOWN, flip=1.0, crop=1.0), SHOWN.flip(-1))
    torch.manual_seed(1)
    first = augmented(SHOWN, flip=0.5, crop=0.7)
    again = augmented(SHOWN, flip=0.5, crop=0.7)
    torch.manual_seed(1)
    assert torch.equal(augmented(SHOWN, flip=0.5, crop=0.7), first)
    assert not torch.equal(again, first)


def test_a_crop_shows_a_part_and_no_more() -> None:
    ramp = torch.linspace(0, 1, 32).expand(500, 3, 32, 32)
    seen = augmented(ramp, flip=0.0, crop=0.5)
    widths = (seen[:, 0, 0, -1] - seen[:, 0, 0, 0]) / (ramp[0, 0, 0, -1] - ramp[0, 0, 0, 0])
    assert 0.68 < widths.min() < 0.75 and 0.95 < widths.max() < 1.001  # the root of 0.5, and 1
    assert seen.min() >= 0 and seen.max() <= 1
    assert (seen[..., 1:] - seen[..., :-1]).min() > -1e-6
