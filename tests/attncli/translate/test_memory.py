"""A translation memory: what is found, what is filled in, and one result behind every door."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import attncli
from attncli.bulk._job import read_job
from attncli.faithful.result import Line, TranslatedLine
from attncli.translate.memory import EXACT, NUMBERS, TranslationMemory, read_memory
from models.core.errors import InputError
from tests.attncli.command_line import Attn
from tests.attncli.files import write

PAIRS = [("The box has 12 screws.", "Die Kiste hat 12 Schrauben!"), ("a dog", "ein Dackel")]
TMX = """<?xml version="1.0"?><tmx version="1.4"><header srclang="en-GB"/><body>
<tu><tuv xml:lang="en-GB"><seg>a <bpt i="1">&lt;b></bpt>dog<ept i="1">&lt;/b></ept></seg></tuv>
<tuv xml:lang="de-DE"><seg>ein Dackel</seg></tuv><tuv xml:lang="fr"><seg>un teckel</seg></tuv></tu>
</body></tmx>"""


@pytest.mark.parametrize("seed", range(20))
def test_numbers_are_filled_in_as_the_language_writes_them(seed: int) -> None:
    rng = random.Random(seed)
    one, other, cents = rng.randint(2, 999_999), rng.randint(2, 999_999), rng.randint(10, 99)
    memory = TranslationMemory(
        [(f"{one:,} of it cost {one + 1:,}.25", f"{one + 1:,}.25 kosten {one:,}")], "en", "en"
    )
    text = f"{other:,} of it cost {other + 7:,}.{cents}"
    assert memory.find(text) == (f"{other + 7:,}.{cents} kosten {other:,}", NUMBERS)
    german = TranslationMemory([(f"about {one:,}", f"etwa {one:,}".replace(",", "."))], "en", "de")
    assert german.find(f"about {other:,}")[0] == f"etwa {other:,}".replace(",", ".")


@pytest.mark.parametrize(
    ("source", "target", "wanted"),
    [
        ("2 windows", "2 Fenster", "1 windows"),  # other words may depend on it
        ("at 7 p.m.", "um 19 Uhr", "at 8 p.m."),  # another number
        ("2 and 2", "2 und 2", "3 and 4"),  # two places
        ("page 5", "Seite fünf", "page 6"),  # in words
        ("5 dogs", "5 Hunde", "6 cats"),
    ],
)
def test_nothing_is_filled_in_where_the_place_is_uncertain(
    source: str, target: str, wanted: str
) -> None:
    memory = TranslationMemory([(source, target)], "en", "de")
    assert memory.find(source) == (target, EXACT)
    assert memory.find(wanted) == ("", "")


def answered(line: Line) -> TranslatedLine:
    found = TranslationMemory([(line.text, line.text.upper())]).result(line)
    assert found
    return found


def test_chunks_keep_their_lines_and_the_last_translation_counts() -> None:
    memory = TranslationMemory([("a", "x"), ("b", "y"), ("a", "z")])
    asked: list[str] = []

    def translate(chunks: Iterable[Sequence[Line]]) -> Iterator[list[TranslatedLine]]:
        for chunk in chunks:
            asked.extend(line.text for line in chunk)
            yield [answered(line) for line in chunk]

    chunks = [
        [Line(n, text) for n, text in enumerate(part, 1)]
        for part in (["a", "c"], ["b"], [" a ", "d"])
    ]
    found = [[one.text for one in results] for results in memory.first(chunks, translate)]
    assert found == [["z", "C"], ["y"], [" z ", "D"]] and asked == ["c", "d"]


def test_a_tmx_file_is_read_in_the_direction_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(TMX, "utf-8")
    for languages, expected in {
        ("en", "de"): ("a dog", "ein Dackel"),
        ("", "fr"): ("a dog", "un teckel"),
        ("de", "en"): ("ein Dackel", "a dog"),
        ("", ""): ("a dog", "ein Dackel"),
    }.items():
        assert read_memory(path, *languages) == (expected,)
    with pytest.raises(InputError, match="no pairs from en to es"):
        read_memory(path, "en", "es")
    path.write_text(TMX[:-20], "utf-8")
    with pytest.raises(InputError, match="cannot be read"):
        read_memory(path)


def test_every_door_gives_what_is_in_the_memory(tmp_path: Path, attn: Attn) -> None:
    table, texts = tmp_path / "own.tsv", ["The box has 45 screws.", "A dog sees a house.", "a dog"]
    write(table, PAIRS)
    given = ("translate", "-m", "grammar-en-de", "--memory", table, "--format", "jsonl")
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(texts) + "\n", "utf-8")
    out, err = attn(*given, "-i", lines)
    records = [json.loads(line) for line in out.splitlines()]
    assert [one.get("memory", "") for one in records] == [NUMBERS, "", EXACT]
    assert "2 lines from the translation memory" in err
    found = [one["hypotheses"][0]["text"] for one in records]
    assert found[0] == "Die Kiste hat 45 Schrauben!" and found[2] == "ein Dackel"
    plain = attn("translate", "-m", "grammar-en-de", "-i", lines).out.splitlines()
    assert found[1] == plain[1]
    model: Any = attncli.load("grammar-en-de")
    for memory in (dict(PAIRS), PAIRS, table):
        results = model.translate(texts, memory=memory)
        assert [one.text for one in results] == found
        assert [one.memory for one in results] == [NUMBERS, "", EXACT]
    job = read_job([*map(str, given[:-2])])
    assert job.settings["memory"] == [list(pair) for pair in PAIRS]
    [chunk] = job.open().run([[Line(n, text) for n, text in enumerate(texts, 1)]])
    assert [one.text for one in chunk] == found
