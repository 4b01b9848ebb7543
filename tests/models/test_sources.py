"""Kinds of input: each family states its own, and it is known without importing torch."""

from __future__ import annotations

import pytest

from models.base.errors import ModelError
from models.base.registry import TABLES, find, names, source_name
from models.base.types import VocabularySizes
from models.bundle import build
from models.config import ModelConfig
from models.families.captioner import ShowAttendTell
from models.sources import check_source, find_source, source_of, vocabulary_sizes


@pytest.mark.parametrize("family", names("family"))
def test_the_source_of_a_family_is_the_one_its_class_states(family: str) -> None:
    assert source_name(family) == find("family", family).source
    assert source_of(family) is find_source(source_name(family))


def test_images_have_no_source_vocabulary() -> None:
    assert vocabulary_sizes("rnnsearch", 30, 40, False) == (30, 40, False)
    assert vocabulary_sizes("captioner", 40, 40, True) == (0, 40, False)


def test_a_model_of_another_kind_is_refused_with_the_command_for_it() -> None:
    check_source("captioner", "image")
    with pytest.raises(ModelError, match="captions images.*translates texts.*attn caption"):
        check_source("captioner", "text")
    with pytest.raises(ModelError, match="unknown family"):
        source_of("no-such-family")


class SilentCaptioner(ShowAttendTell):
    """A family that inherits its source without stating it."""


def test_a_family_that_inherits_its_source_must_state_it(monkeypatch: pytest.MonkeyPatch) -> None:
    place = "tests.models.test_sources:SilentCaptioner"
    monkeypatch.setitem(TABLES["family"], "silent", place)
    with pytest.raises(TypeError, match="must name its source, as in source = 'image'"):
        build(ModelConfig(family="silent"), VocabularySizes(0, 30, False))
