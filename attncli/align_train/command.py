"""``attn align train``: parse the options, do the stages, report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attncli.align_train import _run as job
from attncli.align_train._run import AlignerConfig, AlignerRun, LexiconSettings
from attncli.data.streams import check_files, check_output
from attncli.options import loading
from attncli.options.settings import Options, SetOption
from attncli.options.shared import Device, Threads
from attncli.terminal import console
from attncli.train.command_line import check_run_folder
from attncli.train.display import Display, train_shown
from attncli.training.config import TrainConfig
from attncli.translate.corpora import CorpusConfig
from models.core.files import locked
from models.core.settings import overridden
from models.storage.installed import find_model

Also = Annotated[
    list[str] | None,
    typer.Option(
        "--also",
        metavar="FILE[,FILE]",
        help="Further sentence pairs: source and target, or one TSV. May be repeated.",
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
StartFrom = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL",
        help="Translator to add the alignment to, such as everyday; its translations do not "
        "change. Default: one is trained from the sentence pairs, in both directions.",
    ),
]
Set = Annotated[list[str] | None, SetOption(AlignerConfig, example="train.minutes=30")]
Seed = Annotated[int, typer.Option("--seed", help="Random seed of the alignment layer.", min=0)]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Name the stages that are left; write nothing.")
]


PREFIX = "align."  # of settings that are not those of the translator
PairFiles = Annotated[
    list[Path], typer.Argument(help="Sentence pairs: source and target, or one TSV of both.")
]


def align_train(
    files: PairFiles,
    *,
    output: Output,
    start_from: StartFrom = None,
    also: Also = None,
    languages: Languages = "",
    seed: Seed = 1,
    dry_run: DryRun = False,
    device: Device = "auto",
    threads: Threads = 0,
    set: Set = None,
) -> None:
    """Train a word aligner from sentence pairs alone.

    The result is one bundle that aligns and translates. Two statistical models learn word links. A
    translator, trained or taken with --start-from, gets an attention layer that learns to align
    from these links. No links made by people are needed. The same command continues an interrupted
    run. See docs/align.md.

    Example:
      attn align train train.en train.de --start-from everyday -o runs/aligner
      attn align train train.en train.de --also test.en,test.de -o runs/aligner
    """
    corpora = [tuple(map(str, files)), *(tuple(text.split(",")) for text in also or [])]
    if any(len(corpus) > 2 for corpus in corpora):
        raise typer.BadParameter("source and target, or one TSV", param_hint="'FILES'")
    check_files([Path(name) for corpus in corpora for name in corpus])
    named = languages or languages_of(files)
    first, second = CorpusConfig(named).sides
    if first == second:
        raise typer.BadParameter("two different languages", param_hint="'--languages'")
    check_run_folder(output)
    translator = find_model(start_from) if start_from else None
    own = [one for one in set or () if one.startswith(PREFIX)]
    given = overridden(LexiconSettings(), [one.removeprefix(PREFIX) for one in own]).lexicon
    lexicon = Path(given) if given else None
    check_output(lexicon)
    others = tuple(one for one in set or () if one not in own)
    run = AlignerRun(tuple(corpora), named, others, output, translator, seed, lexicon)
    if dry_run:
        _dry_run(run)
    else:
        _train(run, loading.open_device(Options(device, threads)))


def languages_of(files: list[Path]) -> str:
    """Return the languages by the endings of two files; a-b if there are none."""
    endings = [path.suffix[1:] for path in files]
    known = len(endings) == 2 and all(end.isalpha() and len(end) <= 3 for end in endings)
    return "-".join(endings) if known else "a-b"


def _dry_run(run: AlignerRun) -> None:
    job.check(run)
    stages = {
        "statistical links": run.links.exists(),
        f"translator, {run.start or 'to train'}": run.start is not None or run.result.exists(),
        "alignment layer": job.finished(run) is not None,
    }
    print(f"languages   {run.languages}")
    for number, (name, done) in enumerate(stages.items(), 1):
        print(f"stage {number}     {name}: {'done' if done else 'to do'}")


def _train(run: AlignerRun, device: str) -> None:
    with locked(run.path), Display(TrainConfig()) as display:
        config = job.prepare(run, display.progress)
    console.say(f"links of the training pairs: {run.links}")
    if run.lexicon:
        console.say(f"translations of words: {run.lexicon}")
    if config:
        console.say(f"translator: {run.translator}; --start-from MODEL takes one that is trained")
        train_shown(config, run.translator, device)  # finished, it stays as it is
    result = job.finished(run)
    if result is None:
        from attncli.align_train._layer import finish  # imports torch

        with locked(run.path), Display(TrainConfig()) as display:
            result = finish(run, device, display.progress)
    console.say(
        f"aligns with threshold {result.threshold:g}; expected F of its links "
        f"{100 * result.expected_f:.1f} %"
    )
    console.say(f"try: attn align -m {run.path}")
