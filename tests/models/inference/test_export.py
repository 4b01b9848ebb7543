"""An exported model gives the outputs of attn in plain CTranslate2 and SentencePiece."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("ctranslate2")

import ctranslate2
import sentencepiece

from attncli.embedded.grammar import generate
from attncli.shell.app import run
from models import load_translator
from models.base.errors import ConfigurationError
from models.catalogue.installed import BOX
from models.inference.ctranslate2.export import export
from models.use_config import SearchConfig

SENTENCES = [pair.source for pair in generate(40, seed=9)]


def test_plain_ctranslate2_gives_the_same_outputs(tmp_path: Path) -> None:
    folder, model = tmp_path / "out", BOX / "grammar-en-de"
    assert run(["models", "export", str(model), str(folder)]) == 0
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    engine = ctranslate2.Translator(str(folder), intra_threads=1)
    pieces = [processor.encode(text, out_type=str) for text in SENTENCES]
    results = engine.translate_batch(pieces, beam_size=1, return_scores=True, length_penalty=0)
    search = SearchConfig(method="greedy", length_penalty=0.0)
    expected = load_translator(model).translate(SENTENCES, search=search)
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
