"""Processor time of greedy translation: ONNX graphs, torch and CTranslate2, with one model.

    python benchmarks/onnx_speed.py --bundle everyday --to de FILE --lines 100 --rounds 3

The model is exported by `attn models export --to onnx`; its graphs run in onnxruntime by the
program of the exported folder. All engines run greedily on one processor, first line by line, then
in batches, alternating in each round. Prints the medians of the processor milliseconds per line,
and the number of lines whose text equals that of torch.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from models import load_translator
from models.catalogue.installed import find_model
from models.config import SearchConfig
from models.inference.ctranslate2.engines import obstacle
from models.inference.ctranslate2.translator import CTranslate2Translator
from models.inference.text_translator import TextTranslator
from models.onnx.export import export

BATCH = 32  # lines
Translate = Callable[[Sequence[str]], list[str]]


def main() -> None:
    """Parse the command line and print the table."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("file", type=Path, help="text, one sentence per line")
    options.add_argument("--bundle", default="everyday", help="default everyday")
    options.add_argument("--to", default="", help="target language of a multilingual model")
    options.add_argument("--lines", type=int, default=100, help="default 100")
    options.add_argument("--rounds", type=int, default=3, help="default 3")
    given = options.parse_args()
    use_one_processor()
    lines = given.file.read_text("utf-8").splitlines()[: given.lines]
    with tempfile.TemporaryDirectory() as folder:
        engines = engines_of(find_model(given.bundle), given.to, Path(folder, "onnx"))
        for size in (1, BATCH):
            print(f"batches of {size}\n| engine | ms per line | texts as torch |\n|---|---:|---:|")
            for row in rows(engines, lines, size, given.rounds):
                print(row, flush=True)


def use_one_processor() -> None:
    """Let torch, onnxruntime and CTranslate2 use one processor, so that their times compare."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def engines_of(model: Path, to: str, folder: Path) -> dict[str, Translate]:
    """Return the engines that run a model; export it to a folder."""
    found = {"torch": translate_with(load_translator(model).for_direction(to))}
    export(model, folder)
    sys.path.insert(0, str(folder))
    found["onnxruntime"] = translate_with_graphs(importlib.import_module("example"), to)
    if not obstacle(model, SearchConfig(), "cpu"):
        translator = CTranslate2Translator.read(model, threads=1).for_direction(to)
        found["ctranslate2"] = translate_with(translator)
    return found


def translate_with(translator: TextTranslator) -> Translate:
    """Return greedy translation of a batch by an engine of attn."""
    greedy = dataclasses.replace(translator.search, method="greedy")
    return lambda lines: [one.text for one in translator.translate(lines, search=greedy)]


def translate_with_graphs(example: Any, to: str) -> Translate:
    """Return greedy translation of a batch by the program of an exported folder."""
    search = example.GreedySearch()

    def translate(lines: Sequence[str]) -> list[str]:
        sources = [example.encode(line, to) for line in lines]
        outputs = search(example.padded(sources), [*map(example.limit, sources)])
        return [example.decode(output.ids) for output in outputs]

    return translate


def rows(engines: dict[str, Translate], lines: Sequence[str], size: int, rounds: int) -> list[str]:
    """Return a row of the table for each engine."""
    batches = [lines[start : start + size] for start in range(0, len(lines), size)]
    times: dict[str, list[float]] = {name: [] for name in engines}
    texts: dict[str, list[str]] = {}
    for _ in range(rounds):
        for name, translate in engines.items():
            start = time.process_time()
            texts[name] = [text for batch in batches for text in translate(batch)]
            times[name].append(1000 * (time.process_time() - start) / len(lines))
    expected = texts["torch"]
    return [
        f"| {name} | {statistics.median(times[name]):.1f} "
        f"| {sum(map(str.__eq__, texts[name], expected))} of {len(lines)} |"
        for name in engines
    ]


if __name__ == "__main__":
    main()
