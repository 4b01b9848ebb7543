"""Vocabularies of one's own, and new tokens for a trained model."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.data.embedded import generate
from models.core.errors import ModelError
from models.core.use_config import TOKEN_KINDS, TokenizerConfig
from models.text.tokenizer import (
    END,
    LabelTokenizer,
    Tokenizer,
    new_parts,
    own_tokenizer,
    train,
    with_new_tokens,
)
from models.text.vocabulary import own_kind
from tests.models.text.small import LISTS

TEXTS = [pair.source for pair in generate(80)]
STRANGE = ["", "  two  spaces ", "Ω ≤ 7\u00a0kg", "naïve zebra"]


def trained(kind: str) -> Tokenizer:
    return train(TEXTS, [], 400, TokenizerConfig(kind=kind))


def written(folder: Path, content: bytes | str) -> TokenizerConfig:
    path = folder / "own"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    kind = own_kind(path, TokenizerConfig.kind)
    return TokenizerConfig(kind=kind, model=(str(path),))


@pytest.mark.parametrize("kind", TOKEN_KINDS)
def test_a_model_of_ones_own_divides_texts_as_before(kind: str, tmp_path: Path) -> None:
    """Its first ids are those of this program, whatever they were; its texts are unchanged."""
    theirs = trained(kind)
    config = written(tmp_path, theirs.files()["tokenizer.model"])
    assert config.kind == kind
    own = own_tokenizer(config)
    for text in (*TEXTS[:9], *STRANGE):
        ids = own.encode(text)
        assert ids[-1] == END and own.pieces(ids) == theirs.pieces(theirs.encode(text))
        assert own.decode(own.encode_target(text)) == text


def test_other_first_ids_and_names_are_read(tmp_path: Path) -> None:
    """The default ids of SentencePiece: unknown 0, start 1, end 2, no padding."""
    import io

    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_writer=model, vocab_size=60, minloglevel=2
    )
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    own = own_tokenizer(written(tmp_path, model.getvalue()))
    for text in TEXTS[:9]:
        assert list(own.pieces(own.encode(text)[:-1])) == theirs.encode(text, out_type=str)
    languages = TokenizerConfig(model=(str(tmp_path / "own"),), languages=("de", "fr"))
    assert own_tokenizer(languages).encode("", "fr")[0] not in own_tokenizer(languages).encode("A")


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_a_vocabulary_in_which_no_text_is_lost(name: str, tmp_path: Path) -> None:
    config = written(tmp_path, LISTS[name])
    assert config.kind == ("unigram" if name == "scores" else "word")
    own = own_tokenizer(config)
    assert own.pieces(own.encode("the dog")[:-1]) == ("\u2581the", "\u2581dog")
    for text in (*TEXTS[:9], *STRANGE):
        assert own.decode(own.encode_target(text)) == text


@pytest.mark.parametrize("kind", TOKEN_KINDS)
def test_new_tokens_follow_the_old_ones(kind: str, tmp_path: Path) -> None:
    old = trained(kind)
    (tmp_path / "new").write_text("zebra\nzebracrossing\n☃\n", "utf-8")
    new = with_new_tokens(old, [str(tmp_path / "new")])
    size = old.target.get_piece_size()
    assert Tokenizer.tokens(new.target)[:size] == Tokenizer.tokens(old.target)
    assert Tokenizer.tokens(new.target)[size:] == ["\u2581zebra", "\u2581zebracrossing", "☃"]
    assert new.encode("zebra") == [size, END] and new.encode("zebracrossing") == [size + 1, END]
    spelled, _ = new_parts(old, new)
    assert [*spelled[0], END] == old.encode("zebra")
    assert old.decode(spelled[2]) == "☃"
    for text in (*TEXTS[:9], *STRANGE[:-1]):  # without a new token: as before
        assert new.encode(text) == old.encode(text)
    assert new.decode(new.encode_target("a zebra ☃, zebras")) == "a zebra ☃, zebras"


def test_sides_get_their_own_tokens_and_labels_stay(tmp_path: Path) -> None:
    for name in ("xylo", "phon"):
        (tmp_path / name).write_text(name, "utf-8")
    files = [str(tmp_path / name) for name in ("xylo", "phon")]
    pair = Tokenizer(*(trained("unigram").files()["tokenizer.model"], trained("char").models[0]))
    new = with_new_tokens(pair, files)
    assert (new.source.id_to_piece(len(new.source) - 1), new.pieces([len(new.target) - 1])) == (
        "\u2581xylo",
        ("\u2581phon",),
    )
    labelled = LabelTokenizer(trained("word").models[0], ["no", "yes"])
    found = with_new_tokens(labelled, files[:1])
    assert isinstance(found, LabelTokenizer) and found.labels == ("no", "yes")
    with pytest.raises(ModelError, match="no token"):
        with_new_tokens(new, files)
