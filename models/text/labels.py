"""Vocabulary of a classifier: SentencePiece tokens of the text, and a list of labels.

The text is normalised (`models.text.normalise`), so that spacing and typography do not change
its label, and it has no end mark: every slot belongs to a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from unicodedata import category

from models.base.errors import ConfigurationError, intact, unknown_name
from models.text.normalise import composed, nfc, normalise
from models.text.tokenizer import Tokenizer

LABELS = "labels.txt"  # file of a bundle: one label a line
LONGEST = 200  # characters of a label
MOST = 2**16  # labels of a model


class LabelTokenizer(Tokenizer):
    """Tokenizer of texts, with labels as the target vocabulary."""

    def __init__(self, source: bytes, labels: Sequence[str]) -> None:
        super().__init__(source)
        self.labels = check_labels(labels)
        self.target = self.labels
        self._numbers = {nfc(label): number for number, label in enumerate(self.labels)}

    @property
    def joint(self) -> bool:
        """False: texts and labels share nothing."""
        return False

    def encode(self, text: str, to: str = "") -> list[int]:
        """Return the ids of a text, normalised, without an end mark. to: not used."""
        return list(self.source.encode(self.normalise(text)))

    def normalise(self, text: str) -> str:
        """Return the text as it is encoded: plain spaces and apostrophes, composed accents."""
        return composed(normalise(text), lambda form: len(self.source.encode(form)))

    def encode_target(self, text: str) -> list[int]:
        """Return the number of a label, in a list; raise UnknownNameError for another one."""
        number = self._numbers.get(nfc(text))
        if number is None:
            raise unknown_name("label", text, self.labels)
        return [number]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the label of a number."""
        return " ".join(self.pieces(ids))

    def pieces(self, ids: Iterable[int]) -> tuple[str, ...]:
        """Return the labels of numbers."""
        return tuple(self.labels[number] for number in ids)

    def files(self) -> dict[str, bytes]:
        """Return file names and contents as stored in a bundle."""
        rows = "".join(f"{label}\n" for label in self.labels)
        return {"tokenizer.model": self._models[0], LABELS: rows.encode()}


def read_tokenizer(folder: Path) -> Tokenizer:
    """Read the tokenizer of a bundle, with labels if the bundle has some.

    Raises DamagedError if a file is missing or damaged.
    """
    if not (folder / LABELS).exists():
        return Tokenizer.read(folder)
    files = Tokenizer.read(folder).files()
    with intact(folder / LABELS, "one label a line", "get the model again", ConfigurationError):
        text = (folder / LABELS).read_bytes().decode("utf-8")
        return LabelTokenizer(files["tokenizer.model"], text.removesuffix("\n").split("\n"))


def check_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels; raise ConfigurationError if they cannot be told apart or stored."""
    if not 2 <= len(labels) <= MOST:
        noun = "label" if len(labels) == 1 else "labels"
        raise ConfigurationError(f"{len(labels):,} {noun}", f"2 to {MOST:,} different ones")
    for label in labels:
        controls = any(category(letter) == "Cc" for letter in label)
        if not label.strip() or len(label) > LONGEST or controls:
            raise ConfigurationError(
                f"the label {label[:40]!r}", f"1 to {LONGEST} characters, no control characters"
            )
    if len(set(labels)) < len(labels):
        raise ConfigurationError("a label occurs twice", "different labels")
    return tuple(labels)
