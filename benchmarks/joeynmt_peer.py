"""JoeyNMT 2.3.0 (Kreutzer, Bastings and Riezler 2019) as a peer, timed in the same way as attn.

Run by the peer's own Python, never by ours; each command prints one line of JSON on stdout:

    python3 -m venv peer
    peer/bin/pip install torch==2.13.0 sentencepiece==0.2.0 importlib_metadata "setuptools<81" \
        numpy pyyaml packaging tqdm pandas plotly matplotlib seaborn tensorboard datasets \
        sacrebleu sacremoses subword-nmt safetensors
    peer/bin/pip install --no-deps joeynmt==2.3.0   # its own list pins an old protobuf
    peer/bin/python joeynmt_peer.py prepare --work peer-run --data multi30k/tok --spm joint.model
    peer/bin/python joeynmt_peer.py train --work peer-run --steps 30
    peer/bin/python joeynmt_peer.py train --work peer-run --steps 2000 --save
    peer/bin/python joeynmt_peer.py curve --work peer-run --updates 1000 --every 100 --seed 1
    peer/bin/python joeynmt_peer.py import-weights --work peer-run --bundle runs/en-de
    peer/bin/python joeynmt_peer.py translate --work peer-run --input test.en --limit 60

What is timed is JoeyNMT's own `joeynmt.training.train` and `joeynmt.prediction.predict`; the hooks
below read a clock and count tokens, and change nothing else (but for `--bf16`, see `train`).
Seconds are those of the processor. With several threads, set OMP_WAIT_POLICY=passive: threads that
spin while they wait are counted, too.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import string
import tempfile
import time
from pathlib import Path
from typing import Any

from joeynmt_models import BEAM, LENGTH_PENALTY, NOT_THERE, SHARED, peer_state, searched

Figures = dict[str, Any]
CONFIGURATION = """
name: peer
joeynmt_version: 2.3.0
model_dir: $work/model
use_cuda: False
fp16: False  # JoeyNMT forces this on a CPU
random_seed: 42
data:
  train: $train
  dev: $dev
  src: &side
    lang: en
    level: bpe  # JoeyNMT's word for any subwords
    tokenizer_type: sentencepiece
    tokenizer_cfg: {model_file: $spm}
    voc_file: $work/vocabulary.txt
  trg: {<<: *side, lang: de}
model:
  tied_embeddings: True
  tied_softmax: True${model}training:
  {optimizer: adam, adam_betas: [0.9, 0.98], learning_rate: 0.005, learning_rate_warmup: 2000,
   scheduling: warmupinversesquareroot, loss: crossentropy, label_smoothing: 0.1,
   normalization: tokens, epochs: 10000, validation_freq: 1000000000, logging_freq: 100,
   shuffle: True,  # and no bucketing: JoeyNMT has none
   batch_type: token, batch_size: 4096}  # sentences x the longest of either side
testing:
  {beam_size: $beam, beam_alpha: $length_penalty, batch_type: sentence, batch_size: 64}
"""


def prepare(work: Path, data: Path, spm: Path, model: str) -> Figures:
    """Write JoeyNMT's configuration and the vocabulary of the given SentencePiece model."""
    (work / "model").mkdir(parents=True, exist_ok=True)
    pieces = read_pieces(spm)
    (work / "vocabulary.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    (train,), (dev,) = data.resolve().glob("train*.en"), data.resolve().glob("val*.en")
    paths = {"train": train.with_suffix(""), "dev": dev.with_suffix("")}
    paths |= {"work": work.resolve(), "spm": spm.resolve()}
    search = {"beam": BEAM, "length_penalty": LENGTH_PENALTY}
    text = string.Template(CONFIGURATION).substitute(paths, model=SHARED[model].peer, **search)
    (work / "config.yaml").write_text(text.lstrip(), encoding="utf-8")
    return {"config": str(work / "config.yaml"), "pieces": len(pieces)}


def read_pieces(spm: Path) -> list[str]:
    """All pieces of a SentencePiece model but its marks, which JoeyNMT adds by itself."""
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_file=str(spm))
    ids = range(model.get_piece_size())
    return [model.id_to_piece(i) for i in ids if not model.is_control(i) and i != model.unk_id()]


def train(work: Path, steps: int, warm_up: int, save: bool, bf16: bool) -> Figures:
    """Train `warm_up + steps` updates by JoeyNMT's own path; time the last `steps`.

    At least one step warms up: the clock starts as it ends, and runs on through the batching.

    JoeyNMT offers fp32 alone on a CPU; `bf16` puts other autocast settings in place of its own.
    """
    import torch
    from joeynmt import training
    from joeynmt.config import load_config

    begun: list[float] = []  # when a batch was ready
    ended: list[float] = []  # when the optimiser had stepped
    counts: list[tuple[int, int, int, int, int]] = []
    own_step, own_arguments = training.TrainManager._train_step, training.parse_global_args

    def timed_step(manager: Any, batch: Any) -> Any:
        if not begun:
            manager.optimizer.register_step_post_hook(lambda *_: ended.append(time.process_time()))
        begun.append(time.process_time())
        source, target = int(batch.src_length.sum()), int(batch.ntokens)
        counts.append((batch.nseqs, source, target, batch.src.numel(), batch.trg.numel()))
        return own_step(manager, batch)

    def bf16_arguments(cfg: Any, rank: int = 0, mode: str = "train") -> Any:
        autocast = {"device_type": "cpu", "enabled": True, "dtype": torch.bfloat16}
        return own_arguments(cfg, rank, mode)._replace(autocast=autocast)

    training.TrainManager._train_step = timed_step
    if bf16:
        training.parse_global_args = bf16_arguments
    configuration = load_config(work / "config.yaml")
    configuration["training"]["updates"] = warm_up + steps
    with tempfile.TemporaryDirectory(dir=work) as scratch:
        if not save:  # JoeyNMT always writes a last checkpoint, after the timed steps
            configuration["model_dir"] = scratch
        training.train(rank=0, world_size=None, cfg=configuration, skip_test=True)
    batches = counts[warm_up:]
    sentences, source, target, padded_source, padded_target = map(sum, zip(*batches, strict=True))
    seconds = ended[-1] - ended[warm_up - 1]
    return {
        "steps": steps,
        "target_tokens": target,  # with end marks, without padding
        "source_tokens": source,
        "seconds": seconds,
        "target_tokens_per_second": target / seconds,
        "batching_seconds": sum(begun[warm_up:]) - sum(ended[warm_up - 1 : -1]),
        "sentences": sentences,
        **{"padded_target_tokens": padded_target, "padded_source_tokens": padded_source},
        "precision": "bf16" if bf16 else "fp32",
        "threads": torch.get_num_threads(),
    }


def curve(work: Path, updates: int, every: int, seed: int) -> Figures:
    """Train by JoeyNMT's own path; return update, seconds and BLEU of each validation.

    Seconds are those of the processor since the first update; they do not count validation, which
    searches greedily. A fifth of the updates warm up.
    """
    from joeynmt import training
    from joeynmt.config import load_config

    begun: list[float] = []  # when the first batch was ready
    points: list[tuple[int, float, float]] = []
    own_step, own_predict, validated = training.TrainManager._train_step, training.predict, 0.0

    def timed_step(manager: Any, batch: Any) -> Any:
        if not begun:
            begun.append(time.process_time())
        return own_step(manager, batch)

    def timed_predict(*arguments: Any, **options: Any) -> Any:
        nonlocal validated
        started = time.process_time()
        found = own_predict(*arguments, **options)
        seconds = started - begun[0] - validated
        points.append(((len(points) + 1) * every, seconds, found[0]["bleu"]))
        validated += time.process_time() - started
        return found

    training.TrainManager._train_step, training.predict = timed_step, timed_predict
    configuration = load_config(work / "config.yaml")
    configuration["random_seed"] = seed
    configuration["testing"] |= {"eval_metrics": ["bleu"]}
    configuration["training"] |= {
        **{"updates": updates, "validation_freq": every, "logging_freq": 1},
        **{"early_stopping_metric": "bleu"},
        **{"learning_rate_warmup": updates // 5, "overwrite": True},
    }
    training.train(rank=0, world_size=None, cfg=configuration, skip_test=True)
    return {"points": points}


def translate(work: Path, input: Path, output: Path | None, limit: int) -> Figures:
    """Translate a file of lines (none of them empty) with the model that `train --save` left.

    limit: greatest output length in tokens, end mark included.
    """
    import torch
    from joeynmt import prediction
    from joeynmt.config import load_config, parse_global_args

    configuration = load_config(work / "config.yaml")
    configuration["testing"]["max_output_length"] = limit
    args = parse_global_args(configuration, rank=0, mode="translate")
    model, _, _, stream = prediction.prepare(args, rank=0, mode="translate")
    lines = input.read_text(encoding="utf-8").rstrip("\n").split("\n")
    for line in lines:
        stream.set_item(line)
    begun, wall = time.process_time(), time.perf_counter()
    _, _, texts, pieces, _, _ = prediction.predict(
        model, stream, args.device, args.n_gpu, args=args.test, autocast=args.autocast
    )
    ended, wall = time.process_time(), time.perf_counter() - wall
    if output:
        output.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return {
        "sentences": len(texts),
        "seconds": ended - begun,  # lines to lines, once the model is loaded
        "wall": wall,
        "searched": searched(
            lines, args.test.beam_size, args.test.beam_alpha, args.test.max_output_length
        ),
        "total_seconds": time.process_time(),  # of the whole process so far
        "output_tokens": sum(map(len, pieces)),  # with end marks
        "threads": torch.get_num_threads(),
    }


def import_weights(work: Path, bundle: Path) -> Figures:
    """Write the weights of our bundle of the same model as a checkpoint of JoeyNMT.

    JoeyNMT lacks two of our biases: `work/bundle` is our model with zeros there, to be compared
    with. What still differs is the epsilon of layer normalisation, 1e-6 there and 1e-5 here.
    """
    import torch
    from safetensors.torch import load_file, save_file

    copy = work / "bundle"
    copy.mkdir(exist_ok=True)
    for name in ("config.json", "tokenizer.model"):
        shutil.copy(bundle / name, copy)
    weights = load_file(bundle / "model.safetensors")
    for name in NOT_THERE:
        if name in weights:
            weights[name].zero_()
    save_file(weights, copy / "model.safetensors")
    state = dict(peer_state(weights, joeynmt_order(bundle / "tokenizer.model")))
    torch.save({"model_state": state}, work / "model" / "best.ckpt")
    return {"bundle": str(copy), "checkpoint": str(work / "model" / "best.ckpt")}


def joeynmt_order(spm: Path) -> list[int]:
    """Return the SentencePiece ids in the order of JoeyNMT's vocabulary: marks, then pieces."""
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_file=str(spm))
    marks = [model.unk_id(), model.pad_id(), model.bos_id(), model.eos_id()]
    return marks + [model.piece_to_id(piece) for piece in read_pieces(spm)]


def main() -> None:
    """Parse the command line, run one command, print its figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    for job in (prepare, train, curve, translate, import_weights):
        name = job.__name__.replace("_", "-")
        command = commands.add_parser(name, help=(job.__doc__ or "").partition("\n")[0])
        command.set_defaults(job=job)
        command.add_argument("--work", type=Path, required=True)
    commands.choices["prepare"].add_argument("--data", type=Path, required=True)
    commands.choices["prepare"].add_argument("--spm", type=Path, required=True)
    commands.choices["prepare"].add_argument("--model", choices=SHARED, default="transformer-tiny")
    commands.choices["train"].add_argument("--steps", type=int, required=True)
    commands.choices["train"].add_argument("--warm-up", type=int, default=5)
    commands.choices["train"].add_argument("--save", action="store_true")
    commands.choices["train"].add_argument("--bf16", action="store_true")
    for name in ("updates", "every", "seed"):
        commands.choices["curve"].add_argument(f"--{name}", type=int, required=True)
    commands.choices["translate"].add_argument("--input", type=Path, required=True)
    commands.choices["translate"].add_argument("--output", type=Path)
    commands.choices["translate"].add_argument("--limit", type=int, required=True)
    commands.choices["import-weights"].add_argument("--bundle", type=Path, required=True)
    given = vars(parser.parse_args())
    logging.disable(logging.INFO)
    print(json.dumps(given.pop("job")(**given)))


if __name__ == "__main__":
    main()
