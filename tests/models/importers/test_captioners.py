"""BLIP, and ViT or DeiT with GPT-2: an imported captioner is the one that `transformers` runs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
import torch
from PIL import Image

pytest.importorskip("transformers")

from models import load
from models.engines.captioner import Captioner
from models.importers.base import import_model, importer_of
from models.networks.decoder import Wanted
from models.text.tokenizer import END, START
from tests.models.importers import published

MAKERS: dict[str, Any] = {
    "blip": published.blip,
    "vit": published.vit_gpt2,
    "deit": lambda folder: published.vit_gpt2(folder, "deit"),
}
RNG = numpy.random.default_rng(1)
IMAGES = [Image.fromarray(RNG.integers(0, 255, (45, 70, 3), numpy.uint8)) for _ in range(12)]


class Both(NamedTuple):
    """A published model and its bundle."""

    kind: str
    theirs: Any
    ours: Captioner
    rows: tuple[int, ...]
    folder: Path

    @property
    def pixels(self) -> torch.Tensor:
        """Pixels (B, 3, 32, 32) of the images as the publisher prepares them."""
        given = json.loads((self.folder / "preprocessor_config.json").read_text())
        size, method = (32, 32), Image.Resampling(given["resample"])
        arrays = [numpy.asarray(image.resize(size, method)) / 255 for image in IMAGES]
        arrays = [(array - given["image_mean"]) / given["image_std"] for array in arrays]
        return torch.tensor(numpy.array(arrays), dtype=torch.float32).permute(0, 3, 1, 2)


@pytest.fixture(scope="module", params=[*MAKERS])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder, bundle = (tmp_path_factory.mktemp(name) for name in ("hub", "bundle"))
    theirs = MAKERS[request.param](folder)
    import_model(folder, bundle, name="tiny")
    rows = importer_of(folder).imported.target.rows
    return Both(request.param, theirs, load(bundle, "caption"), rows, folder)


@torch.no_grad()
def test_slots_logits_and_attention_are_those_of_its_model(both: Both) -> None:
    is_blip = both.kind == "blip"
    encoder = both.theirs.vision_model if is_blip else both.theirs.encoder
    slots = encoder(pixel_values=both.pixels)[0]
    features = both.ours.features(IMAGES)
    torch.testing.assert_close(features, slots, atol=1e-4, rtol=1e-4)
    memory = both.ours.memory(features, [""] * len(IMAGES))
    ids = torch.tensor([[START, *range(10 + n, 15 + n)] for n in range(len(IMAGES))])
    given = torch.tensor(both.rows)[ids]
    prepared, state = both.ours.model.start(memory)
    found = both.ours.model.decoder.advance(ids, state, prepared, Wanted(heads=[0, 1]))
    logits = both.ours.model.output(found.features)
    silent = importer_of(both.folder).imported.target.silent
    real = [number for number in range(len(both.rows)) if number not in silent]
    expected = published.caption_logits(both.theirs, both.pixels, given)
    theirs = expected[..., [both.rows[number] for number in real]]
    torch.testing.assert_close(logits[..., real], theirs, atol=1e-4, rtol=1e-4)
    if is_blip:
        options = {"encoder_hidden_states": slots, "output_attentions": True}
        attention = both.theirs.text_decoder(given, **options).cross_attentions
    else:
        options = {"decoder_input_ids": given, "output_attentions": True}
        attention = both.theirs(pixel_values=both.pixels, **options).cross_attentions
    assert found.heads is not None
    torch.testing.assert_close(found.heads, torch.stack(attention, 1), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("beam", [1, 4])
def test_captions_are_those_of_generate(both: Both, beam: int) -> None:
    end, config = both.rows[END], both.theirs.config
    refused = [[both.rows[number]] for number in range(2) if both.rows[number] not in (end, -1)]
    options = {"num_beams": beam, "max_length": 16, "bad_words_ids": refused or None}
    if both.kind != "blip":
        options["decoder_start_token_id"] = config.decoder_start_token_id
    expected = []
    for row in both.theirs.generate(pixel_values=both.pixels, **options).tolist():
        ids = row[1:]
        expected.append(ids[: ids.index(end)] if end in ids else [])
    search = dataclasses.replace(both.ours.search, beam=beam, max_caption=15)
    captions = both.ours.caption(IMAGES, search=search, attention=True)
    found = [[both.rows[number] for number in each.hypotheses[0].ids] for each in captions]
    assert [a for a, b in zip(found, expected, strict=True) if b] == [b for b in expected if b]
    assert sum(map(bool, expected)) >= 10 and len({*map(tuple, expected)}) > 3
    for each in captions:
        assert each.attention is not None and each.attention.maps.shape[1:] == (4, 4)
        torch.testing.assert_close(
            each.attention.maps.sum((1, 2)), torch.ones(len(each.attention.words))
        )


def test_tokens_are_those_of_its_tokenizer(both: Both) -> None:
    if both.kind == "blip":
        tokenizer = published.transformers.BertTokenizer(
            vocab=str(both.folder / "vocab.txt"), do_lower_case=True
        )
    else:
        tokenizer = published.transformers.GPT2Tokenizer(
            vocab=str(both.folder / "vocab.json"), merges=str(both.folder / "merges.txt")
        )
    for text in published.lines(200):
        ours = both.ours.tokenizer.encode_target(text)[:-1]
        theirs = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert [both.rows[number] for number in ours] == theirs, text
        decoded = tokenizer.decode(theirs, skip_special_tokens=True)
        assert both.ours.tokenizer.decode(ours).split() == decoded.split() or both.kind == "blip"
