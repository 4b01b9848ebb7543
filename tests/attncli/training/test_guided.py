"""A head learns where links say to look, and the bundle knows which head it is."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from attncli.data.images.captions import read_captions, styled
from attncli.embedded.grammar import generate
from attncli.training.settings.config import TrainConfig
from attncli.training.storage.state import State
from attncli.training.updates.stepper import Stepper
from models import load_captioner, load_translator
from models.alignment import AlignConfig
from models.base.errors import ModelError
from models.base.types import Batch, VocabularySizes
from models.bundle import build
from models.config.tables import AttentionLossConfig
from models.images.opening import open_image
from models.losses.losses import AttentionLoss, guide_loss, guide_targets
from models.text.tokenizer import END
from tests.attncli.training.small import run, write_texts
from tests.attncli.training.small import small_config as minute_config
from tests.attncli.training.small_captions import Files, write_images
from tests.attncli.training.small_captions import small_config as caption_config
from tests.models.small import VOCABULARY, pairs, small_config


def guided_batch() -> Batch:
    batch = pairs([4, 7, 2], [5, 3, 6])
    links = torch.zeros(*batch.target_out.shape, batch.source.shape[1])
    links[0, :, 2], links[1, 0, 5], links[2, 3, :2] = 1, 1, 0.5
    return batch._replace(links=links * batch.target_mask[:, :, None])


def test_the_guide_loss_by_hand() -> None:
    weights = torch.tensor([[[0.5, 0.25, 0.25], [0.1, 0.1, 0.8], [0.0, 1.0, 0.0]]])
    links = torch.tensor([[[0.0, 0.5, 0.5], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    torch.testing.assert_close(guide_loss(weights, links), -torch.tensor(0.25).log())


def test_a_token_without_links_is_guided_to_the_end_mark() -> None:
    batch = guided_batch()
    assert batch.links is not None
    found = guide_targets(batch, AttentionLossConfig(guide_null=True))
    assert guide_targets(batch, AttentionLossConfig()) is batch.links
    free = batch.target_mask & (batch.links.sum(-1) == 0) & (batch.target_out != END)
    assert free.any()
    for row, step in free.nonzero().tolist():
        assert found[row, step].nonzero().flatten().tolist() == [
            int(batch.source_mask[row].sum()) - 1
        ]
    assert torch.equal(found[~free], batch.links[~free])
    no_links = batch._replace(links=torch.zeros_like(batch.links))
    assert not guide_targets(no_links, AttentionLossConfig(guide_null=True)).any()


def test_a_shifted_guide_trains_the_step_that_reads_the_token() -> None:
    """The loss of shift 1 is that of shift 0 for links that are one step later."""
    batch = guided_batch()
    assert batch.links is not None
    later = torch.cat([batch.links[:, :1] * 0, batch.links[:, :-1]], 1)
    terms = []
    for shift, links in ((1, batch.links), (0, later)):
        torch.manual_seed(1)
        config = AttentionLossConfig(guide=1.0, guide_shift=shift)
        model = build(small_config("transformer-nano"), VocabularySizes(30, 30, True)).eval()
        loss, used = AttentionLoss(config, model), batch._replace(links=links)
        forced = model.teacher_force(used, want_heads=loss.want_heads(used))
        terms.append(loss(forced, used, torch.zeros(1), None)[0])
    torch.testing.assert_close(*terms)


@pytest.mark.parametrize("preset", ["transformer-tiny", "rnnsearch-nano", "luong-nano"])
def test_the_guided_head_looks_where_it_is_told_and_no_other(preset: str) -> None:
    batch = guided_batch()
    assert batch.links is not None

    def fitted(guide: float) -> torch.Tensor:
        torch.manual_seed(1)
        loss = AttentionLossConfig(guide=guide, guide_layer=0)
        config = TrainConfig(lr=0.01, warmup=1, schedule="constant", attention=loss)
        model = build(small_config(preset), VocabularySizes(VOCABULARY, VOCABULARY, True))
        state = State(model, config)
        stepper = Stepper(state, config, torch.float32)
        for _ in range(40):
            stepper.update([batch], 0.0)
        layer = model.decoder.shown_layer
        heads = model.eval().teacher_force(batch, want_heads=(layer,)).heads
        assert heads is not None
        return torch.stack(
            [guide_loss(heads[:, 0, h], batch.links) for h in range(heads.shape[2])]  # type: ignore
        )

    told, untold = fitted(1.0), fitted(0.0)
    assert told[0] < 0.4 * untold[0]
    assert all(other > 2 * told[0] for other in told[1:])


def test_links_in_batches_without_a_weight_change_nothing() -> None:
    found = []
    for batch in (guided_batch(), guided_batch()._replace(links=None)):
        torch.manual_seed(1)
        config = TrainConfig(attention=AttentionLossConfig(guide=0.0))
        model = build(small_config("transformer-nano"), VocabularySizes(30, 30, True))
        found.append(Stepper(State(model, config), config, torch.float32).update([batch], 0.0).norm)
    assert found[0] == found[1]


def test_a_guided_run_learns_from_the_links_and_aligns_by_its_head(tmp_path: Path) -> None:
    texts = write_texts(tmp_path)
    links = tmp_path / "links.txt"
    lines = [" ".join(f"{i}-{j}" for i, j in pair.links) + "\n" for pair in generate(60)]
    links.write_text("".join(lines), "utf-8")

    def weights(name: str, guide: float, alignment: AlignConfig) -> bytes:
        guided = f"data.alignments={links}", f"train.attention.guide={guide}"
        few = "train.steps=3", "train.evaluate_every=3", "train.metric=loss"
        run(minute_config(texts, *guided, *few, preset="rnnsearch-nano"), tmp_path / name)
        assert load_translator(tmp_path / name).alignment == alignment
        return (tmp_path / name / "model.safetensors").read_bytes()

    assert weights("guided", 2, AlignConfig(head=1)) != weights("free", 0, AlignConfig())


def test_other_links_are_other_data(tmp_path: Path) -> None:
    texts = write_texts(tmp_path)
    links = tmp_path / "links.txt"
    links.write_text("0-0\n" * 60, "utf-8")
    config = minute_config(texts, f"data.alignments={links}", "train.steps=1")
    run(config, tmp_path / "run")
    links.write_text("0-0 1-1\n" * 60, "utf-8")
    with pytest.raises(ModelError, match="alignments data have changed"):
        run(config, tmp_path / "run")


@pytest.mark.parametrize(
    ("preset", "change", "fault"),
    [
        ("seq2seq-nano", "train.attention.guide=0.1", "without soft weights"),
        ("rnnsearch-nano", "model.attention.read=hard", "without soft weights"),
        ("rnnsearch-nano", "model.attention.normalise=sparsemax", "without soft weights"),
        ("transformer-nano", "train.attention.guide_head=5", "guide_head=5 of a model with 4"),
        ("transformer-nano", "train.attention.guide_layer=2", "guide_layer=2 of a model with 1"),
    ],
)
def test_what_cannot_be_guided_is_refused_before_any_file_is_read(
    preset: str, change: str, fault: str, tmp_path: Path
) -> None:
    texts = write_texts(tmp_path)
    config = minute_config(texts, "data.alignments=nowhere", change, preset=preset)
    with pytest.raises(ModelError, match=fault):
        run(config, tmp_path / "run")
    assert not (tmp_path / "run" / "data").exists()


def write_links(files: Files, path: Path) -> str:
    """Link every word of each training caption to the cell of its number."""
    captions = [text for image in read_captions(files.train) for text in image.captions]
    counts = [len(styled(text, "words").split(" ")) for text in captions]
    path.write_text("".join(" ".join(f"{n}-{n}" for n in range(k)) + "\n" for k in counts))
    return str(path)


def test_links_of_cells_guide_a_captioner(tmp_path: Path) -> None:
    files = write_images(tmp_path)
    links = write_links(files, tmp_path / "links")
    where = (f"data.alignments={links}", "train.attention.guide=2", "train.steps=150")
    config = caption_config(files, *where, "train.metric=loss", "train.evaluate_every=150")
    run(config, tmp_path / "run")
    captioner = load_captioner(tmp_path / "run")
    image = open_image((files.images / "red-left-2.png").read_bytes())
    [caption] = captioner.caption([image], attention=True)
    assert caption.attention is not None
    maps = caption.attention.maps.flatten(1)
    assert sum(int(maps[n].argmax()) == n for n in range(len(maps))) > 0.7 * len(maps)


@pytest.mark.parametrize(
    ("line", "message"),
    [("999-0", "outside image and caption"), ("0-99", "outside image and caption"), ("x", "link")],
)
def test_links_that_do_not_fit_a_caption_are_named(line: str, message: str, tmp_path: Path) -> None:
    files = write_images(tmp_path)
    path = Path(write_links(files, tmp_path / "links"))
    rows = path.read_text().splitlines()
    path.write_text("\n".join([rows[0], line, *rows[2:]]) + "\n")
    with pytest.raises(ModelError, match=message):
        run(caption_config(files, f"data.alignments={path}"), tmp_path / "run")


def test_links_have_a_line_for_each_caption(tmp_path: Path) -> None:
    files = write_images(tmp_path)
    path = Path(write_links(files, tmp_path / "links"))
    path.write_text(path.read_text() + "0-0\n")
    with pytest.raises(ModelError, match="more than"):
        run(caption_config(files, f"data.alignments={path}"), tmp_path / "run")
