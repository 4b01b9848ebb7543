"""``attn align tune``: parse the options, try every setting, write the table, store the best."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attncli.data.streams import check_inputs, open_output
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions
from attncli.options.shared import MODEL, Device, From, PairFiles, Threads, To
from attncli.render.columns import columns
from attncli.tasks.align.evaluate_command import GoldIndex, SkipBad
from attncli.tasks.align.evaluation import how_read, read_gold, read_texts
from attncli.tasks.align.tune import Tuned, keep, tune_alone, tune_by_agreement, tune_on
from attncli.terminal import console
from models.catalogue.installed import check_own, find_model, no_model_given

if TYPE_CHECKING:
    from models.alignment import Trial

SHOWN = 5  # of the best settings
MEANINGS = {  # of the measures in the tables
    "AER": "alignment error rate",
    "disagree": "share of links that the two models do not have in common",
    "not mutual": "share of weight that is not mutual",
}

Models = Annotated[
    list[Path] | None,
    typer.Option(
        "--model",
        "-m",
        envvar=MODEL,
        help="Model to tune: its name (`attn models` lists them) or the folder of a run or bundle.",
    ),
]
Gold = Annotated[
    Path | None, typer.Option("--gold", help="Gold links between words, made by people.")
]
ReverseModel = Annotated[
    Path | None,
    typer.Option(help="Without gold: a model from target to source; both are tuned to agree."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Write the table, store nothing.")]


def tune(
    files: PairFiles,
    *,
    model: Models = None,
    gold: Gold = None,
    reverse_model: ReverseModel = None,
    to: To = "",
    source: From = "",
    gold_index: GoldIndex = None,
    skip_bad: SkipBad = False,
    dry_run: DryRun = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Choose the layer, head, shift and extraction of links.

    With `--gold`, every combination of settings is tried on the same attention weights. The one
    with the lowest alignment error rate (AER) is stored in the model's config.json, where all
    commands that align find it. The AER shown is that of the data used for the choice; expect a
    higher one on other text.

    With `--reverse-model`, no gold is needed: the links of each model serve in turn as gold for the
    other one, until neither choice changes. A few hundred pairs of any text are enough. The table
    shows how much the two models disagree, and the choice is stored in both.

    With neither, the head with the most mutual weight is chosen: the weight of links for which
    source and target word prefer each other. The table shows the share that is not mutual.

    Example:
      attn align tune -m runs/en-de --gold dev.talp dev.en dev.de
      attn align tune -m runs/en-de --reverse-model runs/de-en some.en some.de
      attn align tune -m runs/en-de some.en some.de
    """
    check_inputs(files)
    if len(files) > 2:
        raise typer.BadParameter("source and target, or one TSV", param_hint="'FILES'")
    if gold is not None and reverse_model is not None:
        raise typer.BadParameter("one of the two", param_hint="'--gold' / '--reverse-model'")
    if not model:
        raise no_model_given("translate")
    if len(model) > 1:
        raise typer.BadParameter("one model is tuned at a time", param_hint="'--model' / '-m'")
    folder, reverse_model = find_model(model[0]), reverse_model and find_model(reverse_model)
    for own in [] if dry_run else filter(None, [folder, reverse_model]):
        check_own(own)
    options = OpenOptions(device, threads, to=to, source=source)
    if gold is not None:
        known = read_gold(gold, files, index=gold_index, skip_bad=skip_bad)
        console.say(f"{gold.name}: {how_read(known.links)}")
        measure, found = "AER", {folder: tune_on(loading.open_aligner(folder, options), known)}
    elif reverse_model is None:
        measure = "not mutual"
        found = {folder: tune_alone(loading.open_aligner(folder, options), read_texts(files))}
    else:
        measure, pairs = "disagree", read_texts(files)
        reverse = loading.open_reverse(reverse_model, options)
        both = tune_by_agreement(loading.open_aligner(folder, options), reverse, pairs)
        found = dict(zip((folder, reverse_model), both, strict=True))
    for note in found[folder].notes:
        console.warn(f"{note}; no links")
    with open_output(None) as write:
        write("\n".join(table(tuned, measure) for tuned in found.values()).encode())
    for path, tuned in found.items():
        console.say(f"{path.name}: {explanation(tuned, MEANINGS[measure])}")
        if not dry_run:
            keep(path, tuned.trials[0])
            console.say(f"stored in {path / 'config.json'}")


def explanation(tuned: Tuned, measure: str) -> str:
    """Return the reason of the choice: its error, that of the next head, and that of before."""
    best, *others = tuned.trials
    chosen = (best.config.layer, best.config.head)
    other = next((t for t in others if (t.config.layer, t.config.head) != chosen), None)
    text = (
        f"{_place(best)} has the lowest {measure}, {_percent(best.error_rate)} %, "
        f"of {len(tuned.trials):,} settings"
    )
    if other:
        text += f"; next is {_place(other)} with {_percent(other.error_rate)} %"
    return f"{text}; before: {_percent(tuned.before)} %"


def _place(trial: Trial) -> str:
    head = f"head {trial.config.head}" if trial.config.head else "the mean of the heads"
    return f"layer {trial.config.layer}, {head}"


def table(tuned: Tuned, measure: str) -> str:
    """Return tables of the previous and best settings, and of layers and heads, in percent."""
    rows = [["", measure, "layer", "head", "shift", "extract", "threshold", "null", "marks"]]
    rows.append(["before", _percent(tuned.before), *[""] * 7])
    names = ["best", *[""] * (SHOWN - 1)]
    rows += [_row(name, trial) for name, trial in zip(names, _ways(tuned.trials), strict=False)]
    return f"{columns(rows)}\n{columns(_grid(tuned.trials))}"


def _ways(trials: list[Trial]) -> list[Trial]:
    """Return the best trial of each layer, head, shift and extraction, best first."""
    best: dict[tuple[int, int, int, str], Trial] = {}
    for trial in trials:
        config = trial.config
        best.setdefault((config.layer, config.head, config.shift, config.extract), trial)
    return list(best.values())


def _row(name: str, trial: Trial) -> list[str]:
    config = trial.config
    limited = config.extract in ("threshold", "transport")
    return [
        name,
        _percent(trial.error_rate),
        str(config.layer),
        str(config.head or "mean"),
        str(config.shift),
        config.extract,
        f"{config.threshold:g}" if limited else "",
        f"{config.null_threshold:g}",
        "with" if config.marks else "without",
    ]


def _grid(trials: list[Trial]) -> list[list[str]]:
    """Return a table of the lowest error of each layer and head."""
    least: dict[tuple[int, int], float] = {}
    for config, error in trials:
        place = config.layer, config.head
        least[place] = min(error, least.get(place, 1.0))
    layers = sorted({layer for layer, _ in least})
    heads = sorted({head for _, head in least})
    rows = [["layer", *(f"head {head}" if head else "mean" for head in heads)]]
    return rows + [
        [str(layer), *(_percent(least[layer, head]) for head in heads)] for layer in layers
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"
