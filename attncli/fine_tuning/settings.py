"""Settings of a run that starts from a trained model; imports no torch."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from attncli.train.command_line import table_of
from attncli.train.folder import RunFolder, read_config
from attncli.training.config import read_run_config
from attncli.training.sources import kinds_with, training_source
from models.core.errors import ConfigurationError, ModelError
from models.core.settings import Tables, Values, fields_of, from_dict, merged, to_dict
from models.core.sources import source_of
from models.core.use_config import SavedSearchConfig
from models.storage.presets import PRESETS
from models.storage.settings import REPLAY as REPLAY_FILE
from models.storage.settings import read_settings

REPLAY = 1 / 2  # share of the replay set in the examples of an epoch
# with 5,000 own pairs, three passes cost 2.6 points of Tatoeba BLEU, 185 updates 1.1 to 1.6
BOUNDED = 180  # updates with a replay set: each costs old knowledge
# few examples need more passes to be learned, and more passes forget more
SEEN_EXAMPLES = 3000  # of a run without one: as many passes over its data, within these bounds:
MAX_PASSES, MIN_PASSES = 10, 3
COUNTED = SEEN_EXAMPLES // MIN_PASSES  # examples to count; more do not change the settings
# of another stage of training (hard attention, rewards, unfreezing)
STAGES = ("model.", "train.self_critical_", "train.encoder_from", "train.attention.")
RATES = frozenset({"train.lr", "train.self_critical_lr"})


def begun(values: Values, start: Path) -> Values:
    """Return the values merged over the settings of the initial model, with its preset."""
    stored = read_settings(start)
    try:
        run = read_config(RunFolder(start))
        preset, style = run.preset, getattr(run.data, "caption_style", None)
    except ModelError:  # a bundle alone, or of another version
        preset, style = "", None
    if preset not in PRESETS:
        model = stored["model"]
        usual = usual_preset(str(model.get("family")), model.get("attention", {}).get("read", ""))
        preset = str(values.get("preset") or usual)
    data = {**({"caption_style": style} if style else {}), **table_of(values, "data")}
    if data.get("corpora") and (start / REPLAY_FILE).is_file():
        data = {"replay": REPLAY, **data}
    names = ("model", "tokenizer", "search")
    saved = fields_of(SavedSearchConfig)  # without those of use, such as search.nbest
    stored["search"] = {name: value for name, value in stored["search"].items() if name in saved}
    own = read_run_config({name: stored[name] for name in names})
    own = merged(own, {name: table_of(values, name) for name in names})
    tables = {name: to_dict(getattr(own, name)) for name in names}
    return {"preset": preset, **values, **tables, "data": data, "start_from": str(start)}


def fitted(values: Values, given: Collection[str]) -> Tables:
    """Return the defaults of [train] that fit the examples; unreadable files are reported later.

    values: the tables of settings. given: names of the settings that the user set.
    """
    family, count = values["model"]["family"], COUNTED
    source = training_source(family)
    others = values["data"].keys() - fields_of(source.table).keys()
    if kinds_with(others):
        name, ability = Path(values["start_from"]).name, source_of(family).ability
        raise ModelError(f"{name} {ability}", "", f"give {source.inputs()}")
    data = from_dict(source.table, values["data"], where="data")
    with suppress(ModelError):
        count = data.count(COUNTED)
    rate, has_replay = source.fine_tuning_rate, bool(values["data"].get("replay"))
    return {"train": fine_tuning(count, rate, given, has_replay=has_replay)}


def fine_tuning(examples: int, rate: float, given: Collection[str], *, has_replay: bool) -> Values:
    """Return the defaults of [train] for a number of examples.

    A low rate that falls linearly and few updates keep what the model knew; with a replay set
    their number is always the same. rate: its peak, of the kind of input. given: names of the
    settings that the user set. There are none for another stage of training whose rate is given:
    the settings of the model's own training apply to it.
    """
    # another stage, such as self-critical training, continues the model's own recipe
    if RATES.intersection(given) and any(name.startswith(STAGES) for name in given):
        return {}
    is_bounded = has_replay and "train.epochs" not in given
    passes = max(MIN_PASSES, min(MAX_PASSES, SEEN_EXAMPLES // max(1, examples)))
    return {
        "optimiser": "adam",
        "lr": rate,
        "schedule": "linear",
        "warmup": 20,
        "steps": BOUNDED if is_bounded else 0,
        "epochs": 0 if is_bounded or "train.steps" in given else passes,
        "patience": 2,
        "batch_tokens": max(128, min(1024, 4 * examples)),  # several updates a pass
        "evaluate_every": BOUNDED // 4 if is_bounded else 0,
        "metric": "loss",  # scores of few examples vary too much to choose by them
        "ema": 0.0,
    }


def usual_preset(family: str, read: str = "") -> str:
    """Return the preset whose training recipe suits a model of a family if no preset is named.

    read: read mode of its attention.
    """
    named = [name for name, one in PRESETS.items() if one.model.get("family", "") == family]
    if not named:
        known = dict.fromkeys(str(one.model["family"]) for one in PRESETS.values())
        raise ConfigurationError(
            f"family '{family}', which has no preset",
            f"one of {', '.join(known)}",
            'name the preset whose training settings apply in a TOML file: preset = "NAME"',
        )
    usual = next((name for name in named if PRESETS[name].usual), named[0])
    same_read = usual.replace("soft", read) if read else usual
    return same_read if same_read in PRESETS else usual
