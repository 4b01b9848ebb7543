"""Copies of the results of every task, and what pickle leaves out of them."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import attncli
from attncli.task.table import TASKS
from tests.attncli.interface.inputs import PIXELS, recording

load: Callable[..., Any] = cache(attncli.load)
# of each task: its model, and a result of it
RESULTS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "translate": ("everyday", lambda model: model.translate("A dog.", to="de")),
    "classify": ("languages", lambda model: model.classify("The dog sleeps.")),
    "caption": ("scenes", lambda model: model.caption(PIXELS)),
    "transcribe": (
        "digits",
        lambda model: model.transcribe(recording(), doubtful=True, attention=True),
    ),
    "align": ("everyday", lambda model: model.align("A dog.", "Ein Hund.", to="de")),
    "explain": ("everyday", lambda model: model.explain("A dog.", to="de")),
}


def result_of(task: str) -> tuple[Any, Any]:
    """Return the model of a task, and a new result."""
    name, call = RESULTS[task]
    return load(name), call(load(name))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_keeps_the_runner_and_the_picture(task: str, copied: Any) -> None:
    _, result = result_of(task)
    again = copied(result)
    assert again is not result and again.by is result.by and result.picture
    assert (again.picture, again._repr_html_()) == (result.picture, result._repr_html_())
    assert copied(again).picture == result.picture  # of one that has its weights


@pytest.mark.parametrize("task", TASKS)
def test_a_pickled_result_has_its_text_and_says_why_it_has_no_picture(task: str) -> None:
    _, result = result_of(task)
    sent = pickle.loads(pickle.dumps(result))
    assert sent.text == result.text and sent.by is None
    for call in (lambda: sent.picture, sent._repr_html_):
        with pytest.raises(attncli.ModelError, match="without its model.*run the model on the"):
            call()


@pytest.mark.parametrize("task", TASKS)
def test_results_can_be_compared_and_kept_in_a_set(task: str) -> None:
    model, result = result_of(task)
    other = RESULTS[task][1](model)
    assert result == result and isinstance(result == other, bool)
    assert len({result, result}) == 1


@pytest.mark.parametrize("name", sorted({name for name, _ in RESULTS.values()} | {"grammar-en-de"}))
def test_a_model_is_copied_and_says_that_it_is_not_pickled(name: str) -> None:
    if name == "digits" and "transcribe" not in TASKS:
        pytest.skip("without the annex of speech")
    model = load(name)
    for copied in (copy.copy(model), copy.deepcopy(model)):
        assert type(copied) is type(model) and copied.search == model.search
    with pytest.raises(attncli.ModelError, match="a model that is pickled; expected its folder"):
        pickle.dumps(model)


def test_a_picture_that_cannot_be_drawn_says_why() -> None:
    result = load("languages").classify("The dog sleeps.", attention=False)
    for call in (lambda: result.picture, result._repr_html_):
        with pytest.raises(attncli.ModelError, match=r"without the weights of words; expected"):
            call()


@pytest.mark.skipif("transcribe" not in TASKS, reason="without the annex of speech")
def test_a_recording_that_was_removed_is_missed_by_its_picture(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(recording().getvalue())
    result = load("digits").transcribe(path, doubtful=True)
    os.unlink(path)
    for call in (lambda: result.picture, result._repr_html_):
        with pytest.raises(attncli.ModelError, match="no file"):
            call()


@pytest.mark.skipif("transcribe" not in TASKS, reason="without the annex of speech")
def test_the_text_of_a_result_leaves_out_the_bytes_of_its_file() -> None:
    result = load("digits").transcribe(recording().getvalue(), doubtful=True)
    assert "RIFF" not in repr(result) and result.text in repr(result)


def test_an_image_in_memory_is_shared_by_copies() -> None:
    image = Image.fromarray(PIXELS)
    assert copy.deepcopy(load("scenes").caption(image)).file.opened is image
