"""A text Transformer for other programs: a CTranslate2 model whose tokens are SentencePiece pieces.

    pieces = [*language, *processor.encode(text, out_type=str)]      language: ["<2de>"], or []
    best = ctranslate2.Translator(folder).translate_batch([pieces])[0].hypotheses[0]
    output = processor.decode(best)

CTranslate2 appends the end mark to the source. Its length penalty is |y|^alpha, not that of Wu et
al., so outputs are those of attn for a length penalty of 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from models.base.errors import ConfigurationError
from models.base.files import write_new_folder
from models.base.settings import from_dict
from models.base.types import VocabularySizes
from models.config import ModelConfig
from models.inference.ctranslate2.convert import converted, read_weights, text_files
from models.inference.ctranslate2.translator import ComputePrecision, table_size, unsuitable
from models.storage.digests import check_digests
from models.storage.settings import CARD, WEIGHTS, read_settings
from models.storage.settings import NAME as CONFIG
from models.text.tokenizer import Tokenizer
from models.use_config import SearchConfig


def export(bundle: Path, folder: Path, precision: ComputePrecision = "fp32") -> None:
    """Write the model of a bundle, its tokenizer and its card into a new folder.

    Raises ModelError if the folder exists, the bundle is damaged, or the model is not a
    text Transformer.
    """
    if reason := unsuitable(bundle):
        raise ConfigurationError(f"{reason} for CTranslate2", "a text Transformer")
    write_new_folder(folder, lambda: _exported(bundle, precision))


def _exported(bundle: Path, precision: ComputePrecision) -> dict[str, bytes]:
    """Return the files of the folder by name."""
    settings, tokenizer = read_settings(bundle), Tokenizer.read(bundle)
    check_digests(bundle, [CONFIG, WEIGHTS, *tokenizer.files()])
    config = from_dict(ModelConfig, settings["model"], where="model")
    search = from_dict(SearchConfig, settings["search"], where="search")
    files = converted(
        read_weights(bundle / WEIGHTS),
        config,
        VocabularySizes(**settings["vocabulary"]),
        positions=table_size(config, search),
        precision=precision,
    )
    texts = text_files(
        _pieces(tokenizer.source),
        _pieces(tokenizer.target),
        ends_source=True,
        norm_epsilon=config.norm_epsilon,
    )
    card = bundle / CARD
    cards = {CARD: card.read_bytes()} if card.is_file() else {}
    return {**files, **texts, **tokenizer.files(), **cards}


def _pieces(processor: Any) -> list[str]:
    return [processor.id_to_piece(number) for number in range(len(processor))]
