"""Documents and HTML texts: their segments are translated, everything else stays as it is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from attncli.data.lines import TranslatedLine
from attncli.documents.document import Document, DocumentOptions
from attncli.documents.registry import read_document
from attncli.serve.catalogue import ServedDirection
from attncli.serve.models import TranslateJob
from attncli.serve.options import DOCUMENT_TIMES
from attncli.serve.service import Call
from attncli.tasks.translate.documents import lines_of
from attncli.tasks.translate.documents import translated as reassembled


async def translated(
    call: Call, texts: Sequence[str], direction: ServedDirection, nbest: int
) -> list[list[str]]:
    """Return the translations of texts in HTML, of each best first."""
    documents = [read_document(text, "html", DocumentOptions()) for text in texts]
    lines = [[line.text for line in lines_of(document)] for document in documents]
    job = TranslateJob(direction.languages, nbest, document=True)
    inputs = [text for each in lines for text in each]
    results = iter(await call.run(direction.model, job, inputs))
    found = [[next(results) for _ in each] for each in lines]
    return [
        list(dict.fromkeys(reassembled(each, _of_rank(own, rank)) for rank in range(nbest)))
        for each, own in zip(documents, found, strict=True)
    ]


def outcomes(
    call: Call, document: Document, direction: ServedDirection
) -> AsyncIterator[Sequence[TranslatedLine]]:
    """Return the outcomes of the texts of a document in order, in pieces."""
    texts = [line.text for line in lines_of(document)]
    job = TranslateJob(direction.languages, document=True)
    return call.service.results(direction.model, job, texts, DOCUMENT_TIMES)


def _of_rank(found: Sequence[TranslatedLine], rank: int) -> list[TranslatedLine]:
    """Return the outcomes with their output of a rank as the best one."""
    ranked = []
    for outcome in found:
        if outcome.translation:
            hypotheses = outcome.translation.hypotheses[rank:] or outcome.translation.hypotheses
            translation = outcome.translation._replace(hypotheses=hypotheses)
            outcome = outcome._replace(translation=translation)
        ranked.append(outcome)
    return ranked
