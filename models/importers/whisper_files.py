"""Whisper as faster-whisper and OpenAI store it: other names, no settings, sometimes no tokenizer.

faster-whisper: model.bin of CTranslate2 in fp32, fp16 or int8, config.json, and tokenizer.json or a
list of the tokens. OpenAI: a .pt file of sizes and weights, with tokenizer.json or a .tiktoken file
beside it, or of the installed package `openai-whisper`. Sizes are those of the weights.
https://github.com/openai/whisper/blob/main/whisper/tokenizer.py
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from torch import Tensor

from models.core.errors import NotFoundError, intact
from models.core.files import read_regular
from models.core.settings import Values
from models.importers._captioners import read_tokenizer
from models.importers._schema import Rule, read_json, read_list, validated
from models.importers._weights import CTranslate2Weights, load_pickled, whole_tensors
from models.importers.base import PICKLED
from models.importers.whisper import Whisper
from models.storage.settings import NAME
from models.text.json_tokenizer import SIGNS
from models.text.tokenizer import JSON

SPECIAL = re.compile(r"<\|[a-z]\w*\|>")
COMMAND = re.compile(r"<\|(?!endof|notimes)[a-z]{4,}\|>")  # special tokens that are no output
CODES = (  # languages, in the order of their tokens
    "en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th "
    "ur hr bg lt la mi ml cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr "
    "pa si km sn yo so af oc ka be tg sd gu am yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt "
    "haw ln ha ba jw su yue"
)
TASKS = ("translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps")
LONGEST = 1000  # characters of a token
TIMES = 1501  # timestamps from 0 to 30 s
QUIET = (  # never spoken; as in the publisher's program, also with a space before them
    '" # ( ) * + / : ; < = > @ [ \\ ] ^ _ ` { | } ~ 「 」 『 』 << >> <<< >>> -- --- -( -[ (\' (" '
    "(( )) ((( ))) [[ ]] {{ }} ♪♪ ♪♪♪ ♩ ♪ ♫ ♬ ♭ ♮ ♯"
)
NOTE = "♩".encode()[:2]  # begins all notes
HEADS = {  # layer.head for the times of words, from 0, by decoder layers and rows of the embedding
    (4, 51865): "2.2 3.0 3.2 3.3 3.4 3.5",
    (4, 51864): "1.0 2.0 2.5 3.0 3.1 3.2 3.3 3.4",
    (6, 51865): "3.1 4.2 4.3 4.7 5.1 5.2 5.4 5.6",
    (6, 51864): "3.3 4.7 5.1 5.5 5.7",
    (12, 51865): "5.3 5.9 8.0 8.4 8.7 8.8 9.0 9.7 9.9 10.5",
}
CONFIG = {"suppress_ids": Rule(list[int], (), -1), "alignment_heads": Rule(list[list[int]], ())}
FASTER = (  # patterns of published names, and the names in a folder of the hub
    ("self_attention/layer_norm", "self_attn_layer_norm"),
    ("/attention/layer_norm", "/encoder_attn_layer_norm"),
    ("ffn/layer_norm", "final_layer_norm"),
    ("ffn/linear_0", "fc1"),
    ("ffn/linear_1", "fc2"),
    ("self_attention/linear_0", "self_attn/{q,k,v}_proj"),
    ("self_attention/linear_1", "self_attn/out_proj"),
    ("/attention/linear_0", "/encoder_attn/q_proj"),
    ("/attention/linear_1", "/encoder_attn/{k,v}_proj"),
    ("/attention/linear_2", "/encoder_attn/out_proj"),
    (r"layer_(\d)", r"layers/\1"),
    ("gamma$", "weight"),
    ("beta$", "bias"),
    ("position_encodings/encodings", "embed_positions/weight"),
    ("decoder/embeddings", "decoder/embed_tokens"),
    ("decoder/projection", "proj_out"),
    ("/", "."),
    (r"^(?=encoder|decoder)", "model."),
)
OPENAI = (
    (r"\.attn_ln", ".self_attn_layer_norm"),
    (r"\.cross_attn_ln", ".encoder_attn_layer_norm"),
    (r"\.attn\.", ".self_attn."),
    (r"\.cross_attn\.", ".encoder_attn."),
    (r"\.(q|k|v)(uery|ey|alue)\.", r".\1_proj."),
    (r"\.out\.", ".out_proj."),
    (r"\.mlp\.0", ".fc1"),
    (r"\.mlp\.2", ".fc2"),
    (r"\.mlp_ln", ".final_layer_norm"),
    (r"\.ln(_post)?\.", ".layer_norm."),
    (r"\.blocks\.", ".layers."),
    ("token_embedding", "embed_tokens"),
    ("positional_embedding$", "embed_positions.weight"),
    ("^", "model."),
)


class RenamedWeights:
    """Published weights under other names; those that are joined have a name for each part."""

    def __init__(
        self,
        names: Iterable[str],
        tensor: Callable[[str], Tensor],
        rules: Iterable[tuple[str, str]],
    ) -> None:
        self._tensor, self._places = tensor, dict[str, tuple[str, int, int]]()
        for name in names:
            new = name
            for pattern, place in rules:
                new = re.sub(pattern, place, new)
            before, _, rest = new.partition("{")
            inside, _, after = rest.partition("}")
            for part, each in enumerate(parts := inside.split(",")):
                self._places[before + each + after] = name, part, len(parts)
        self.names = [*self._places]

    def tensor(self, name: str) -> Tensor:
        """Return a tensor; raise KeyError if there is none."""
        published, part, count = self._places[name]
        return self._tensor(published).chunk(count)[part]


class WhisperFile(Whisper):
    """Whisper without the settings of the hub."""

    @property
    def heads(self) -> int:
        """Number of heads."""
        raise NotImplementedError

    def tokens(self) -> list[str]:
        """Return the published tokens, for want of a tokenizer.json."""
        raise NotImplementedError

    @cached_property
    def content(self) -> Values:
        """The content of its tokenizer.json, or one that is made of its tokens."""
        if (self.folder / JSON).exists():
            return read_tokenizer(self.folder)
        return byte_level(self.tokens())

    @cached_property
    def settings(self) -> Values:
        """Settings of the hub, from the weights and the tokens."""
        places = {token["content"]: token["id"] for token in self.content["added_tokens"]}
        shape, found = self.shape, Values()
        for part in ("encoder", "decoder"):
            layers = re.compile(rf"model\.{part}\.layers\.(\d+)\.fc1\.weight").fullmatch
            found[f"{part}_layers"] = sum(bool(layers(name)) for name in self.weights.names)
            found[f"{part}_ffn_dim"] = shape(f"model.{part}.layers.0.fc1.weight")[0]
            found[f"{part}_attention_heads"] = self.heads
        rows, size = shape("model.decoder.embed_tokens.weight")
        found |= {
            "d_model": size,
            "vocab_size": rows,
            "max_target_positions": shape("model.decoder.embed_positions.weight")[0],
            "eos_token_id": places["<|endoftext|>"],
            "decoder_start_token_id": places["<|startoftranscript|>"],
        }
        return validated(found, self.schema, self.folder)

    @cached_property
    def generation(self) -> Values:
        """Settings of generation of the hub: those of the publisher's program."""
        texts, given = self.content["model"]["vocab"], self.settings
        signs = {byte: sign for sign, byte in SIGNS.items()}
        quiet = [NOTE, *(text.encode() for text in QUIET.split())]
        quiet += [b" " + text for text in quiet] + [b" -", b" '"]
        found = ("".join(signs[byte] for byte in text) for text in quiet)
        added = self.content["added_tokens"]
        commands = [each["id"] for each in added if COMMAND.fullmatch(each["content"])]
        heads = HEADS.get((given["decoder_layers"], given["vocab_size"]), "")
        made = {
            "suppress_tokens": [texts[text] for text in found if text in texts] + commands,
            "is_multilingual": "" in texts,
            "alignment_heads": [[int(n) for n in head.split(".")] for head in heads.split()],
        }
        return validated(made, self.of_generation, self.folder)


class FasterWhisper(WhisperFile):
    """Whisper in a folder of faster-whisper."""

    @classmethod
    def reads(cls, folder: Path) -> bool:
        """Return True for a folder with a model.bin of Whisper."""
        path = folder / "model.bin"
        return path.is_file() and CTranslate2Weights(path).spec == "WhisperSpec"

    @cached_property
    def _published(self) -> CTranslate2Weights:
        return CTranslate2Weights(self.folder / "model.bin")

    @cached_property
    def weights(self) -> RenamedWeights:
        """The published weights, by their names in a folder of the hub."""
        stored = self._published
        names = [n for n in stored.names if stored.array(n).ndim and not n.endswith("_scale")]
        return RenamedWeights(names, stored.tensor, FASTER)

    @property
    def heads(self) -> int:
        """Number of heads."""
        return int(self._published.array("encoder/num_heads"))

    @cached_property
    def generation(self) -> Values:
        """Settings of generation: of its config.json, if this has them."""
        given = read_json(self.folder / NAME, CONFIG, optional=True)
        named = zip(("suppress_tokens", "alignment_heads"), given.values(), strict=True)
        return super().generation | {name: value for name, value in named if value}

    def tokens(self) -> list[str]:
        """Return the list in vocabulary.json or vocabulary.txt."""
        path = self.folder / "vocabulary.json"
        if path.exists():
            return list(read_list(path, Rule(list[str])))
        path = path.with_suffix(".txt")
        with intact(path, "vocabulary.txt", "get it with its model"):
            return read_regular(path).decode().removesuffix("\n").split("\n")


class OpenAIWhisper(WhisperFile):
    """Whisper in a .pt file of OpenAI, or in a folder with one such file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.parent if path.is_file() else path)
        self.path = path if path.is_file() else next(path.glob(f"*{PICKLED}"))

    @classmethod
    def reads(cls, path: Path) -> bool:
        """Return True for a .pt file, and for a folder with one."""
        if path.is_file():
            return path.suffix == PICKLED
        return not (path / NAME).exists() and len([*path.glob(f"*{PICKLED}")]) == 1

    @cached_property
    def weights(self) -> RenamedWeights:
        """The published weights, by their names in a folder of the hub."""
        with self.reading():
            stored = whole_tensors(self._stored["model_state_dict"], self.path)
            return RenamedWeights(stored, stored.__getitem__, OPENAI)

    @property
    def heads(self) -> int:
        """Number of heads."""
        with self.reading():
            return int(self._stored["dims"]["n_text_head"])

    @cached_property
    def _stored(self) -> Any:
        return load_pickled(self.path)

    def reading(self) -> Any:
        """Return a context in which missing parts raise DamagedError."""
        return intact(self.path, "dims and model_state_dict, as OpenAI writes them")

    def tokens(self) -> list[str]:
        """Return the tokens of a .tiktoken file, and the special ones."""
        count = self.shape("model.decoder.embed_tokens.weight")[0]
        name = "gpt2.tiktoken" if count < 51865 else "multilingual.tiktoken"
        package = find_spec("whisper")
        inside = [
            Path(each) / "assets" for each in (package and package.submodule_search_locations) or ()
        ]
        path = next((f / name for f in (self.folder, *inside) if (f / name).exists()), None)
        if path is None:
            raise NotFoundError(
                f"{self.path} has no vocabulary",
                f"tokenizer.json or {name} in the same folder",
                "pip install openai-whisper has it",
            )
        signs = {byte: sign for sign, byte in SIGNS.items()}
        with intact(path, "lines of tokens in base 64"):
            texts = [
                base64.b64decode(line.rpartition(b" ")[0])
                for line in read_regular(path).splitlines()
            ]
        found = ["".join(signs[byte] for byte in text) for text in texts]
        codes = CODES.split()[: count - len(found) - len(TASKS) - TIMES - 2]
        special = ["endoftext", "startoftranscript", *codes, *TASKS]
        return [*found, *(f"<|{each}|>" for each in special)]


def byte_level(tokens: list[str]) -> Values:
    """Return the content of a tokenizer.json of byte-level pairs, whose ids are their ranks."""
    if max(map(len, tokens)) > LONGEST:
        raise ValueError(f"a token of more than {LONGEST} characters")
    end = tokens.index("<|endoftext|>")
    vocabulary = {token: number for number, token in enumerate(tokens[:end])}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added = [
        {"id": number, "content": token, **flags, "special": True}
        for number, token in enumerate(tokens)
        if number >= end and SPECIAL.fullmatch(token)
    ]
    level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": True,
    }
    pairs = [halves(token, vocabulary) for token in vocabulary if len(token) > 1]
    model = {"type": "BPE", "vocab": vocabulary, "merges": pairs}
    return {"added_tokens": added, "pre_tokenizer": level, "decoder": level, "model": model}


def halves(token: str, ranks: dict[str, int]) -> tuple[str, str]:
    """Return the two tokens that are joined to a token: pairs of lower rank are joined first."""
    parts = [*token]
    while len(parts) > 2:
        joined = [ranks.get(a + b, len(ranks)) for a, b in zip(parts, parts[1:], strict=False)]
        place = min(range(len(joined)), key=joined.__getitem__)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts[0], parts[1]
