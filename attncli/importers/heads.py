"""The attention head that aligns the words of an imported model, or draws its maps.

Erasure chooses the layer and head whose maps are shown, without labelled regions. The image is
blurred in one region of a coarse grid at a time. The chosen head gives most weight to the regions
without which a word becomes less probable, with lost+ = max(lost, 0):

    score(layer, head) = sum_w sum_r weight(w, r) lost+(w, r) / sum_w sum_r lost+(w, r)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from attncli.data import embedded, scenes
from models.alignment import choose_head
from models.core.errors import intact
from models.core.use_config import AlignConfig
from models.engines.captioner import Captioner, words
from models.engines.erasure import blurred, token_log_probs
from models.engines.translator import Translator
from models.signals.images import open_image, to_square
from models.storage.archive import read_about
from models.storage.settings import read_settings, task_of, write_alignment

HEAD_PAIRS = 100  # translations by which the attention head of an imported model is chosen
HEAD_IMAGES = 3  # and images
REGIONS = 3  # regions of an image along each side
NEAR = 0.9  # share of the best head's score at which the mean of its layer is preferred


def with_head(folder: Path, sample: Path | None) -> str:
    """Choose the attention head of an imported model, and return what was chosen.

    Of a translator by aligning its own translations; one of several languages has no direction yet,
    so that none is chosen. Of a captioner by erasure.
    """
    if task_of(folder) == "caption":
        return _with_map_head(folder, sample)
    settings = read_settings(folder)
    languages = read_about(settings).languages
    if task_of(folder) != "translate" or settings["tokenizer"].get("languages"):
        return ""
    if sample is None and languages[:1] not in (("en",), ("eng",)):
        return ""
    texts = [pair.source for pair in embedded.generate(HEAD_PAIRS, seed=1)]
    if sample is not None:
        with intact(sample, "source texts in UTF-8, one a line"):
            lines = sample.read_text("utf-8").splitlines()
        texts = [line for line in lines if line.strip()][:HEAD_PAIRS]
    model = Translator.read(folder)
    greedy = dataclasses.replace(model.search, beam=1)
    fitting = [text for text in texts if model.source_length(text) <= model.max_source_length]
    found = model.translate(fitting, search=greedy)
    pairs = [(each.source, each.text) for each in found if each.text.strip()]
    if not pairs:
        return ""
    chosen = choose_head(model, pairs)
    write_alignment(folder, chosen)
    return f"words are aligned by {chosen.place}, chosen by {len(pairs)} translations"


def _with_map_head(folder: Path, sample: Path | None) -> str:
    """Choose layer and head of the maps of a captioner by blurring images, or drawn scenes."""
    drawn = islice(scenes.generate(1), HEAD_IMAGES)
    files: Sequence[Path | bytes] = [scenes.png(scene) for scene in drawn]
    if sample is not None:
        inside = sorted(sample.iterdir()) if sample.is_dir() else [sample]
        files = [path for path in inside if path.is_file()][:HEAD_IMAGES]
    model = Captioner.read(folder)
    squares = (to_square(open_image(file), model.config.image) for file in files)
    chosen = choose_map_head(model, squares)
    if chosen.place:
        write_alignment(folder, chosen)
    return chosen.place and f"maps are of {chosen.place}, chosen by erasure in {len(files)} images"


def choose_map_head(captioner: Captioner, images: Iterable[Image.Image]) -> AlignConfig:
    """Return the layer and head, or the mean of a layer's heads, with the highest score.

    images: squares that the captioner reads. The default if no word depends on the image.
    """
    layers, heads = captioner.model.decoder.attention_shape
    gained, total = torch.zeros(layers, 1 + heads), 0.0
    for image in images:
        greedy = dataclasses.replace(captioner.search, method="greedy")
        ids = captioner.caption([image], search=greedy)[0].hypotheses[0].ids
        if not words(captioner.tokenizer.pieces(ids)):
            continue
        # a word that becomes more probable does not depend on the region
        lost = region_losses(captioner, image, ids).clamp_min(0)  # (W, REGIONS, REGIONS)
        maps = every_map(captioner, image, ids)  # (L, 1 + H, W, rows, columns)
        weights = adaptive_avg_pool2d(maps.flatten(0, 2), REGIONS).view(
            *maps.shape[:3], *lost[0].shape
        )
        weights /= weights.sum((-1, -2), keepdim=True).clamp_min(1e-12)
        gained += (weights * lost).sum((-1, -2, -3))
        total += float(lost.sum())
    if not total:
        return AlignConfig()
    layer, head = divmod(int(gained.argmax()), 1 + heads)
    near = float(gained[layer, 0]) >= NEAR * float(gained.max())
    return AlignConfig(layer=layer + 1, head=0 if near else head)


def region_losses(captioner: Captioner, image: Image.Image, ids: Sequence[int]) -> Tensor:
    """Return what each word of a caption loses (W, REGIONS, REGIONS) if a region is blurred."""
    grid = torch.eye(REGIONS**2, dtype=torch.bool).view(-1, REGIONS, REGIONS)
    erased = [image, *(blurred(image, cells) for cells in grid)]
    found = token_log_probs(captioner, erased, ids)  # (1 + REGIONS^2, T)
    groups, lost = words(captioner.tokenizer.pieces(ids)), found[0] - found[1:]
    means = [lost[:, slice(*group)].mean(1) for group in groups]
    return torch.stack(means).view(-1, REGIONS, REGIONS)


@torch.inference_mode()
def every_map(captioner: Captioner, image: Image.Image, ids: Sequence[int]) -> Tensor:
    """Return the maps (L, 1 + H, W, rows, columns) of all heads; index 0 is the mean of a layer."""
    layers, _ = captioner.model.decoder.attention_shape
    heads = captioner.heads([image], [tuple(ids)], range(layers))[0]  # (L, H, T, S)
    both = torch.cat([heads.mean(1, keepdim=True), heads], 1)
    rows, columns = captioner.encoder.grid
    groups = words(captioner.tokenizer.pieces(ids))
    maps = torch.stack([both[:, :, slice(*group)].mean(2) for group in groups], 2)
    return maps[..., -rows * columns :].unflatten(-1, (rows, columns))
