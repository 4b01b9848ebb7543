"""SentencePiece models learned from texts."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain

from models.core.errors import ConfigurationError, InputError, is_exhausted
from models.core.use_config import TOKEN_KINDS as KINDS
from models.core.use_config import TokenizerConfig
from models.text.languages import control_tokens

PAD, UNKNOWN, START, END = 0, 1, 2, 3
COVERAGE = 0.9999  # of the characters, by the vocabulary; the rest are encoded as bytes
BYTES = 256  # tokens of them in a vocabulary
ALL = 2**16  # more tokens than a text has characters


def learn(
    lines: Iterable[str], size: int, kind: str, config: TokenizerConfig
) -> tuple[bytes, set[str]]:
    """Return a SentencePiece model, and the characters that are encoded as bytes for want of room.

    A size that is chosen grows by the characters that occur twice or more; of characters alone, it
    is their number.
    """
    lines = list(lines)
    if kind == "char" and not config.size:
        size = ALL
    try:
        return _learned(lines, size, kind, config), set()
    # scripts of thousands of characters do not fit the usual size of a vocabulary
    except TooManyCharactersError:
        counts = Counter(chain.from_iterable(lines))
        del counts[" "]
        others = BYTES + len(control_tokens(config)) + END + 2
        if not config.size:
            # a character that occurs once teaches nothing, and is written in bytes
            size = max(size, others) + sum(number > 1 for number in counts.values())
        room = max(1, size - others)
        rare = {character for character, _ in counts.most_common()[room:]}
        without = str.maketrans(dict.fromkeys(rare, ""))
        return _learned([line.translate(without) for line in lines], size, kind, config), rare


class TooManyCharactersError(InputError):
    """A text has more characters than a vocabulary of the size has room for."""


def _learned(lines: Iterable[str], size: int, kind: str, config: TokenizerConfig) -> bytes:
    import sentencepiece

    if kind not in KINDS:
        raise ConfigurationError(f"tokenizer kind '{kind}'", ", ".join(KINDS))
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type=kind,
            vocab_size=size,
            # a small text may have fewer tokens than the size
            hard_vocab_limit=False,
            character_coverage=COVERAGE,
            byte_fallback=True,
            # the library's rules would change signs such as ², which an output must write
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            # by default, the library leaves out lines of more than 4,192 bytes in silence
            max_sentence_length=2**20,
            pad_id=PAD,
            unk_id=UNKNOWN,
            bos_id=START,
            eos_id=END,
            control_symbols=control_tokens(config),
            num_threads=2,  # the library aborts the program if it cannot start one
            minloglevel=2,
        )
    except RuntimeError as error:
        # the library reports a lack of memory by the same class of error
        if is_exhausted(error):
            raise
        raise _explained(str(error), size) from None
    return model.getvalue()


def _explained(error: str, size: int) -> InputError:
    """Return the error of the library in words of this program."""
    if "sentences_.empty()" in error:
        return InputError("training text without words", "text on both sides")
    reason = error.splitlines()[-1].rpartition("] ")[2].strip()  # without its place in C++
    reason = f" ({reason})" if reason else ""
    hint = "set tokenizer.size, or 0 to have it chosen from the data"
    if least := re.search(r"required_chars\. \d+ vs (\d+)", reason):
        found = f"{size} tokens for a text with more characters"
        return TooManyCharactersError(found, f"at least {least[1]} tokens", hint)
    found = f"SentencePiece could not train {size} tokens{reason}"
    return InputError(found, "more text, or another size", hint)
