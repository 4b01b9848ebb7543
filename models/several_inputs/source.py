"""The kind of input that is a row of several inputs. Imports no torch."""

from __future__ import annotations

from models.core.sources import Source


class RowSource(Source):
    """Rows: several texts, or texts and an image; one slot per token and per image cell.

    A row is a line whose columns are separated by tabs, in the order of `model.inputs`; the column
    of an image is the path of its file.
    Source: Zoph and Knight 2016; Libovický and Helcl 2017.
    """

    task = "translate"
    ability = "translates rows of several inputs"
    runner = "models.several_inputs.translator:RowTranslator"
    ensemble = "models.engines.translator:EnsembleTranslator"
    has_columns = True
    unused_settings = ("search.max_caption", "search.split_above")
