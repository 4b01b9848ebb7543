"""``attn align train``: parse the options, do the stages, train, tune, report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attncli import console
from attncli.commands.train import memory_advice, stopping
from attncli.commands.train_display import Display
from attncli.data.streams import check_inputs
from attncli.jobs import loading
from attncli.jobs.align_train import AlignerRun
from attncli.jobs.loading import OpenOptions
from attncli.options import Device, Threads
from attncli.training.corpora import CorpusConfig
from attncli.training.events import AlreadyFinished, Interrupted, RunEvent

Files = Annotated[
    list[Path], typer.Argument(help="Sentence pairs: source and target, or one TSV of both.")
]
Also = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE[,FILE]",
        help="Further sentence pairs, such as those to align: source and target, or one TSV. May "
        "be repeated.",
    ),
]
Languages = Annotated[
    str,
    typer.Option(
        metavar="en-fr",
        help="Languages of source and target. Default: the endings of two files, else a-b.",
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder of the run.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "-s", metavar="SECTION.KEY=VALUE", help="Set a value, as in `attn train`."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Name the stages that are left; write nothing.")
]


def align_train(
    files: Files,
    *,
    output: Output,
    also: Also = None,
    languages: Languages = "",
    set: Set = None,
    dry_run: DryRun = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Train a word aligner from sentence pairs alone.

    Two statistical models, one for each direction, learn word links on which they agree; RUN has
    them in alignment/links. A Transformer of both directions then learns to translate, with one
    attention head guided by these links. At the end the settings of `attn align` are chosen by
    agreement with the links. No gold links are needed.

    The same command continues an interrupted run.

    Example:
      attn align train train.en train.de -o runs/aligner
      attn align train train.en train.de --also test.en,test.de -o runs/aligner
    """
    groups = [tuple(map(str, files)), *(tuple(text.split(",")) for text in also or [])]
    if any(len(group) > 2 for group in groups):
        raise typer.BadParameter("source and target, or one TSV", param_hint="'FILES'")
    check_inputs([path for group in groups for path in group])
    named = languages or languages_of(files)
    first, second = CorpusConfig(named).sides
    if first == second:
        raise typer.BadParameter("two different languages", param_hint="'--languages'")
    run = AlignerRun(tuple(groups), named, tuple(set or ()), output)
    if dry_run:
        _dry_run(run)
    else:
        _train(run, loading.open_device(OpenOptions(device, threads)))


def languages_of(files: list[Path]) -> str:
    """Return the languages by the endings of two files; a-b if there are none."""
    endings = [path.suffix[1:] for path in files]
    known = len(endings) == 2 and all(end.isalpha() and len(end) <= 3 for end in endings)
    return "-".join(endings) if known else "a-b"


def _dry_run(run: AlignerRun) -> None:
    config = run.recipe
    stages = {
        "statistical links": run.links,
        "initial model": run.initial,
        f"training, {config.train.steps:,} updates at most": run.path / "model.safetensors",
        "choice of settings": run.tuned,
    }
    print(f"languages   {run.languages}")
    for number, (name, path) in enumerate(stages.items(), 1):
        print(f"stage {number}     {name}: {'done' if path.exists() else 'to do'}")


def _train(run: AlignerRun, device: str) -> None:
    from attncli.jobs import align_train as job
    from attncli.jobs import train as training  # imports torch
    from attncli.training.lock import locked

    with locked(run.path), Display(run.recipe.train) as display:
        config = job.prepare(run, display.progress)
    console.say(f"links of the training pairs: {run.links}")
    event: RunEvent | None = None
    with stopping() as stop, Display(config.train) as display, memory_advice(config.train):
        try:
            for event in training.train(
                config, run.path, device=device, progress=display.progress, stop_requested=stop
            ):
                display.take(event)
        except (Interrupted, KeyboardInterrupt):
            display.break_off()
            console.say("stopped; the same command continues from here")
            raise typer.Exit(stop.status or 130) from None
    if isinstance(event, AlreadyFinished) and run.tuned.exists():
        return
    best = job.tune(run, device)
    chosen = best.config
    console.say(
        f"aligns with jump {chosen.jump:g}, threshold {chosen.threshold:g}: "
        f"{100 * best.error_rate:.1f} % of links differ from the statistical ones"
    )
    console.say(f"try: attn align -m {run.path}")
