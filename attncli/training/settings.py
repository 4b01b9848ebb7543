"""The run's configuration from what the command line names: files, a preset, assignments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from attncli.training.config import RunConfig, from_toml, run_config
from models.errors import ModelError


def settings(
    files: Sequence[Path],
    dev: Sequence[Path] = (),
    preset: str | None = None,
    assignments: Iterable[str] = (),
) -> RunConfig:
    """A TOML file among the files is where to start from, the others are data.

    The paths of the data become absolute, so that the run can go on from any folder.
    """
    assignments = list(assignments)
    values = _tables([path for path in files if path.suffix == ".toml"])
    data = [path for path in files if path.suffix != ".toml"]
    named = {
        name: [str(path) for path in paths]
        for name, paths in (("train", data), ("dev", dev))
        if paths
    }
    if named:
        values["data"] = {**_table(values, "data"), **named}
    chosen = _preset(values, preset, assignments)
    return _absolute(run_config(chosen, {**values, "preset": chosen}, assignments))


def _tables(files: list[Path]) -> dict[str, Any]:
    if not files:
        return {}
    if len(files) > 1:
        raise ModelError(f"{len(files)} TOML files, {' and '.join(map(str, files))}", "one")
    try:
        text = files[0].read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"cannot read {files[0]} ({reason})", "a TOML file") from None
    return from_toml(text, str(files[0]))


def _table(values: dict[str, Any], name: str) -> dict[str, Any]:
    table = values.get(name, {})
    if not isinstance(table, dict):
        raise ModelError(f"{name} = {table!r}", f"a table, [{name}]")
    return table


def _preset(values: dict[str, Any], preset: str | None, assignments: list[str]) -> str:
    """The preset to start from; one named twice over would leave the other's settings standing."""
    if any(assignment.partition("=")[0].strip() == "preset" for assignment in assignments):
        raise ModelError("the preset given with -s", "--preset NAME")
    stored = str(values.get("preset", ""))
    if preset and stored and preset != stored:
        raise ModelError(
            f"--preset {preset} and a TOML file of preset {stored}",
            "one preset",
            "leave --preset out, or the file's settings of [model] and [train]",
        )
    named = _table(values, "data").get("train") or any("data.train=" in a for a in assignments)
    return preset or stored or (RunConfig.preset if named else "demo")


def _absolute(config: RunConfig) -> RunConfig:
    data = config.data
    train, dev = (
        tuple(str(Path(path).absolute()) for path in paths) for paths in (data.train, data.dev)
    )
    return replace(config, data=replace(data, train=train, dev=dev))
