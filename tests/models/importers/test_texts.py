"""Public text models: an imported model is the model that `transformers` runs."""

from __future__ import annotations

import dataclasses
import json
import re
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
import torch

pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file

from models import load
from models.core.errors import ModelError
from models.engines.ctranslate2_translator import CTranslate2Translator
from models.engines.translator import Translator
from models.importers.base import Importer, import_model, importer_of
from models.search.batching import pad_pairs
from models.text.tokenizer import UNKNOWN
from tests.models.importers import published

LINES = published.lines(200)
MARIAN = ("joint", "separate")
DIRECTIONS = {"m2m100": ("de", "en"), "nllb": ("deu", "eng"), "small100": ("de", "")}
CODES = {"m2m100": ("en", "de"), "nllb": ("eng_Latn", "deu_Latn")}
TOKENIZERS = {"m2m100": "M2M100Tokenizer", "nllb": "NllbTokenizer", "small100": ""}


class Both(NamedTuple):
    """A published model and its bundle."""

    kind: str
    theirs: Any
    ours: Translator
    importer: Importer
    bundle: Path

    def rows(self, side: str) -> list[int]:
        """Return the published id of each of our ids; unknown pieces have that of `<unk>`."""
        found = self.importer.imported
        return [*((found.source if side == "source" else None) or found.target).rows]

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of `transformers`; None if there is none."""
        name = TOKENIZERS.get(self.kind, "MarianTokenizer")
        if not name:
            return None
        kind: Any = getattr(published.transformers, name)
        if self.kind == "m2m100":
            published.only_languages(kind, published.M2M_CODES)
        codes = dict(zip(("src_lang", "tgt_lang"), CODES.get(self.kind, ()), strict=False))
        return kind.from_pretrained(self.importer.folder, **codes)

    @property
    def fast(self) -> CTranslate2Translator:
        """The bundle in CTranslate2."""
        found = CTranslate2Translator.read(self.bundle)
        return found.for_direction(*DIRECTIONS[self.kind]) if self.kind in DIRECTIONS else found


@pytest.fixture(scope="module", params=[*MARIAN, *DIRECTIONS])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder, bundle = (tmp_path_factory.mktemp(name) for name in ("hub", "bundle"))
    kind = request.param
    if kind in MARIAN:
        theirs = published.marian(folder, separate=kind == "separate")
    else:
        theirs = published.m2m100(folder, kind)
    import_model(folder, bundle, name="tiny")
    ours = load(bundle, "translate")
    ours = ours.for_direction(*DIRECTIONS[kind]) if kind in DIRECTIONS else ours
    return Both(kind, theirs, ours, importer_of(folder), bundle)


def test_tokens_are_those_of_its_tokenizer(both: Both) -> None:
    tokenizer, unknown = both.tokenizer, 0
    if tokenizer is None:
        pytest.skip("transformers has no tokenizer of SMaLL-100")
    # version 5 reads no language of a small NLLB, so the first token is left out
    first = int(both.kind == "nllb")
    for text in LINES:
        source = both.ours.encode(text)
        target = both.ours.tokenizer.encode_target(text, both.ours.to)
        theirs = tokenizer(text)["input_ids"], tokenizer(text_target=text)["input_ids"]
        for side, ours, expected in zip(
            ("source", "target"), (source, target), theirs, strict=True
        ):
            rows = both.rows(side)
            assert [rows[number] for number in ours][first:] == expected[first:], text
            unknown += sum(n != UNKNOWN and rows[n] == rows[UNKNOWN] for n in ours)
    assert unknown or both.kind not in MARIAN, "no piece was left out of vocab.json"


def test_logits_and_attention_are_those_of_its_model(both: Both) -> None:
    start = both.ours.tokenizer.target_start(both.ours.to)
    sources = [both.ours.encode(text) for text in LINES[:6]]
    targets = [[*start, *range(10 + n, 16 + n), 3] for n in range(6)]
    batch = pad_pairs(sources, targets, torch.device("cpu"))
    source, target = (torch.tensor(both.rows(side)) for side in ("source", "target"))
    with torch.no_grad():
        expected = both.theirs(
            source[batch.source],
            attention_mask=batch.source_mask.long(),
            decoder_input_ids=target[batch.target_in],
            output_attentions=True,
        )
        found = both.ours.model.teacher_force(batch, want_heads=[0, 1])
        logits = both.ours.model.output(found.features)
    silent = both.importer.imported.target.silent
    real = [number for number in range(len(target)) if number not in silent]
    theirs = expected.logits[..., target[real]]
    torch.testing.assert_close(logits[..., real], theirs, atol=1e-4, rtol=1e-4)
    assert found.heads is not None and logits[..., [*silent]].max() < -1000
    attention = torch.stack(expected.cross_attentions, 1)  # (B, L, H, T, S)
    torch.testing.assert_close(found.heads, attention, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("beam", [1, 4])
def test_outputs_are_those_of_generate_in_both_engines(both: Both, beam: int) -> None:
    rows, texts = both.rows("target"), LINES[:50]
    first, options = both.ours.tokenizer.target_start(both.ours.to), dict[str, Any]()
    if both.kind not in MARIAN:
        options["bad_words_ids"] = [[1], [3]]
    if first:
        options["forced_bos_token_id"] = rows[first[0]]
    end, source, expected = rows[3], both.rows("source"), []
    for text in texts:
        given = torch.tensor([[source[number] for number in both.ours.encode(text)]])
        found = both.theirs.generate(given, num_beams=beam, max_length=101, **options)
        ids = found[0].tolist()[1:]
        expected.append(ids[: ids.index(end)] if end in ids else [])
    search = dataclasses.replace(both.ours.search, beam=beam, max_ratio=0, max_extra=100)
    assert search.length_penalty_form == "power"
    for engine in (both.ours, both.fast):
        outputs = engine.translate(texts, search=search)
        ids = [[rows[number] for number in each.hypotheses[0].ids] for each in outputs]
        wrong = [n for n, one in enumerate(expected) if one and ids[n] != one]
        assert not wrong, [(ids[n], expected[n]) for n in wrong]
    assert sum(map(bool, expected)) >= 40 and len({*map(tuple, expected)}) >= 5
    if both.kind in MARIAN:
        decoded = [both.tokenizer.decode(each, use_source_tokenizer=False) for each in expected]
        assert [each.text.strip() for each in outputs] == [text.strip() for text in decoded]


@pytest.mark.parametrize("both", DIRECTIONS, indirect=True)
def test_outputs_that_reach_their_limits_are_those_of_torch_without_torch(both: Both) -> None:
    fast = both.fast
    fast.torch = lambda: pytest.fail("torch is not needed")
    search = dataclasses.replace(both.ours.search, max_ratio=0.2, max_extra=3)
    pairs = [engine.translate(LINES[:16], search=search) for engine in (fast, both.ours)]
    for one, other in zip(*pairs, strict=True):
        best, same = one.hypotheses[0], other.hypotheses[0]
        assert (best.ids, best.truncated) == (same.ids, same.truncated)
        assert best.log_prob == pytest.approx(same.log_prob, abs=1e-3)


def test_language_tokens_are_those_of_its_tokenizer(tmp_path: Path) -> None:
    """All languages of NLLB-200 have the ids of fairseq: behind the pieces, which are shifted."""
    codes = import_module("transformers.models.nllb.tokenization_nllb").FAIRSEQ_LANGUAGE_CODES
    published.m2m100(tmp_path, "nllb", languages=codes)
    found = importer_of(tmp_path).imported
    assert list(found.tokenizer_config.languages) == codes
    first = len(published.pieces((tmp_path / "sentencepiece.bpe.model").read_bytes())) + 1
    for number, code in enumerate(codes):
        assert found.target.rows[found.tokenizer.language_id(code)] == first + number, code


@pytest.mark.parametrize("both", DIRECTIONS, indirect=True)
def test_a_missing_or_ambiguous_language_is_one_line(both: Both) -> None:
    plain = load(both.bundle, "translate")
    if both.kind == "small100":
        assert plain.for_direction("fr").encode("a")[0] == plain.tokenizer.language_id("fr")
        return
    with pytest.raises(ModelError, match="--from"):
        plain.for_direction(DIRECTIONS[both.kind][0])
    with pytest.raises(ModelError, match="'zh"):
        plain.for_direction("zho" if both.kind == "nllb" else "zho_Hans", DIRECTIONS[both.kind][1])


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
    one, other = (load(one, "translate") for one in folders)
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
