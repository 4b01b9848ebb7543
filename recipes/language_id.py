"""Train and score `languages`, the identifier of English, German, French and Spanish in the box.

    python recipes/language_id.py train --data DIR/tatoeba --work WORK
    python recipes/language_id.py score --data DIR/tatoeba --work WORK [-m MODEL]

DIR/tatoeba holds tables of English, tab, another language. `train` writes sentences and cut-outs of
one or two words, in the case of the sentence, in lower case and in capitals; then it runs
`attn train` and `attn models pack`. `score` classifies every distinct sentence of the test tables,
the sentences of one or two words among them, and one cut-out of one or two words from each.
"""

from __future__ import annotations

import argparse
import lzma
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

CODES = {"deu": "de", "fra": "fr", "spa": "es"}
SENTENCES, CUT_OUTS = 80_000, 40_000  # of each language, for training
DEV_SENTENCES, DEV_CUT_OUTS = 500, 500
SEED = 1
LOWER, CAPITALS = 0.2, 0.1  # shares of the training texts in that case
PUNCTUATION = '.,;:!?¿¡"«»()'
RECIPE = (
    *("tokenizer.size=2000", "model.pooling=learned", "model.attention.score=additive"),
    *("train.batch_tokens=4096", "train.epochs=3", "train.evaluate_every=250"),
    *("train.label_smoothing=0.05", "train.lr=0.004", "train.schedule=inverse_sqrt"),
    *("train.warmup=200", "data.max_length=64"),
)
Texts = dict[str, list[str]]  # of each language


def main() -> None:
    """Parse the command line and run one part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=["train", "score"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("-m", "--model", default="languages")
    parser.add_argument("--threads", default="1")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.part == "train":
        train(options.data, options.work, options.threads)
    else:
        score(options.data, options.model)


def train(data: Path, work: Path, threads: str) -> None:
    """Write training and dev texts, train, and pack the model as WORK/languages."""
    rng = random.Random(SEED)
    sizes = {"train": (SENTENCES, CUT_OUTS), "dev": (DEV_SENTENCES, DEV_CUT_OUTS)}
    for part, (sentences, cut_outs) in sizes.items():
        rows = []
        for language, texts in read(data, part).items():
            chosen = rng.sample(texts, min(sentences, len(texts)))
            chosen += [cut_out(text, rng) for text in rng.sample(texts, min(cut_outs, len(texts)))]
            rows += [f"{language}\t{in_some_case(text, rng)}\n" for text in chosen]
        rng.shuffle(rows)
        (work / f"{part}.tsv").write_text("".join(rows), "utf-8")
    settings = [word for setting in RECIPE for word in ("-s", setting)]
    files = ["--labels", f"{work}/train.tsv", "--dev", f"{work}/dev.tsv"]
    run = ["-o", f"{work}/run", "--threads", threads]
    attn("train", "-p", "bilstm-attention-nano", *files, *run, *settings)
    attn("models", "pack", f"{work}/run", f"{work}/languages")


def score(data: Path, model: str) -> None:
    """Print the accuracy on test sentences, short test sentences and cut-outs."""
    from models import load

    classifier, rng = load(model), random.Random(SEED)
    texts = read(data, "test")
    short = {language: [t for t in of if len(t.split()) < 3] for language, of in texts.items()}
    cut = {language: [cut_out(text, rng) for text in of] for language, of in texts.items()}
    lower = {language: [text.lower() for text in of] for language, of in texts.items()}
    capitals = {language: [text.upper() for text in of] for language, of in texts.items()}
    sets = {"sentences": texts, "in lower case": lower, "in capitals": capitals}
    for name, chosen in {**sets, "of one or two words": short, "cut-outs": cut}.items():
        report(name, chosen, classifier)


def report(name: str, texts: Texts, classifier: object) -> None:
    """Print accuracy in total and by language, and the most frequent confusions."""
    wrong: Counter[tuple[str, str]] = Counter()
    shares, right, total = [], 0, 0
    for language, of_one in texts.items():
        found = [result.label for result in classifier.stream(of_one)]  # type: ignore[attr-defined]
        equal = sum(label == language for label in found)
        wrong.update((language, label) for label in found if label != language)
        shares.append(f"{language} {100 * equal / len(of_one):.2f}")
        right, total = right + equal, total + len(of_one)
    confused = ", ".join(f"{a} as {b} {n}" for (a, b), n in wrong.most_common(3))
    print(f"{name:<20}{100 * right / total:6.2f} % of {total:,}  {'  '.join(shares)}  ({confused})")


def read(data: Path, part: str) -> Texts:
    """Return the distinct sentences of each language in the tables of a part."""
    texts: dict[str, dict[str, None]] = {"en": {}, **{code: {} for code in CODES.values()}}
    for code, language in CODES.items():
        plain = data / f"eng-{code}.{part}.tsv"
        packed = plain.with_suffix(".tsv.xz")
        with (
            lzma.open(packed, "rt", encoding="utf-8")
            if packed.exists()
            else plain.open(encoding="utf-8") as lines
        ):
            for line in lines:
                english, *others = line.rstrip("\n").split("\t")
                texts["en"][english] = None
                texts[language].update(dict.fromkeys(others))
    return {language: [t for t in found if t.strip()] for language, found in texts.items()}


def cut_out(text: str, rng: random.Random) -> str:
    """Return one or two words of a text in a row, without punctuation at their ends."""
    words = [word for word in text.split() if any(map(str.isalpha, word))] or [text]
    count = min(rng.choice((1, 2)), len(words))
    start = rng.randrange(len(words) - count + 1)
    return " ".join(words[start : start + count]).strip(PUNCTUATION) or text


def in_some_case(text: str, rng: random.Random) -> str:
    """Return the text as it is, in lower case, or in capitals."""
    chance = rng.random()
    return text.lower() if chance < LOWER else text.upper() if chance < LOWER + CAPITALS else text


def attn(*words: str) -> None:
    """Run an attn command; exit if it fails."""
    subprocess.run([sys.executable, "-m", "attncli", *words], check=True)


if __name__ == "__main__":
    main()
