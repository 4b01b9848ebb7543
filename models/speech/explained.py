"""Explanation of a transcript by the slots of its sound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from models.explain import ExplainOptions
from models.explain.explanation import Explanation, explained_by, faithfulness, words_of
from models.explain.subject import MAX_IMAGES, Subject
from models.speech.transcriber import Transcriber


def explain_transcript(
    transcriber: Transcriber, features: Any, ids: Sequence[int], options: ExplainOptions
) -> Explanation:
    """Explain the words of a transcript, given as token ids, by the slots of its sound.

    features: (F, bands) of the recording. A slot is named by the second at which it begins. Raises
    InputError for an empty transcript, and for an unknown word.
    """
    output = words_of(transcriber.tokenizer, ids, "transcript").chosen(options.word)
    subject = SoundSubject(transcriber, features, ids, output.members)
    seconds = transcriber.encoder.slot_seconds
    source = tuple(f"{slot * seconds:.2f}" for slot in range(subject.units))
    return explained_by(subject, source, output.texts, options, faithfulness)


class SoundSubject(Subject):
    """A recording. Its vectors are the features of its frames; a unit is a slot of the memory.

    The baseline, which also takes the place of erased slots, is the mean of the training data.
    features: (F, bands). ids: of the text. words: (J, T), see Subject.
    """

    def __init__(
        self, transcriber: Transcriber, features: Any, ids: Sequence[int], words: Tensor
    ) -> None:
        encoder, device = transcriber.encoder, transcriber.device
        self.model, self.vectors = transcriber.model, torch.as_tensor(features).to(device)
        self.source = self.vectors[None]  # (1, F, bands)
        self.baseline = encoder.mean.expand_as(self.vectors)
        self.target, self.words = torch.tensor([ids], device=device), words.to(device)
        self.owner = torch.arange(len(features), device=device) // encoder.slot_frames
        self.units = self.slots = encoder.slots(len(features))

    def by_unit(self, relevances: Tensor) -> Tensor:
        """Return relevances (J, S) of slots as they are; sum those of frames, (J, F)."""
        of_slots = relevances.shape[1] == self.units
        return relevances.float().cpu() if of_slots else super().by_unit(relevances)

    @torch.inference_mode()
    def kept_log_probs(self, kept: Tensor) -> Tensor:
        """Return f (N, J) of the sounds that keep the slots of kept (N, I) alone."""
        found = []
        for part in kept.to(self.owner.device).split(MAX_IMAGES):
            frames = part[:, self.owner, None]  # (N, F, 1)
            found.append(self.log_probs(torch.where(frames, self.vectors, self.baseline)))
        return torch.cat(found).cpu()
