"""CTranslate2 gives the outputs of torch, without torch."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

pytest.importorskip("ctranslate2")

import ctranslate2
import sentencepiece

from attncli.data.grammar import Pair, generate
from attncli.shell.app import run
from models import load_translator
from models.core.errors import ConfigurationError, DamagedError, ModelError
from models.core.types import Translation, VocabularySizes
from models.core.use_config import SearchConfig, TokenizerConfig
from models.engines import ctranslate2_cache as cache
from models.engines.ctranslate2_convert import read_weights
from models.engines.ctranslate2_export import export
from models.engines.ctranslate2_translator import CTranslate2Translator, Engine, obstacle
from models.engines.translator import Translator
from models.networks.bundle import Bundle, build, read, save
from models.search.batching import pad_pairs
from models.storage.installed import BOX
from models.storage.presets import model_config
from models.storage.settings import WeightPrecision, read_settings
from models.storage.weights import read_tensors
from models.text.tokenizer import train
from tests.models.small import add_noise

GRAMMAR = BOX / "grammar-en-de"
SENTENCES = [pair.source for pair in generate(200, seed=7)]
Both = tuple[Translator, CTranslate2Translator]


@pytest.fixture(scope="module", params=["tiny", "grammar"])
def pair(request: pytest.FixtureRequest, tiny_bundle: Path) -> Both:
    """Return the same model in torch and in CTranslate2."""
    folder = tiny_bundle if request.param == "tiny" else GRAMMAR
    return load_translator(folder), CTranslate2Translator.read(folder)


def outputs(found: list[Translation]) -> list[tuple[int, ...]]:
    return [translation.hypotheses[0].ids for translation in found]


def same_share(ours: list[Translation], theirs: list[Translation]) -> float:
    """Return the share of equal best outputs; their log-probabilities must be equal."""
    equal = 0
    for one, other in zip(ours, theirs, strict=True):
        a, b = one.hypotheses[0], other.hypotheses[0]
        if a.ids == b.ids:
            equal += 1
            assert a.log_prob == pytest.approx(b.log_prob, abs=1e-3)
            assert a.score == pytest.approx(b.score, abs=1e-3)
            assert a[:1] + a[3:] == b[:1] + b[3:]
    return equal / len(ours)


@pytest.mark.parametrize("changes", [{}, {"method": "greedy"}, {"length_penalty": 0.0, "beam": 3}])
def test_best_outputs_and_scores_are_those_of_torch(pair: Both, changes: dict[str, Any]) -> None:
    torch_model, fast = pair
    search = dataclasses.replace(SearchConfig(), **changes)
    theirs = torch_model.translate(SENTENCES, search=search)
    assert same_share(fast.translate(SENTENCES, search=search), theirs) >= 0.99


def test_n_best_lists_are_those_of_torch(pair: Both) -> None:
    torch_model, fast = pair
    search = SearchConfig(nbest=5)
    equal = 0
    for ours, theirs in zip(
        fast.translate(SENTENCES[:60], search=search),
        torch_model.translate(SENTENCES[:60], search=search),
        strict=True,
    ):
        assert len(ours.hypotheses) == 5
        scores = [hypothesis.score for hypothesis in ours.hypotheses]
        assert scores == sorted(scores, reverse=True)
        equal += sum(
            a.ids == b.ids for a, b in zip(ours.hypotheses, theirs.hypotheses, strict=True)
        )
    assert equal >= 0.95 * 60 * 5, equal


def test_a_sentence_alone_has_the_output_it_has_in_a_batch(pair: Both) -> None:
    _, fast = pair
    together = fast.translate(SENTENCES[:40])
    alone = [fast.translate([text])[0] for text in SENTENCES[:40]]
    assert outputs(alone) == outputs(together)
    for one, other in zip(alone, together, strict=True):
        assert one.hypotheses[0].log_prob == pytest.approx(other.hypotheses[0].log_prob, abs=1e-4)


@pytest.mark.parametrize("extra", [1, 2, 5])
def test_outputs_that_reach_their_limit_are_those_of_torch_without_torch(
    extra: int, tiny_bundle: Path
) -> None:
    search = SearchConfig(max_ratio=0.5, max_extra=extra)
    fast = CTranslate2Translator.read(tiny_bundle)
    fast.torch = unwanted
    found = fast.translate(SENTENCES[:20], search=search)
    expected = load_translator(tiny_bundle).translate(SENTENCES[:20], search=search)
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
    assert fast == load_translator(tiny_bundle).translate(texts, search=search)


def test_int8_translates_the_grammar_as_fp32_does() -> None:
    exact = CTranslate2Translator.read(GRAMMAR).translate(SENTENCES)
    int8 = CTranslate2Translator.read(GRAMMAR, precision="int8").translate(SENTENCES)
    equal = sum(a == b for a, b in zip(outputs(exact), outputs(int8), strict=True))
    assert equal >= 0.95 * len(SENTENCES)


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("tied", [True, False])
def test_every_way_of_tying_and_a_target_language(
    tiny_pairs: list[Pair], tmp_path: Path, joint: bool, tied: bool
) -> None:
    settings = TokenizerConfig(joint=joint, languages=("de", "en"), directions=("en-de",))
    texts = [pair.source for pair in tiny_pairs], [pair.target for pair in tiny_pairs]
    tokenizer = train(*texts, 400, settings)
    config = dataclasses.replace(
        model_config("transformer-nano"), encoder_layers=1, decoder_layers=2, tied=tied
    )
    sizes = VocabularySizes(len(tokenizer.source), len(tokenizer.target), joint)
    with torch.random.fork_rng():
        torch.manual_seed(2)
        model = build(config, sizes)
    save(Bundle(model, tokenizer, settings, SearchConfig()), tmp_path)
    fast = CTranslate2Translator.read(tmp_path).for_direction("de")
    source = fast.encode(SENTENCES[0])
    target = tokenizer.encode_target(tiny_pairs[0].target)
    batch = pad_pairs([source], [target], torch.device("cpu"))
    with torch.no_grad():
        logits = model.eval().output(model.teacher_force(batch).features)[0]  # (T, Y)
    theirs = logits.log_softmax(-1).gather(1, batch.target_out[0][:, None])[:, 0]
    tokens = [[*map(str, ids)] for ids in (source, target[:-1])]
    ours = fast.engine.score_batch(tokens[:1], tokens[1:])[0].log_probs
    assert ours == pytest.approx(theirs.tolist(), abs=1e-4)
    assert fast.languages == ("de", "en")


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_weights_of_every_precision_are_read_as_torch_reads_them(
    tmp_path: Path, precision: WeightPrecision
) -> None:
    bundle = read(GRAMMAR)
    save(bundle, tmp_path, weights=precision)
    path = tmp_path / "model.safetensors"
    ours, theirs = read_weights(path), read_tensors(path)
    assert ours.keys() == theirs.keys()
    assert all(numpy.array_equal(ours[name], theirs[name].numpy()) for name in ours)


def test_weights_that_do_not_fit_are_refused(tiny_bundle: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_bundle, tmp_path / "bundle")
    (folder / "SHA256SUMS").unlink(missing_ok=True)
    config = (folder / "config.json").read_text("utf-8")
    (folder / "config.json").write_text(config.replace('"hidden": 128', '"hidden": 127'), "utf-8")
    with pytest.raises(DamagedError, match="do not fit"):
        CTranslate2Translator.read(folder)


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
        load_translator(GRAMMAR).translate(SENTENCES[:9])
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
    folder = cache.cached("first", lambda: {"model.bin": b""}).folder
    for number in range(cache.MOST_MODELS + 1):
        os.utime(folder, (number, number))
        cache.cached("first", lambda: {})
        other = cache.cached(str(number), lambda: {"model.bin": b""}).folder
        os.utime(other, (number + 1, number + 1))
    kept = {path.name for path in folder.parent.iterdir()}
    assert kept == {"first", *map(str, range(2, cache.MOST_MODELS + 1))}


def test_what_ctranslate2_cannot_do_has_a_reason(tiny_bundle: Path, tmp_path: Path) -> None:
    assert obstacle(read_settings(tiny_bundle), SearchConfig(), "cpu") == ""
    assert "sample" in obstacle(read_settings(tiny_bundle), SearchConfig(method="sample"))
    assert "cuda" in obstacle(read_settings(tiny_bundle), SearchConfig(), "cuda")
    folder = shutil.copytree(tiny_bundle, tmp_path / "bundle")
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    settings["model"]["family"] = "rnnsearch"
    (folder / "config.json").write_text(json.dumps(settings), "utf-8")
    assert "rnnsearch" in obstacle(read_settings(folder), SearchConfig())


PROGRAM = """
import sys
from attncli.shell.app import run
status = run(sys.argv[1:])
for name in ("torch", "pydantic", "numpy", "importlib.metadata", "zstandard", "matplotlib"):
    assert name not in sys.modules, f"{name} was imported"
sys.exit(status)
"""


def attn(program: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, "translate", "-m", str(GRAMMAR), *options],
        capture_output=True,
        text=True,
        env=dict(os.environ),
    )


def test_translate_imports_nothing_large() -> None:
    attn(PROGRAM, "the conversion imports numpy")
    result = attn(PROGRAM, "The old dog sees a small house.")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "Der alte Hund sieht ein kleines Haus.\n"


def test_engine_options_that_cannot_be_combined_are_refused() -> None:
    from attncli.translate.engine import TranslateOptions, open_text_model

    with pytest.raises(ConfigurationError, match="method=sample"):
        sampled = TranslateOptions.read(["compute.backend=ctranslate2", "search.method=sample"])
        open_text_model(GRAMMAR, sampled)
    with pytest.raises(ConfigurationError, match="int8"):
        open_text_model(GRAMMAR, TranslateOptions.read(["compute.backend=torch"], precision="int8"))
    kinds: dict[Engine, type] = {"auto": CTranslate2Translator, "torch": Translator}
    for engine, kind in kinds.items():
        opened = open_text_model(
            GRAMMAR, TranslateOptions.read([f"compute.backend={engine}"], device="cpu")
        )
        assert type(opened) is kind and type(opened.in_torch()[0]) is Translator


AXES: list[dict[str, Any]] = [
    {"norm": "post", "activation": "swish", "position": "sinusoidal_2017"},
    {"norm": "post", "embedding_norm": True, "embedding_scale": False, "norm_epsilon": 1e-3},
    {"position": "learned", "activation": "gelu", "max_source": 20},
    {"position_offset": 2, "activation": "gelu_tanh"},
]


@pytest.mark.parametrize("axes", AXES, ids=str)
def test_axes_of_published_models_give_the_scores_of_torch(
    axes: dict[str, Any], tmp_path: Path
) -> None:
    torch.manual_seed(1)
    tokenizer = train(SENTENCES, SENTENCES, 400, TokenizerConfig(kind="bpe"))
    config = dataclasses.replace(model_config("transformer-nano"), **axes)
    size = len(tokenizer.source)
    model = build(config, VocabularySizes(size, size, True)).eval()
    add_noise(model, 0.2)
    save(Bundle(model, tokenizer, TokenizerConfig(), SearchConfig()), tmp_path)
    rows = [tokenizer.encode(text)[-12:] for text in SENTENCES[:20]]
    words = [[*map(str, ids)] for ids in rows]
    targets = [ids[:-1] for ids in words[1:]]  # it adds the end mark
    scored = CTranslate2Translator.read(tmp_path).engine.score_batch(words[:-1], targets)
    with torch.no_grad():
        expected = model.target_log_probs(pad_pairs(rows[:-1], rows[1:], torch.device("cpu")))
    for row, one in zip(expected, scored, strict=True):
        torch.testing.assert_close(
            torch.tensor(one.log_probs), row[: len(one.log_probs)], atol=1e-3, rtol=1e-3
        )


def test_plain_ctranslate2_gives_the_same_outputs(tmp_path: Path) -> None:
    folder, model = tmp_path / "out", BOX / "grammar-en-de"
    assert run(["models", "export", str(model), str(folder)]) == 0
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    engine = ctranslate2.Translator(str(folder), intra_threads=1)
    pieces = [processor.encode(text, out_type=str) for text in SENTENCES[:40]]
    results = engine.translate_batch(pieces, beam_size=1, return_scores=True, length_penalty=0)
    search = SearchConfig(method="greedy", length_penalty=0.0)
    expected = load_translator(model).translate(SENTENCES[:40], search=search)
    for result, translation in zip(results, expected, strict=True):
        best = translation.hypotheses[0]
        assert processor.decode(result.hypotheses[0]) == best.text
        assert tuple(result.hypotheses[0]) == best.tokens
        assert result.scores[0] == pytest.approx(best.log_prob, abs=1e-3)


def test_int8_is_smaller_and_the_model_is_checked(tiny_bundle: Path, tmp_path: Path) -> None:
    export(tiny_bundle, tmp_path / "fp32")
    export(tiny_bundle, tmp_path / "int8", "int8")
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("fp32", "int8")]
    assert sizes[1] < 0.6 * sizes[0]
    with pytest.raises(ConfigurationError, match="exists"):
        export(tiny_bundle, tmp_path / "fp32")
    with pytest.raises(ConfigurationError, match="family captioner"):
        export(BOX / "photos", tmp_path / "photos")
