"""Training on recordings: from files, joined anew in each epoch, and resumed to the bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from attncli.train.configuration import run_config
from attncli.training.config import RunConfig
from attncli.training.sources import training_source
from attncli.transcribe import tones
from attncli.transcribe._examples import SoundExamples, read_transcripts
from models.core.types import VocabularySizes
from models.core.use_config import SearchConfig
from models.networks.bundle import build
from models.speech.features import log_mel
from tests.attncli.training.kinds import CHANGED
from tests.attncli.training.small import load

pytest.importorskip("soundfile")
SMALL = (
    *("model.hidden=8", "model.embedding=8", "tokenizer.kind=word", "train.batch_tokens=64"),
    *("train.log_every=1", "train.samples=0", "train.checkpoint_minutes=100"),
)


def configured(wavs: Path, *settings: str) -> RunConfig:
    data = {
        "audio": str(wavs),
        "transcripts": str(wavs / "train.tsv"),
        "dev_transcripts": str(wavs / "dev.tsv"),
    }
    return run_config("listen-attend-spell-nano", {"data": data}, [*SMALL, *settings])


def examples(config: RunConfig, folder: Path) -> SoundExamples:
    found = load(config, folder).examples
    assert isinstance(found, SoundExamples)
    return found


def test_features_are_those_of_the_recordings_and_the_encoder_knows_their_mean(
    wavs: Path, tmp_path: Path
) -> None:
    config = configured(wavs)
    found = examples(config, tmp_path)
    [melody, *_] = tones.split(12, 4, 0, seed=1).train
    own = torch.tensor(log_mel(melody.samples, config.model.audio))
    assert (found.features(found.joined[0]) - own).abs().mean() < 0.05  # 16 bits, a lost fraction
    batch = found.batch(np.arange(12))
    real = batch.source[batch.source_mask]
    mean, deviation = map(torch.tensor, found.statistics())
    assert torch.allclose(real.mean(0), mean, atol=1e-3)
    assert torch.allclose(real.std(0), deviation, atol=1e-2)


def test_lengths_of_the_training_limit_outputs_and_pieces(wavs: Path, tmp_path: Path) -> None:
    config = configured(wavs, "data.augment.join=3")
    found = examples(config, tmp_path)
    search = training_source(config.model.family).search_settings(config.search, found)
    slots, tokens = found.lengths
    assert search.split_above == max(slots.max(), 41)
    assert all(n <= search.max_ratio * s + 1e-6 for n, s in zip(tokens, slots, strict=True))


def test_joined_recordings_have_the_texts_and_lengths_of_their_parts(
    wavs: Path, tmp_path: Path
) -> None:
    found = examples(configured(wavs, "data.augment.join=2-4"), tmp_path)
    rows = read_transcripts(wavs / "train.tsv")
    for epoch in (0, 1):
        at = found.at(epoch)
        parts = [number for each in at.joined for number in each]
        assert sorted(parts) == list(range(12))  # each is heard once
        for number, each in enumerate(at.joined):
            texts = " ".join(rows[part].text for part in each)
            assert at.text(each) == texts
            assert at.tokenizer is not None and at.tokenizer.decode(at.ids[number]) == texts
            seconds = sum(len(at.table[part]) for part in each) / 8000
            count = len(each) + 1
            heard = len(at.sound(each, np.random.default_rng(1))) / 8000
            least = seconds + (count - 2) * 0.05  # none before the first and after the last
            assert least <= heard + 0.001 <= seconds + count * 0.4 + 0.002
    assert found.at(0).joined != found.at(1).joined
    assert found.at(1).joined == found.at(1).joined


def test_changes_are_the_same_whenever_an_epoch_is_read(wavs: Path, tmp_path: Path) -> None:
    found = examples(configured(wavs, *CHANGED), tmp_path)
    one, other = (found.at(3).batch(np.array([2, 0])) for _ in range(2))
    assert torch.equal(one.source, other.source)
    again = found.at(4)
    assert not torch.equal(again.features(again.joined[0]), found.features(found.joined[0]))


def test_at_most_a_fifth_of_the_frames_are_masked(wavs: Path, tmp_path: Path) -> None:
    found = examples(configured(wavs, "data.augment.mask_frames=1000"), tmp_path)
    assert found.fill is not None
    for each in found.joined:
        features = found.features(each)
        masked = (features == torch.from_numpy(found.fill)).all(1)
        assert masked.float().mean() <= 0.2


def test_bad_recordings_are_left_out_and_named(wavs: Path, tmp_path: Path) -> None:
    rows = (wavs / "train.tsv").read_text()
    (wavs / "broken.wav").write_bytes(b"no recording")
    (wavs / "more.tsv").write_text(rows + "broken.wav\ta\nmissing.wav\tb\ntrain0.wav\t\n")
    config = configured(wavs, f"data.transcripts={wavs / 'more.tsv'}")
    prepared = load(config, tmp_path)
    assert len(prepared.examples.table) == 12 and prepared.dropped.empty == 1  # type: ignore
    lost, note = prepared.notes
    assert lost == "1 row names no recording (line 14: missing.wav)"
    assert "1 recording left out" in note and "broken.wav" in note


def test_recordings_of_one_folder_are_joined(wavs: Path, tmp_path: Path) -> None:
    found = examples(configured(wavs, "data.augment.join=3"), tmp_path)
    rows = [each._replace(audio=f"{n % 2}/{each.audio}") for n, each in enumerate(found.rows)]
    assert 2 in {len({n % 2 for n in each}) for each in found.joined}
    joined = replace(found, rows=rows).joined
    assert {len({n % 2 for n in each}) for each in joined} == {1}


def test_a_centred_encoder_does_not_hear_the_loudness(wavs: Path, tmp_path: Path) -> None:
    config = configured(wavs, "model.audio.center=true")
    encoder = build(config.model, VocabularySizes(0, 9, False)).eval().encoder
    [melody, *_] = tones.split(12, 4, 0, seed=1).train
    noisy = torch.tensor(melody.samples) + 0.01 * torch.randn(len(melody.samples))
    heard = (log_mel(factor * noisy, config.model.audio) for factor in (1.0, 0.1))
    one, other = (torch.tensor(features)[None] for features in heard)
    mask = torch.ones(one.shape[:2], dtype=torch.bool)
    with torch.no_grad():
        values, quiet = encoder(one, mask).values, encoder(other, mask).values
    assert (values - quiet).abs().max() < 1e-3


def test_another_tempo_has_other_lengths_and_the_same_bands(wavs: Path, tmp_path: Path) -> None:
    plain = examples(configured(wavs), tmp_path)
    changed = replace(plain, augment=replace(plain.augment, tempo=0.3))
    shares = []
    for each in plain.joined:
        own, found = plain.features(each), changed.features(each)
        shares.append(len(found) / len(own))
        assert (own.mean(0) - found.mean(0)).abs().max() < 0.2 * own.std()
    assert min(shares) >= 1 / 1.31 and max(shares) <= 1 / 0.69
    assert max(shares) - min(shares) > 0.1


def test_growing_examples_are_as_long_in_use_as_they_become(wavs: Path, tmp_path: Path) -> None:
    source = training_source("listen-attend-spell")
    slots = []
    for name, grow in (("grown", 0), ("growing", 5)):
        settings = ("data.augment.join=1-12", f"data.augment.grow={grow}", "model.audio.stack=1")
        found = examples(configured(wavs, *settings), tmp_path / name)
        slots.append(source.search_settings(SearchConfig(), found).split_above)
    assert min(slots) > 200  # 41 for one recording each
