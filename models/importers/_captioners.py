"""Captioners whose encoder is a vision Transformer: BLIP, and ViT or DeiT with GPT-2.

BLIP (Li et al. 2022): the text decoder is BERT's, post-norm, with word and position embeddings that
are normalised, and a transformation before the output. ViT with GPT-2 (VisionEncoderDecoder): the
decoder is pre-norm, with GELU by tanh; its matrices are stored transposed.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.core.errors import intact
from models.core.files import open_regular
from models.core.settings import MAX_SIZE, MAX_SLOTS, Values, parse_json
from models.core.use_config import SearchConfig, TokenizerConfig
from models.importers._schema import (
    Rule,
    read_json,
    read_list,
    read_value,
    renamed,
    rules,
    validated,
)
from models.importers._vocabularies import Special, Vocabulary, arranged, rearranged_json
from models.importers.base import Imported, Importer, facts, rows_of, silenced
from models.networks.config import CaptionerTransformerConfig, VisionTransformerConfig
from models.text.tokenizer import JSON, Tokenizer

RESAMPLE = {2: "bilinear", 3: "bicubic"}  # numbers of Pillow
BODY = "encoder.body"
HALF = 0.5  # mean and deviation of pixels that `vit` reads
ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"}
VISION = rules(  # settings of the image encoder
    "size: hidden_size>width intermediate_size num_attention_heads>heads",
    "layers: num_hidden_layers>layers",
    "epsilon: layer_norm_eps>norm_epsilon",
    "pixels: patch_size image_size>size",
    hidden_act=Rule(("gelu",), "gelu"),
)
CAPTION = {  # of the search; 0: the default
    "num_beams": Rule(int, 0, most=10_000),
    "max_length": Rule(int, 0, most=10**30),
    "length_penalty": Rule(float, 1.0, -100, 100),
}
SPECIAL = rules("id?: pad_token_id decoder_start_token_id eos_token_id")  # null: of the other file
GPT2 = (
    "size: n_embd>embedding n_head>heads",
    "layers: n_layer>decoder_layers",
    "slots: n_positions>max_source",
    "epsilon: layer_norm_epsilon>norm_epsilon",
)
PIXELS = rules(
    "false: do_center_crop",
    resample=Rule(RESAMPLE, 2),
    image_mean=Rule(list[float], least=-1e4, most=1e4),
    image_std=Rule(list[float], least=1e-4, most=1e4),
)
TOKENIZER = {"vocab": Rule(dict[str, int]), "added_tokens": Rule(list[Values], ())}
ADDED = rules("id: id", content=Rule(str), special=Rule(bool))


class VitCaptioner(Importer):
    """A captioner that reads the slots of a vision Transformer."""

    patch = tokens = positions = words = target_positions = ""  # published names of weights
    output_bias = ""  # empty: there is none

    @cached_property
    def pixels(self) -> Values:
        """The content of preprocessor_config.json."""
        return read_json(self.folder / "preprocessor_config.json", PIXELS)

    def image(self, vision: Values, class_tokens: int) -> VisionTransformerConfig:
        """Return the settings of the image encoder."""
        width, hidden = vision["hidden_size"], vision["intermediate_size"]
        if hidden != 4 * width:
            raise ValueError(f"a feed-forward layer of {hidden} over {width}")
        return VisionTransformerConfig(
            **renamed(vision, VISION),
            grid=str(vision["patch_size"]),
            fit="squash",
            resample=self.pixels["resample"],
            class_tokens=class_tokens,
            project=False,
        )

    def with_tokenizer(
        self, config: CaptionerTransformerConfig, special: Special, count: int
    ) -> Imported:
        """Return settings and vocabulary. count: rows of the embedding."""
        content = read_tokenizer(self.folder)
        vocabulary, tokenizer = json_vocabulary(content, special, self.rows(self.words, count))
        return Imported(
            config,
            tokenizer,
            TokenizerConfig(kind="bpe"),
            search=self.search(),
            source=None,
            target=vocabulary,
            about=facts(self.folder, f"{self.model_type}, imported", ("en",)),
        )

    def search(self) -> SearchConfig:
        """Return the search settings; without any, those of Li et al. 2022."""
        beam, longest, alpha = (self.generation[name] for name in CAPTION)
        return SearchConfig(
            beam=beam if beam > 1 else 3,
            length_penalty=max(0.0, float(alpha or 1)),
            length_penalty_form="power",
            # their limit, 20 by default, counts the start mark too
            max_caption=min(max(2, (longest or 20) - 1), MAX_SLOTS),
        )

    def tensor(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """Return weights by the name that they have in this program."""
        vocabulary = self.imported.target
        if name in (f"{BODY}.patch", f"{BODY}.patch_bias"):
            return self._patch()[name == f"{BODY}.patch_bias"]
        if name == f"{BODY}.class_embedding":
            return torch.cat([self.theirs(each)[0] for each in self.tokens.split()])
        if name == f"{BODY}.position_embedding":
            return self.theirs(self.positions)[0]
        if name == "decoder.embedding.weight":
            return rows_of(self.theirs(self.words), vocabulary)
        if name == "decoder.position.embedding":
            return self.theirs(self.target_positions)
        if name == "output.bias":
            return silenced(self.optional(self.output_bias), vocabulary)
        return super().tensor(name, shape)

    def _patch(self) -> tuple[Tensor, Tensor]:
        """Return weight and bias of the patches, for pixels from -1 to 1.

        W (x - m) / s + b = W' (x - 1/2) / (1/2) + b',  W' = W / (2 s),  b' = b + W (1/2 - m) / s
        """
        weight, bias = (self.theirs(f"{self.patch}.{part}").float() for part in ("weight", "bias"))
        mean, deviation = (
            torch.tensor(self.pixels[key]).view(3, 1, 1) for key in ("image_mean", "image_std")
        )
        moved = (weight * (HALF - mean) / deviation).flatten(1).sum(1)
        # folded into the weights, because this program normalises all pixels alike
        return weight * HALF / deviation, bias + moved


class Blip(VitCaptioner):
    """BLIP for captions, base or large."""

    model_type = "blip"
    of_generation = CAPTION
    schema = {
        "vision_config": VISION,
        "text_config": rules(
            "size: hidden_size>embedding intermediate_size>hidden num_attention_heads>heads",
            "layers: num_hidden_layers>decoder_layers",
            "slots: max_position_embeddings>max_source",
            "epsilon: layer_norm_eps>norm_epsilon",
            "id: vocab_size pad_token_id bos_token_id sep_token_id",
            hidden_act=Rule(ACTIVATIONS, ours="activation"),
        ),
    }
    patch = "vision_model.embeddings.patch_embedding"
    tokens = "vision_model.embeddings.class_embedding"
    positions = "vision_model.embeddings.position_embedding"
    words = "text_decoder.bert.embeddings.word_embeddings.weight"
    target_positions = "text_decoder.bert.embeddings.position_embeddings.weight"
    output_bias = "text_decoder.cls.predictions.bias"
    unused = r"position_ids$|^text_decoder\.cls\.predictions\.decoder\."
    table = {
        f"{BODY}.layers.N.attention.input": "vision_model.encoder.layers.N.self_attn.qkv",
        f"{BODY}.layers.N.attention.output": "vision_model.encoder.layers.N.self_attn.projection",
        f"{BODY}.layers.N.attention_norm": "vision_model.encoder.layers.N.layer_norm1",
        f"{BODY}.layers.N.forward_norm": "vision_model.encoder.layers.N.layer_norm2",
        f"{BODY}.layers.N.feed_forward.inner": "vision_model.encoder.layers.N.mlp.fc1",
        f"{BODY}.layers.N.feed_forward.outer": "vision_model.encoder.layers.N.mlp.fc2",
        f"{BODY}.norm": "vision_model.post_layernorm",
        "decoder.embedding_norm": "text_decoder.bert.embeddings.LayerNorm",
        "output.transform": "text_decoder.cls.predictions.transform.dense",
        "output.norm": "text_decoder.cls.predictions.transform.LayerNorm",
        **{
            f"decoder.layers.N.{ours}": f"text_decoder.bert.encoder.layer.N.{theirs}"
            for ours, theirs in {
                "self_attention.input": "attention.self.{query,key,value}",
                "self_attention.output": "attention.output.dense",
                "self_norm": "attention.output.LayerNorm",
                "cross_attention.query": "crossattention.self.query",
                "cross_attention.input": "crossattention.self.{key,value}",
                "cross_attention.output": "crossattention.output.dense",
                "cross_norm": "crossattention.output.LayerNorm",
                "feed_forward.inner": "intermediate.dense",
                "feed_forward.outer": "output.dense",
                "forward_norm": "output.LayerNorm",
            }.items()
        },
    }

    @cached_property
    def imported(self) -> Imported:
        """Settings and vocabulary."""
        text = self.settings["text_config"]
        config = CaptionerTransformerConfig(
            **renamed(text, self.schema["text_config"]),
            encoder_layers=0,
            position="learned",
            norm="post",
            embedding_norm=True,
            embedding_scale=False,
            output_transform=True,
            image=self.image(self.settings["vision_config"], 1),
        )
        unknown = read_tokenizer(self.folder)["model"]["vocab"].get("[UNK]", -1)
        special = Special(text["pad_token_id"], unknown, text["bos_token_id"], text["sep_token_id"])
        return self.with_tokenizer(config, special, text["vocab_size"])


class VitGpt2(VitCaptioner):
    """ViT or DeiT with GPT-2: VisionEncoderDecoder."""

    model_type = "vision-encoder-decoder"
    schema = {
        "encoder": {**VISION, "model_type": Rule(("vit", "deit"))},
        "decoder": rules(
            *GPT2,
            "false: scale_attn_by_inverse_layer_idx",
            "true: scale_attn_weights tie_word_embeddings",
            "id: vocab_size eos_token_id",
            model_type=Rule(("gpt2",)),
            activation_function=Rule(ACTIVATIONS, ours="activation"),
            n_inner=Rule(int, None, 1, MAX_SIZE),
        ),
        **SPECIAL,
    }
    of_generation = {**CAPTION, **SPECIAL}
    patch = "encoder.embeddings.patch_embeddings.projection"
    positions = "encoder.embeddings.position_embeddings"
    words = "decoder.transformer.wte.weight"
    target_positions = "decoder.transformer.wpe.weight"
    unused = r"(\.attn|crossattention)\.(masked_)?bias$|^decoder\.lm_head|^encoder\.pooler"
    table = {
        **{
            f"{BODY}.layers.N.{ours}": f"encoder.encoder.layer.N.{theirs}"
            for ours, theirs in {
                "attention.input": "attention.attention.{query,key,value}",
                "attention.output": "attention.output.dense",
                "attention_norm": "layernorm_before",
                "forward_norm": "layernorm_after",
                "feed_forward.inner": "intermediate.dense",
                "feed_forward.outer": "output.dense",
            }.items()
        },
        f"{BODY}.norm": "encoder.layernorm",
        "decoder.norm": "decoder.transformer.ln_f",
        **{
            f"decoder.layers.N.{ours}": theirs.replace("h.N", "decoder.transformer.h.N")
            for ours, theirs in {
                "self_attention.input": "T h.N.attn.c_attn",
                "self_attention.output": "T h.N.attn.c_proj",
                "self_norm": "h.N.ln_1",
                "cross_attention.query": "T h.N.crossattention.q_attn",
                "cross_attention.input": "T h.N.crossattention.c_attn",
                "cross_attention.output": "T h.N.crossattention.c_proj",
                "cross_norm": "h.N.ln_cross_attn",
                "feed_forward.inner": "T h.N.mlp.c_fc",
                "feed_forward.outer": "T h.N.mlp.c_proj",
                "forward_norm": "h.N.ln_2",
            }.items()
        },
    }

    @cached_property
    def imported(self) -> Imported:
        """Settings and vocabulary."""
        vision, text = self.settings["encoder"], self.settings["decoder"]
        distilled = vision["model_type"] == "deit"
        names = ["cls_token", "distillation_token"][: 1 + distilled]
        self.tokens = " ".join(f"encoder.embeddings.{name}" for name in names)
        config = CaptionerTransformerConfig(
            **renamed(text, self.schema["decoder"]),
            hidden=text["n_inner"] or 4 * text["n_embd"],
            encoder_layers=0,
            position="learned",
            embedding_scale=False,
            image=self.image(vision, 1 + distilled),
        )
        given = {**self.settings, "eos_token_id": text["eos_token_id"]}
        for found in (self.settings, self.generation):
            given |= {name: found[name] for name in SPECIAL if found[name] is not None}
        ids = validated(given, dict.fromkeys(SPECIAL, Rule(int)), self.folder / "config.json")
        pad, start, end = ids.values()
        return self.with_tokenizer(config, Special(pad, -1, start, end), text["vocab_size"])

    def tensor(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """Return weights by the name that they have in this program."""
        found = super().tensor(name, shape)
        if ".cross_attention.input." not in name or not self.has("enc_to_dec_proj.weight"):
            return found
        weight, bias = (self.theirs(f"enc_to_dec_proj.{part}") for part in ("weight", "bias"))
        if name.endswith(".weight"):  # K (W h + b) = (K W) h + K b
            # the projection between encoder and decoder is folded into the keys and values
            return found.float() @ weight.float()
        matrix = super().tensor(name.removesuffix("bias") + "weight", shape)
        return found.float() + matrix.float() @ bias.float()


def json_vocabulary(content: Values, special: Special, count: int) -> tuple[Vocabulary, Tokenizer]:
    """Return the vocabulary and tokenizer of a tokenizer.json. count: rows of the embedding."""
    texts = {row: text for text, row in content["model"]["vocab"].items()}
    texts |= {token["id"]: token["content"] for token in content.get("added_tokens", ())}
    vocabulary = arranged([texts.get(row, f"<row {row}>") for row in range(count)], special)
    return vocabulary, Tokenizer(rearranged_json(content, vocabulary))


def read_tokenizer(folder: Path) -> Values:
    """Return the content of a tokenizer.json, or one that is made of older files."""
    path = folder / JSON
    content = read_value(path) if path.exists() else _made_tokenizer(folder)
    model = validated(content, {"model": Rule(Values)}, path)["model"]
    found = validated({**content, "vocab": model.get("vocab")}, TOKENIZER, path)
    for number, token in enumerate(found["added_tokens"]):
        validated(token, ADDED, f"{path}: added_tokens {number}")
    return dict(content)


def _made_tokenizer(folder: Path) -> Any:
    names = ["vocab.txt"] if (folder / "vocab.txt").exists() else ["vocab.json", "merges.txt"]
    if names[1:] and (folder / names[0]).exists():  # the library allocates up to the highest id
        read_list(folder / names[0], TOKENIZER["vocab"])
    library = import_module("tokenizers.implementations")
    with intact(folder, f"{JSON}, vocab.txt, or vocab.json with merges.txt", "", Exception):
        for name in names:
            open_regular(folder / name).close()
        kind = library.ByteLevelBPETokenizer if names[1:] else library.BertWordPieceTokenizer
        made = kind(*(str(folder / name) for name in names), lowercase=not names[1:])
        return parse_json(made.to_str())
