"""Write the settings of stored models again, after a setting was added, renamed or removed.

    python recipes/save_again.py models/pretrained/* tests/fixtures/small/bundles/*

Settings that attn does not know are dropped, and new ones are stored with their defaults, in
config.json and, of a run, in config.toml. Digests are renewed; weights stay as they are.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attncli.training.config import RunConfig, read_run_config, read_toml, to_toml
from models.core.config import ModelConfig, every_setting
from models.core.files import write_text
from models.core.settings import from_dict, to_dict
from models.core.use_config import (
    AlignConfig,
    ConfidenceConfig,
    PrepareConfig,
    SearchConfig,
    TokenizerConfig,
)
from models.storage.digests import read_digests, write_files
from models.storage.settings import NAME, RUN_CONFIG, to_text

KINDS: dict[str, type] = {
    "model": ModelConfig,
    "tokenizer": TokenizerConfig,
    "search": SearchConfig,
    "alignment": AlignConfig,
    "prepare": PrepareConfig,
    "confidence": ConfidenceConfig,
}


def main() -> None:
    """Write the settings of each folder again."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, help="folders of bundles or runs")
    for folder in parser.parse_args().folders:
        if (folder / NAME).exists():
            save_again(folder)


def save_again(folder: Path) -> None:
    """Write config.json, and config.toml if there is one, with the settings that attn knows."""
    stored = json.loads((folder / NAME).read_text("utf-8"))
    for section, kind in KINDS.items():
        if section in stored:
            usual = every_setting() if section == "model" else kind()
            config: Any = from_dict(kind, known(usual, stored[section]), stored=True)
            stored[section] = to_dict(config)
    text = to_text(stored)
    if read_digests(folder):
        write_files(folder, {NAME: text.encode()})
    else:
        write_text(folder / NAME, text)
    if (folder / RUN_CONFIG).exists():
        values = read_toml(folder / RUN_CONFIG)
        usual = RunConfig().of_kind(str(values["model"]["family"]))
        values = known(dataclasses.replace(usual, model=every_setting()), values)
        write_text(folder / RUN_CONFIG, to_toml(read_run_config(values)))


def known(config: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a settings class has, those of its tables included."""
    kept: dict[str, Any] = {}
    for name, value in values.items():
        if hasattr(config, name):
            current = getattr(config, name)
            kept[name] = known(current, value) if dataclasses.is_dataclass(current) else value
    return kept


if __name__ == "__main__":
    main()
