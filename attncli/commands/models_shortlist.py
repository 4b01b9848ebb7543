"""``attn models shortlist``: parse the options, make the shortlist, report."""

from __future__ import annotations

from typing import Annotated

import typer

from attncli.commands.models.files import Model
from attncli.jobs.loading import OpenOptions
from attncli.jobs.shortlist import make
from attncli.options.shared import Device, From, PairFiles, Threads, To
from attncli.tasks.align.pair_corpora import Also, pair_corpora
from attncli.terminal import console
from models.catalogue.installed import check_own, find_model
from models.config.tables import SHORTLIST_COMMON, SHORTLIST_PER_TOKEN

Common = Annotated[
    int, typer.Option(min=4, help="Most frequent target tokens, which every output may contain.")
]
PerToken = Annotated[
    int,
    typer.Option(min=1, max=1000, help="Further target tokens for each source token, at most."),
]


def shortlist(
    model: Model,
    files: PairFiles,
    *,
    also: Also = None,
    to: To = "",
    source: From = "",
    common: Common = SHORTLIST_COMMON,
    per_token: PerToken = SHORTLIST_PER_TOKEN,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Make the lexical shortlist of a model.

    With `attn translate --shortlist`, an output contains only tokens that are frequent in the
    target language, or that the model's attention linked with a token of the source in these
    sentence pairs. Search is faster, because most of the vocabulary is not computed. Use the
    training text of the model; its own translations of further text may be added with --also.

    The shortlist is stored in the model, in shortlist.safetensors. A multilingual model has one for
    each target language: run the command for each --to.

    Example:
      attn models shortlist runs/en-de train.en train.de
      attn models shortlist runs/multi --to de en-de.tsv --also fr-de.tsv
    """
    corpora, folder = pair_corpora(files, also), find_model(model)
    check_own(folder)
    with console.progress("sentence pairs") as advance:
        made = make(
            folder,
            corpora,
            OpenOptions(device, threads, to=to, source=source),
            common=common,
            per_token=per_token,
            on_pairs=lambda done: advance(done, f"{done:,}"),
        )
    console.say(
        f"{made.path}: {made.common:,} common target tokens and {made.per_token:.1f} for each "
        "source token on average"
    )
