"""Several classifiers that classify together: an ensemble, whose probabilities are averaged.

    p(label | x) = 1/M sum_m p_m(label | x)

The models may have different vocabularies and poolings; their labels are the same. Source: Breiman
1996 (bagging predictors), for the mean of class probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from models.base.types import Classification, LabelProbability
from models.inference.classifier import Classifier, ClassifyOptions
from models.inference.ensemble.mean import MemberLengths, MemberReadModes, check_equal


class EnsembleClassifier(MemberReadModes, MemberLengths, Classifier):
    """Classifiers of the same labels. Weights of words are those of the first model.

    Each model reads a text with its own vocabulary. The longest text is that of the model with the
    lowest limit. Raises ConfigurationError for models with different labels.
    """

    members: tuple[Classifier, ...]

    def __init__(self, members: Sequence[Classifier], names: Sequence[str] = ()) -> None:
        check_equal(members, names, "labels", lambda member: {*member.labels})
        first = members[0]
        self.model, self.device = first.model, first.device
        self.tokenizer, self.search = first.tokenizer, first.search
        self.members = tuple(members)

    def classified(
        self, texts: Sequence[str], first: int, options: ClassifyOptions
    ) -> Iterator[Classification]:
        """Yield the means of the models' probabilities for some texts; see `Classifier`."""
        of_all = options._replace(nbest=len(self.labels))
        without_weights = of_all._replace(attention=False)
        of_members = [
            member.classified(texts, first, without_weights if number else of_all)
            for number, member in enumerate(self.members)
        ]
        return (mean_of(results, options.nbest) for results in zip(*of_members, strict=True))


def mean_of(results: Sequence[Classification], nbest: int) -> Classification:
    """Return the first of several results, with the mean probabilities of all labels."""
    each = [dict(result.labels) for result in results]
    means = [LabelProbability(label, fmean(p[label] for p in each)) for label in each[0]]
    best = sorted(means, key=lambda one: -one.probability)[:nbest]
    return results[0]._replace(labels=tuple(best))
