"""Whisper: a Transformer that transcribes recordings, or translates them to English.

Two convolutions over the log-mel frames of a window of 30 s, then a pre-norm Transformer with GELU,
whose keys have no bias. The encoder has sinusoidal positions, the decoder learned ones; the output
matrix is the embedding. An output begins with `<|startoftranscript|><|en|><|transcribe|>`.
Source: Radford, Kim, Xu, Brockman, McLeavey, Sutskever 2022
"""

from __future__ import annotations

import re
from functools import cached_property

import torch
from torch import Tensor

from models.attention.layers import positions
from models.core.errors import ConfigurationError
from models.core.settings import Values
from models.core.use_config import SearchConfig, TokenizerConfig
from models.importers._captioners import json_vocabulary, read_tokenizer
from models.importers._marian import BART, SIZES, Bart
from models.importers._schema import Rule, read_json, rules
from models.importers._vocabularies import Special
from models.importers.base import SEARCH, Imported, facts
from models.speech.config import AudioConfig, SpeechTransformerConfig
from models.text.languages import target_token

CONVOLUTION = re.compile(r"encoder\.convolutions\.(\d)\.(\w+)")
LANGUAGE = re.compile(r"<\|([a-z]{2,3})\|>")
SOUND = {"sampling_rate": Rule((16_000,), 16_000), "n_fft": Rule((400,), 400)}
SOUND["hop_length"] = Rule((160,), 160)
PER_SECOND = 50  # slots of the encoder
NO_SPEECH = ("<|nospeech|>", "<|nocaptions|>")  # older models have the second name


class Whisper(Bart):
    """Whisper in a folder of the Hugging Face hub."""

    model_type = "whisper"
    table = {re.sub("^encoder", "encoder.encoder", ours): each for ours, each in BART.items()}
    unused = r"^proj_out\."
    schema = rules(
        *SIZES,
        "slots: max_target_positions",
        "false: scale_embedding",
        "id: vocab_size eos_token_id decoder_start_token_id",
        activation_function=Rule(("gelu",), "gelu"),
    )
    of_generation = rules(
        "flag: is_multilingual", alignment_heads=Rule(list[list[int]], ()), **SEARCH
    )

    @cached_property
    def imported(self) -> Imported:
        """Settings and vocabulary."""
        given = self.settings
        config = SpeechTransformerConfig(
            **self.sizes(),
            position="learned",
            embedding_scale=False,
            activation="gelu",
            max_source=given["max_target_positions"],
            audio=self.audio(),
        )
        end, start = given["eos_token_id"], given["decoder_start_token_id"]
        special = Special(end, -1, start, end)
        count = self.rows(self.place("model.decoder.embed_tokens.weight"), given["vocab_size"])
        languages = self._name_languages(self.content)
        vocabulary, tokenizer = json_vocabulary(self.content, special, count)
        return Imported(
            config,
            tokenizer,
            TokenizerConfig(kind="bpe", languages=languages),
            search=SearchConfig(length_penalty_form="power"),
            source=None,
            target=vocabulary,
            about=facts(self.folder, "Whisper, imported", languages or ("en",)),
        )

    @cached_property
    def content(self) -> Values:
        """The content of its tokenizer.json."""
        return read_tokenizer(self.folder)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of published weights; raise DamagedError if there are none."""
        return tuple(super().theirs(name).shape)

    def audio(self) -> AudioConfig:
        """Return the settings of the features, and the heads that give the times of words."""
        read_json(self.folder / "preprocessor_config.json", SOUND, optional=True)
        bands, slots = (
            self.shape(f"model.encoder.{n}.weight") for n in ("conv1", "embed_positions")
        )
        return AudioConfig(
            rate=16_000,
            bands=bands[1],
            padded=slots[0] / PER_SECOND,
            alignment_heads=tuple(
                f"{layer + 1}.{head + 1}" for layer, head in self.generation["alignment_heads"]
            ),
        )

    def _name_languages(self, content: Values) -> tuple[str, ...]:
        """Rename the tokens of languages, and mark special tokens; return the codes.

        A model of English alone is given none.
        """
        added = content.get("added_tokens", [])
        for token in added:
            token["special"] = True  # timestamps are no text either
        if not self.generation["is_multilingual"]:
            return ()
        named = [
            (token, match[1]) for token in added if (match := LANGUAGE.fullmatch(token["content"]))
        ]
        for token, code in named:
            vocabulary = content["model"]["vocab"]
            if token["content"] in vocabulary:
                vocabulary[target_token(code)] = vocabulary.pop(token["content"])
            token["content"] = target_token(code)
        return tuple(code for _, code in named)

    def theirs(self, name: str) -> Tensor:
        """Return published weights by their own name; a bias of keys is zero."""
        if name.endswith("k_proj.bias") and not self.has(name):
            return torch.zeros(self.settings["d_model"])
        return super().theirs(name)

    def tensor(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """Return weights by the name that they have in this program."""
        if name == "decoder.position.embedding":
            self._check_positions()
            return self.theirs("model.decoder.embed_positions.weight")
        if name in ("encoder.mean", "encoder.deviation"):  # of the bands; they are not used
            return torch.full(shape, float(name == "encoder.deviation"))
        if part := CONVOLUTION.fullmatch(name):
            return self.theirs(f"model.encoder.conv{int(part[1]) + 1}.{part[2]}")
        found = super().tensor(name, shape)
        if name == "output.bias":  # its probability is read, although it is never an output
            pieces = self.imported.target.pieces
            found[[number for number, piece in enumerate(pieces) if piece in NO_SPEECH]] = 0
        return found

    def _check_positions(self) -> None:
        table = self.theirs("model.encoder.embed_positions.weight").float()
        slots, size = table.shape
        expected = positions(0, slots, size, table.device)
        if not torch.allclose(table, expected, atol=2e-3):  # of fp16
            raise ConfigurationError(
                f"{self.folder} with learned positions of the encoder", "sinusoidal ones"
            )
