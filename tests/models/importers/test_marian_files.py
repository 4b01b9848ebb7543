"""Marian's own files give the model that the folder of the hub gives, which was made of them."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import numpy
import pytest
import torch

pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file

from models import load_translator
from models.importers.base import import_model
from tests.models.importers import published

PARTS = {"self_attn": "self", "encoder_attn": "context"}
TRAINING = """bert-train-type-embeddings: true
dec-depth: 2
dim-emb: 32
enc-depth: 2
transformer-decoder-autoreg: self-attention
transformer-dim-ffn: 48
transformer-ffn-activation: swish
transformer-heads: 4
transformer-postprocess: dan
transformer-postprocess-emb: d
transformer-preprocess: ""
type: transformer
"""


def marian_name(name: str) -> str:
    """Return Marian's name of weights of a layer."""
    side, layer, inside, kind = re.fullmatch(  # type: ignore[union-attr]
        r"model\.(encoder|decoder)\.layers\.(\d)\.(.*)\.(weight|bias)", name
    ).groups()
    prefix, letter = f"{side}_l{int(layer) + 1}_", "W" if kind == "weight" else "b"
    norm = {"weight": "scale", "bias": "bias"}[kind]
    part, _, matrix = inside.partition(".")
    if part in PARTS:
        return f"{prefix}{PARTS[part]}_{letter}{matrix[0]}"
    if part in ("fc1", "fc2"):
        return f"{prefix}ffn_{letter}{part[-1]}"
    if part == "final_layer_norm":
        return f"{prefix}ffn_ffn_ln_{norm}"
    return f"{prefix}{PARTS[part.removesuffix('_layer_norm')]}_Wo_ln_{norm}"


def test_a_zip_of_marians_files_is_the_folder_of_the_hub(tmp_path: Path) -> None:
    hub = tmp_path / "hub"
    published.marian(hub, languages=("fra", "spa"), learns=False)
    weights = load_file(hub / "model.safetensors")
    weights["model.shared.weight"][-1] = 0  # as a conversion makes <pad>
    weights["final_logits_bias"][0, -1] = -1e4
    save_file(weights, hub / "model.safetensors")
    arrays: dict[str, numpy.ndarray] = {
        "Wemb": weights["model.shared.weight"][:-1].numpy(),  # without <pad>
        "decoder_ff_logit_out_b": weights["final_logits_bias"][:, :-1].numpy(),
        "special:model.yml": numpy.frombuffer(TRAINING.encode() + b"\0", numpy.int8),
    }
    for name, tensor in weights.items():
        if ".layers." in name:
            array = tensor.numpy()
            is_norm = "_layer_norm" in name
            array = array[None] if array.ndim == 1 else array.T
            arrays[marian_name(name)] = array[0][None] if is_norm else array
    numpy.savez(tmp_path / "opus.npz", **arrays)  # type: ignore[arg-type]
    tokens = [*json.loads((hub / "vocab.json").read_text())][:-1]
    rows = "".join(
        f"{json.dumps(token, ensure_ascii=False)}: {n}\n" for n, token in enumerate(tokens)
    )
    with zipfile.ZipFile(tmp_path / "opus.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "opus.npz", "opus.spm32k-spm32k.transformer.npz")
        archive.writestr("opus.vocab.yml", rows)
        archive.writestr(
            "decoder.yml",
            "models:\n  - x.npz\nbeam-size: 4\nvocabs:\n  - opus.vocab.yml\n  - opus.vocab.yml\n",
        )
        for side in ("source.spm", "target.spm"):
            archive.write(hub / side, side)
    folders = [tmp_path / name for name in ("one", "other")]
    for source, folder in zip((hub, tmp_path / "opus.zip"), folders, strict=True):
        folder.mkdir()
        shares: list[float] = []
        import_model(source, folder, name="tiny", advance=shares.append)
        assert shares == sorted(shares) and shares[-1] == 1
    one, other = map(load_translator, folders)
    texts = published.lines(40)
    for text in texts:
        assert one.encode(text, "fra") == other.encode(text, "fra")
    assert one.languages == other.languages == ("fra", "spa")
    ours, theirs = one.model.state_dict(), other.model.state_dict()
    first = {"encoder.embedding.weight", "decoder.embedding.weight", "output.weight", "output.bias"}
    for name, tensor in ours.items():
        start = 3 if name in first else 0  # <pad> has a row in the hub alone
        torch.testing.assert_close(tensor[start:], theirs[name][start:], msg=name)
    assert theirs["decoder.embedding.weight"][2].abs().max() == 0  # the start of a target
    outputs = [[each.text for each in model.translate(texts, to="spa")] for model in (one, other)]
    assert outputs[0] == outputs[1]
