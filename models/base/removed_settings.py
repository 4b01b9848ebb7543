"""Settings of earlier versions, and why they were removed. Imports no torch.

A bundle, a run folder and a TOML file with such a setting can be read: the setting has no effect,
and a `RemovedSettingWarning` names it. To remove a setting, add one row to `REMOVED`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple


class RemovedSetting(NamedTuple):
    """A removed setting."""

    default: Any  # its value without effect, which is dropped without a warning
    reason: str  # one clause for the user, which follows "was removed: "


AUGMENTATION = "half of the images are mirrored, and crops keep at least 0.8 of the area"
FILTERS = "score location_aware has 10 filters of 15 slots"
GRAMMAR = "runs without files translate English to German; name files for other languages"
EXPECTED = "half of the sentences or images are read by expectation, as in Xu et al. 2015"
MOMENTS = "Adam has the decays 0.9 and 0.98 of Vaswani et al. 2017"
ALIGNER = "the alignment layer of attn align train learns from word links"
ATTENTIONS = ("attention", "self_attention")
RISK = "outputs are the most probable ones, without minimum Bayes risk"
MIX = "training chooses expectation or sample for a whole sentence or image, as in Xu et al. 2015"
SAMPLES = "hard attention samples from its weights"
SEED = "search.seed seeds the samples of hard attention"
SIZE = "data.demo_size gives the number of generated pairs, sentences or scenes"
FLAVOUR = "grow-diag adds links in the order of Moses"
REMOVED = {  # by place, as in search.beam; a table of a list has the place of the list
    "align.flavour": RemovedSetting("moses", FLAVOUR),
    "alignment.flavour": RemovedSetting("moses", FLAVOUR),
    "data.alignments": RemovedSetting("", ALIGNER),
    "data.corpora.alignments": RemovedSetting("", ALIGNER),
    "data.demo_source": RemovedSetting("en", GRAMMAR),
    "data.demo_target": RemovedSetting("de", GRAMMAR),
    "links.index": RemovedSetting("", "the first index of links is found from the file"),
    "links.skip_bad": RemovedSetting(False, "links to words that do not exist are an error"),
    "model.gate": RemovedSetting(True, "a captioner has the gate beta of Xu et al. 2015, 4.2.1"),
    **{f"model.{name}.depth": RemovedSetting(2, "score ffn has two layers") for name in ATTENTIONS},
    **{f"model.{name}.filters": RemovedSetting(10, FILTERS) for name in ATTENTIONS},
    **{f"model.{name}.filter_width": RemovedSetting(15, FILTERS) for name in ATTENTIONS},
    **{f"model.{name}.read_mix": RemovedSetting("sentence", MIX) for name in ATTENTIONS},
    **{f"model.{name}.read_temperature": RemovedSetting(1.0, SAMPLES) for name in ATTENTIONS},
    **{f"model.{name}.read_seed": RemovedSetting(1, SEED) for name in ATTENTIONS},
    **{f"model.{name}.read_soft": RemovedSetting(0.5, EXPECTED) for name in ATTENTIONS},
    "data.demo_pairs": RemovedSetting(8000, SIZE),
    "data.demo_scenes": RemovedSetting(2000, SIZE),
    "lengths.quantiles": RemovedSetting(0, "lengths.step gives the words of a range"),
    "tokenizer.coverage": RemovedSetting(
        0.9999, "a vocabulary covers 99.99 % of the characters; the rest are encoded as bytes"
    ),
    "tokenizer.sample": RemovedSetting(
        300_000, "a vocabulary is learned from at most 300,000 sampled lines"
    ),
    "train.attention.baseline_decay": RemovedSetting(
        0.9, "the REINFORCE baseline decays by 0.9, as in Xu et al. 2015"
    ),
    "train.plateau_factor": RemovedSetting(
        0.5, "the plateau schedule halves the learning rate; train.plateau_patience delays it"
    ),
    "data.shuffle_window": RemovedSetting(2**24, "an epoch shuffles all pairs"),
    "train.attention.guide": RemovedSetting(0.05, ALIGNER),
    "train.attention.guide_head": RemovedSetting(1, ALIGNER),
    "train.attention.guide_layer": RemovedSetting(0, ALIGNER),
    "train.attention.guide_null": RemovedSetting(False, ALIGNER),
    "train.attention.guide_shift": RemovedSetting(0, ALIGNER),
    "train.beta1": RemovedSetting(0.9, MOMENTS),
    "train.beta2": RemovedSetting(0.98, MOMENTS),
    "train.crop": RemovedSetting(0.8, AUGMENTATION),
    "train.flip": RemovedSetting(0.5, AUGMENTATION),
    "train.fast_reduce": RemovedSetting(
        False, "the sum in a fixed order takes no more processor time"
    ),
    "search.shortlist": RemovedSetting(
        False, "a lexical shortlist made only torch's search faster, by 10 to 21 %"
    ),
    "search.views": RemovedSetting(1, "several views of an image gained nothing on unseen images"),
    "search.mbr": RemovedSetting("none", RISK),
    "search.mbr_scale": RemovedSetting(0.5, RISK),
    "search.candidates": RemovedSetting(20, RISK),
    "train.accumulate": RemovedSetting(
        1, "train.shards computes an update in parts; multiply train.batch_tokens instead"
    ),
    "train.self_critical_bleu": RemovedSetting(0.0, "the reward is CIDEr-D"),
    "train.self_critical_samples": RemovedSetting(
        5, "5 captions are sampled per image; each is compared with the mean of the others"
    ),
    "train.wait_minutes": RemovedSetting(10.0, "a process waits 10 minutes for another"),
    "train.weight_decay": RemovedSetting(0.0, "no recipe used it"),
    "train.products": RemovedSetting(
        "torch", "oneDNN made only training in fp32 on a CPU faster, 1.3 times; bf16 gains more"
    ),
    "train.shard_model": RemovedSetting(False, "no model of attn is too large for one GPU"),
    "train.tensorboard": RemovedSetting(False, "set train.loggers=tensorboard"),
}


class RemovedSettingWarning(UserWarning):
    """A stored setting that no longer exists."""


TRANSFORMERS = ("transformer", "captioner-transformer")
WITHOUT_NAME = "additive"  # score that every Transformer stored when it had no choice of scores


def updated(values: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Return stored settings of any version in the present form; see `without_removed`.

    A Transformer of earlier versions stored the defaults of recurrent attention, which it did not
    read. They lack settings that are stored beside them now.
    """
    kept = without_removed(values, file)
    model = kept.get("model")
    if not isinstance(model, dict) or model.get("family") not in TRANSFORMERS:
        return kept
    attention = model.get("attention")
    if not isinstance(attention, dict):
        return kept
    is_old = "read" in attention and "read_gradient" not in attention
    if is_old and attention.get("score") == WITHOUT_NAME:
        model["attention"] = {**attention, "score": ""}
    return kept


def without_removed(values: Mapping[str, Any], file: str, where: str = "") -> dict[str, Any]:
    """Return stored settings without those that were removed.

    Warn about each that is not at its default. file: where they are stored, for the message. where:
    the dotted place of `values`.
    """
    kept: dict[str, Any] = {}
    for name, value in values.items():
        place = f"{where}.{name}" if where else name
        if place in REMOVED:
            _warn(place, value, file)
        elif isinstance(value, Mapping):
            kept[name] = without_removed(value, file, place)
        elif isinstance(value, list):
            kept[name] = [
                without_removed(item, file, place) if isinstance(item, Mapping) else item
                for item in value
            ]
        else:
            kept[name] = value
    return kept


def _warn(place: str, value: Any, file: str) -> None:
    removed = REMOVED[place]
    if value != removed.default:
        text = f"{file}: {place} has no effect. It was removed: {removed.reason}"
        warnings.warn(text, RemovedSettingWarning, stacklevel=1)
