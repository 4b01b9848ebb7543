"""Settings of a model in use: tokenizer, preparation of texts, search, alignment."""

from __future__ import annotations

from dataclasses import dataclass

from models.core.errors import ConfigurationError
from models.core.settings import MAX_SEED, MAX_SLOTS, Need, option

TOKEN_KINDS = ("unigram", "bpe", "char", "word")


SYMMETRISE = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
SAMPLING = Need("search.method=sample")
CORPORA = Need("data.corpora", "corpora with languages (--corpus)")
LANGUAGES = Need("tokenizer.languages", CORPORA.words)
LARGEST = 1e9  # weight of a calibration


@dataclass(frozen=True)
class TokenizerConfig:
    """SentencePiece model, or one model per language, trained on the training text."""

    kind: str = option(
        "unigram",
        "kind of token: unigram or bpe (subwords), char (characters) or word (between spaces)",
        choices=TOKEN_KINDS,
    )
    target_kind: str = option(
        "",
        "kind of the target's tokens, with joint=false (empty: as kind)",
        choices=("", *TOKEN_KINDS),
    )
    joint: bool = option(True, "use one vocabulary for both languages")
    size: int = option(0, "tokens per vocabulary (0: chosen from the data)", at_most=2**24)
    model: tuple[str, ...] = option(
        (),
        "training: a vocabulary of one's own, a SentencePiece model or a list of tokens; two with "
        "joint=false. With --start-from its tokens are added to those of the initial model",
    )
    languages: tuple[str, ...] = option(
        (),
        "multilingual: language codes; the source begins with the token <2code> of the target",
        needs=CORPORA,
    )
    directions: tuple[str, ...] = option(
        (),
        "multilingual: directions of the training data, such as en-de; others are zero-shot",
        needs=LANGUAGES,
    )
    language_tokens: str = option(
        "target",
        "multilingual: target, the source begins with its target language (Johnson et al. 2017); "
        "both, the source begins with its language, and the output with the target language (Fan "
        "et al. 2021)",
        needs=LANGUAGES,
        choices=("target", "both"),
    )


def check_joint(config: TokenizerConfig) -> None:
    """Raise ConfigurationError for a joint vocabulary of two kinds of tokens."""
    if config.joint and config.target_kind not in ("", config.kind):
        raise ConfigurationError(
            f"tokenizer.target_kind = {config.target_kind} with one vocabulary for both languages",
            "two vocabularies",
            "-s tokenizer.joint=false",
        )


@dataclass(frozen=True)
class PrepareConfig:
    """Preparation of a text for a model. Training keeps what its own sources contain.

    The defaults are for a model trained on plain sentences.
    """

    apostrophes: str = option(
        "'", "apostrophes that the model knows; others become the first of them (empty: kept)"
    )
    spaces: bool = option(True, "white space becomes single spaces")
    symbols: bool = option(True, "emoji and bullets at the ends of a text are only copied")
    copies: bool = option(True, "numbers and addresses alone are only copied")
    capitals: bool = option(True, "texts in capitals that the model does not know are lowered")
    ends: bool = option(True, "an output ends without a full stop if its text has none")
    parts: bool = option(
        True,
        "numbers, codes and placeholders are taken out of a text and put back; outputs are checked",
    )


VERBATIM = PrepareConfig("", *(False,) * 6)


@dataclass(frozen=True)
class ConfidenceConfig:
    """Calibration of a model: a logistic regression; see models.engines._confidence."""

    directions: tuple[str, ...] = option((), "directions of the calibration, such as en-de")
    threshold: float = option(0.5, "an output of less confidence is doubtful", at_most=1)
    bias: float = option(0.0, "weight of 1", above=-LARGEST)
    log_prob: float = option(0.0, "weight of the mean log-probability", above=-LARGEST)
    length: float = option(0.0, "weight of the logarithm of the length", above=-LARGEST)
    lost: float = option(0.0, "weight of words that are not translated", above=-LARGEST)
    added: float = option(0.0, "weight of words that translate nothing", above=-LARGEST)
    rarest: float = option(0.0, "weight of the count of the rarest word", above=-LARGEST)


@dataclass(frozen=True)
class SavedSearchConfig:
    """Search for outputs that a run saves with its model: beam, greedy or sampling."""

    method: str = option("beam", "beam, greedy or sample", choices=("beam", "greedy", "sample"))
    beam: int = option(5, "beam size: hypotheses kept at each step", least=1, at_most=10_000)
    length_penalty: float = option(
        1.0,
        "exponent alpha of the length penalty (Wu et al. 2016, eq. 14); 0 for none",
        at_most=100,
    )
    length_penalty_form: str = option(
        "wu",
        "length penalty of an output of n tokens: wu, ((5 + n) / 6)^alpha, or power, n^alpha, as "
        "in other programs, whose models keep it",
        choices=("wu", "power"),
    )
    max_ratio: float = option(
        2.0, "factor of the length limit, in tokens: max_ratio times source length plus max_extra"
    )
    max_extra: int = option(
        20,
        "constant of the length limit, in tokens: max_ratio times source length plus max_extra",
        at_most=MAX_SLOTS,
    )
    split_above: int = option(
        40,
        "texts with more tokens than this are translated sentence by sentence (0: never); training "
        "sets the longest source where sources of more than 40 tokens are usual; of sound: slots, "
        "beyond which it is divided at silences, the longest of the training data",
        at_most=MAX_SLOTS,
    )
    max_caption: int = option(
        60, "longest caption in tokens, end token included", least=1, at_most=MAX_SLOTS
    )


@dataclass(frozen=True)
class SearchConfig(SavedSearchConfig):
    """Search when a model is used: also the number of outputs, sampling and repetitions."""

    nbest: int = option(1, "outputs per input", least=1, at_most=10_000)
    temperature: float = option(
        1.0, "sampling: temperature; below 1 sharper, above 1 flatter", needs=SAMPLING
    )
    top_k: int = option(
        0, "sampling: sample from the k most probable tokens (0: all)", needs=SAMPLING
    )
    top_p: float = option(
        1.0,
        "sampling: sample from the smallest set of tokens with this probability (1: all)",
        needs=SAMPLING,
        at_most=1,
    )
    seed: int = option(1, "sampling: random seed", at_most=MAX_SEED)
    no_repeat: int = option(
        0, "an output has no n-gram of so many tokens twice, such as 3 (0: no limit)", at_most=1000
    )
    repetition_penalty: float = option(
        1.0,
        "factor that makes tokens of an output less probable in the rest of it, such as 1.2 "
        "(Keskar et al. 2019); 1: none",
        above=0,
        at_most=100,
    )
    rerank: str = option(
        "",
        "order of the outputs, of which the search finds `beam`: mbr, the highest expected chrF "
        "with the others first (empty: by score; of samples, as they are sampled)",
        choices=("",),
        registry="rerank",
    )


@dataclass(frozen=True)
class AlignConfig:
    """Word alignment from attention weights. A bundle stores it once a head is chosen."""

    units: str = option(
        "word",
        "units that are linked: word (separated by spaces), piece or char",
        choices=("word", "piece", "char"),
    )
    layer: int = option(
        0,
        "decoder layer whose weights are used, counted from 1 (0: the second to last; of one or "
        "two layers, the last)",
    )
    head: int = option(0, "head whose weights are used, counted from 1 (0: the mean of all)")
    shift: int = option(
        0,
        "step whose weights align a target token: 0, the step that predicts it; 1, the step that "
        "reads it",
        at_most=1,
    )
    marks: bool = option(False, "count punctuation attached to a word as part of the word")
    extract: str = option(
        "transport",
        "method from weights to links: argmax, threshold, mutual or transport",
        choices=("argmax", "threshold", "mutual", "transport"),
    )
    threshold: float = option(
        0.3, "threshold, transport: minimum weight, or share, of a link", least=0, at_most=1
    )
    null_threshold: float = option(
        1.0, "a target unit with more weight than this on no source unit gets no link", at_most=1
    )
    jump: float = option(
        0.0,
        "strength of the preference that neighbours align with neighbours: a step from source unit "
        "i' to i has the prior probability exp(-jump |i - i' - 1|) (0: none)",
    )
    languages: str = option(
        "",
        "languages of source and target, such as en-fr, of a model that aligns in both directions: "
        "the weights of both are averaged (empty: one direction)",
    )
    statistical: float = option(
        0.0,
        "share of the link probabilities of the bundle's statistical aligner in the weights; the "
        "rest is attention (`attn align train` sets 0.5)",
        at_most=1,
    )
    symmetrise: str = option(
        "grow-diag",
        f"combination with the links of a reverse model: {', '.join(SYMMETRISE)}",
        choices=SYMMETRISE,
    )

    @property
    def place(self) -> str:
        """Layer and head as text, counted from 1; "" for the default."""
        head = f"head {self.head}" if self.head else "the mean of its heads"
        return f"layer {self.layer}, {head}" if self.layer else ""
