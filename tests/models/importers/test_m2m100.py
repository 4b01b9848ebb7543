"""M2M-100, NLLB-200 and SMaLL-100: an imported model is the model that `transformers` runs."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

pytest.importorskip("transformers")

from attncli.training.command_line import settings
from attncli.training.interfaces import Evaluated
from attncli.training.settings.corpora import parse_corpus
from models import load_translator
from models.core.errors import ModelError
from models.engines.ctranslate2_translator import CTranslate2Translator
from models.engines.translator import Translator
from models.importers.base import import_model, importer_of
from models.search.batching import pad_pairs
from tests.attncli.training.small import run
from tests.models.importers import published

LINES = published.lines(200)
DIRECTIONS = {"m2m100": ("de", "en"), "nllb": ("deu", "eng"), "small100": ("de", "")}


class Both(NamedTuple):
    """A published model and its bundle."""

    kind: str
    theirs: Any
    ours: Translator
    rows: tuple[int, ...]
    folder: Path
    bundle: Path


@pytest.fixture(scope="module", params=[*DIRECTIONS])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder, bundle = (tmp_path_factory.mktemp(name) for name in ("hub", "bundle"))
    theirs = published.m2m100(folder, request.param)
    import_model(folder, bundle, name="tiny")
    ours = load_translator(bundle).for_direction(*DIRECTIONS[request.param])
    rows = importer_of(folder).imported.target.rows
    return Both(request.param, theirs, ours, rows, folder, bundle)


def test_tokens_are_those_of_its_tokenizer(both: Both) -> None:
    if both.kind == "small100":
        pytest.skip("transformers has no tokenizer of SMaLL-100")
    name = "NllbTokenizer" if both.kind == "nllb" else "M2M100Tokenizer"
    codes = ("eng_Latn", "deu_Latn") if both.kind == "nllb" else ("en", "de")
    options = {"src_lang": codes[0], "tgt_lang": codes[1]}
    kind: Any = getattr(published.transformers, name)
    if both.kind == "m2m100":
        published.only_languages(kind, published.M2M_CODES)
    tokenizer = kind.from_pretrained(both.folder, **options)
    for text in LINES:
        ours = [both.rows[number] for number in both.ours.encode(text)]
        # version 5 reads no language of a small NLLB, so the first token is left out
        first = int(both.kind == "nllb")
        assert ours[first:] == tokenizer(text)["input_ids"][first:], text
        target = [
            both.rows[number] for number in both.ours.tokenizer.encode_target(text, both.ours.to)
        ]
        assert target[first:] == tokenizer(text_target=text)["input_ids"][first:]


def test_logits_and_attention_are_those_of_its_model(both: Both) -> None:
    rows, tokenizer = both.rows, both.ours.tokenizer
    sources = [both.ours.encode(text) for text in LINES[:6]]
    targets = [[*tokenizer.target_start(both.ours.to), *range(10 + n, 16 + n), 3] for n in range(6)]
    batch = pad_pairs(sources, targets, torch.device("cpu"))
    table = torch.tensor(rows)
    with torch.no_grad():
        expected = both.theirs(
            table[batch.source],
            attention_mask=batch.source_mask.long(),
            decoder_input_ids=table[batch.target_in],
            output_attentions=True,
        )
        found = both.ours.model.teacher_force(batch, want_heads=[0, 1])
        logits = both.ours.model.output(found.features)
    silent = importer_of(both.folder).imported.target.silent
    real = [number for number in range(len(rows)) if number not in silent]
    theirs = expected.logits[..., [rows[number] for number in real]]
    torch.testing.assert_close(logits[..., real], theirs, atol=1e-4, rtol=1e-4)
    assert found.heads is not None
    attention = torch.stack(expected.cross_attentions, 1)  # (B, L, H, T, S)
    torch.testing.assert_close(found.heads, attention, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("beam", [1, 5])
def test_outputs_are_those_of_generate_in_both_engines(both: Both, beam: int) -> None:
    rows, texts = both.rows, LINES[:50]
    inverse = {row: number for number, row in reversed([*enumerate(rows)])}
    first = both.ours.tokenizer.target_start(both.ours.to)
    search = dataclasses.replace(both.ours.search, beam=beam, max_ratio=0, max_extra=100)
    expected = []
    for text in texts:
        given = torch.tensor([[rows[number] for number in both.ours.encode(text)]])
        forced = {"forced_bos_token_id": rows[first[0]]} if first else {}
        found = both.theirs.generate(
            given, num_beams=beam, max_length=101, bad_words_ids=[[1], [3]], **forced
        )
        ids = found[0].tolist()[1:]
        expected.append([inverse[n] for n in ids[: ids.index(2)]] if 2 in ids else [])
    fast = CTranslate2Translator.read(both.bundle).for_direction(*DIRECTIONS[both.kind])
    for engine in (both.ours, fast):
        outputs = [list(each.hypotheses[0].ids) for each in engine.translate(texts, search=search)]
        wrong = [n for n, ids in enumerate(expected) if ids and outputs[n] != ids]
        assert not wrong, [(outputs[n], expected[n]) for n in wrong]
    assert sum(map(bool, expected)) >= 40 and len({*map(tuple, expected)}) >= 5


def test_outputs_that_reach_their_limits_are_those_of_torch_without_torch(both: Both) -> None:
    fast = CTranslate2Translator.read(both.bundle).for_direction(*DIRECTIONS[both.kind])
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


@pytest.mark.parametrize("both", ["nllb"], indirect=True)
def test_updates_lower_its_loss(both: Both, tmp_path: Path) -> None:
    languages = ("eng_Latn", "deu_Latn")
    table = tmp_path / "own.tsv"
    table.write_text("".join(f"{a}\t{b}\n" for a, b in zip(LINES, LINES[1:21], strict=False)))
    corpora = [parse_corpus(f"{'-'.join(languages)}={table}")]
    updates = ("train.steps=30", "train.evaluate_every=30", "train.lr=0.004", "train.warmup=3")
    more = ("train.metric=loss", "train.samples=0", "train.batch_tokens=300")
    quick = (*updates, *more, "train.precision=fp32")
    config = settings([], [], None, quick, start=both.bundle, corpora=corpora, dev_corpora=corpora)
    events = run(config, tmp_path / "run")
    losses = [event.scores.loss for event in events if isinstance(event, Evaluated)]
    assert losses[-1] < 0.8 * losses[0]


def test_a_missing_or_ambiguous_language_is_one_line(both: Both) -> None:
    plain = load_translator(both.bundle)
    if both.kind == "small100":
        assert plain.for_direction("fr").encode("a")[0] == plain.tokenizer.language_id("fr")
        return
    with pytest.raises(ModelError, match="--from"):
        plain.for_direction(DIRECTIONS[both.kind][0])
    with pytest.raises(ModelError, match="'zh"):
        plain.for_direction("zho" if both.kind == "nllb" else "zho_Hans", DIRECTIONS[both.kind][1])
