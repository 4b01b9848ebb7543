"""A text Transformer for other programs: a CTranslate2 model whose tokens are SentencePiece pieces.

    pieces = [*language, *processor.encode(text, out_type=str)]      language: ["<2de>"], or []
    best = ctranslate2.Translator(folder).translate_batch([pieces])[0].hypotheses[0]
    output = processor.decode(best)

CTranslate2 appends the end mark to the source. Its length penalty is |y|^alpha, not that of Wu et
al., so outputs are those of attn for a length penalty of 0.
"""

from __future__ import annotations

from pathlib import Path

from models.core.errors import ConfigurationError
from models.core.files import write_folder
from models.engines.ctranslate2_convert import converted, read_weights, text_files
from models.engines.ctranslate2_translator import ComputePrecision, table_size, unsuitable
from models.storage.digests import check_digests
from models.storage.settings import CARD, WEIGHTS, read_settings, read_stored
from models.storage.settings import NAME as CONFIG


def export(bundle: Path, folder: Path, precision: ComputePrecision = "fp32") -> None:
    """Write the model of a bundle, its tokenizer and its card into a new folder.

    Raises ModelError if the folder exists, the bundle is damaged, or the model is not a
    text Transformer.
    """
    if reason := unsuitable(read_settings(bundle)):
        raise ConfigurationError(f"{reason} for CTranslate2", "a text Transformer")
    if folder.exists() or folder.is_symlink():
        raise ConfigurationError(f"{folder} exists", "a new folder", "remove it first")
    files = _exported(bundle, precision)
    write_folder(folder, lambda place: [(place / n).write_bytes(files[n]) for n in files])


def _exported(bundle: Path, precision: ComputePrecision) -> dict[str, bytes]:
    """Return the files of the folder by name."""
    stored = read_stored(bundle)
    config, tokenizer = stored.model, stored.tokenizer
    check_digests(bundle, [CONFIG, WEIGHTS, *tokenizer.files()])
    files = converted(
        read_weights(bundle / WEIGHTS),
        config,
        stored.sizes,
        positions=table_size(config, stored.search),
        precision=precision,
    )
    sides = map(tokenizer.tokens, (tokenizer.source, tokenizer.target))
    texts = text_files(*sides, ends_source=True, norm_epsilon=config.norm_epsilon)
    card = bundle / CARD
    cards = {CARD: card.read_bytes()} if card.is_file() else {}
    return {**files, **texts, **tokenizer.files(), **cards}
