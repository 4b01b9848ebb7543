"""Tokenizers of texts, and the labels of a classifier."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any
from unicodedata import category

from models.core.errors import ConfigurationError, intact, unknown_name
from models.core.files import read_regular
from models.core.sources import TAB
from models.core.use_config import TokenizerConfig, check_joint
from models.text._learning import END as END
from models.text._learning import PAD as PAD  # other modules import them from here
from models.text._learning import START as START
from models.text._learning import UNKNOWN as UNKNOWN
from models.text._learning import learn
from models.text.json_tokenizer import JsonProcessor
from models.text.languages import TO, control_tokens, target_token
from models.text.normalise import composed, nfc, normalise
from models.text.vocabulary import extended, own_model, own_tokens, without_prefix

JSON = "tokenizer.json"  # of a tokenizer that is no SentencePiece model
SPACE = "\u2581"  # SentencePiece's space mark
RESERVED = 0xE000  # the first of the characters that are tokens for protected parts
FIRST_OUTPUT = END  # lowest id that an output may contain
NEVER_OUTPUT = tuple(range(FIRST_OUTPUT))  # PAD, UNKNOWN and START
LABELS = "labels.txt"  # file of a bundle: one label a line
LONGEST = 200  # characters of a label
MAX_LABELS = 2**16  # labels of a model


class Tokenizer:
    """Vocabularies of the source and the target language, or one joint vocabulary."""

    empty = 1  # ids of an empty text: its end mark
    rare: frozenset[str] = frozenset()  # characters of the training text that are bytes

    def __init__(self, source: bytes, target: bytes | None = None) -> None:
        self.models = (source, target)  # SentencePiece models; one if the sides share it
        self.source = processor_of(source)
        self._unknown: dict[str, bool] = {}  # by character
        self.target = self.source if target is None else processor_of(target)

    @property
    def joint(self) -> bool:
        """True if both languages share one vocabulary."""
        # published models have a SentencePiece model for each side over one list of tokens
        return self.source is self.target or self._same_tokens

    @cached_property
    def _same_tokens(self) -> bool:
        """True if both sides have the same tokens, although they segment texts differently."""
        return self.tokens(self.source) == self.tokens(self.target)

    @staticmethod
    def tokens(processor: Any) -> list[str]:
        """Return the tokens of a vocabulary by id."""
        return list(processor.id_to_piece([*range(processor.get_piece_size())]))

    @cached_property
    def _source_end(self) -> list[int]:
        """The end mark of a source; none if the model that it is for reads none."""
        return [END] if self.source.eos_id() == END else []

    def encode(self, text: str, to: str = "") -> list[int]:
        """Return the ids of a source text: language token if `to` is given, text, END.

        to: target language, or both languages, as in en>de, of a model whose source begins with its
        own.
        """
        language = [self.language_id(to.partition(TO)[0])] if to else []
        return [*language, *self.source.encode(text), *self._source_end]

    def language_id(self, language: str) -> int:
        """Return the id of a target-language token; raise a ModelError if there is none."""
        return self.control_id(target_token(language))

    def control_id(self, token: str) -> int:
        """Return the id of a token such as <2de> or <bt>; raise a ModelError if there is none."""
        number: int = self.source.piece_to_id(token)
        if not self.source.is_control(number):
            raise ConfigurationError(
                f"the tokenizer has no token {token}",
                "a tokenizer that was trained with it",
                "train a new model; [tokenizer] languages in config.toml are those of its tokens",
            )
        return number

    def is_unknown(self, character: str) -> bool:
        """Return True if no token of the source vocabulary contains a character.

        It is then spelled in bytes, which a model of this vocabulary has hardly ever read, or read
        as one unknown token.
        """
        if character not in self._unknown:
            ids = self.source.encode(character)
            self._unknown[character] = any(i == UNKNOWN or self.source.is_byte(i) for i in ids)
        return self._unknown[character]

    def encode_target(self, text: str, to: str = "") -> list[int]:
        """Return the ids of a target text, end mark included. to: see `encode`."""
        return [*self.target_start(to), *self.target.encode(text), END]

    def target_start(self, to: str) -> list[int]:
        """Return the ids with which every target begins: its language, if `to` has both."""
        return [self.language_id(to.partition(TO)[2])] if TO in to else []

    def encode_sources(self, texts: list[str], threads: int = 1) -> list[list[int]]:
        """Return the ids of source texts, END included. threads: number of threads that encode."""
        ends = bool(self._source_end)
        return list(self.source.encode(texts, add_eos=ends, num_threads=threads))

    def encode_targets(self, texts: list[str], threads: int = 1) -> list[list[int]]:
        """Return the ids of target texts, END included. threads: number of threads that encode."""
        return list(self.target.encode(texts, add_eos=True, num_threads=threads))

    def decode(self, ids: Iterable[int]) -> str:
        """Return the target text of ids, without control tokens."""
        return decode_text(self.target, ids)

    def pieces(self, ids: Iterable[int]) -> tuple[str, ...]:
        """Return target ids as SentencePiece pieces, with the space mark U+2581."""
        return tuple(self.target.id_to_piece(i) for i in ids)

    @cached_property
    def inside_words(self) -> list[int]:
        """Target ids that continue a word: they begin with a letter that has a capital."""
        pieces = enumerate(self.pieces(range(self.target.get_piece_size())))
        return [
            number
            for number, piece in pieces
            if any(
                map(has_capital, first_of_byte(piece) if self.target.is_byte(number) else piece[0])
            )
        ]

    def files(self) -> dict[str, bytes]:
        """Return file names and contents as stored in a bundle."""
        source, target = self.models
        if target is None:
            return {JSON if source.startswith(b"{") else "tokenizer.model": source}
        return {"source.model": source, "target.model": target}

    @classmethod
    def read(cls, folder: Path) -> Tokenizer:
        """Read the tokenizer of a bundle; raise DamagedError if it is missing or damaged."""
        joint = folder / "tokenizer.model"
        # a message of SentencePiece may quote bytes of the damaged file: a UnicodeDecodeError
        with intact(
            f"the tokenizer of {folder}", "a bundle made by `attn train`", "", RuntimeError
        ):
            for path in (joint, folder / JSON):
                if path.exists():
                    return cls(read_regular(path))
            return cls(*(read_regular(folder / f"{side}.model") for side in ("source", "target")))


class RowTokenizer(Tokenizer):
    """A tokenizer whose sources are rows: columns separated by tabs, texts first.

    Further columns, such as the path of an image, are not encoded. The ids of a row without a word
    are one end mark, as those of an empty text.
    """

    def __init__(self, tokenizer: Tokenizer, texts: int) -> None:
        super().__init__(*tokenizer.files().values())
        self.texts = texts  # number of them in a row

    def columns(self, row: str) -> list[str]:
        """Return the texts of a row; an absent one is empty."""
        given = row.split(TAB)[: self.texts]
        return [*given, *[""] * (self.texts - len(given))]

    def encode(self, text: str, to: str = "") -> list[int]:
        """Return the ids of a row: of each text, END included."""
        texts = self.columns(text)
        if not any(each.strip() for each in texts):
            return [END]
        return [number for each in texts for number in super(RowTokenizer, self).encode(each)]

    def encode_sources(self, texts: list[str], threads: int = 1) -> list[list[int]]:
        """Return the ids of rows. threads: unused."""
        return [self.encode(text) for text in texts]


def train(
    source: Iterable[str], target: Iterable[str], size: int, config: TokenizerConfig
) -> Tokenizer:
    """Train a tokenizer of `size` tokens per vocabulary, or read that of `config.model`.

    With `config.languages` it has a control symbol for each target language.
    """
    if config.model:
        return own_tokenizer(config)
    check_joint(config)
    kinds = (config.kind, config.target_kind or config.kind)
    sides = (chain(source, target),) if config.joint else (source, target)
    found = [learn(side, size, kind, config) for side, kind in zip(sides, kinds, strict=False)]
    tokenizer = Tokenizer(*(model for model, _ in found))
    tokenizer.rare = frozenset().union(*(rare for _, rare in found))
    return tokenizer


def own_tokenizer(config: TokenizerConfig) -> Tokenizer:
    """Return the tokenizer of one's own files; raise ConfigurationError for too many or too few."""
    if len(config.model) != (1 if config.joint else 2):
        raise ConfigurationError(
            f"{len(config.model)} files in tokenizer.model with joint={config.joint}",
            "one, or with joint=false two: source and target",
            "-s tokenizer.joint=false" if config.joint else "-s tokenizer.model=SOURCE,TARGET",
        )
    controls = control_tokens(config)
    kinds = (config.kind, config.target_kind or config.kind)
    files = zip(map(Path, config.model), kinds, strict=False)
    models = [own_model(path, kind, controls) for path, kind in files]
    with intact(", ".join(config.model), "a SentencePiece model, whole", "", RuntimeError):
        return Tokenizer(*models)


def with_new_tokens(tokenizer: Tokenizer, paths: Sequence[str]) -> Tokenizer:
    """Return a tokenizer with the tokens of some files that it lacks, behind its own.

    paths: one file for both sides, or one for each. Sides that share their tokens get all of them.
    """
    if not paths:
        return tokenizer
    labels, models = getattr(tokenizer, "labels", None), [*filter(None, tokenizer.models)]
    listed = [own_tokens(Path(path)) for path in paths]
    if tokenizer.joint or labels:
        listed = [[token for tokens in listed for token in tokens]]
    found = []
    for number, model in enumerate(models):
        side = tokenizer.target if number else tokenizer.source
        known, wanted = {*Tokenizer.tokens(side)}, listed[min(number, len(listed) - 1)]
        new = [token for token in dict.fromkeys(wanted) if token not in known]
        spelled = [[*map(side.id_to_piece, ids)] for ids in _parts(model, new)]
        found.append(extended(model, new, spelled))
    if found == models:
        raise ConfigurationError(
            f"no token in {', '.join(paths)} that the initial model lacks", "new tokens"
        )
    return Tokenizer(*found) if labels is None else LabelTokenizer(found[0], labels)


def new_parts(old: Tokenizer, new: Tokenizer) -> tuple[list[list[int]], list[list[int]]]:
    """Return the old ids that spell each new token of the source, and each of the target."""
    found = []
    for number, model in enumerate(filter(None, old.models)):
        side = new.target if number else new.source
        own = (old.target if number else old.source).get_piece_size()
        found.append(_parts(model, Tokenizer.tokens(side)[own:]))
    return found[0], found[-1]


def _parts(model: bytes, tokens: list[str]) -> list[list[int]]:
    """Return the ids by which a SentencePiece model spells each of some tokens."""
    if model.startswith(b"{"):
        raise ConfigurationError("new tokens with a tokenizer.json", "a SentencePiece model")
    return list(processor_of(without_prefix(model)).encode(tokens))


def has_capital(letter: str) -> bool:
    """Return True for a letter that has a capital, or is one."""
    return letter.lower() != letter.upper()


def first_of_byte(piece: str) -> str:
    """Return the characters of one or two bytes that begin with the byte of a piece `<0xHH>`."""
    first = bytes.fromhex(piece[3:5])
    return "".join(
        (first + bytes(rest)).decode(errors="ignore") for rest in ((), *zip(range(0x80, 0xC0)))
    )


def decode_text(processor: Any, ids: Iterable[int]) -> str:
    """Return the text of ids, without control tokens.

    A word that a vocabulary of words does not contain is spelled in bytes, space mark included.
    """
    text = processor.decode([i for i in ids if i > END])
    # a model of words spells an unknown word in bytes, space mark included, which the library does
    # not replace
    return text.removeprefix(SPACE).replace(SPACE, " ")


class LabelTokenizer(Tokenizer):
    """Tokenizer of texts, with labels as the target vocabulary.

    Texts are normalised, so that spacing and typography do not change their label, and have no end
    mark: every slot belongs to a word.
    """

    empty = 0

    def __init__(self, source: bytes, labels: Sequence[str]) -> None:
        super().__init__(source)
        self.labels = check_labels(labels)
        self.target = self.labels
        # two files may write one label with composed and with combining accents
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

    def encode_target(self, text: str, to: str = "") -> list[int]:
        """Return the number of a label, in a list; raise UnknownNameError for another one."""
        number = self._numbers.get(nfc(text))
        if number is None:
            raise unknown_name("label", text, self.labels)
        return [number]

    def encode_sources(self, texts: list[str], threads: int = 1) -> list[list[int]]:
        """Return the ids of texts. threads: unused."""
        return [self.encode(text) for text in texts]

    def encode_targets(self, texts: list[str], threads: int = 1) -> list[list[int]]:
        """Return the number of each label, in a list. threads: unused."""
        return [self.encode_target(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the label of a number."""
        return " ".join(self.pieces(ids))

    def pieces(self, ids: Iterable[int]) -> tuple[str, ...]:
        """Return the labels of numbers."""
        return tuple(self.labels[number] for number in ids)

    def files(self) -> dict[str, bytes]:
        """Return file names and contents as stored in a bundle."""
        rows = "".join(f"{label}\n" for label in self.labels)
        return {"tokenizer.model": self.models[0], LABELS: rows.encode()}


def read_tokenizer(folder: Path) -> Tokenizer:
    """Read the tokenizer of a bundle, with labels if the bundle has some.

    Raises DamagedError if a file is missing or damaged.
    """
    if not (folder / LABELS).exists():
        return Tokenizer.read(folder)
    files = Tokenizer.read(folder).files()
    with intact(folder / LABELS, "one label a line", "get the model again", ConfigurationError):
        text = read_regular(folder / LABELS).decode("utf-8")
        return LabelTokenizer(files["tokenizer.model"], text.removesuffix("\n").split("\n"))


def check_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels; raise ConfigurationError if they cannot be told apart or stored."""
    if not 2 <= len(labels) <= MAX_LABELS:
        noun = "label" if len(labels) == 1 else "labels"
        raise ConfigurationError(f"{len(labels):,} {noun}", f"2 to {MAX_LABELS:,} different ones")
    for label in labels:
        controls = any(category(letter) == "Cc" for letter in label)
        if not label.strip() or len(label) > LONGEST or controls:
            raise ConfigurationError(
                f"the label {label[:40]!r}", f"1 to {LONGEST} characters, no control characters"
            )
    if len(set(labels)) < len(labels):
        raise ConfigurationError("a label occurs twice", "different labels")
    return tuple(labels)


def processor_of(model: bytes) -> Any:
    """Return the processor of a SentencePiece model, or of a tokenizer.json."""
    import sentencepiece

    if model.startswith(b"{"):
        return JsonProcessor(model)
    processor = sentencepiece.SentencePieceProcessor()
    processor.load_from_serialized_proto(model)
    return processor
