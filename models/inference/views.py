"""Several views of an image, read together as an ensemble.

    p(y_t | y_<t, image) = 1/V sum_v p(y_t | y_<t, view v of the image)

Source: Krizhevsky, Sutskever, Hinton 2012, section 4.1 (crops and mirror images of a test image).
"""

from __future__ import annotations

from models.inference.captioner import Captioner
from models.inference.ensemble_captioner import EnsembleCaptioner
from models.views import VIEWS


def with_views(captioner: Captioner, count: int) -> Captioner:
    """Return a captioner that reads the first `count` views of each image; see models/views.py.

    The models of an ensemble all read these views. Attention maps are those of the first model on
    the whole image. Pixels and features have one view, so they are read as they are.
    """
    if count == 1:
        return captioner
    members = captioner.members if isinstance(captioner, EnsembleCaptioner) else (captioner,)
    viewing = [member.with_view(view) for member in members for view in VIEWS[:count]]
    return EnsembleCaptioner(viewing).with_search(captioner.search)
