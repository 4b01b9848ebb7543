"""Text as input."""

from __future__ import annotations

from models.sources import Source


class TextSource(Source):
    """Text: a sequence of token ids, one slot per token.

    Source: Sutskever et al. 2014; Bahdanau et al. 2015.
    """

    task = "translate"
    ability = "translates texts"
    runner = "models.inference.translator:Translator"
    ensemble = "models.inference.translator:EnsembleTranslator"
    unused_settings = ("search.max_caption",)
