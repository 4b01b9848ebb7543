"""Tiny trainings: every family, and the settings that change what training computes.

A training is a command line over files that the tests write; its output is the log without times.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from safetensors.torch import load_file

from attncli.train.events import read_log
from tests.attncli.command_line import flags
from tests.attncli.labels import write_toy
from tests.attncli.training.kinds import (
    CHANGED,
    SOUND,
    VARIED,
    write_corpus,
    write_rows,
    write_wavs,
)
from tests.attncli.training.small import SMALL, TINY, write_texts
from tests.attncli.training.small_captions import PATCHES, write_images
from tests.attncli.training.small_captions import SMALL as SMALL_IMAGES
from tests.frozen.doors import BUNDLES, attn

NOT_KEPT = ("seconds", "tokens_per_second", "elapsed", "attn", "torch", "threads")
SHORT = ("train.steps=8", "train.evaluate_every=4", "train.precision=fp32")
LABELLED = tuple(one for one in TINY if "bleu" not in one)
ROWS = tuple(one for one in SMALL if "layers" not in one and "search.max" not in one)

Training = Callable[[Path], tuple[str, bytes]]  # in a folder: its log, and its bundle as bytes


def training(kind: str, preset: str = "", *changes: str, words: tuple[str, ...] = ()) -> Training:
    """Return a training of a kind of data with a preset and settings; words: further options."""

    def run(folder: Path) -> tuple[str, bytes]:
        given, settings = DATA[kind](folder)
        options = ["-p", preset] if preset else []
        own = flags((*settings, *SHORT, *changes))
        return trained(folder / "run", *given, *options, *words, *own)

    return run


def trained(run: Path, *words: str) -> tuple[str, bytes]:
    """Train into a folder; return the log without times, and the weights."""
    said = attn("train", *words, "-o", run, "--device", "cpu", "--threads", "1")
    status = said.strip().splitlines()[-1]
    return outcome(run, said if status != "status 0" else status)


def outcome(run: Path, said: str) -> tuple[str, bytes]:
    """Return the log of a run without times, and the weights of its bundle."""
    records = read_log(run / "log.jsonl") if (run / "log.jsonl").exists() else []
    kept = [{k: v for k, v in one.items() if k not in NOT_KEPT} for one in records]
    text = "\n".join([*map(json.dumps, kept), said])
    text = re.sub(re.escape(str(run.parent)), "FOLDER", text)
    weights = run / "model.safetensors"
    if not weights.exists():
        return text, b""
    tensors = load_file(weights)
    sizes = [f"{name} {float(one.float().abs().sum()):.4f}" for name, one in tensors.items()]
    parts = [tensors[name].numpy().tobytes() for name in sorted(tensors)]
    return "\n".join([text, *sorted(sizes)]), b"".join(parts)


def continued(folder: Path) -> tuple[str, bytes]:
    """Train, and continue the finished run with more updates."""
    first = training("pairs", "transformer-nano")
    first(folder)
    return trained(folder / "run", str(folder / "run"), "-s", "train.steps=12")


def from_model(*changes: str, words: tuple[str, ...] = ()) -> Training:
    """Return a training that starts from a trained model of the fixtures."""

    def run(folder: Path) -> tuple[str, bytes]:
        texts = write_texts(folder)
        own = flags((*SHORT, "train.log_every=1", *changes))
        start = ("--start-from", str(BUNDLES / "transformer"))
        return trained(folder / "run", str(texts.train), "--dev", str(texts.dev), *start, *own)

    return run


def aligner(folder: Path) -> tuple[str, bytes]:
    """Train a word aligner on pairs, and align with it."""
    texts = write_texts(folder)
    out = folder / "run"
    own = flags((*SMALL, *SHORT))
    said = attn("align", "train", texts.train, "-o", out, "--threads", "1", *own)
    links = attn("align", "-m", out, given=texts.dev.read_text("utf-8"))
    status = said.strip().splitlines()[-1]
    return links + status, b""


def pairs(folder: Path) -> tuple[list[str], tuple[str, ...]]:
    """Return words and settings of a training on sentence pairs."""
    texts = write_texts(folder)
    return [str(texts.train), "--dev", str(texts.dev)], SMALL


def corpora(folder: Path) -> tuple[list[str], tuple[str, ...]]:
    """Return words and settings of a multilingual training."""
    first = write_corpus(folder, "en", "de", 60)
    second = write_corpus(folder, "en", "fr", 12)
    dev = write_corpus(folder, "en", "de", 4, seed=2)
    words = ["--corpus", f"en-de={first}", "--corpus", f"en-to-fr={second}"]
    return [*words, "--dev-corpus", f"en-de={dev}"], SMALL


def labels(folder: Path) -> tuple[list[str], tuple[str, ...]]:
    """Return words and settings of a classifier's training."""
    return ["--labels", str(write_toy(folder / "labels.tsv", 120))], LABELLED


def captions(folder: Path) -> tuple[list[str], tuple[str, ...]]:
    """Return words and settings of a captioner's training."""
    files = write_images(folder)
    words = ["--images", str(files.images), "--captions", str(files.train), "--dev"]
    return [*words, str(files.dev)], (*SMALL_IMAGES, f"data.features={folder / 'features'}")


def recordings(folder: Path) -> tuple[list[str], tuple[str, ...]]:
    """Return words and settings of a training on recordings."""
    wavs = write_wavs(folder / "wavs")
    words = ["--audio", str(wavs), "--transcripts", str(wavs / "train.tsv")]
    return [*words, "--dev", str(wavs / "dev.tsv")], SOUND


def rows(folder: Path) -> tuple[list[str], tuple[str, ...]]:
    """Return words and settings of a training on rows of several inputs."""
    dev = write_rows(folder, 12, "dev.tsv")
    return [str(write_rows(folder)), "--dev", str(dev)], ROWS


DATA: dict[str, Callable[[Path], tuple[list[str], tuple[str, ...]]]] = {
    **{"pairs": pairs, "corpora": corpora, "labels": labels, "captions": captions},
    **{"recordings": recordings, "rows": rows},
}
TRAININGS: dict[str, Training] = {
    "transformer": training("pairs", "transformer-nano"),
    "transformer post-norm, rotary": training(
        "pairs", "transformer-nano", "model.norm=post", "model.position=rotary"
    ),
    "transformer sparse, grouped": training(
        *("pairs", "transformer-nano", "model.attention.normalise=entmax15"),
        *("model.self_attention.kv_heads=1", "model.attention.null_slot=true"),
    ),
    "transformer pointer": training("pairs", "transformer-nano", "model.copy=pointer"),
    "transformer muon, linear": training(
        "pairs", "transformer-nano", "train.optimiser=muon", "train.schedule=linear"
    ),
    "transformer bf16": training("pairs", "transformer-nano", "train.precision=bf16"),
    "transformer shards, ema": training(
        "pairs", "transformer-nano", "train.shards=2", "train.ema=0.5", "train.average=1"
    ),
    "transformer r-drop, sampling": training(
        "pairs", "transformer-nano", "train.r_drop=1", "train.subword_sampling=0.3"
    ),
    "transformer bleu, beam": training(
        "pairs", "transformer-nano", "train.metric=bleu", "search.method=beam", "train.samples=2"
    ),
    "transformer plateau, average": training(
        "pairs", "transformer-nano", "train.schedule=plateau", "train.average=2"
    ),
    "transformer mixing average": training("pairs", "transformer-nano", "model.mixing=average"),
    "rnnsearch": training("pairs", "rnnsearch-nano"),
    "rnnsearch coverage, lstm": training(
        *("pairs", "rnnsearch-nano", "model.cell=lstm", "model.attention.coverage=true"),
        "model.attention.heads=2",
    ),
    "rnnsearch copynet": training("pairs", "rnnsearch-nano", "model.copy=copynet"),
    "luong": training("pairs", "luong-nano"),
    "luong local_p": training("pairs", "luong-nano", "model.attention.window=local_p"),
    "seq2seq": training("pairs", "seq2seq-nano"),
    "corpora": training("corpora", "transformer-nano"),
    "corpora varied": training("corpora", "transformer-nano", *VARIED),
    "labels": training("labels", "bilstm-attention-nano"),
    "labels transformer": training(
        "labels", "classifier-transformer-small", "model.pooling=self_attentive"
    ),
    "captions soft": training("captions", "show-attend-tell-soft-nano"),
    "captions hard": training("captions", "show-attend-tell-hard-nano"),
    "captions self-critical": training(
        "captions", "show-attend-tell-soft-nano", "train.self_critical_lr=0.001"
    ),
    "captions transformer": training(
        "captions", "captioner-transformer-nano", "model.image.encoder=vit"
    ),
    "captions top-down": training("captions", "top-down-nano", *PATCHES),
    "captions adaptive": training("captions", "adaptive-nano", *PATCHES),
    "recordings": training("recordings", "listen-attend-spell-nano"),
    "recordings changed": training("recordings", "listen-attend-spell-nano", *CHANGED),
    "recordings transformer": training("recordings", "speech-transformer-nano"),
    "rows": training("rows", "multi-source-nano"),
    "rows transformer": training("rows", "multi-source-transformer-nano"),
    "continued": continued,
    "from a model": from_model(),
    "from a model, frozen": from_model("train.freeze=encoder", "train.lr=0.01"),
    "two processes": training("pairs", "transformer-nano", words=("--processes", "2")),
    "aligner": aligner,
}
