"""Worked recipes for pairs of sequences: phonemes, parses, commands and summaries.

    python recipes/sequences.py NAME --data DIR/pairs --work WORK [SETTING=VALUE ...]

NAME is g2p, cogs, scan or scitldr; docs/tutorials/ has a page for each. A recipe writes train.tsv
and test.tsv in WORK from the files in DIR/pairs, and runs the lines of COMMANDS in turn. No source
of a test row is in the training data, and the test rows are scored once; `attn train` holds its own
dev set out of the training rows, by its seed. Settings are added to `attn train`; `--data-only`
stops before it.
"""

from __future__ import annotations

import argparse
import lzma
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

Row = list[str]  # a source and its references

SEED = 1
HELD = 500  # short commands of scan that are test rows
SHORT = 16  # actions of the longest outputs in the training data of scan
PAIRS = (  # a small Transformer for outputs that must be exact
    "attn train WORK/train.tsv -o WORK/run -p transformer-tiny -s model.encoder_layers=2 "
    "-s model.decoder_layers=2 -s model.dropout=0.1 -s tokenizer.kind=word "
    "-s train.batch_tokens=2048 -s train.lr=0.003 -s train.warmup=300 -s train.metric=exact "
    "-s train.bleu_tokenizer=none -s search.method=greedy"
)
COMMANDS = {  # WORK is replaced by the folder
    "g2p": (
        "attn train WORK/train.tsv -o WORK/run -p luong-small -s tokenizer.joint=false "
        "-s tokenizer.kind=char -s tokenizer.target_kind=word -s model.dropout=0.1 "
        "-s train.batch_tokens=2048 -s train.lr=0.003 -s train.minutes=50 "
        "-s train.metric=error_rate -s train.bleu_tokenizer=none",
        "attn evaluate -m WORK/run WORK/test.tsv -s scores.tokenize=none",
        "attn translate -m WORK/run --picture WORK/phoneme.svg -s align.units=piece phoneme",
    ),
    "cogs": (
        f"{PAIRS} -s train.minutes=18",
        "attn evaluate -m WORK/run WORK/test.tsv -s scores.tokenize=none",
    ),
    "scan": (
        f"{PAIRS} -s train.minutes=4",
        "attn evaluate -m WORK/run WORK/test-short.tsv -s scores.tokenize=none",
        "attn evaluate -m WORK/run WORK/test.tsv -s scores.tokenize=none",
    ),
    "scitldr": (
        "attn train WORK/train.tsv -o WORK/run -p luong-small -s tokenizer.size=4000 "
        "-s model.max_source=1024 -s data.max_length=1024 -s train.batch_tokens=4096 "
        "-s train.metric=rouge_l -s train.minutes=4",
        "attn evaluate -m WORK/run WORK/test.tsv --hypotheses WORK/lead.txt",
    ),
}


def main() -> None:
    """Write the data of a recipe and run its commands."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", choices=COMMANDS)
    parser.add_argument("--data", type=Path, required=True, help="the folder pairs/")
    parser.add_argument("--work", type=Path, required=True, help="folder to write to")
    parser.add_argument("--data-only", action="store_true", help="write the data, run nothing")
    parser.add_argument("--stress", action="store_true", help="g2p: keep the stress of vowels")
    parser.add_argument("settings", nargs="*", help="such as train.minutes=10")
    options = parser.parse_intermixed_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.name == "g2p":
        write_g2p(options.data, options.work, options.stress)
    else:
        WRITERS[options.name](options.data, options.work)
    if not options.data_only:
        for line in COMMANDS[options.name]:
            run(line.replace("WORK", str(options.work)), options.settings)


def write_g2p(data: Path, work: Path, stress: bool) -> None:
    """Write words and their pronunciations; several pronunciations are several references."""
    train, test = (
        [[word, phones if stress else re.sub(r"\d", "", phones)] for word, phones in rows]
        for rows in (read(data / f"cmudict.{part}.tsv.xz") for part in ("train", "dev"))
    )
    write(work / "train.tsv", without(train, test))
    write(work / "test.tsv", grouped(test))


def write_cogs(data: Path, work: Path) -> None:
    """Write sentences and their logical forms; the kind of sentence is left out.

    Spaces within variables and before roles are removed, so that each is one token: x_1 for x _ 1.
    Different forms remain different.
    """
    write_parts(
        data, work, "cogs", lambda form: re.sub(r"x _ (?=\d)", "x_", form).replace(" . ", " .")
    )


def write_scan(data: Path, work: Path) -> None:
    """Write commands with up to 16 actions for training, and the longer ones as test rows.

    Some of the short commands, sampled by the seed, are test rows too (test-short.tsv).
    """
    rows = read(data / "scan_train_length.tsv.xz")
    short = [row for row in rows if len(row[1].split()) <= SHORT]
    held = random.Random(SEED).sample(short, min(HELD, len(short) // 10))
    write(work / "train.tsv", without(short, held))
    write(work / "test-short.tsv", held)
    write(work / "test.tsv", [row for row in rows if len(row[1].split()) > SHORT])


def write_scitldr(data: Path, work: Path) -> None:
    """Write abstracts and summaries, and the first sentence of each test abstract (lead.txt)."""
    test = write_parts(data, work, "scitldr")
    leads = [re.split(r"(?<=[.!?])\s+(?=[A-Z])", abstract)[0] for abstract, _ in test]
    (work / "lead.txt").write_text("".join(f"{lead}\n" for lead in leads), "utf-8")


def write_parts(
    data: Path, work: Path, name: str, rewrite: Callable[[str], str] = str
) -> list[Row]:
    """Write the parts of a data set, with rewritten targets; return the rows of its dev part."""
    train, test = (
        [[source, rewrite(target)] for source, target in read(data / f"{name}.{part}.tsv.xz")]
        for part in ("train", "dev")
    )
    write(work / "train.tsv", without(train, test))
    write(work / "test.tsv", test)
    return test


WRITERS = {"cogs": write_cogs, "scan": write_scan, "scitldr": write_scitldr}


def read(path: Path) -> list[Row]:
    """Return the first two columns of a compressed table."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t")[:2] for line in lines]


def without(rows: Iterable[Row], held: Iterable[Row]) -> list[Row]:
    """Return the rows whose source is not one of the held rows."""
    sources = {row[0] for row in held}
    return [row for row in rows if row[0] not in sources]


def grouped(rows: Iterable[Row]) -> list[Row]:
    """Return a row for each source, with all its targets."""
    targets: dict[str, dict[str, None]] = {}
    for source, target in rows:
        targets.setdefault(source, {})[target] = None
    return [[source, *found] for source, found in targets.items()]


def write(path: Path, rows: list[Row]) -> None:
    """Write a table and print its number of rows."""
    path.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
    print(f"{path}: {len(rows):,} rows", flush=True)


def run(line: str, settings: list[str]) -> None:
    """Print a command line and run it, with settings if it trains; exit if it fails."""
    words = shlex.split(line)[1:]
    if words[0] == "train":
        words += [word for setting in settings for word in ("-s", setting)]
    print(f"\nattn {shlex.join(words)}", flush=True)
    subprocess.run([sys.executable, "-m", "attncli", *words], check=True)


if __name__ == "__main__":
    main()
