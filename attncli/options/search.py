"""Options of the search that every command with outputs has; the others are settings (-s)."""

from __future__ import annotations

from typing import Annotated

import typer

from models.base.errors import ConfigurationError
from models.config.tables import NO_UTILITY, SearchConfig

Beam = Annotated[
    int | None,
    typer.Option("--beam", "-b", help="Beam size: hypotheses kept at each step."),
]
Nbest = Annotated[int | None, typer.Option("--nbest", "-n", help="Outputs per input.")]


def check_search(search: SearchConfig) -> None:
    """Raise an error for search settings that have no effect or no result."""
    sampling = (search.temperature, search.top_k, search.top_p)
    default = (SearchConfig.temperature, SearchConfig.top_k, SearchConfig.top_p)
    if search.method != "sample" and sampling != default:
        raise ConfigurationError(
            f"search.temperature, top_k or top_p with search.method={search.method}",
            "search.method=sample",
        )
    if search.mbr != NO_UTILITY and search.method == "greedy":
        raise ConfigurationError(
            f"search.mbr={search.mbr} with search.method=greedy, which has one candidate",
            "search.method=beam or sample",
        )
    beam = search.beam if search.mbr == NO_UTILITY else max(search.beam, search.candidates)
    kept = {"beam": beam, "greedy": 1}.get(search.method, search.nbest)
    if search.nbest > kept:
        raise typer.BadParameter(
            f"{search.nbest} outputs, but search.method={search.method} keeps {kept}",
            param_hint="'--nbest'",
        )
