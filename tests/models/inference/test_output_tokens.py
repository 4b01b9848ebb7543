"""Outputs in a language consist of its tokens, by every engine."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch

pytest.importorskip("ctranslate2")

import ctranslate2

from attncli.embedded.grammar import Pair, generate
from models.base.errors import DamagedError
from models.base.types import Translation
from models.bundle import Bundle, build, read, save, sizes_of
from models.catalogue.installed import BOX
from models.catalogue.presets import model_config
from models.config.tables import SearchConfig, TokenizerConfig
from models.inference.ctranslate2.export import export
from models.inference.ctranslate2.translator import CTranslate2Translator
from models.inference.search.batching import pad_pairs
from models.inference.text_translator import TextTranslator
from models.inference.translator import Translator
from models.text.output_tokens import allowed, count, decoded, encoded
from models.text.tokenizer import END, train

SENTENCES = [pair.source for pair in generate(30, seed=7)]


@pytest.fixture(scope="module")
def folder(tiny_pairs: list[Pair], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bundle that translates into two languages; German outputs have every third token."""
    settings = TokenizerConfig(languages=("de", "fr"), directions=("en-de", "en-fr"))
    texts = [pair.source for pair in tiny_pairs], [pair.target for pair in tiny_pairs]
    tokenizer = train(*texts, 400, settings)
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(2)
        model = build(model_config("transformer-nano"), sizes_of(tokenizer, "transformer")).eval()
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
        model.output.bias[:END] -= 20  # CTranslate2 alone would write these
        model.output.bias[END] += 3  # so that outputs end
    size = len(tokenizer.target)
    german = {"de": encoded(range(0, size, 3), size)}
    made = tmp_path_factory.mktemp("languages")
    bundle = Bundle(model, tokenizer, settings, SearchConfig(beam=3))
    save(bundle._replace(output_tokens=german), made)
    return made


Engines = tuple[Translator, CTranslate2Translator]


@pytest.fixture(scope="module")
def engines(folder: Path) -> Engines:
    return Translator.read(folder), CTranslate2Translator.read(folder)


def translated(engine: TextTranslator, to: str, **changes: object) -> list[Translation]:
    search = dataclasses.replace(engine.search, **changes)  # type: ignore[arg-type]
    return engine.translate(SENTENCES, to=to, search=search)


def tokens_of(found: list[Translation]) -> set[int]:
    return {token for one in found for each in one.hypotheses for token in each.ids}


@pytest.mark.parametrize("size", [8, 400, 401, 407])
def test_bits_name_tokens(size: int) -> None:
    ids = [*range(4), *range(5, size, 7)]
    assert decoded(encoded(ids, size), size) == ids
    assert decoded(encoded([], size), size) == [0, 1, 2, 3]  # the special ones are always there
    tokens = {"de": encoded(ids, size)}
    assert count(tokens, "de", size) == len(ids) and count(tokens, "fr", size) == size
    assert allowed(tokens, "fr", size) is None


@pytest.mark.parametrize("changes", [{}, {"nbest": 3}, {"method": "sample", "nbest": 4}])
def test_outputs_consist_of_the_tokens_of_their_language(
    engines: Engines, changes: dict[str, object]
) -> None:
    for engine in engines:
        german = tokens_of(translated(engine, "de", **changes))
        assert german and all(token % 3 == 0 for token in german)
        assert any(token % 3 for token in tokens_of(translated(engine, "fr", **changes)))


def test_the_engines_agree(engines: Engines) -> None:
    for to in ("de", "fr"):
        ours, theirs = (translated(engine, to, beam=1) for engine in engines)
        for one, other in zip(ours, theirs, strict=True):
            a, b = one.hypotheses[0], other.hypotheses[0]
            assert a.ids == b.ids and a.log_prob == pytest.approx(b.log_prob, abs=1e-4)


def test_a_batch_of_several_languages_gives_what_each_gives_alone(engines: Engines) -> None:
    to = ["de" if number % 3 else "fr" for number in range(len(SENTENCES))]
    for engine in engines:
        alone = {language: translated(engine, language) for language in ("de", "fr")}
        found = engine.translate(SENTENCES, to=to)
        for number, (one, language) in enumerate(zip(found, to, strict=True)):
            assert one.hypotheses[0].ids == alone[language][number].hypotheses[0].ids


def test_the_score_is_the_probability_among_these_tokens(folder: Path, engines: Engines) -> None:
    model, torch_engine = read(folder).model, engines[0]
    [found] = torch_engine.translate(SENTENCES[:1], to="de")
    best = found.hypotheses[0]
    source = torch_engine.encode(SENTENCES[0], "de")
    batch = pad_pairs([source], [[*best.ids, END]], torch.device("cpu"))
    with torch.no_grad():
        logits = model.output(model.teacher_force(batch).features)[0]  # (T, Y)
    kept = [token for token in range(logits.shape[1]) if token < 4 or token % 3 == 0]
    total = logits[:, kept].logsumexp(-1)
    own = logits.gather(1, batch.target_out[0][:, None])[:, 0]
    assert best.log_prob == pytest.approx(float((own - total).sum()), abs=1e-4)


def test_a_bundle_keeps_its_tokens(folder: Path, tmp_path: Path) -> None:
    bundle = read(folder)
    save(bundle, tmp_path)
    assert read(tmp_path).output_tokens == bundle.output_tokens != {}
    save(bundle._replace(output_tokens={}), tmp_path)
    assert "output_tokens" not in json.loads((tmp_path / "config.json").read_text("utf-8"))


def test_an_exported_model_has_the_tokens(folder: Path, engines: Engines, tmp_path: Path) -> None:
    export(folder, tmp_path / "out")
    processor = engines[0].tokenizer.source
    engine = ctranslate2.Translator(str(tmp_path / "out"), intra_threads=1)
    pieces = [["<2de>", *processor.encode(text, out_type=str)] for text in SENTENCES]
    found = engine.translate_batch(pieces, beam_size=1, use_vmap=True)
    for one, other in zip(found, translated(engines[1], "de", beam=1), strict=True):
        tokens = other.hypotheses[0].tokens  # cut at the length limit of attn
        assert tokens and tuple(one.hypotheses[0][: len(tokens)]) == tokens


@pytest.mark.parametrize("to", ["de", "es", "fr"])
def test_names_of_other_languages_are_copied(to: str) -> None:
    engine = CTranslate2Translator.read(BOX / "everyday", precision="int8")
    assert to in engine.output_tokens
    [found] = engine.translate(["Mr Müller and José Núñez visited Łódź."], to=to)
    for name in ("Müller", "José", "Núñez", "Łódź"):
        assert name in found.hypotheses[0].text


@pytest.mark.parametrize(
    ("section", "fact"),
    [
        ({"it": "ff"}, "another form"),
        ({"de": 7}, "another form"),
        ({"de": "ff"}, "damaged"),
        ({"de": "xyz"}, "damaged"),
    ],
)
def test_damaged_tokens_are_one_line(
    folder: Path, tmp_path: Path, section: dict[str, object], fact: str
) -> None:
    bundle = read(folder)
    save(bundle._replace(output_tokens={}), tmp_path)
    (tmp_path / "SHA256SUMS").unlink()
    settings = json.loads((tmp_path / "config.json").read_text("utf-8"))
    text = json.dumps({**settings, "output_tokens": section})
    (tmp_path / "config.json").write_text(text, "utf-8")
    for kind in (Translator, CTranslate2Translator):
        with pytest.raises(DamagedError, match=fact) as error:
            kind.read(tmp_path).translate(SENTENCES[:1], to="de")
        assert "\n" not in str(error.value)
