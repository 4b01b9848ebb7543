"""M2M-100, NLLB-200 and SMaLL-100: one model of many languages, as a folder of the hub.

Pre-norm, ReLU; sinusoidal positions of tensor2tensor from 2. A target begins with `</s>`. The
source begins with its language, and the target language is the first output; in SMaLL-100 the
source begins with the target language alone.
Fan et al. 2021; NLLB Team 2022; Mohammadshahi et al. 2022
"""

from __future__ import annotations

import re
from functools import cached_property

from models.core.errors import DamagedError, intact
from models.core.files import read_regular
from models.core.settings import MAX_SLOTS, Values
from models.core.use_config import TokenizerConfig
from models.importers._marian import SIZES, Bart, read_vocabulary
from models.importers._schema import Rule, read_json, rules
from models.importers._vocabularies import Special, arranged, with_languages
from models.importers.base import Imported, facts, search_settings
from models.networks.config import TransformerConfig
from models.text.tokenizer import Tokenizer
from models.text.vocabulary import known_pieces, rearranged

LANGUAGE = re.compile(r"__([A-Za-z0-9_]+?)__|([a-z]{3}_[A-Z][a-z]{3})")
NAMES = Rule(list[str | Values], ())
EXTRA = {"additional_special_tokens": NAMES}
TOKENIZER = rules(
    "text: tokenizer_class", "false: legacy_behaviour", **EXTRA, extra_special_tokens=NAMES
)
FIRST = ("<s>", "<pad>", "</s>", "<unk>")
SENTENCEPIECE = "sentencepiece.bpe.model"


class M2m100(Bart):
    """M2M-100 and its kin in a folder of the Hugging Face hub."""

    model_type = "m2m_100"
    schema = rules(
        *SIZES,
        "flag: scale_embedding>embedding_scale",
        "id: vocab_size pad_token_id decoder_start_token_id eos_token_id",
        activation_function=Rule(("relu",), "relu"),
        max_position_embeddings=Rule(int, 1024, 1, MAX_SLOTS, "max_source"),
    )

    @cached_property
    def imported(self) -> Imported:
        """Settings and vocabulary."""
        given = self.settings
        named = read_json(self.folder / "tokenizer_config.json", TOKENIZER, optional=True)
        config = TransformerConfig(
            **self.sizes(), position="sinusoidal", position_offset=given["pad_token_id"] + 1
        )
        special = Special(
            given["pad_token_id"], 3, given["decoder_start_token_id"], given["eos_token_id"]
        )
        count = self.rows(self.place("model.encoder.embed_tokens.weight"), given["vocab_size"])
        return self._with_tokenizer(config, special, count, named)

    def _with_tokenizer(
        self, config: TransformerConfig, special: Special, count: int, named: Values
    ) -> Imported:
        """Return settings and vocabulary. named: the content of tokenizer_config.json."""
        with intact(self.folder, SENTENCEPIECE):
            model = read_regular(self.folder / SENTENCEPIECE)
        tokens = self._tokens(model, named, count)
        languages = {
            token: str(found[1] or found[2])
            for token in tokens
            if (found := LANGUAGE.fullmatch(token))
        }
        vocabulary = arranged(with_languages(tokens, languages), special)
        vocabulary = vocabulary.extended(known_pieces(model))
        controls = [f"<2{code}>" for code in languages.values()]
        small = "small100" in named["tokenizer_class"].lower()
        return Imported(
            config,
            Tokenizer(rearranged(model, vocabulary.pieces, [*controls, "<s>", "<mask>"])),
            TokenizerConfig(
                kind="bpe",
                languages=tuple(languages.values()),
                language_tokens="target" if small else "both",
            ),
            search=search_settings(self),
            source=None,
            target=vocabulary,
            about=facts(self.folder, "M2M-100, imported", tuple(languages.values())),
        )

    def _tokens(self, model: bytes, named: Values, count: int) -> list[str]:
        """Return the text of each row: of vocab.json, or SentencePiece's own; then languages."""
        path = self.folder / "special_tokens_map.json"
        special = read_json(path, EXTRA, optional=True)
        listed = special["additional_special_tokens"] or (
            named["additional_special_tokens"] or named["extra_special_tokens"]
        )
        texts = (token.get("content") if isinstance(token, dict) else token for token in listed)
        languages = [text for text in map(str, texts) if LANGUAGE.fullmatch(text)]
        if not languages:
            raise DamagedError(
                f"{self.folder} names no languages", "special_tokens_map.json of the publisher"
            )
        path = self.folder / "vocab.json"
        if path.exists():
            tokens = [*read_vocabulary(path), *languages]
        else:  # NLLB: the pieces follow four tokens
            tokens = [*FIRST, *known_pieces(model), *languages, "<mask>"]
        if len(tokens) > count:
            raise DamagedError(f"{len(tokens)} tokens", f"at most {count}, as config.json says")
        # the published matrices have more rows than the vocabulary has tokens
        return [*tokens, *(f"<row {number}>" for number in range(len(tokens), count))]
