"""CTranslate2: Argos packages, and models of OpenNMT, fairseq and others that were converted.

A folder has model.bin, the vocabularies and, since version 3, config.json. An Argos package has
such a folder `model`, with sentencepiece.model and metadata.json beside it. Without a SentencePiece
model the tokens of a text are its words, between spaces.
https://github.com/OpenNMT/CTranslate2/blob/master/python/ctranslate2/specs/transformer_spec.py
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

import numpy
import torch
from torch import Tensor

from models.core.errors import ConfigurationError, DamagedError, intact
from models.core.files import read_regular
from models.core.settings import Values
from models.core.use_config import SearchConfig, TokenizerConfig
from models.engines.ctranslate2_convert import ACTIVATIONS, ENCODER, LINEAR, NORMS, position_table
from models.importers._schema import Rule, read_json, read_list, rules
from models.importers._vocabularies import Special, arranged
from models.importers._weights import CTranslate2Weights
from models.importers.base import Imported, Importer, extended_sides, facts, rows_of, silenced
from models.networks.config import TransformerConfig
from models.storage.archive import About
from models.text.tokenizer import Tokenizer
from models.text.vocabulary import of_words, rearranged

HEADS = {"TransformerBase": 8, "TransformerBig": 16}  # of models from before version 1.9
SETTINGS = {  # variables that are no weights, and their values that are known
    "alibi": (0,),
    "alibi_use_positive_positions": (0, 1),
    "embeddings_merge": (0,),
    "multi_query_attention": (0,),
    "scale_alibi": (0,),
    "with_relative_position": (0,),
    "layer_norm": (1,),
}
READ = ("pre_norm", "scale_embeddings", "start_from_zero_embedding", "activation", "num_heads")
ARGOS = rules("text: package_version from_code to_code")
UNSEEN = ("alignment_layer", "alignment_heads")  # of its own attention output
LONGEST = 1024  # source in tokens, where positions are computed
PublishedSide = tuple[list[str], Special]  # a vocabulary as published


class CTranslate2Folder(Importer):
    """A model in CTranslate2's format."""

    unused = r"_scale$"
    schema = rules(
        "false: add_source_bos",
        "text: decoder_start_token bos_token unk_token eos_token",
        "epsilon: layer_norm_epsilon",
        add_source_eos=Rule(bool, False),
    )

    @classmethod
    def reads(cls, folder: Path) -> bool:
        """Return True for a folder with model.bin, or an Argos package."""
        return (folder / "model.bin").is_file() or (folder / "model" / "model.bin").is_file()

    @property
    def place(self) -> Path:
        """The folder with model.bin."""
        inside = self.folder / "model"
        return inside if (inside / "model.bin").is_file() else self.folder

    @cached_property
    def weights(self) -> CTranslate2Weights:
        """The published weights."""
        return CTranslate2Weights(self.place / "model.bin")

    @cached_property
    def settings(self) -> Values:
        """The settings of config.json; the defaults for older models."""
        return read_json(self.place / "config.json", self.schema, optional=True)

    @property
    def dtype(self) -> torch.dtype:
        """Precision in which the weights are stored: fp16 if the matrices are published in it."""
        matrices = [name for name in self.weights.names if name.endswith("/weight")]
        halves = [self.weights.array(name).dtype == numpy.float16 for name in matrices]
        return torch.float16 if any(halves) else torch.float32

    def number(self, name: str, default: int) -> int:
        """Return a setting that is stored as a variable: of the encoder, or of the whole model."""
        for place in (f"encoder/{name}", f"decoder/{name}", name):
            if self.has(place):
                return int(self.weights.array(place).flatten()[0])
        return default

    @cached_property
    def imported(self) -> Imported:
        """Settings and vocabulary."""
        self._check_settings()
        sides = self._sides()
        config = self._config(joint=sides[0] is sides[1])
        return self._with_tokenizer(config, sides, ends=self.settings["add_source_eos"])

    def _config(self, *, joint: bool) -> TransformerConfig:
        size = self.weights.array(self._embedding("encoder")).shape[1]
        positions, longest = self._positions(size)
        layers = {
            part: len(
                {
                    n.split("/")[1]
                    for n in self.weights.names
                    if n.startswith(part + "/layer_") and not n.startswith(part + "/layer_norm")
                }
            )
            for part in ("encoder", "decoder")
        }
        numbers = {code: name for name, code in ACTIVATIONS.items()}
        matrices = [self._embedding("decoder"), "decoder/projection/weight"]
        matrices += [self._embedding("encoder")] if joint else []
        activation = self.number("activation", 0)
        if activation not in numbers:
            raise ConfigurationError(
                f"activation {activation} of CTranslate2", ", ".join(ACTIVATIONS)
            )
        return TransformerConfig(
            embedding=size,
            hidden=self.weights.array("encoder/layer_0/ffn/linear_0/weight").shape[0],
            encoder_layers=layers["encoder"],
            decoder_layers=layers["decoder"],
            heads=self.number("num_heads", HEADS.get(self.weights.spec, 8)),
            norm="pre" if self.number("pre_norm", 1) else "post",
            norm_epsilon=self.settings["layer_norm_epsilon"],
            embedding_scale=bool(self.number("scale_embeddings", 1)),
            embedding_norm=self.has("encoder/layernorm_embedding/gamma"),
            activation=numbers[activation],
            tied=len({self.weights.place(name) for name in matrices}) == 1,
            max_source=longest,
            **positions,
        )

    def _check_settings(self) -> None:
        for name in self.weights.names:
            short = name.rpartition("/")[2]
            if short in SETTINGS:
                value = int(self.weights.array(name).flatten()[0])
                if value not in SETTINGS[short]:
                    raise ConfigurationError(
                        f"a model of CTranslate2 with {name}={value}",
                        f"{' or '.join(map(str, SETTINGS[short]))}",
                    )
            if short in (*SETTINGS, *READ, *UNSEEN) and self.weights.array(name).ndim == 0:
                self.used.add(name)

    def _positions(self, size: int) -> tuple[Values, int]:
        """Return settings of the positions, and the greatest length: by table or by formula."""
        name = "encoder/position_encodings/encodings"
        if not self.has(name):
            return {"position": "sinusoidal", "position_offset": 1}, LONGEST
        table = self.theirs(name).float().numpy()
        other = self.theirs("decoder/position_encodings/encodings").float().numpy()
        for position, offset in (
            ("sinusoidal", 0),
            ("sinusoidal", 1),
            ("sinusoidal", 2),
            ("sinusoidal_2017", 0),
        ):
            config = TransformerConfig(embedding=size, position=position, position_offset=offset)
            expected = position_table(len(table), config)
            if (
                table.shape == expected.shape == other.shape
                and numpy.allclose(table, expected, atol=2e-3)
                and numpy.allclose(other, expected, atol=2e-3)
            ):
                return {"position": position, "position_offset": offset}, len(table)
        return {"position": "learned"}, len(table)

    def _embedding(self, part: str) -> str:
        names = [f"{part}/embeddings{end}/weight" for end in ("_0", "")]
        return next((name for name in names if self.has(name)), names[-1])

    def _sides(self) -> tuple[PublishedSide, PublishedSide]:
        """Return the vocabularies of source and target; one object if they share it."""
        shared = self._tokens("shared_vocabulary")
        source = shared or self._tokens("source_vocabulary")
        target = shared or self._tokens("target_vocabulary")
        if not source or not target:
            raise DamagedError(f"{self.place} has no vocabulary", "shared_vocabulary.json or .txt")
        if self.weights.array(self._embedding("encoder")).shape[0] == len(source) + 1:
            source.append("<unk>")  # of models from before version 1.9
        if (
            target is not source
            and self.weights.array(self._embedding("decoder")).shape[0] == len(target) + 1
        ):
            target.append("<unk>")
        first = self._side(source)
        return first, first if source is target else self._side(target)

    def _tokens(self, name: str) -> list[str]:
        for path in (self.place / f"{name}.json", self.place / f"{name}.txt"):
            if path.exists():
                with intact(path, "a vocabulary of CTranslate2"):
                    if path.suffix == ".json":
                        return [*read_list(path, Rule(list[str]))]
                    text = read_regular(path).decode()
                    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")
        return []

    def _side(self, tokens: list[str]) -> PublishedSide:
        given = self.settings

        def row(*names: str) -> int:
            return next((tokens.index(name) for name in names if name in tokens), -1)

        start = row(given["decoder_start_token"], given["bos_token"], "<s>")
        if self.number("start_from_zero_embedding", 0):
            start = -1
        return tokens, Special(
            row("<blank>", "<pad>"),
            row(given["unk_token"], "<unk>"),
            start,
            row(given["eos_token"], "</s>"),
        )

    def _with_tokenizer(
        self, config: TransformerConfig, sides: tuple[PublishedSide, PublishedSide], *, ends: bool
    ) -> Imported:
        joint, models = sides[0] is sides[1], self._models()
        found = [arranged(*side) for side in sides]
        if models:
            found = extended_sides(found, models, joint=joint)
            files = [
                rearranged(model, one.pieces, ends=end)
                for model, one, end in zip(models, found, (ends, True), strict=True)
            ]
        else:
            files = [
                of_words(one.pieces, ends=end) for one, end in zip(found, (ends, True), strict=True)
            ]
        return Imported(
            config,
            Tokenizer(*files),
            TokenizerConfig(kind="unigram" if models else "word", joint=joint),
            search=SearchConfig(beam=4, length_penalty_form="power"),
            source=None if joint else found[0],
            target=found[1],
            about=self._about(),
        )

    def _models(self) -> list[bytes]:
        """Return the SentencePiece models of source and target; none if there are none."""
        for names in (
            ("sentencepiece.model",) * 2,
            ("source.spm", "target.spm"),
            ("spm.model",) * 2,
        ):
            paths = [folder / names[0] for folder in (self.folder, self.place)]
            for path in paths:
                if path.exists():
                    both = (path, path.with_name(names[1]))
                    with intact(self.folder, " and ".join(dict.fromkeys(names))):
                        return [read_regular(each) for each in both]
        if (self.folder / "bpe.model").exists():
            raise ConfigurationError(
                f"{self.folder} has tokens of subword-nmt (bpe.model)", "sentencepiece.model"
            )
        return []

    def _about(self) -> About:
        if not (self.folder / "metadata.json").exists():
            return facts(self.folder, "CTranslate2, imported")
        version, *codes = read_json(self.folder / "metadata.json", ARGOS).values()
        return facts(self.folder, f"Argos package {version}", tuple(filter(None, codes)))

    def tensor(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """Return weights by the name that they have in this program."""
        found = self.imported
        if name == "output.bias":
            return silenced(self.optional("decoder/projection/bias"), found.target)
        part = name.partition(".")[0]
        if name.endswith("position.embedding"):
            return self.theirs(f"{part}/position_encodings/encodings")
        if name == "output.weight" or name.endswith("embedding.weight"):
            place = "decoder/projection/weight" if part == "output" else self._embedding(part)
            vocabulary = found.source if part == "encoder" else None
            return rows_of(self.theirs(place), vocabulary or found.target)
        theirs = renamed(name)
        if theirs.endswith("/bias") and not self.has(theirs):
            return torch.zeros(shape)
        return self.theirs(theirs)

    def theirs(self, name: str) -> Tensor:
        """Return published weights by name; see Importer."""
        found = super().theirs(name)
        self.used |= self.weights.aliases(name)
        return found


def renamed(name: str) -> str:
    """Return the name in CTranslate2 of weights of a layer or a norm."""
    part, place, kind = re.fullmatch(r"(encoder|decoder)\.(.*)\.(weight|bias)", name).groups()  # type: ignore[union-attr]
    norm = {"weight": "gamma", "bias": "beta"}[kind]
    if place == "norm":
        return f"{part}/layer_norm/{norm}"
    if place == "embedding_norm":
        return f"{part}/layernorm_embedding/{norm}"
    _, number, inside = place.split(".", 2)
    ours = {
        ".".join(
            filter(None, [ENCODER.get(first, first) if part == "encoder" else first, rest])
        ): theirs
        for theirs, (first, _, rest) in ((t, o.partition(".")) for t, o in (*LINEAR, *NORMS))
    }
    theirs = ours[inside]
    return f"{part}/layer_{number}/{theirs}/{norm if theirs.endswith('layer_norm') else kind}"
