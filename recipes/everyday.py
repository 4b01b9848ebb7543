"""Train and score `everyday`, the translator in the box: English, German, French, Spanish.

    python recipes/everyday.py prepare --data DIR --work WORK [--start-from MODEL] [--size usual]
    python recipes/everyday.py score --data DIR --work WORK [-m MODEL] [--limit N] [--longer]

`prepare` writes the corpora of everyday_data.py and the three files beside it into WORK, and prints
the `attn train` command that learns from them, from random weights or from MODEL.
The vocabulary is new, or that of MODEL with the letters and signs that it lacks and words that
begin with them; a new token begins with the mean embedding of the tokens that spell it in small
letters. Reserved tokens stand for protected parts. If everyday_distil.py has written its pairs into
WORK, the command is that of the last stage: it weights all corpora, and the rate falls to 0.
`--size gpu` is that of everyday_gpu.sh; `--size small` cuts every corpus to 200 pairs, to try the
program.

`score` translates test sentences with `attn translate` and prints BLEU (sacreBLEU, 13a, all
references) and chrF2: the Tatoeba test sets in all twelve directions, and with `--longer` the dev
sets of longer sentences. For directions without English, pairs are joined on their English sentence
(dev and test together, because the test sets share few sentences). As a source, each distinct
sentence of a language is used once; its references are all sentences of the other language that
stand beside it, or that share its English sentence.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import permutations, zip_longest
from pathlib import Path
from typing import NamedTuple

import everyday_address
import everyday_data
import everyday_templates
import torch
from everyday_data import CODES, LANGUAGES, Pairs, rows, write

from models.core.settings import overridden
from models.core.use_config import SearchConfig, TokenizerConfig
from models.networks import bundle
from models.networks.bundle import Bundle
from models.networks.encoder_decoder import EncoderDecoder
from models.storage.installed import find_model
from models.storage.presets import model_config
from models.storage.weights import stored_tensors, weights_of
from models.text import tokenizer, vocabulary
from models.text.lexicon import MARKS
from models.text.tokenizer import SPACE, UNKNOWN, Tokenizer

TOKENIZER_LINES = 400_000  # from which the vocabulary is learned
LETTERS = "ÄÖÜẞßäöüÀÂÆÇÉÈÊËÎÏÔŒÙÛÜŸàâæçéèêëîïôœùûüÿÁÉÍÓÚÜÑáéíóúüñ@&€£$=~…<>°#%*/+"
LEAST_LETTERS, LEAST_WORDS, LAST_LETTER = 8, 3, 0x2FFF  # of a new token in these lines
CORPORA = (
    *("sentences", "longer", "words", "copies", "phrases", "templates", "frames", "masked"),
    *("address", "into_english", "written", "packages"),
)
LAST_WEIGHTS = {  # of corpora in the last stage
    **{"sentences": 1.0, "longer": 0.59, "copies": 0.23, "phrases": 3.2, "templates": 1.0},
    **{"frames": 1.5, "masked": 0.7, "address": 8, "into_english": 3},
    **{"chosen": 3.3, "back": 3.1, "written": 8, "packages": 0.35},
}
ADDED = ("chosen", "back")  # by everyday_distil.py
ONE_WAY = ("back", "address", "into_english")  # the first side is the source
MODEL_SETTINGS = (
    *("model.embedding=256", "model.hidden=1024", "model.encoder_layers=6"),
    *("model.decoder_layers=2", "model.heads=4"),
)
SETTINGS = (
    *("model.dropout=0.0", "data.concatenate=0.05", "data.noise=0.1", "train.batch_tokens=4096"),
    *("train.precision=bf16", "train.label_smoothing=0.1", "train.ema=0.998", "train.average=0"),
    *("train.optimiser=muon", "train.lr=0.0015", "train.warmup=100", "train.schedule=constant"),
    *("train.steps=24000", "train.epochs=0", "train.evaluate_every=500", "train.patience=0"),
    *("train.samples=0", "search.beam=2"),
)
LAST = ("train.lr=0.0011", "train.warmup=30", "train.schedule=linear", "train.steps=3400")


class Size(NamedTuple):
    """Sizes of a model and of its training."""

    vocabulary: int  # tokens
    model: tuple[str, ...]
    train: tuple[str, ...] = ()  # settings that override SETTINGS,
    last: tuple[str, ...] = ()  # and LAST


TINY = (
    *("train.steps=2", "train.evaluate_every=2", "train.batch_tokens=200", "train.precision=fp32"),
    *("search.max_ratio=0.1", "search.max_extra=3"),
)
SIZES = {
    "usual": Size(16_000, MODEL_SETTINGS),
    "gpu": Size(  # 29 million weights
        20_000,
        (
            *("model.embedding=384", "model.hidden=1536", "model.encoder_layers=8"),
            *("model.decoder_layers=3", "model.heads=6"),
        ),
        ("train.batch_tokens=16384", "train.steps=40000", "train.warmup=400"),
        ("train.batch_tokens=16384", "train.steps=6000"),
    ),
    "small": Size(
        600,
        (
            *("model.embedding=32", "model.hidden=64", "model.encoder_layers=1"),
            *("model.decoder_layers=1", "model.heads=2"),
        ),
        TINY,
        TINY,
    ),
}
SMALL_PAIRS = 200  # of each corpus of the size small


def main() -> None:
    """Parse the command line and run one part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=["prepare", "score"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--start-from", dest="start", default="", help="model to train further")
    parser.add_argument("--size", choices=SIZES, default="usual")
    parser.add_argument("-m", "--model", default="everyday")
    parser.add_argument("--limit", type=int, default=0, help="sources per direction (0: all)")
    parser.add_argument("--longer", action="store_true", help="score the longer sentences instead")
    parser.add_argument("--directions", nargs="*", default=[], help="such as en-de; default: all")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.part == "prepare":
        prepare(options.data, options.work, options.start, options.size)
    else:
        score(options)


def prepare(data: Path, work: Path, start: str, name: str) -> None:
    """Write the training and dev corpora and the initial model; print the command.

    name: of the size.
    """
    size, most = SIZES[name], SMALL_PAIRS if name == "small" else None
    if most:
        everyday_data.LIST_LINES = everyday_data.COPY_LINES = most
        everyday_templates.TEMPLATE_LINES = most
    added = [f"en-{language}.{name}.tsv" for language in CODES.values() for name in ADDED]
    last = all((work / name).exists() for name in added)
    words = ["attn", "train", "-o", str(work / ("last" if last else "everyday"))]
    chosen = (*SETTINGS, *LAST, *size.last) if last else (*SETTINGS, *size.train)
    words += [word for setting in chosen for word in ("-s", setting)]
    for code, language in CODES.items():
        train, longer_dev = corpora(data, code)
        for part, pairs in train.items():
            write(pairs[:most], work / f"en-{language}.{part}.tsv")
        for part in LAST_WEIGHTS if last else CORPORA:
            if (work / f"en-{language}.{part}.tsv").stat().st_size:  # none, perhaps, is chosen
                weight = LAST_WEIGHTS[part] if last else 1
                words += ["--corpus", corpus(work, language, part, weight)]
        table = [(row[0], row[1]) for row in rows(data / "tatoeba" / f"eng-{code}.dev.tsv")]
        every = [pair for pairs in longer_dev.values() for pair in pairs]
        dev = [*random.Random(3).sample(table, 75), *random.Random(3).sample(every, 50)]
        words += ["--dev-corpus", f"en-{language}={write(dev, work / f'en-{language}.dev.tsv')}"]
    words += ["--start-from", str(initial_model(work, start, size))]
    print(shlex.join(words))


def corpus(work: Path, language: str, name: str, weight: float) -> str:
    """Return a value of --corpus. Of some corpora only the first side is a source."""
    join = "-to-" if name in ONE_WAY else "-"
    sides = (language, "en") if name == "into_english" else ("en", language)
    return f"{join.join(sides)}:{weight}={work}/en-{language}.{name}.tsv"


def corpora(data: Path, code: str) -> tuple[dict[str, Pairs], dict[str, Pairs]]:
    """Return the training corpora of a language by name, and the dev sets of longer sentences."""
    sentences = everyday_data.sentences(data, code)
    longer, dev = everyday_data.longer(data, code)
    words = everyday_data.word_lists(data, code)
    copies = everyday_data.copies(sentences + longer, code)
    filled = everyday_templates.templates(data, code)
    import everyday_frames  # needs num2words and Babel

    phrases, frames = everyday_data.phrases(data, code), everyday_frames.frames(code)
    masked = everyday_frames.masked(sentences + longer + filled, code, everyday_data.shared_parts)
    every = sentences + longer + filled + phrases
    address = everyday_address.addressed(every, CODES[code])
    into_english = everyday_address.into_english(every, CODES[code])
    lists = [sentences, longer, words, copies, phrases, filled, frames, masked]
    lists += [address, into_english, everyday_data.written(code)]
    lists += [everyday_data.packages(data / "packages", code)]
    return dict(zip(CORPORA, lists, strict=True)), dev


def initial_model(work: Path, start: str, size: Size) -> Path:
    """Write a model with a new vocabulary, and return its folder.

    start: a model of the same sizes whose weights it takes, or "" for random weights.
    """
    directions = sorted(f"{a}-{b}" for a, b in permutations(LANGUAGES, 2) if "en" in (a, b))
    config = TokenizerConfig(
        size=size.vocabulary, languages=LANGUAGES, directions=tuple(directions)
    )
    old = bundle.read(find_model(Path(start))) if start else None
    lines = tokenizer_lines(work)
    if old is None:
        learned = tokenizer.train(lines, [], size.vocabulary, config)
    else:
        learned, config = with_letters(old.tokenizer, lines, work), old.tokenizer_config
    learned = with_reserved(learned)
    torch.manual_seed(1)
    shape = model_config("transformer-small") if old is None else old.model.config
    if old is None:
        settings = [setting.removeprefix("model.") for setting in size.model]
        shape = overridden(shape, settings)
    model = bundle.build(shape, bundle.sizes_of(learned, "transformer"))
    if old is not None:
        transfer(old, model, learned)
    folder = work / "initial"
    folder.mkdir(exist_ok=True)
    search = SearchConfig() if old is None else old.search
    bundle.save(bundle.Bundle(model, learned, config, search), folder)
    return folder


def with_letters(known: Tokenizer, lines: list[str], work: Path) -> Tokenizer:
    """Return a vocabulary with the letters and signs that it lacks, and common words with them."""
    letters, words = Counter(LETTERS), Counter[str]()
    for line in lines:
        letters.update(line)
        words.update(
            word.strip(".,!?") for word in line.split() if word[0] in LETTERS and word.isalpha()
        )
    new = [one for one, count in letters.items() if one in LETTERS or count >= LEAST_LETTERS]
    new = [one for one in new if ord(one) < LAST_LETTER and not one.isspace()]
    new = [one for one in new if known.is_unknown(one)]
    new += [SPACE + one for one, count in words.items() if count >= LEAST_WORDS and one[0] in new]
    listed = work / "letters.vocab"
    listed.write_text("".join(f"{token}\n" for token in dict.fromkeys(new)), encoding="utf-8")
    return tokenizer.with_new_tokens(known, [str(listed)]) if new else known


def with_reserved(learned: Tokenizer) -> Tokenizer:
    """Return a vocabulary with the reserved tokens, which SentencePiece never divides."""
    import everyday_frames

    tokens = [*map(everyday_frames.reserved, range(everyday_frames.TOKENS))]
    find = learned.source
    for written, name in everyday_address.TOKENS.items():
        tokens += [] if find.is_control(find.piece_to_id(name)) else [written]
    tokens += MARKS
    new = [one for one in tokens if learned.source.piece_to_id(one) == UNKNOWN]
    rows = [(token, 0.0, vocabulary.USER_DEFINED) for token in new]
    return Tokenizer(vocabulary.added_pieces(learned.models[0], rows))


def tokenizer_lines(work: Path) -> list[str]:
    """Return a sample of the sentences of all corpora, as many English lines as others."""
    lines = []
    for name in ("sentences", "longer", "words"):
        for language in CODES.values():
            text = (work / f"en-{language}.{name}.tsv").read_text("utf-8")
            lines += [line for row in text.splitlines() for line in row.split("\t")]
    return random.Random(1).sample(lines, min(TOKENIZER_LINES, len(lines)))


@torch.no_grad()
def transfer(old: Bundle, model: EncoderDecoder, learned: Tokenizer) -> None:
    """Fill a model with the weights of another one of the same sizes and another vocabulary."""
    weights = weights_of(old.model)
    known, bias = old.model.output.weight, old.model.output.bias
    for name, tensor in stored_tensors(model).items():
        if tensor.shape == weights[name].shape:
            tensor.copy_(weights[name])
    for token in range(len(learned.source)):
        piece = learned.source.id_to_piece(token)
        ids = [old.tokenizer.source.piece_to_id(piece)]
        if ids == [UNKNOWN] and piece in everyday_address.WORDS:
            words = everyday_address.WORDS[piece]
            ids = [old.tokenizer.source.piece_to_id(SPACE + word) for word in words]
        elif ids == [UNKNOWN] and piece in MARKS:
            similar = (SPACE + "(", ",", ":", ")")[MARKS.index(piece)]
            ids = [old.tokenizer.source.piece_to_id(similar)]
        elif ids == [UNKNOWN] and token != UNKNOWN:
            spelled = piece.replace(SPACE, " ").removeprefix(" ").lower()
            ids = old.tokenizer.source.encode(spelled) or [UNKNOWN]
        model.output.weight[token] = known[ids].mean(0)
        model.output.bias[token] = bias[ids].mean() - (0 if len(ids) == 1 else 1)


def grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the second sides by their first side."""
    groups: dict[str, list[str]] = {}
    for first, second in pairs:
        groups.setdefault(first, []).append(second)
    return groups


def score(options: argparse.Namespace) -> None:
    """Print a row per direction: sentences, BLEU, chrF2."""
    import sacrebleu

    tests = longer_sets(options.data) if options.longer else test_sets(options.data)
    wanted = [tuple(name.split("-")) for name in options.directions]
    print(f"{'direction':<10}{'sources':>8}{'references':>11}{'BLEU':>8}{'chrF2':>8}")
    for first, second in wanted or tests:
        items = sorted(tests[first, second].items())
        random.Random(1).shuffle(items)
        items = items[: options.limit or None]
        outputs = translate([source for source, _ in items], first, second, options)
        references = [list(column) for column in zip_longest(*(refs for _, refs in items))]
        bleu = sacrebleu.corpus_bleu(outputs, references)
        chrf = sacrebleu.corpus_chrf(outputs, references)
        count = sum(len(refs) for _, refs in items)
        row = f"{first}-{second:<7}{len(items):>8}{count:>11}{bleu.score:>8.2f}{chrf.score:>8.2f}"
        print(row, flush=True)


def longer_sets(data: Path) -> dict[tuple[str, str], dict[str, list[str]]]:
    """Return, for each direction with English, the references of longer sentences set aside."""
    tests = {}
    for code, language in CODES.items():
        _, dev = everyday_data.longer(data, code)
        pairs = [pair for group in dev.values() for pair in group]
        tests["en", language] = grouped(pairs)
        tests[language, "en"] = grouped((second, first) for first, second in pairs)
    return tests


def test_sets(data: Path) -> dict[tuple[str, str], dict[str, list[str]]]:
    """Return, for each direction, the references of each distinct source sentence."""
    tables = {language: table(data, code, "test") for code, language in CODES.items()}
    tests = {("en", language): sentences for language, sentences in tables.items()}
    for language, sentences in tables.items():
        pairs = ((text, english) for english, texts in sentences.items() for text in texts)
        tests[language, "en"] = grouped(pairs)
    tables = {
        language: sentences | table(data, code, "dev")
        for (code, language), sentences in zip(CODES.items(), tables.values(), strict=True)
    }
    for first, second in permutations(tables, 2):
        shared = tables[first].keys() & tables[second].keys()
        groups: dict[str, list[str]] = {}
        for english in sorted(shared):
            for source in tables[first][english]:
                groups.setdefault(source, []).extend(tables[second][english])
        tests[first, second] = groups
    return tests


def table(data: Path, code: str, part: str) -> dict[str, list[str]]:
    """Return the translations of each English sentence of an evaluation set."""
    return {row[0]: row[1:] for row in rows(data / "tatoeba" / f"eng-{code}.{part}.tsv")}


def translate(
    sources: list[str], first: str, second: str, options: argparse.Namespace
) -> list[str]:
    """Return the outputs of `attn translate` for some lines."""
    name = f"{Path(options.model).name}.{first}-{second}"
    source, output = options.work / f"{name}.in", options.work / f"{name}.out"
    source.write_text("".join(f"{line}\n" for line in sources), encoding="utf-8")
    command = [sys.executable, "-m", "attncli", "translate", "-q", "-m", options.model]
    command += ["--from", first, "--to", second, "-i", str(source), "-o", str(output)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    text: str = output.read_text("utf-8")
    return text.split("\n")[:-1]


if __name__ == "__main__":
    main()
