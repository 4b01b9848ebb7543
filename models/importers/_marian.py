"""Marian: OPUS-MT and other models of the Helsinki group, as folders of the hub and as zips.

Vaswani et al. 2017 as printed: post-norm, swish; sinusoidal positions with halves. Source and
target have a SentencePiece model each, and usually one vocabulary. A target begins with a vector of
zeros: `<pad>` in folders of the hub, nothing in Marian's own files. A model of several targets
reads `>>fra<<` first.
https://github.com/marian-nmt/marian, https://huggingface.co/docs/transformers/model_doc/marian
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from torch import Tensor

from models.core.errors import DamagedError, intact
from models.core.files import read_regular
from models.core.settings import MAX_SLOTS, Values
from models.core.use_config import TokenizerConfig
from models.importers._schema import Rule, read_json, read_list, renamed, rules, validated
from models.importers._vocabularies import Special, arranged, with_languages
from models.importers._weights import NumpyWeights
from models.importers.base import (
    Imported,
    Importer,
    extended_sides,
    facts,
    rows_of,
    search_settings,
    silenced,
)
from models.networks.config import TransformerConfig
from models.text.tokenizer import Tokenizer
from models.text.vocabulary import SILENT, rearranged

BART = {  # names of a layer in the classes of `transformers` that follow BART
    "encoder.layers.N.attention.input": "model.encoder.layers.N.self_attn.{q,k,v}_proj",
    "encoder.layers.N.attention.output": "model.encoder.layers.N.self_attn.out_proj",
    "encoder.layers.N.attention_norm": "model.encoder.layers.N.self_attn_layer_norm",
    "encoder.layers.N.forward_norm": "model.encoder.layers.N.final_layer_norm",
    "encoder.layers.N.feed_forward.inner": "model.encoder.layers.N.fc1",
    "encoder.layers.N.feed_forward.outer": "model.encoder.layers.N.fc2",
    "decoder.layers.N.self_attention.input": "model.decoder.layers.N.self_attn.{q,k,v}_proj",
    "decoder.layers.N.self_attention.output": "model.decoder.layers.N.self_attn.out_proj",
    "decoder.layers.N.self_norm": "model.decoder.layers.N.self_attn_layer_norm",
    "decoder.layers.N.cross_attention.query": "model.decoder.layers.N.encoder_attn.q_proj",
    "decoder.layers.N.cross_attention.input": "model.decoder.layers.N.encoder_attn.{k,v}_proj",
    "decoder.layers.N.cross_attention.output": "model.decoder.layers.N.encoder_attn.out_proj",
    "decoder.layers.N.cross_norm": "model.decoder.layers.N.encoder_attn_layer_norm",
    "decoder.layers.N.forward_norm": "model.decoder.layers.N.final_layer_norm",
    "decoder.layers.N.feed_forward.inner": "model.decoder.layers.N.fc1",
    "decoder.layers.N.feed_forward.outer": "model.decoder.layers.N.fc2",
    "encoder.norm": "model.encoder.layer_norm",
    "decoder.norm": "model.decoder.layer_norm",
}
LANGUAGE = re.compile(r">>([A-Za-z0-9_]+)<<")
SHARED = "model.shared.weight"
ACTIVATIONS = {"swish": "swish", "silu": "swish", "relu": "relu", "gelu": "gelu"}
LONGEST = 512
SIZES = (  # of the classes that follow BART
    "size: d_model>embedding encoder_ffn_dim>hidden encoder_attention_heads>heads",
    "size: decoder_ffn_dim decoder_attention_heads",
    "layers: encoder_layers>encoder_layers decoder_layers>decoder_layers",
)
TOKENIZER = rules("text: source_lang target_lang")
KNOWN = {  # settings of Marian's own files, and the value that each must have
    "type": "transformer",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
}
NUMBER = re.compile(r"[0-9]{1,9}")
FILES = {  # names in Marian's own files; W becomes b for a bias; matrices are stored transposed
    "encoder.layers.N.attention.input": "T encoder_lN_self_W{q,k,v}",
    "encoder.layers.N.attention.output": "T encoder_lN_self_Wo",
    "encoder.layers.N.attention_norm": "encoder_lN_self_Wo_ln",
    "encoder.layers.N.feed_forward.inner": "T encoder_lN_ffn_W1",
    "encoder.layers.N.feed_forward.outer": "T encoder_lN_ffn_W2",
    "encoder.layers.N.forward_norm": "encoder_lN_ffn_ffn_ln",
    "decoder.layers.N.self_attention.input": "T decoder_lN_self_W{q,k,v}",
    "decoder.layers.N.self_attention.output": "T decoder_lN_self_Wo",
    "decoder.layers.N.self_norm": "decoder_lN_self_Wo_ln",
    "decoder.layers.N.cross_attention.query": "T decoder_lN_context_Wq",
    "decoder.layers.N.cross_attention.input": "T decoder_lN_context_W{k,v}",
    "decoder.layers.N.cross_attention.output": "T decoder_lN_context_Wo",
    "decoder.layers.N.cross_norm": "decoder_lN_context_Wo_ln",
    "decoder.layers.N.feed_forward.inner": "T decoder_lN_ffn_W1",
    "decoder.layers.N.feed_forward.outer": "T decoder_lN_ffn_W2",
    "decoder.layers.N.forward_norm": "decoder_lN_ffn_ffn_ln",
}


class Bart(Importer):
    """A text model whose classes follow BART: Marian, M2M-100."""

    table = BART
    unused = r"embed_positions|^model\.(encoder|decoder)\.embed_tokens\.weight$|^lm_head\.weight$"

    def sizes(self) -> Values:
        """Return the settings that have a name here; a ValueError if encoder and decoder differ."""
        given = self.settings
        for part in ("attention_heads", "ffn_dim"):
            if given[f"encoder_{part}"] != given[f"decoder_{part}"]:
                raise ValueError(f"encoder and decoder with another {part}")
        return renamed(given, self.schema)

    def tensor(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """Return weights by the name that they have in this program."""
        found = self.imported
        if name == "output.bias":
            return self._forbidden(silenced(self.optional("final_logits_bias"), found.target))
        places = {
            "encoder.embedding.weight": ("model.encoder.embed_tokens.weight", found.source),
            "decoder.embedding.weight": ("model.decoder.embed_tokens.weight", found.target),
            "output.weight": ("lm_head.weight", found.target),
        }
        if name not in places:
            return super().tensor(name, shape)
        own, vocabulary = places[name]
        is_own = name == "output.weight" and self.has(own)
        return rows_of(self.theirs(own if is_own else self.place(own)), vocabulary or found.target)

    def place(self, own: str) -> str:
        """Return the published name of an embedding: its own if there is no shared one."""
        return own if self.has(own) and not self.has(SHARED) else SHARED

    def _forbidden(self, bias: Tensor) -> Tensor:
        """Return the bias (Y,) with SILENT for tokens that generation_config.json forbids."""
        single = (ids[0] for ids in self.generation["bad_words_ids"] if len(ids) == 1)
        # a bias forbids one token; bans of several tokens cannot be weights
        refused = {*single, *self.generation["suppress_tokens"]}
        rows = self.imported.target.rows[4:]  # search never outputs the first ones
        bias[[n for n, row in enumerate(rows, 4) if row in refused]] = SILENT
        return bias


class Marian(Bart):
    """Marian in a folder of the Hugging Face hub.

    Source: Junczys-Dowmunt et al. 2018; OPUS-MT: Tiedemann, Thottingal 2020.
    """

    model_type = "marian"
    schema = rules(
        *SIZES,
        "false: normalize_before normalize_embedding add_final_layer_norm",
        "true: static_position_embeddings",
        "flag: scale_embedding>embedding_scale tie_word_embeddings>tied",
        "flag: share_encoder_decoder_embeddings",
        "id: pad_token_id eos_token_id",
        "id?: decoder_start_token_id",
        activation_function=Rule(ACTIVATIONS, ours="activation"),
        max_position_embeddings=Rule(int, LONGEST, 1, MAX_SLOTS, "max_source"),
    )

    @cached_property
    def imported(self) -> Imported:
        """Settings and vocabulary."""
        given = self.settings
        # Marian computes positions at the rates that the paper prints, and not at those of
        # tensor2tensor
        config = TransformerConfig(**self.sizes(), position="sinusoidal_2017", norm="post")
        pad, end, start = (given[f"{name}_token_id"] for name in ("pad", "eos", "decoder_start"))
        start = pad if start is None else start
        source = target = read_vocabulary(self.folder / "vocab.json")
        if not given["share_encoder_decoder_embeddings"]:
            target = read_vocabulary(self.folder / "target_vocab.json")
        return text_model(self, config, (source, target), Special(pad, -2, start, end))


def text_model(
    importer: Importer,
    config: TransformerConfig,
    tokens: tuple[list[str], list[str]],
    special: Special,
) -> Imported:
    """Return a model with a SentencePiece model per side, given the tokens of both vocabularies."""
    folder, separate = importer.folder, tokens[0] is not tokens[1]
    found = []
    with intact(folder, "source.spm and target.spm"):
        paths = folder / "source.spm", folder / "target.spm"
        models = [read_regular(path) for path in paths]
    languages = {token: match[1] for token in tokens[0] if (match := LANGUAGE.fullmatch(token))}
    for side in tokens:
        own = special._replace(unknown=side.index("<unk>") if "<unk>" in side else -1)
        found.append(arranged(with_languages(side, languages), own))
    wider = extended_sides(found, models, joint=not separate)
    controls = [f"<2{code}>" for code in languages.values()]
    files = [
        rearranged(model, one.pieces, controls) for model, one in zip(models, wider, strict=True)
    ]
    given = read_json(folder / "tokenizer_config.json", TOKENIZER, optional=True)
    listed, both = tuple(languages.values()), tuple(filter(None, given.values()))
    return Imported(
        config,
        Tokenizer(*files),
        TokenizerConfig(joint=not separate, languages=listed),
        search=search_settings(importer),
        source=wider[0] if separate else None,
        target=wider[1],
        about=facts(folder, "Marian, imported", listed or both),
    )


def read_vocabulary(path: Path) -> list[str]:
    """Return the tokens of a vocabulary in JSON by id."""
    return ordered(read_list(path, Rule(dict[str, int])))


def ordered(vocabulary: dict[str, int]) -> list[str]:
    """Return the tokens of a vocabulary by id; raise DamagedError if an id is missing."""
    by_id = {number: token for token, number in vocabulary.items()}
    # a missing id would shift all later rows of the matrices by one, without an error
    if sorted(by_id) != list(range(len(by_id))) or len(by_id) != len(vocabulary):
        raise DamagedError("a vocabulary with missing or repeated ids", "the ids 0, 1, 2, ..")
    return [by_id[number] for number in range(len(by_id))]


class MarianFiles(Importer):
    """Marian itself: an .npz of weights, decoder.yml and vocabularies, as in zips of OPUS-MT.

    Source: Junczys-Dowmunt et al. 2018; OPUS-MT: Tiedemann, Thottingal 2020.
    """

    table = FILES
    unused = r"^special:|^decoder_c?ell|^Wpos$"
    schema = rules(
        "size: dim-emb>embedding transformer-dim-ffn>hidden transformer-heads>heads",
        "layers: enc-depth>encoder_layers dec-depth>decoder_layers",
        **{name: Rule((value,), value) for name, value in KNOWN.items()},
        **{"transformer-ffn-activation": Rule(ACTIVATIONS, ours="activation")},
    )

    @classmethod
    def reads(cls, folder: Path) -> bool:
        """Return True for a folder with decoder.yml and one .npz."""
        return (folder / "decoder.yml").is_file() and any(folder.glob("*.npz"))

    @cached_property
    def weights(self) -> NumpyWeights:
        """The published weights."""
        return NumpyWeights(sorted(self.folder.glob("*.npz"))[0])

    @cached_property
    def decoder(self) -> str:
        """The content of decoder.yml."""
        with intact(self.folder / "decoder.yml", "settings of Marian in UTF-8"):
            return read_regular(self.folder / "decoder.yml", 1 << 20).decode()

    @cached_property
    def generation(self) -> Values:
        """The beam size of decoder.yml, under the name of the hub."""
        found = re.search(r"^beam-size: (\d{1,9})", self.decoder, re.M)
        given = {"num_beams": int(found[1]) if found else 6}
        return validated(given, self.of_generation, self.folder / "decoder.yml")

    @cached_property
    def settings(self) -> Values:
        """The settings of training, which stand in the .npz as text."""
        path = self.weights.path
        with intact(path, "the settings of a Marian model"):
            text = bytes(self.weights.tensor("special:model.yml").numpy().tobytes())
            lines = [line.partition(": ") for line in text.rstrip(b"\0").decode().splitlines()]
        found = {name: value.strip().strip("\"'") for name, _, value in lines if name[:1] != " "}
        numbers = {name: int(value) for name, value in found.items() if NUMBER.fullmatch(value)}
        return validated(found | numbers, self.schema, path)

    @cached_property
    def imported(self) -> Imported:
        """Settings and vocabulary."""
        known = renamed(self.settings, self.schema)
        config = TransformerConfig(
            **known, position="sinusoidal_2017", norm="post", max_source=LONGEST
        )
        found = re.search(r"^vocabs: *\n((?: *- .*\n?)+)", self.decoder, re.M)
        if not found:
            raise DamagedError("a decoder.yml without vocabularies", "a list 'vocabs'")
        lines = filter(None, map(str.strip, found[1].splitlines()))
        paths = [line[2:].strip().strip("\"'") for line in lines]
        source = target = read_yaml_vocabulary(self.folder / Path(paths[0]).name)
        if paths[0] != paths[-1]:
            target = read_yaml_vocabulary(self.folder / Path(paths[-1]).name)
        return text_model(self, config, (source, target), Special(-1, -2, -1, 0))

    def named(self, place: str, number: str, kind: str) -> str:
        """Return the published name of weights; layers count from 1."""
        place = place.replace("lN", f"l{int(number) + 1}")
        if place.endswith("_ln"):
            return f"{place}_{'scale' if kind == 'weight' else 'bias'}"
        return place if kind == "weight" else place.replace("_W", "_b")

    def theirs(self, name: str) -> Tensor:
        """Return published weights by their own name; vectors are stored as one row."""
        found = super().theirs(name)
        return found.flatten() if len(found) == 1 else found

    def tensor(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """Return weights by the name that they have in this program."""
        found, side = self.imported, name.partition(".")[0]
        if name == "output.bias":
            return silenced(self.theirs("decoder_ff_logit_out_b"), found.target)
        if name != f"{side}.embedding.weight":
            return super().tensor(name, shape)
        vocabulary = found.source if side == "encoder" and found.source else found.target
        own = f"{side}_Wemb"
        return rows_of(self.theirs(own if self.has(own) else "Wemb"), vocabulary)


def read_yaml_vocabulary(path: Path) -> list[str]:
    """Return the tokens of a vocabulary of Marian, `token: id` a line, by id."""
    vocabulary: dict[str, int] = {}
    with intact(path, "a vocabulary of Marian"):
        for line in read_regular(path).decode().splitlines():
            token, _, number = line.rpartition(":")
            if token:
                vocabulary[_unquoted(token.removeprefix("? ").strip())] = int(number)
    return ordered(vocabulary)


def _unquoted(token: str) -> str:
    if token[:1] == token[-1:] == "'" and len(token) > 1:
        return token[1:-1].replace("''", "'")
    if token[:1] == token[-1:] == '"' and len(token) > 1:
        import json

        escaped = re.sub(r"\\x([0-9A-Fa-f]{2})", r"\\u00\1", token)
        return str(json.loads(re.sub(r"\\(?![\"\\/bfnrtu])", "", escaped)))
    return token
