"""OPUS-MT: an imported Marian model is the model that `transformers` runs."""

from __future__ import annotations

import dataclasses
import json
import re
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
import torch

pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file

from models import load_translator
from models.engines.translator import Translator
from models.importers.base import Importer, import_model, importer_of
from models.search.batching import pad_pairs
from models.text.tokenizer import UNKNOWN
from tests.models.importers import published

LINES = published.lines(200)


class Both(NamedTuple):
    """A published model and its bundle."""

    theirs: Any
    tokenizer: Any
    ours: Translator
    importer: Importer

    def rows(self, side: str) -> list[int]:
        """Return the published id of each of our ids; unknown pieces have that of `<unk>`."""
        found = self.importer.imported
        vocabulary = (found.source if side == "source" else None) or found.target
        return [*vocabulary.rows]

    def generated(self, inputs: Any, **options: Any) -> list[list[int]]:
        """Return the published ids that `generate` outputs, without special tokens."""
        special = {0, self.theirs.config.decoder_start_token_id}
        found = self.theirs.generate(**inputs, max_length=100, **options).tolist()
        return [[number for number in row if number not in special] for row in found]


@pytest.fixture(scope="module", params=["joint", "separate"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder, bundle = (tmp_path_factory.mktemp(name) for name in ("hub", "bundle"))
    theirs = published.marian(folder, separate=request.param == "separate")
    import_model(folder, bundle, name="tiny")
    tokenizer = published.transformers.MarianTokenizer.from_pretrained(folder)
    return Both(theirs, tokenizer, load_translator(bundle), importer_of(folder))


def test_tokens_are_those_of_its_tokenizer(both: Both) -> None:
    unknown = 0
    for text in LINES:
        for side, theirs, ours in (
            ("source", both.tokenizer(text)["input_ids"], both.ours.tokenizer.encode(text)),
            (
                "target",
                both.tokenizer(text_target=text)["input_ids"],
                both.ours.tokenizer.encode_target(text),
            ),
        ):
            assert [both.rows(side)[number] for number in ours] == theirs
            unknown += sum(n != UNKNOWN and both.rows(side)[n] == 1 for n in ours)
    assert unknown, "no piece was left out of vocab.json"


def test_logits_and_attention_are_those_of_its_model(both: Both) -> None:
    texts, rows = LINES[:6], both.rows("target")
    targets = [[*range(10 + n, 16 + n), 3] for n in range(6)]
    start = both.theirs.config.decoder_start_token_id
    given = torch.tensor([[start, *(rows[number] for number in ids[:-1])] for ids in targets])
    with torch.no_grad():
        inputs = both.tokenizer(texts, return_tensors="pt", padding=True)
        expected = both.theirs(**inputs, decoder_input_ids=given, output_attentions=True)
        sources = [both.ours.tokenizer.encode(text) for text in texts]
        batch = pad_pairs(sources, targets, torch.device("cpu"))
        found = both.ours.model.teacher_force(batch, want_heads=[0, 1])
        logits = both.ours.model.output(found.features)
    silent = both.importer.imported.target.silent
    real = [number for number in range(len(rows)) if number not in silent]
    torch.testing.assert_close(
        logits[..., real],
        expected.logits[..., [rows[number] for number in real]],
        atol=1e-4,
        rtol=1e-4,
    )
    assert found.heads is not None and logits[..., [*silent]].max() < -1000
    theirs = torch.stack(expected.cross_attentions, 1)  # (B, L, H, T, S)
    torch.testing.assert_close(found.heads, theirs, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("beam", [1, 4])
def test_outputs_are_those_of_generate(both: Both, beam: int) -> None:
    texts, rows = LINES[:50], both.rows("target")
    inputs = both.tokenizer(texts, return_tensors="pt", padding=True)
    expected = both.generated(inputs, num_beams=beam)
    assert both.ours.search.beam == 4 and both.ours.search.length_penalty_form == "power"
    search = dataclasses.replace(both.ours.search, beam=beam, max_ratio=0, max_extra=99)
    found = both.ours.translate(texts, search=search)
    assert [[rows[n] for n in each.hypotheses[0].ids] for each in found] == expected
    assert len({*map(tuple, expected)}) > 20
    decoded = [both.tokenizer.decode(ids, use_source_tokenizer=False) for ids in expected]
    assert [each.text.strip() for each in found] == [text.strip() for text in decoded]


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
