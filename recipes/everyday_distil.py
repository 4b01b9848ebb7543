"""Write training pairs that a translator makes: chosen outputs, and back-translations.

    python recipes/everyday_distil.py --data DIR --work WORK [-m MODEL] [--limit 26000]

WORK has the corpora of `everyday.py prepare`; the pairs are added to it as WORK/en-de.chosen.tsv,
WORK/en-de.back.tsv and so on, from which `prepare` then makes the command of the last stage.

`chosen`: sources of each direction with English. Of four outputs of MODEL the one that is most
similar to a reference of its source becomes the target (sequence-level interpolation, Kim and Rush
2016, 3.3), if the similarity, the mean of sentence BLEU and chrF2, is at least 55. Such targets are
easier to learn than free translations, and a model that learned from them needs a smaller beam.

`back`: sentences of DIR/text/commonvoice.de.txt.xz and so on become targets, and their
translations into English the sources (Sennrich, Haddow and Birch 2016).

An interrupted program continues: outputs of `attn translate` are kept in WORK/outputs.
"""

from __future__ import annotations

import argparse
import lzma
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from everyday import grouped
from everyday_data import LANGUAGES, clean, rows, usable, write
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

SOURCES = {"sentences": 17_000, "longer": 5_000}  # of each direction
MONOLINGUAL = 26_000  # sentences of each language
MOST_WORDS = 45  # of a source
LEAST = 55  # similarity of a chosen output
OUTPUTS = 4  # of a source
CHUNK = 2_000  # sources per call of `attn translate`


class Translator(NamedTuple):
    """`attn translate` with a model, which keeps its outputs as files."""

    model: str
    folder: Path

    def outputs(self, lines: list[str], first: str, second: str, name: str) -> Iterator[list[str]]:
        """Yield the outputs of each line, the best first."""
        for start in range(0, len(lines), CHUNK):
            part = lines[start : start + CHUNK]
            path = self.folder / f"{first}-{second}.{name}.{start}"
            if not path.exists():
                self.translate(part, first, second, path)
            yield from read_outputs(path, len(part))

    def translate(self, lines: list[str], first: str, second: str, path: Path) -> None:
        """Write the outputs of some lines to a file, atomically."""
        command = [sys.executable, "-m", "attncli", "translate", "-q", "-m", self.model]
        command += ["--from", first, "--to", second, "-b", str(OUTPUTS), "-n", str(OUTPUTS)]
        text = "".join(f"{line}\n" for line in lines)
        partial = path.with_name(f"{path.name}.part")
        command += ["-o", str(partial)]
        subprocess.run(command, input=text, text=True, stderr=subprocess.DEVNULL, check=False)
        os.replace(partial, path)


def main() -> None:
    """Parse the command line and write the pairs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("-m", "--model", default="everyday")
    parser.add_argument("--limit", type=int, default=MONOLINGUAL, help="sources of each kind")
    options = parser.parse_args()
    translator = Translator(options.model, options.work / "outputs")
    translator.folder.mkdir(parents=True, exist_ok=True)
    for language in LANGUAGES[1:]:
        given = (translator, options.work, options.limit)
        pairs = [*chosen(*given, "en", language)]
        pairs += [(b, a) for a, b in chosen(*given, language, "en")]
        write(pairs, options.work / f"en-{language}.chosen.tsv")
        back = back_translated(translator, options.data, options.limit, language)
        write(back, options.work / f"en-{language}.back.tsv")


def chosen(
    translator: Translator, work: Path, limit: int, first: str, second: str
) -> Iterator[tuple[str, str]]:
    """Yield sources and outputs that are similar to a reference."""
    language = second if first == "en" else first
    for name, count in SOURCES.items():
        table = [(a, b) for a, b in rows(work / f"en-{language}.{name}.tsv")]
        references = grouped(table if first == "en" else [(b, a) for a, b in table])
        sources = sorted(line for line in references if len(line.split()) <= MOST_WORDS)
        sources = random.Random(f"{first}-{second}").sample(
            sources, min(count, limit, len(sources))
        )
        found = translator.outputs(sources, first, second, name)
        for source, outputs in zip(sources, found, strict=True):
            scored = [(similarity(text, references[source]), text) for text in outputs]
            score, text = max(scored, default=(0.0, ""))
            if score >= LEAST:
                yield source, text


def similarity(output: str, references: list[str]) -> float:
    """Return the mean of sentence BLEU and chrF2, in percent."""
    bleu, chrf = metrics()
    scores = (metric.sentence_score(output, references).score for metric in (bleu, chrf))
    return sum(scores) / 2


@cache
def metrics() -> tuple[BLEU, CHRF]:
    """Return the metrics of sentences."""
    return BLEU(effective_order=True), CHRF()


def back_translated(
    translator: Translator, data: Path, limit: int, language: str
) -> list[tuple[str, str]]:
    """Return translations into English of monolingual sentences, with these sentences."""
    path = data / "text" / f"commonvoice.{language}.txt.xz"
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        texts = sorted({clean(line) for line in lines})
    texts = random.Random(language).sample(texts, min(limit, len(texts)))
    found = translator.outputs(texts, language, "en", "commonvoice")
    pairs = ((outputs[0], text) for outputs, text in zip(found, texts, strict=True) if outputs)
    return [pair for pair in pairs if usable(*pair)]


def read_outputs(path: Path, count: int) -> list[list[str]]:
    """Return the outputs of each of `count` lines: number ||| text ||| score."""
    found: list[list[str]] = [[] for _ in range(count)]
    for line in path.read_text("utf-8").split("\n")[:-1]:  # others end no line
        number, _, rest = line.partition(" ||| ")
        found[int(number)].append(rest.rpartition(" ||| ")[0])
    return found


if __name__ == "__main__":
    main()
