"""Captions are scored alike whether a model makes them, a file holds them, or in what order."""

from __future__ import annotations

import json
import math
import tarfile
from pathlib import Path

import pytest
from PIL import Image

from attncli.scoring.caption_metrics import is_content_word
from attncli.scoring.captions import caption_scores
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


@pytest.fixture(autouse=True)
def no_default_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTN_MODEL", raising=False)


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


def test_the_tables_say_how_a_hard_model_was_read(
    hard_captioner: Path, soft_captioner: Path, photos: Path, captions: Path, attn: Attn
) -> None:
    models = ["-m", str(hard_captioner), "--images", str(photos), "-s", "search.max_caption=5"]
    for decode in ("argmax", "expected"):
        shown = attn(*TASK, *models, captions, "-s", f"attention.read_decode={decode}")
        assert f"{hard_captioner.name}: hard attention, read by {decode}" in shown.out
        rows = shown.out.splitlines()
        assert rows[0] == "5 images, 10 reference captions in captions.tsv"
        assert rows[2].split()[:6] == ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr-D"]
    models[1] = str(soft_captioner)
    task = (*TASK, *models, captions, "-s", "attention.read_decode=argmax")
    assert "not hard" in attn(*task, status=1).err


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
