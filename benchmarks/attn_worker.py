"""The attn side of speed.py: the same work as joeynmt_peer.py, timed in the same way.

Seconds are those of the processor. Each command prints one line of JSON on stdout:

    python benchmarks/attn_worker.py prepare --work ours --data multi30k/tok --pieces 8000
    python benchmarks/attn_worker.py train --work ours --data multi30k/tok --steps 30
    python benchmarks/attn_worker.py translate --bundle runs/en-de --input test.en --limit 60

`train` uses the data, model, loop and settings of `attn train`; this script times its events.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from joeynmt_models import BEAM, LENGTH_PENALTY, SHARED, searched

if TYPE_CHECKING:
    from attncli.training.interfaces import Data
    from attncli.training.settings.config import RunConfig

Figures = dict[str, Any]


def prepare(work: Path, data: Path, pieces: int) -> Figures:
    """Learn the joint pieces and tokenise the training text into the work folder."""
    config = _settings(data, "transformer-tiny", [f"tokenizer.size={pieces}"])
    tokenizer = _prepared(config, work).tokenizer
    return {"spm": str(work / "data" / "tokenizer.model"), "pieces": len(tokenizer.source)}


def train(
    work: Path,
    data: Path,
    steps: int,
    warm_up: int,
    model: str,
    precision: str,
    setting: list[str],
) -> Figures:
    """Train `warm_up + steps` updates from prepared data; time the last `steps`.

    At least one step warms up: the clock starts as it ends, and runs on through the batching.
    """
    import torch

    from attncli.training.interfaces import Stepped
    from attncli.training.run.fit import fit
    from attncli.training.run.run import fresh_state
    from attncli.training.updates.precision import DTYPES
    from models.base.limits import retain_freed_memory

    fixed = [f"train.steps={warm_up + steps}", "train.epochs=0", f"train.precision={precision}"]
    preset, changes, _ = SHARED[model]
    config = _settings(data, preset, [*fixed, *changes, *setting])
    prepared = _prepared(config, work)
    retain_freed_memory()
    cpu = torch.device("cpu")
    state = fresh_state(config, prepared, cpu)
    dtype = DTYPES[config.train.precision]
    ended, tokens = [], []
    for event in fit(state, prepared.examples, None, config.train, dtype):
        if isinstance(event, Stepped):
            ended.append(time.process_time())
            tokens.append(event.tokens)
    seconds, target = ended[-1] - ended[warm_up - 1], sum(tokens[warm_up:])
    return {
        "steps": steps,
        "target_tokens": target,  # with end marks, without padding
        "seconds": seconds,
        "target_tokens_per_second": target / seconds,
        **_contents(config, prepared, warm_up, steps),
        "precision": str(dtype).removeprefix("torch."),
        "threads": torch.get_num_threads(),
    }


def translate(bundle: Path, input: Path, output: Path | None, batch: int, limit: int) -> Figures:
    """Translate a file of lines; `batch` sentences at a time on average, or 0 for our default.

    limit: greatest output length in tokens, end mark included.
    """
    import torch

    from models import load_translator

    translator = load_translator(bundle)
    search = replace(translator.search, max_ratio=0.0, max_extra=limit, split_above=0)
    search = replace(search, beam=BEAM, length_penalty=LENGTH_PENALTY)
    begun, wall = time.process_time(), time.perf_counter()
    texts = input.read_text(encoding="utf-8").rstrip("\n").split("\n")
    if batch:
        mean = sum(map(translator.source_length, texts)) / len(texts)
        tokens = round(batch * mean)
        results = translator.translate(texts, search=search, max_batch_tokens=tokens)
    else:
        results = translator.translate(texts, search=search)
    ended, wall = time.process_time(), time.perf_counter() - wall
    if output:
        output.write_text("".join(f"{result.text}\n" for result in results), encoding="utf-8")
    return {
        "sentences": len(results),
        "seconds": ended - begun,  # lines to lines, once the model is loaded
        "wall": wall,
        "searched": searched(texts, search.beam, search.length_penalty, limit),
        "total_seconds": time.process_time(),  # of the whole process so far
        "output_tokens": sum(len(r.hypotheses[0].ids) + 1 for r in results),  # with end marks
        "threads": torch.get_num_threads(),
    }


def _settings(data: Path, preset: str, assignments: list[str]) -> RunConfig:
    from attncli.training.run.command_line import settings

    files = [path for side in ("en", "de") for path in data.glob(f"train*.{side}")]
    return settings(files, [], preset, ["train.batch_tokens=4096", *assignments])


def _prepared(config: RunConfig, work: Path) -> Data:
    from attncli.tasks.translate.training.data import prepare, variation_of
    from attncli.training.sources import preparation

    settings = preparation(config)
    variation = variation_of(settings, config.train.subword_sampling)
    return prepare(settings, variation, work / "data", lambda what, done, total: None)


def _contents(config: RunConfig, prepared: Data, warm_up: int, steps: int) -> Figures:
    """Return the token counts of the timed batches; their plan depends on the seed alone."""
    from attncli.data.batching import epoch_plan

    pairs, size, seed = prepared.examples, config.train.batch_tokens, config.train.seed
    plans = (epoch_plan(pairs, size, seed=seed, epoch=epoch) for epoch in count())
    batches = list(islice(chain.from_iterable(plans), warm_up, warm_up + steps))
    sources, targets = pairs.lengths
    return {
        "sentences": sum(map(len, batches)),
        "source_tokens": int(sum(sources[batch].sum() for batch in batches)),
        "padded_source_tokens": int(sum(len(batch) * sources[batch].max() for batch in batches)),
        "padded_target_tokens": int(sum(len(batch) * targets[batch].max() for batch in batches)),
    }


def main() -> None:
    """Parse the command line, run one command, print its figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    for job in (prepare, train, translate):
        command = commands.add_parser(job.__name__, help=(job.__doc__ or "").partition("\n")[0])
        command.set_defaults(job=job)
    for name in ("prepare", "train"):
        commands.choices[name].add_argument("--work", type=Path, required=True)
        commands.choices[name].add_argument("--data", type=Path, required=True)
    commands.choices["prepare"].add_argument("--pieces", type=int, default=8000)
    commands.choices["train"].add_argument("--steps", type=int, required=True)
    commands.choices["train"].add_argument("--warm-up", type=int, default=5)
    commands.choices["train"].add_argument("--model", choices=SHARED, default="transformer-tiny")
    commands.choices["train"].add_argument("--precision", default="fp32")
    commands.choices["train"].add_argument("-s", "--setting", action="append", default=[])
    commands.choices["translate"].add_argument("--bundle", type=Path, required=True)
    commands.choices["translate"].add_argument("--input", type=Path, required=True)
    commands.choices["translate"].add_argument("--output", type=Path)
    commands.choices["translate"].add_argument("--batch", type=int, default=0)
    commands.choices["translate"].add_argument("--limit", type=int, required=True)
    given = vars(parser.parse_args())
    print(json.dumps(given.pop("job")(**given)))


if __name__ == "__main__":
    main()
