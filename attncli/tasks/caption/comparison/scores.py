"""Scores of a trained captioner, on features of its image network that all runs share."""

from __future__ import annotations

from attncli.data.images.captions import Captioned
from attncli.jobs.compared import ModelScores, Sets, Trained
from attncli.scoring.captions import caption_scores
from attncli.scoring.comparison import QualityScore
from attncli.tasks.caption.training.data import evaluation_set
from attncli.tasks.caption.training.dev import DevCaptions
from attncli.tasks.caption.training.features import feature_stores
from attncli.terminal.plurals import counted
from attncli.training.distributed.evaluation import dev_loss
from models.base.errors import ModelError
from models.inference.captioner import Captioner


def image_scores(trained: Trained, sets: Sets) -> ModelScores:
    """Return CIDEr-D, BLEU-4, ROUGE-L, METEOR if it is installed, and the dev loss."""
    captioner: Captioner = trained.model
    dev = encoded(trained, sets.dev)
    return ModelScores(
        loss=dev_loss(captioner.model, captioner.tokenizer, dev, trained.report),
        dev=quality(trained, dev),
        test=quality(trained, whole(trained, sets.test)) if sets.test else (),
    )


def encoded(trained: Trained, captions: list[Captioned]) -> DevCaptions:
    """Return captioned images with features of the model's image network."""
    config = trained.config
    stores = feature_stores(config.model, config.data, config.train, config.start_from)
    found = evaluation_set(captions, stores[-1], config.data, trained.progress)
    return found.encoded_by(trained.model.model, trained.report)


def whole(trained: Trained, captions: list[Captioned]) -> DevCaptions:
    """Return the test set with features; raise a ModelError if an image cannot be decoded."""
    found = encoded(trained, captions)
    if left := len(captions) - len(found):
        raise ModelError(
            f"{counted(left, 'image')} of the test set cannot be decoded", "each of them"
        )
    return found


def quality(trained: Trained, images: DevCaptions) -> tuple[QualityScore, ...]:
    """Caption images and score the captions against all references; CIDEr-D ranks."""
    outputs = images.captioned(trained.model, trained.report)
    scores = caption_scores(outputs, images.references)
    values = {
        "cider": scores.cider,
        "bleu4": scores.bleu4,
        "rouge_l": scores.rouge_l,
        "meteor": scores.meteor,
    }
    return tuple(QualityScore(name, v) for name, v in values.items() if v is not None)
