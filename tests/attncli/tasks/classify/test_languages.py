"""The language of each text of a chunk."""

from __future__ import annotations

from attncli.classify.languages import judged


def test_a_short_text_is_judged_with_the_others_and_a_long_one_alone() -> None:
    sure, unsure = {"en": 0.97, "de": 0.02}, {"de": 0.8, "en": 0.15}
    assert best([sure, unsure], [90, 5]) == ["en", "en"]
    assert best([sure, unsure, unsure], [90, 5, 90]) == ["en", "de", "de"]


def test_an_order_of_texts_changes_nothing_and_none_is_no_text() -> None:
    found = [{"en": 0.9, "de": 0.1}, {"de": 0.9, "en": 0.1}, {"fr": 0.7, "de": 0.2}]
    sizes = [20, 14, 11]
    assert best(found, sizes) == ["en", "de", "fr"]
    assert best(found[::-1], sizes[::-1]) == ["fr", "de", "en"]
    assert best([], []) == []


def test_the_judged_language_is_first() -> None:
    [found] = judged(["x"], [{"de": 0.5, "fr": 0.1, "en": 0.4}])
    assert [*found] == ["en", "de", "fr"] and [*found.values()] == sorted(found.values())[::-1]


def best(found: list[dict[str, float]], sizes: list[int]) -> list[str]:
    """Return the language of texts of so many letters."""
    return [next(iter(one)) for one in judged(["x" * size for size in sizes], found)]
