"""Captions of files, and their scores."""

from __future__ import annotations

import json
import math
import tarfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from PIL import Image

from attncli.caption._outputs import CaptionStatistics
from attncli.caption._scores import caption_scores
from attncli.caption.images import PixelBudget
from attncli.caption.runner import CaptionedImage, CaptionOptions, CaptionRunner
from attncli.data.named_files import NamedFile
from attncli.render.image_maps import AttentionMaps, is_content_word
from models import load
from models.core.config import ImageConfig
from models.core.types import Hypothesis
from models.core.use_config import SearchConfig
from models.engines.captioner import Captioner
from models.signals.images import open_image
from tests.attncli.command_line import Attn, evaluated
from tests.attncli.files import write

TASK = ("evaluate", "captions")
NAMES = ("a.png", "b.jpg", "c.webp", "d.gif", "e.png")
OUTPUTS = ["a red square", "two dogs", "a cat sleeps", "the sea", "a man on a bike"]
REFERENCES = [
    ["A red square.", "one square , red"],
    ["Two brown dogs run.", "dogs run"],
    ["a white cat sleeps on a sofa"],
    ["Waves at the beach", "The sea, blue"],
    ["A man rides a bike", "a man on his bike", "somebody cycling"],
]


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    """Return a file of captions of the five images."""
    rows = [
        f"{name}\t{text}" for name, texts in zip(NAMES, REFERENCES, strict=True) for text in texts
    ]
    return write(tmp_path / "captions.tsv", rows)


def objects(captions: list[str]) -> list[dict[str, str]]:
    return [{"image": n, "caption": c} for n, c in zip(NAMES, captions, strict=True)]


def test_every_way_to_hand_over_captions_scores_the_same(
    captions: Path, tmp_path: Path, attn: Attn
) -> None:
    table = [f"photos/{n}\t{c}" for n, c in zip(NAMES, OUTPUTS, strict=True)]
    files = {
        "lines": OUTPUTS,
        "table": table[::-1],
        "scores": [f"{row}\t-0.5" for row in table],
        "jsonl": [json.dumps(record) for record in objects(OUTPUTS)[::-1]],
        "array": [json.dumps(objects(OUTPUTS))],
    }
    paths = [write(tmp_path / name, rows) for name, rows in files.items()]
    hypotheses = [part for path in paths for part in ("--hypotheses", path)]
    found = evaluated(attn, "captions", captions, *hypotheses)
    expected = caption_scores(OUTPUTS, REFERENCES)
    for name in files:
        system = found[name]
        scores = {kind: score["score"] for kind, score in system["scores"].items()}
        bleu = [scores[f"BLEU-{order}"] for order in range(1, 5)]
        assert bleu == pytest.approx(list(expected.bleu.penalised))
        assert system["bleu_without_brevity_penalty"] == pytest.approx(list(expected.bleu.plain))
        assert scores["CIDEr-D"] == pytest.approx(expected.cider)
        assert scores["ROUGE-L"] == pytest.approx(expected.rouge_l)


def test_saved_captions_of_images_in_an_archive_score_the_same(
    soft_captioner: Path, photos: Path, captions: Path, tmp_path: Path, attn: Attn
) -> None:
    images, saved, name = (
        tmp_path / "photos.tar",
        str(tmp_path / "{model}.tsv"),
        soft_captioner.name,
    )
    with tarfile.open(images, "w") as archive:
        archive.add(photos, "photos")
    options = ["-m", soft_captioner, "--images", images, "-s", "search.max_caption=8"]
    model = evaluated(attn, "captions", *options, captions, "--save", saved)[name]
    other = evaluated(attn, "captions", captions, "--hypotheses", saved.format(model=name))
    assert other[f"{name}.tsv"]["scores"] == model["scores"]
    assert model["read"] == "soft" and model["images_per_second"] > 0


def test_a_file_with_splits_is_scored_on_its_test_part(tmp_path: Path, attn: Attn) -> None:
    splits = ["test", "test", "test", "val", "train"]
    images = [
        {"filename": name, "split": split, "sentences": [{"raw": text} for text in texts]}
        for name, split, texts in zip(NAMES, splits, REFERENCES, strict=True)
    ]
    path = write(tmp_path / "karpathy.json", [json.dumps({"images": images})])
    lines = write(tmp_path / "lines", OUTPUTS[:3])
    expected = caption_scores(OUTPUTS[:3], REFERENCES[:3]).cider
    found = evaluated(attn, "captions", path, "--hypotheses", lines)
    assert found["lines"]["scores"]["CIDEr-D"]["score"] == pytest.approx(expected)
    refused = attn(*TASK, path, "--split", "dev", "--hypotheses", lines, status=1)
    assert "has 3 lines; expected 1, one for each image of karpathy.json;" in refused.err


def test_missing_and_broken_images_and_captions_are_named(
    soft_captioner: Path, photos: Path, captions: Path, tmp_path: Path, attn: Attn
) -> None:
    options = ["-m", str(soft_captioner), "--images", str(photos), captions]
    (photos / "b.jpg").write_bytes(b"no image")
    assert "attn: b.jpg is not a readable image" in attn(*TASK, *options, status=1).err
    (photos / "b.jpg").unlink()
    Image.new("RGB", (9, 9)).save(photos / "d.gif")
    assert "1 of 5 images of captions.tsv are not in" in attn(*TASK, *options, status=1).err
    few = write(tmp_path / "few.tsv", [f"{name}\tx" for name in NAMES[:3]])
    refused = attn(*TASK, captions, "--hypotheses", few, status=1)
    assert "few.tsv has no caption for d.gif" in refused.err


def test_the_attention_of_a_model_is_scored_over_content_words(
    soft_captioner: Path, photos: Path, captions: Path, attn: Attn
) -> None:
    options = ["captions", captions, "-m", soft_captioner, "--images", photos]
    options += ["-s", "search.max_caption=8"]
    [system] = evaluated(attn, *options, "-s", "scores.attention=true").values()
    found = system["attention"]
    captioner = Captioner.read(soft_captioner)
    shown = [open_image(path, least=32) for path in sorted(photos.rglob("*.*"))]
    search = SearchConfig(max_caption=8)
    maps = [one.attention for one in captioner.caption(shown, search=search, attention=True)]
    entropy = [
        float(one.entropy[n]) / math.log(one.maps[0].numel())
        for one in maps
        if one is not None
        for n, word in enumerate(one.words)
        if is_content_word(word)
    ]
    assert found["words"] == len(entropy) > 0
    assert found["entropy"] == pytest.approx(sum(entropy) / len(entropy), abs=1e-4)
    assert {"attended", "random", "ratio"} < found.keys()
    [system] = evaluated(attn, *options).values()
    assert system.get("attention") is None


def outcome(text: str, maps: np.ndarray | None = None) -> CaptionedImage:
    attention = None
    if maps is not None:
        words = tuple("w" * len(maps))
        nothing = np.zeros(len(maps), np.float32)
        attention = AttentionMaps("x", Image.new("RGB", (4, 4)), words, maps, None, nothing, "soft")
    return CaptionedImage(NamedFile("x"), (Hypothesis(text, 0.0, 0.0, (), ()),), attention)


def test_threads_continue_after_an_image_that_cannot_be_read(
    soft_captioner: Path, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{n}.png" for n in range(10)]
    for n, path in enumerate(paths):
        Image.new("RGB", (32, 32), (20 * n, 200 - 20 * n, 90)).save(path)
    paths[5].write_bytes(b"not an image")
    captioner, files = load(soft_captioner, "caption"), [NamedFile(p.name, p) for p in paths]

    def captions() -> list[str]:
        [outcomes] = CaptionRunner.of(captioner, CaptionOptions()).run([files])
        return [one.note or one.text for one in outcomes]

    in_turn = captions()
    assert in_turn[5].startswith("5.png")
    torch.set_num_threads(2)
    try:
        assert captions() == in_turn
    finally:
        torch.set_num_threads(1)


def told(outcomes: list[CaptionedImage]) -> list[str]:
    statistics = CaptionStatistics()
    for one in outcomes:
        statistics.count([one])
    return list(statistics.notes())


def test_maps_that_hardly_differ_and_captions_that_repeat_are_told() -> None:
    same = np.full((5, 2, 2), 0.25, np.float32)
    moving = np.eye(4, dtype=np.float32).reshape(4, 2, 2)
    [note] = told([outcome("a", same), outcome("b", same), outcome("c", moving)])
    assert note.startswith("in 2 of 3 images the maps hardly differ from word to word")
    assert told([outcome("a", same), outcome("b", moving), outcome("c", moving)]) == []
    [note] = told([outcome("a dog" if n % 3 else f"{n}") for n in range(30)])
    assert note == "20 of 30 images have the same caption, 'a dog'"


def captioner(reduced: Callable[[Image.Image], Any]) -> Captioner:
    """Return what the opener uses of a captioner."""
    config = SimpleNamespace(image=ImageConfig())
    return cast(Captioner, SimpleNamespace(config=config, image_size=8, reduced=reduced))


def test_the_budget_is_never_exceeded_except_by_one_image_alone() -> None:
    budget = PixelBudget(10)
    inside: list[int] = []
    peaks: list[list[int]] = []

    def hold(pixels: int) -> None:
        with budget.held(pixels):
            inside.append(pixels)
            peaks.append(list(inside))
            time.sleep(0.002)
            inside.remove(pixels)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(hold, [4, 6, 30, 5, 5, 7, 3] * 5))
    assert not inside
    assert all(sum(peak) <= 10 or peak == [30] for peak in peaks)
    assert any(len(peak) > 1 for peak in peaks)
