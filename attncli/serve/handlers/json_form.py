"""Results of models in the form of answers."""

from __future__ import annotations

import json
from typing import Any

from attncli.data.lines import ClassifiedLine, TranslatedLine
from attncli.data.panels import AlignedPair
from attncli.serve.errors import invalid
from attncli.tasks.caption.writers import CaptionedImage


def event(record: dict[str, Any]) -> bytes:
    """Return an event of a stream."""
    return f"data: {json.dumps(record)}\n\n".encode()


def output(outcome: TranslatedLine, rank: int = 0) -> str:
    """Return an output of a line; its last one if it has fewer. Raises RequestError without any."""
    if outcome.translation is None:
        raise invalid(outcome.note)
    hypotheses = outcome.translation.hypotheses
    return hypotheses[min(rank, len(hypotheses) - 1)].text


def alignment(pair: AlignedPair) -> dict[str, Any]:
    """Return words, links and weights (J, I); if computed also those of heads (L, H, J, I)."""
    panel = pair.panels[0]
    found: dict[str, Any] = {
        "source": list(pair.source),
        "target": list(pair.target),
        "links": sorted(map(list, panel.links)),
    }
    if panel.weights is not None:
        found["weights"] = panel.weights.astype(float).round(3).tolist()
    if panel.heads is not None:
        found["heads"] = panel.heads.astype(float).round(3).tolist()
    if pair.note:
        found["note"] = pair.note
    return found


def caption(outcome: CaptionedImage) -> dict[str, Any]:
    """Return the captions of an image, and for each word of the best its map (rows, columns)."""
    if not outcome.hypotheses:
        raise invalid(outcome.note)
    found: dict[str, Any] = {
        "caption": outcome.caption,
        "captions": [{"text": h.text, "score": round(h.score, 4)} for h in outcome.hypotheses],
    }
    if maps := outcome.attention:
        found["words"] = list(maps.words)
        found["maps"] = maps.maps.astype(float).round(4).tolist()
        found["entropy"] = maps.entropy.astype(float).round(3).tolist()
        if maps.gates is not None:
            found["gates"] = maps.gates.astype(float).round(3).tolist()
    return found


def classification(outcome: ClassifiedLine) -> dict[str, Any]:
    """Return the labels of a text with their probabilities, and the weights of its words."""
    if outcome.result is None:
        raise invalid(outcome.note)
    result = outcome.result
    found: dict[str, Any] = {
        "label": result.label,
        "labels": [{"label": a, "probability": round(b, 4)} for a, b in result.labels],
    }
    if result.words:
        found["words"] = [{"word": a, "weight": round(b, 4)} for a, b in result.words]
    return found
