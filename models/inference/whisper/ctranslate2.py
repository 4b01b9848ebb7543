"""Whisper in CTranslate2, whose rules need the published order of the tokens.

Texts, then `<|endoftext|>`, `<|startoftranscript|>`, the other special tokens, and timestamps.
torch samples, because the random numbers of CTranslate2 depend on what its threads did before.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch import Tensor

from models.inference.ctranslate2.cache import cached, checked_digest
from models.inference.ctranslate2.convert import converted_whisper, read_weights
from models.inference.ctranslate2.translator import imported
from models.inference.search.hypotheses import beam_width
from models.inference.whisper.engine import TorchWhisper
from models.inference.whisper.windows import Decoded, WhisperPrompt, window_features
from models.storage.settings import NAME as CONFIG
from models.storage.settings import WEIGHTS
from models.text.tokenizer import END, START
from models.use_config import SearchConfig


class CTranslate2Whisper:
    """Whisper's engine in CTranslate2; see `windows.Engine`."""

    def __init__(self, folder: Path, torch: TorchWhisper, threads: int = 0) -> None:
        self.torch, self.tokens, self.config = torch, torch.tokens, torch.model.config
        tokens = self.tokens
        count = tokens.tokenizer.target.get_piece_size()
        self.order = [*range(END + 1, tokens.special), END, START, *range(tokens.special, count)]
        self.places = {number: place for place, number in enumerate(self.order)}
        digest = checked_digest(folder, [CONFIG, WEIGHTS, *tokens.tokenizer.files()])
        place, files = cached(f"{digest}-whisper", lambda: self._converted(folder))
        self.model = imported().models.Whisper(str(place), files=files, intra_threads=threads)

    def _converted(self, folder: Path) -> dict[str, bytes]:
        tokens, names = self.tokens, {number: f"{number}" for number in self.order}
        names |= {number: f"<|{name}|>" for name, number in tokens.ids.items()}
        names |= {n: f"<|{c}|>" for c, n in zip(tokens.codes, tokens.languages, strict=True)}
        names |= {END: "<|endoftext|>", START: "<|startoftranscript|>"}
        names |= {tokens.no_speech: "<|nospeech|>"}
        names |= {tokens.special - 1: ""} if tokens.codes else {}  # makes it multilingual
        settings = {
            "suppress_ids": [self.places[tokens.no_speech]],
            "suppress_ids_begin": [self.places[number] for number in (*tokens.blank, END)],
            "lang_ids": [self.places[number] for number in tokens.languages],
        }
        weights = read_weights(folder / WEIGHTS)
        files = converted_whisper(weights, self.config, self.order, settings)
        vocabulary = json.dumps([names[number] for number in self.order])
        return {**files, "vocabulary.json": vocabulary.encode()}

    def encode(self, samples: Tensor) -> Any:
        """Return the memory of the samples of one window, and these."""
        features = window_features(samples, self.config.audio).mT.contiguous().numpy()
        return self.model.encode(imported().StorageView.from_array(features)), samples

    def languages(self, memory: Any) -> list[float]:
        """Return the probability of each language."""
        shares = dict(self.model.detect_language(memory[0])[0])
        return [shares[f"<|{code}|>"] for code in self.tokens.codes]

    def decode(self, memory: Any, prompt: WhisperPrompt, search: SearchConfig, key: str) -> Decoded:
        """Return the best output after a prompt."""
        if search.method == "sample":
            return self.torch.decode(self.torch.encode(memory[1]), prompt, search, key)
        [result] = self.model.generate(
            memory[0],
            [[self.places[number] for number in prompt.ids]],
            beam_size=beam_width(search),
            length_penalty=search.length_penalty,
            max_length=self.config.max_source,
            return_scores=True,
            return_no_speech_prob=True,
        )
        ids = tuple(self.order[place] for place in result.sequences_ids[0])
        log_prob = result.scores[0] * len(ids) ** search.length_penalty
        return Decoded(ids, log_prob, result.no_speech_prob)
