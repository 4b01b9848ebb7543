"""CTranslate2 gives the outputs of torch, without torch."""

from __future__ import annotations

import dataclasses
import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("ctranslate2")

import ctranslate2
import sentencepiece

from attncli.data.embedded import generate
from attncli.shell.app import run
from models import load
from models.core.errors import ConfigurationError, ModelError
from models.core.types import Translation, VocabularySizes
from models.core.use_config import SearchConfig, TokenizerConfig
from models.engines import ctranslate2_cache as cache
from models.engines.ctranslate2_translator import CTranslate2Translator, Engine
from models.engines.translator import Translator
from models.networks.bundle import Bundle, read, save
from models.search.batching import pad_pairs
from models.storage.installed import BOX
from models.storage.presets import model_config
from models.text.tokenizer import train
from tests.models.small import random_model

GRAMMAR = BOX / "grammar-en-de"
PAIRS = [*generate(200, seed=7)]
SENTENCES, TARGETS = [pair.source for pair in PAIRS], [pair.target for pair in PAIRS]
Both = tuple[Translator, CTranslate2Translator]


@pytest.fixture(scope="module", params=["tiny", "grammar"])
def pair(request: pytest.FixtureRequest, tiny_bundle: Path) -> Both:
    """Return the same model in torch and in CTranslate2."""
    folder = tiny_bundle if request.param == "tiny" else GRAMMAR
    return load(folder, "translate"), CTranslate2Translator.read(folder)


def outputs(found: list[Translation]) -> list[tuple[int, ...]]:
    return [translation.hypotheses[0].ids for translation in found]


@pytest.mark.parametrize(
    "changes",
    [
        *({}, {"method": "greedy"}, {"length_penalty": 0.0, "beam": 3}, {"nbest": 5}),
        *({"no_repeat": 2}, {"repetition_penalty": 1.5}),
    ],
)
def test_outputs_and_scores_are_those_of_torch(pair: Both, changes: dict[str, Any]) -> None:
    search = dataclasses.replace(SearchConfig(), **changes)
    theirs, ours = (each.translate(SENTENCES, search=search) for each in pair)
    both = [zip(a.hypotheses, b.hypotheses, strict=True) for a, b in zip(ours, theirs, strict=True)]
    hypotheses = list(itertools.chain(*both))
    equal = [(a, b) for a, b in hypotheses if a.ids == b.ids]
    assert len(equal) >= (0.99 if search.nbest == 1 else 0.95) * len(hypotheses)
    for a, b in equal:
        assert (a.log_prob, a.score) == pytest.approx((b.log_prob, b.score), abs=1e-3)
        assert a[:1] + a[3:] == b[:1] + b[3:]
    for translation in ours:
        scores = [hypothesis.score for hypothesis in translation.hypotheses]
        assert len(scores) == search.nbest and scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("extra", [1, 2, 5])
def test_outputs_that_reach_their_limit_are_those_of_torch_without_torch(
    extra: int, tiny_bundle: Path
) -> None:
    search = SearchConfig(max_ratio=0.5, max_extra=extra)
    fast = CTranslate2Translator.read(tiny_bundle)
    fast.torch = unwanted
    found = fast.translate(SENTENCES[:20], search=search)
    expected = load(tiny_bundle, "translate").translate(SENTENCES[:20], search=search)
    for one, other in zip(found, expected, strict=True):
        assert one.text == other.text
        best, same = one.hypotheses[0], other.hypotheses[0]
        assert best.log_prob == pytest.approx(same.log_prob, abs=1e-4)
        assert best.truncated == same.truncated


def unwanted() -> Translator:
    raise AssertionError("torch is not needed")


@pytest.mark.parametrize(
    "search",
    [
        SearchConfig(method="sample", seed=3),
        SearchConfig(beam=600, max_ratio=0, max_extra=3),  # wider than the vocabulary
    ],
    ids=["sample", "wide"],
)
def test_torch_searches_what_ctranslate2_searches_differently(
    tiny_bundle: Path, search: SearchConfig
) -> None:
    texts = SENTENCES[:2]
    fast = CTranslate2Translator.read(tiny_bundle).translate(texts, search=search)
    assert fast == load(tiny_bundle, "translate").translate(texts, search=search)


MODELS: list[tuple[bool, dict[str, Any]]] = [  # a joint vocabulary?, other settings
    *((joint, {"tied": tied}) for joint in (True, False) for tied in (True, False)),
    (True, {"norm": "post", "activation": "swish", "position": "sinusoidal_2017"}),
    (
        True,
        {"norm": "post", "embedding_norm": True, "embedding_scale": False, "norm_epsilon": 1e-3},
    ),
    (True, {"position": "learned", "activation": "gelu", "max_source": 20}),
    (True, {"position_offset": 2, "activation": "gelu_tanh", "encoder_layers": 1}),
]


@pytest.mark.parametrize(("joint", "changes"), MODELS, ids=str)
def test_every_axis_and_way_of_tying_gives_the_scores_of_torch(
    joint: bool, changes: dict[str, Any], tmp_path: Path
) -> None:
    settings = TokenizerConfig("bpe", joint=joint, languages=("de", "en"), directions=("en-de",))
    tokenizer = train(SENTENCES, TARGETS, 400, settings)
    sizes = VocabularySizes(len(tokenizer.source), len(tokenizer.target), joint)
    model = random_model(dataclasses.replace(model_config("transformer-nano"), **changes), sizes)
    save(Bundle(model, tokenizer, settings, SearchConfig()), tmp_path)
    fast = CTranslate2Translator.read(tmp_path).for_direction("de")
    assert fast.languages == ("de", "en")
    sources = [fast.encode(text)[:12] for text in SENTENCES[:20]]
    targets = [tokenizer.encode_target(text)[-12:] for text in TARGETS[:20]]
    tokens = [[*map(str, ids)] for ids in sources], [[*map(str, ids[:-1])] for ids in targets]
    scored = fast.engine.score_batch(*tokens)  # it adds the end mark
    with torch.no_grad():
        expected = model.target_log_probs(pad_pairs(sources, targets, torch.device("cpu")))
    for row, one in zip(expected, scored, strict=True):
        torch.testing.assert_close(
            torch.tensor(one.log_probs), row[: len(one.log_probs)], atol=1e-3, rtol=1e-3
        )


def test_a_changed_bundle_is_converted_again(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = shutil.copytree(tiny_bundle, tmp_path / "bundle")
    CTranslate2Translator.read(folder)
    CTranslate2Translator.read(folder)
    stored = tmp_path / "cache" / "attn" / "ctranslate2"
    assert len(list(stored.iterdir())) == 1
    save(read(GRAMMAR), folder)
    assert outputs(CTranslate2Translator.read(folder).translate(SENTENCES[:9])) == outputs(
        load(GRAMMAR, "translate").translate(SENTENCES[:9])
    )
    assert len(list(stored.iterdir())) == 2
    (folder / "model.safetensors").write_bytes(b"something else")
    with pytest.raises(ModelError, match="differs from its digest|damaged"):
        CTranslate2Translator.read(folder)


def test_a_cache_that_cannot_be_written_is_not_needed(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert CTranslate2Translator.read(tiny_bundle).translate(SENTENCES[:1])[0].text
    monkeypatch.setattr(cache, "cache_folder", lambda name: None)
    assert CTranslate2Translator.read(tiny_bundle).translate(SENTENCES[:1])[0].text


@pytest.mark.parametrize("damage", ["cut", "weight", "missing digests", "missing file"])
def test_a_cached_model_that_differs_from_its_digests_is_converted_again(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    expected = outputs(CTranslate2Translator.read(tiny_bundle).translate(SENTENCES[:3]))
    (model,) = (tmp_path / "attn" / "ctranslate2").glob("*/model.bin")
    good = model.read_bytes()
    if damage == "weight":  # a flipped bit, which CTranslate2 reads without an error
        middle = len(good) // 2
        model.write_bytes(good[:middle] + bytes([good[middle] ^ 64]) + good[middle + 1 :])
    elif damage == "cut":
        model.write_bytes(good[:5000])
    elif damage == "missing digests":
        model.with_name("SHA256SUMS").unlink()
    else:
        model.with_name("config.json").unlink()
    assert outputs(CTranslate2Translator.read(tiny_bundle).translate(SENTENCES[:3])) == expected
    assert model.read_bytes() == good
    assert cache.is_intact(model.parent)


def test_the_cache_keeps_the_models_that_were_used_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first, *others = (f"{number:0{cache.LENGTH}x}-int8" for number in range(cache.MAX_MODELS + 2))
    folder = cache.cached(first, lambda: {"model.bin": b""}).folder
    for number, name in enumerate(others):
        os.utime(folder, (number, number))
        cache.cached(first, lambda: {})
        other = cache.cached(name, lambda: {"model.bin": b""}).folder
        os.utime(other, (number + 1, number + 1))
    kept = {path.name for path in folder.parent.iterdir()}
    assert kept == {first, *others[2:]}


PROGRAM = """
import sys
from attncli.shell.app import run
status = run(sys.argv[1:])
for name in ("torch", "pydantic", "numpy", "importlib.metadata", "zstandard", "matplotlib"):
    assert name not in sys.modules, f"{name} was imported"
sys.exit(status)
"""


def test_translate_imports_nothing_large() -> None:
    for line in ("the conversion imports numpy", "The old dog sees a small house."):
        options = ["translate", "-m", str(GRAMMAR), line]
        result = subprocess.run(
            [sys.executable, "-c", PROGRAM, *options], capture_output=True, text=True
        )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "Der alte Hund sieht ein kleines Haus.\n"


def test_engine_options_that_cannot_be_combined_are_refused() -> None:
    from attncli.translate.engine import TranslateOptions
    from attncli.translate.runner import TranslateRunner

    with pytest.raises(ConfigurationError, match="method=sample"):
        sampled = TranslateOptions.read(["compute.backend=ctranslate2", "search.method=sample"])
        TranslateRunner.load(GRAMMAR, sampled)
    with pytest.raises(ConfigurationError, match="int8"):
        TranslateRunner.load(
            GRAMMAR, TranslateOptions.read(["compute.backend=torch"], precision="int8")
        )
    kinds: dict[Engine, type] = {"auto": CTranslate2Translator, "torch": Translator}
    for engine, kind in kinds.items():
        opened = TranslateRunner.load(
            GRAMMAR, TranslateOptions.read([f"compute.backend={engine}"], device="cpu")
        )
        assert type(opened) is kind and type(opened.in_torch()[0]) is Translator


def test_plain_ctranslate2_gives_the_same_outputs(tmp_path: Path) -> None:
    folder, model = tmp_path / "out", GRAMMAR
    assert run(["models", "export", str(model), str(folder)]) == 0
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    engine = ctranslate2.Translator(str(folder), intra_threads=1)
    pieces = [processor.encode(text, out_type=str) for text in SENTENCES[:40]]
    results = engine.translate_batch(pieces, beam_size=1, return_scores=True, length_penalty=0)
    search = SearchConfig(method="greedy", length_penalty=0.0)
    expected = load(model, "translate").translate(SENTENCES[:40], search=search)
    for result, translation in zip(results, expected, strict=True):
        best = translation.hypotheses[0]
        assert processor.decode(result.hypotheses[0]) == best.text
        assert tuple(result.hypotheses[0]) == best.tokens
        assert result.scores[0] == pytest.approx(best.log_prob, abs=1e-3)
