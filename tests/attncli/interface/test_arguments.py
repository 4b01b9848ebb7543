"""Arguments of another type than a method states are refused in one line, of every task."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy
import pytest

import attncli
from attncli.options.arguments import check, fits, in_python
from attncli.task.table import TASKS
from models.core.errors import InputError
from models.core.use_config import SearchConfig
from tests.attncli.interface.inputs import PIXELS, recording

load: Callable[..., Any] = cache(attncli.load)
WRONG = (None, True, 3, 2.5, "x", b"x", object(), {1: 2}, (), [None], (1, 2), ["Hello"], "\ud800")
RATES = (int, float, numpy.int64, numpy.int32, numpy.float64)
# of each task: its models, and their methods with an input and options
METHODS: dict[str, tuple[tuple[str, str, Callable[[], tuple[Any, ...]], dict[str, Any]], ...]] = {
    "translate": (
        ("everyday", "translate", lambda: ("A dog.",), {"to": "de"}),
        ("everyday", "alternatives", lambda: ("A dog.",), {"to": "de"}),
    ),
    "classify": (("languages", "classify", lambda: ("Hello",), {}),),
    "caption": (("scenes", "caption", lambda: (PIXELS,), {}),),
    "transcribe": (("digits", "transcribe", lambda: (recording().getvalue(),), {}),),
    "align": (("everyday", "align", lambda: ("A dog.", "Ein Hund."), {"to": "de"}),),
    "explain": (
        ("everyday", "explain", lambda: ("A dog.",), {"to": "de", "method": "attention"}),
        ("languages", "explain", lambda: ("Hello",), {"method": "attention"}),
        ("scenes", "explain", lambda: (PIXELS,), {"method": "attention"}),
    ),
}
CASES = [case for task in TASKS for case in METHODS[task]]


def names_of(method: Any, options: dict[str, Any]) -> list[str]:
    """Return the names of the options of a method."""
    known = inspect.signature(method).parameters.values()
    own = [one.name for one in known if one.default is not one.empty]
    return [*dict.fromkeys([*own, *(name for name in options if name != "to" or "to" in own)])]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_an_option_of_any_type_is_used_or_refused(case: Any) -> None:
    model, method, inputs, options = case
    call = getattr(load(model), method)
    names = names_of(call, options)
    assert names
    for name in names:
        for wrong in WRONG:
            try:
                call(*inputs(), **{**options, name: wrong})
            except attncli.ModelError as error:
                assert "\n" not in str(error), (name, wrong)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_an_input_of_any_type_is_used_or_refused(case: Any) -> None:
    model, method, inputs, options = case
    for wrong in WRONG:
        for place in range(len(inputs())):
            given = [*inputs()]
            given[place] = wrong
            try:
                getattr(load(model), method)(*given, **options)
            except attncli.ModelError as error:
                assert "\n" not in str(error), (place, wrong)


@pytest.mark.parametrize("field", [one.name for one in fields(SearchConfig)])
def test_a_search_setting_of_another_type_is_refused(field: str) -> None:
    model = load("everyday")
    usual = getattr(model.search, field)
    for wrong in (None, [1], "2" if not isinstance(usual, str) else 2, 2.5):
        if isinstance(usual, float) and wrong == 2.5:
            continue
        search = replace(model.search, **{field: wrong})
        with pytest.raises(InputError, match=rf"search\.{field} = .*; expected "):
            model.translate("A dog.", to="de", search=search)


def test_numbers_of_numpy_are_numbers() -> None:
    model, number = load("everyday"), numpy.int64(2)
    search = replace(model.search, beam=number)
    expected = model.translate("A dog.", to="de", look=2, search=replace(model.search, beam=2))
    assert model.translate("A dog.", to="de", look=number, search=search).text == expected.text
    assert len(model.alternatives("A dog.", n=number, to="de")) == 2
    assert len(load("languages").classify("Hello", nbest=number).labels) == 2
    explained = [model.explain("A dog.", to="de", word=one) for one in (2, number)]
    assert explained[0].target == explained[1].target
    assert load("scenes").caption(PIXELS, look=PIXELS[0, :4, 0] * 0 + (1, 2, 30, 40)).text


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("translate", {"prefix": 5}, "prefix = 5; expected str or a list of str; see help"),
        ("translate", {"prefix": [None, None]}, r"prefix = \[None, None\]; expected str or"),
        ("translate", {"glossary": 5}, "glossary = 5; expected a dictionary, a list of a list of"),
        ("translate", {"memory": [5]}, "5; expected a text and its translation"),
        ("translate", {"look": 2.5}, "look = 2.5; expected str, int or a list of str or int"),
        ("translate", {"verbatim": "no"}, "verbatim = 'no'; expected True or False"),
        ("alternatives", {"prefix": 5}, "prefix = 5; expected str; see help.Translator.altern"),
        ("alternatives", {"n": 2.5}, "n = 2.5; expected int"),
    ],
)
def test_a_message_names_the_option_its_types_and_the_help(
    method: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        getattr(load("everyday"), method)("A dog.", to="de", **options)


@pytest.mark.parametrize("wrong", [1.5, "2", None, True])
def test_labels_are_counted_in_whole_numbers(wrong: Any) -> None:
    with pytest.raises(InputError, match="nbest = .*; expected int; see help.Classifier.classify"):
        load("languages").classify("Hello", nbest=wrong)


@pytest.mark.parametrize("options", [{"look": (1, 2)}, {"look": 5}, {"prefix": 5}])
def test_a_frame_has_four_numbers(options: Any) -> None:
    with pytest.raises(InputError, match="expected str.*; see help.Captioner.caption"):
        load("scenes").caption(PIXELS, **options)


INPUTS = {
    "transcribe": ("digits", "recording"),
    "caption": ("scenes", "image"),
}


@pytest.mark.parametrize("task", [task for task in TASKS if task in INPUTS])
def test_an_input_that_is_no_file_is_named(task: str) -> None:
    model, kind = INPUTS[task]
    call = getattr(load(model), task)
    for given, message in (
        ("", f"an empty path of an? {kind}; expected the path"),
        ([""], f"an empty path of an? {kind}; expected the path"),
        (io.StringIO("text"), f"an? {kind} opened as text; expected a file of bytes; open it in"),
        ([["a.wav"]], "list.*; expected a path"),
    ):
        with pytest.raises(InputError, match=message):
            call(given)


def test_an_empty_name_of_a_model_is_refused() -> None:
    with pytest.raises(attncli.ModelError, match="an empty name of a model"):
        attncli.load("")


@pytest.mark.skipif("transcribe" not in TASKS, reason="without the annex of speech")
def test_the_rate_of_an_array_can_be_a_number_of_numpy() -> None:
    samples, model = numpy.sin(numpy.arange(8000) / 9), load("digits")
    found = [model.transcribe(samples, rate=kind(8000), doubtful=True) for kind in RATES]
    assert len({one.text for one in found}) == len({one._repr_html_() for one in found}) == 1
    with pytest.raises(InputError, match="without its rate; expected samples a second: rate=16000"):
        model.explain(samples)


@pytest.mark.parametrize(
    ("model", "method", "inputs", "options", "message"),
    [
        ("everyday", "translate", ("A dog.",), {}, "choose it with to="),
        ("everyday", "explain", ("A dog.",), {"to": "de", "word": 99}, "leave out word= for"),
        ("grammar-en-de", "align", ("A.", "A."), {"to": "de"}, "leave out to= and source="),
    ],
)
def test_a_message_has_arguments_in_place_of_options(
    model: str, method: str, inputs: tuple[str, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(attncli.ModelError, match=message):
        getattr(load(model), method)(*inputs, **options)
    assert in_python("`attn x --to de` with --to-and --to") == "`attn x --to de` with --to-and to="


def test_items_that_can_be_read_once_are_not_read() -> None:
    given = iter(["a", "b"])
    assert fits(given, "list[str]") and [*given] == ["a", "b"]
    with pytest.raises(InputError, match=r"a.b = 3; expected str; do"):
        check({"b": 3, "c": 4}, {"b": str}, "a.", "do")
