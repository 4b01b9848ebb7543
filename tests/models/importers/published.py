"""Published models of small sizes with random weights, as `transformers` builds and saves them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import torch

try:
    import torchvision  # noqa: F401
except (ImportError, RuntimeError):  # absent, or built for another torch: nothing here needs it
    for name in ("transformers.utils", "transformers.utils.import_utils"):
        cast(Any, import_module(name)).is_torchvision_available = lambda: False
transformers: Any = import_module("transformers")

SCRIPTS = (
    "The old man sees a small house near the river and he likes its “red” door.",
    "Die Katze läuft über die Straße – schnell, wie immer – und trinkt « Milch ».",
    "Ο σκύλος κοιμάται κάτω από το τραπέζι της κουζίνας.",
    "Кошка спит на окне, а собака гуляет в парке.",
    "القط ينام على السرير في البيت الكبير",
    "बिल्ली खिड़की के पास सोती है",
    "猫は窓のそばで寝ています。今日は良い天気です。",
    "小狗在花园里跑来跑去，孩子们很高兴。",
)


def lines(count: int) -> list[str]:
    """Return lines in several scripts, no two of them equal."""
    found: list[str] = []
    for number in range(count):
        words = SCRIPTS[number % len(SCRIPTS)].split(" ")
        turn = number // len(SCRIPTS) % len(words)
        found.append(" ".join([*words[turn:], *words[:turn]]) + f" {number}")
    return found


def sentencepiece(texts: Iterable[str], size: int, kind: str = "unigram", **more: Any) -> bytes:
    """Return a SentencePiece model as publishers train it: with normalisation, without bytes."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*texts]),
        model_writer=model,
        vocab_size=size,
        model_type=kind,
        hard_vocab_limit=False,
        minloglevel=2,
        **more,
    )
    return model.getvalue()


def pieces(model: bytes) -> list[str]:
    """Return the pieces of a SentencePiece model."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor()
    processor.load_from_serialized_proto(model)
    return [processor.id_to_piece(number) for number in range(len(processor))]


@torch.no_grad()
def randomised(model: Any, scale: float = 0.3) -> Any:
    """Return a model with larger random weights, no bias or norm of which is trivial."""
    torch.manual_seed(2)
    for name, parameter in model.named_parameters():
        if "embed_positions" in name:
            continue  # a table, not weights
        if parameter.dim() > 1:
            parameter.mul_(4)
        else:
            parameter.add_(torch.randn_like(parameter), alpha=scale)
    return model.eval()


def taught(model: Any, inputs: Any, labels: list[list[int]], steps: int = 120) -> Any:
    """Return a model after some updates, so that its outputs differ and end. inputs: of `model`."""
    longest, optimiser = max(map(len, labels)), torch.optim.Adam(model.parameters(), 0.004)
    padded = torch.tensor([[*ids, *[-100] * (longest - len(ids))] for ids in labels])
    torch.manual_seed(3)
    for _ in range(steps):
        rows = torch.randint(len(padded), (24,))
        optimiser.zero_grad()
        model(
            **{name: part[rows] for name, part in inputs.items()}, labels=padded[rows]
        ).loss.backward()
        optimiser.step()
    return model.eval()


def marian(
    folder: Path,
    *,
    languages: Sequence[str] = (),
    separate: bool = False,
    sizes: dict[str, int] | None = None,
    lost: int = 3,
) -> Any:
    """Write a Marian model into a folder; return it. lost: pieces that vocab.json lacks."""
    folder.mkdir(parents=True, exist_ok=True)
    sides = [sentencepiece(lines(200), 400), sentencepiece(lines(300)[100:], 380)]
    for name, side in zip(("source.spm", "target.spm"), sides, strict=True):
        (folder / name).write_bytes(side)
    own = [[piece for piece in pieces(side)[3:]][: -lost or None] for side in sides]
    codes = [f">>{code}<<" for code in languages]
    if separate:
        longest = max(map(len, own))  # both have one id for <pad>
        fill = [[f"fill{n}" for n in range(longest - len(side))] for side in own]
        vocabularies = [
            ["</s>", "<unk>", *side, *more, "<pad>"] for side, more in zip(own, fill, strict=True)
        ]
        names = ["vocab.json", "target_vocab.json"]
    else:
        both = dict.fromkeys([*own[0], *own[1]])
        vocabularies, names = [["</s>", "<unk>", *both, *codes, "<pad>"]], ["vocab.json"]
    for name, tokens in zip(names, vocabularies, strict=True):
        ids = {token: number for number, token in enumerate(tokens)}
        (folder / name).write_text(json.dumps(ids), "utf-8")
    pad, target = len(vocabularies[0]) - 1, len(vocabularies[-1])
    small = {"d_model": 32, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48}
    small |= {"encoder_layers": 2, "decoder_layers": 2}
    small |= {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
    config = transformers.MarianConfig(
        vocab_size=pad + 1,
        decoder_vocab_size=target,
        pad_token_id=pad,
        eos_token_id=0,
        bos_token_id=0,
        decoder_start_token_id=target - 1,
        forced_eos_token_id=None,
        scale_embedding=True,
        activation_function="swish",
        share_encoder_decoder_embeddings=not separate,
        tie_word_embeddings=not separate,
        **{"max_position_embeddings": 512, **small, **(sizes or {})},
    )
    config._attn_implementation = "eager"
    torch.manual_seed(1)
    model = randomised(transformers.MarianMTModel(config))
    with torch.no_grad():
        model.final_logits_bias += torch.randn_like(model.final_logits_bias) / 4
    tokenizer_config = {"source_lang": "en", "target_lang": "de", "separate_vocabs": separate}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config))
    if sizes is None:
        tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
        inputs = tokenizer(lines(80), return_tensors="pt", padding=True)
        targets = tokenizer(text_target=lines(80))["input_ids"]
        taught(model, inputs, [[*ids[1 : 3 + n % 5], 0] for n, ids in enumerate(targets)])
    model.generation_config = transformers.GenerationConfig(
        num_beams=4,
        pad_token_id=pad,
        eos_token_id=0,
        decoder_start_token_id=target - 1,
        bad_words_ids=[[target - 1], [1]],
        max_length=100,
    )
    model.save_pretrained(folder)
    return model
