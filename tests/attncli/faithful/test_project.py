"""Markup: what is taken out of a line, and where it is in the translation."""

from __future__ import annotations

from collections import Counter
from itertools import count as count_from
from random import Random

import pytest

from attncli.documents.place import project_tags
from attncli.documents.tags import count, parse, scan
from attncli.faithful.pieces import TaggedLine
from attncli.faithful.protect import FIRST, MARK, Part, protect, restore
from attncli.faithful.spans import TokenWeights, word_weights, words
from tests.attncli.faithful.small import line, looks, tree


def parsed(line: str) -> TaggedLine:
    """Return a line with its tags and protected parts taken out."""
    tagged = parse(line)
    parts = [tagged.parts]

    def change(text: str) -> str:
        text, parts[0] = protect(text, more=parts[0], escaped=tagged.escaped)
        return text

    changed, _ = tagged.changed(change, [(0, len(tagged.text))])
    return changed._replace(parts=parts[0])


MOVED = [(0, 1), (1, 2), (2, 0)]
ORDER, TURNED = [(0, 0), (1, 1), (2, 2), (3, 3)], [(0, 0), (1, 2), (2, 1)]


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        ("the <b>house</b>.", "das Haus.", ORDER[:2], "das <b>Haus</b>."),
        ("the <b>house.</b>", "das Haus.", ORDER[:2], "das <b>Haus.</b>"),
        ('<q>"yes"</q> he said', '"ja" sagte er', TURNED, '<q>"ja"</q> sagte er'),
        ("a <b>white house</b>", "une maison blanche", TURNED, "une <b>maison blanche</b>"),
        ("<b>white</b> <i>car</i>", "car blanc", [(0, 1), (1, 0)], "<i>car</i> <b>blanc</b>"),
        (
            "he <b>calls up</b> X",
            "er ruft X an",
            [*ORDER[:2], (2, 3), (3, 2)],
            "er <b>ruft X an</b>",
        ),
        (
            "<b>the <i>old</i> dog</b> is",
            "der alte Hund ist",
            ORDER,
            "<b>der <i>alte</i> Hund</b> ist",
        ),
        ("one<br/>two", "eins zwei", ORDER[:2], "eins<br/>zwei"),
        ("<li>one</li><li>two</li>", "eins. zwei.", ORDER[:2], "<li>eins.</li><li>zwei.</li>"),
        ("one <br/> two", "eins zwei", ORDER[:2], "eins <br/> zwei"),
        ("<i>one two", "zwei eins", [(0, 1), (1, 0)], "<i>zwei eins"),
        ("Hello, <b>{x}</b> b", "Hallo, \ue000 c", ORDER[:3], "Hallo, <b>{x}</b> c"),
        ("<b>{n} files</b> left", "übrig: \ue000 Dateien", MOVED, "übrig: <b>{n} Dateien</b>"),
        ("a <b>b</b>", "日本", ORDER[:2], "日<b>本</b>"),
        # where nothing is aligned, the relative position decides
        ("a b <b>c</b> d", "w x y z", [], "w x <b>y</b> z"),
        ("a b <br/> d e", "w x", [], "w <br/> x"),
        ("a <b>b</b>", "", [], "<b></b>"),
        # two elements never share a word; a distant link does not extend an element
        ("<b>a</b> <i>b</i>", "x", [(0, 0), (1, 0)], "<b>x</b><i></i>"),
        ("<b>a</b> b c d e", "u v w x y z", [*ORDER, (4, 4), (0, 5)], "<b>u</b> v w x y z"),
        # a text is escaped as its source was; the model cannot make up markup
        ("<b>a</b> &amp; b", "x & < y", ORDER[:2], "<b>x</b> &amp; &lt; y"),
        ("<b>a</b> & b", "x & < y", ORDER[:2], "<b>x</b> & < y"),
        ("<b>a</b>", "x <i> y", ORDER[:1], "<b>x &lt;i&gt; y</b>"),
    ],
)
def test_markup_is_where_its_words_are(
    source: str, target: str, links: list[tuple[int, int]], expected: str
) -> None:
    table: list[dict[int, float]] = [{} for _ in words(target)]
    for i, j in links:  # from source words to target words, counted from 0
        table[j][i] = 1.0
    tagged = parsed(source)
    assert restore(project_tags(tagged, target, table), tagged.parts) == expected


def test_as_much_markup_comes_out_as_went_in() -> None:
    random = Random(1)
    for _ in range(400):
        source = line(random)
        tagged = parsed(source)
        target = random.choice([tagged.text.upper() + " x", line(random), "x y. (z)", ""])
        table = looks(random, tagged.text, target)
        wanted = Counter(tag.raw for tag in tagged.tags)
        assert count(project_tags(tagged, target, table)) == wanted, (source, target)


def test_what_was_nested_is_nested_in_the_same_way() -> None:
    random = Random(1)
    for _ in range(400):
        source = tree(random, [f"n{number}" for number in range(9)])
        tagged = parsed(source)
        target = random.choice([tagged.text.upper(), line(random), "x y. (z) w", ""])
        written = project_tags(tagged, target, looks(random, tagged.text, target))
        gone = [part for part in tagged.parts if part.raw not in "{0} %d"]
        assert around(written, *gone) == around(source, *gone), (source, target)


def test_pieces_are_summed_and_shared_by_the_characters_in_each_word() -> None:
    pieces = TokenWeights([(-1, 2), (2, 5)], [(-1, 3), (3, 4)], [[0.6, 0.4], [0.0, 1.0]])
    found = word_weights([pieces], words("ab de"), words("xyz."))
    # of the source's first piece, two of three characters are in "ab"; of the second, two in "de"
    [of_word] = found
    assert of_word == pytest.approx({0: 0.6 * 2 / 3 * 3 / 4, 1: 0.4 * 2 / 3 * 3 / 4})


def around(text: str, *parts: Part) -> dict[str, tuple[str, ...]]:
    """Which elements are around each element of a rightly nested text."""
    for each in parts:  # an element without words is one part
        text = text.replace(each.raw, "")
    inside: list[str] = []
    found = {}
    for part in scan(text):
        if part.kind == "open":
            found[part.name] = tuple(inside)
            inside.append(part.name)
        elif part.kind == "close":
            assert inside.pop() == part.name
    assert not inside
    return found


def found(line: str) -> tuple[str, list[str]]:
    """Return the text that the model reads, and tags and protected parts."""
    tagged = parsed(line)
    parts = [tagged.parts[ord(mark) - FIRST].raw for mark in MARK.findall(tagged.text)]
    numbers = count_from(1)
    text = MARK.sub(lambda mark: f"{{{next(numbers)}}}", tagged.text)
    return text, [*(tag.raw for tag in tagged.tags), *parts]


@pytest.mark.parametrize("text", ["100% sure", "50%ig", "AT&T", "&c; {", "a } {b c}"])
def test_what_only_looks_like_markup_is_text(text: str) -> None:
    assert found(text) == (text, [])


@pytest.mark.parametrize(
    "tag",
    ["<br>", '<img alt="a > b"/>', "<!-- <b> -->", "{name}", "{0:.2f}", "{}", "{{x y}}", "${var}"]
    + ["%s", "%d", "%(x)d", "%1$s", "%-5.2f", "%@", "%ld", "%%", "%1", "#{x}", "{% if x %}"]
    + ["{n, plural, one {# file} other {{n} files}}", "https://a.b/c%20d?x=y", "a.b+c@d-e.org"]
    + [
        "<b></b>",
        "<i>{x}</i>",
        "<i>\uf8ff</i>",
        "<code>ls -l</code>",
        "<sup>1</sup>",
        "<rt>ab</rt>",
    ]
    + ['<b translate="no">two words</b>'],
)
def test_markup_is_taken_out_whole(tag: str) -> None:
    is_void = tag[0] == "<" and tag[-2:] != "b>" and "</" not in tag or tag[:2] == "<!"
    assert found(f"one {tag} two") == ("one two" if is_void else "one {1} two", [tag])


@pytest.mark.parametrize(
    ("line", "text", "tags"),
    [
        ("Das <b>Haus</b>.", "Das Haus.", ["<b>", "</b>"]),
        ("un<b>believ</b>able", "unbelievable", ["<b>", "</b>"]),
        ("One<br/>two", "One two", ["<br/>"]),
        ("<p>One.</p><p>Two.</p>", "One. Two.", ["<p>", "</p>", "<p>", "</p>"]),
        ("Hello, {name}!", "Hello, {1}!", ["{name}"]),
        ('"{file}": not found', "{1}: not found", ['"{file}"']),
        ("<b>{n}</b> of H<sub>2</sub>O", "{1} of {2}", ["<b>{n}</b>", "H<sub>2</sub>O"]),
        ("{a}, {b} and {c}", "{1}, {2} and {3}", ["{a}", "{b}", "{c}"]),
        ("word<sup>1</sup> and m<x1/>", "word{1} and {2}", ["<sup>1</sup>", "m<x1/>"]),
        ("10&nbsp;km", "10 km", ["&nbsp;"]),
        ("A <color=#f00>red</color> door", "A red door", ["<color=#f00>", "</color>"]),
        ("%<PRIu64> files", "{1} files", ["%<PRIu64>"]),
        (
            "See :ref:`the list <biglist>` for more, or :doc:`/admin/install`.",
            "See {1}the list{2} for more, or {3}.",
            [":ref:`", " <biglist>`", ":doc:`/admin/install`"],
        ),
    ],
)
def test_the_model_reads_a_sentence_without_holes(line: str, text: str, tags: list[str]) -> None:
    assert found(line) == (text, tags)


def test_entities_are_read_as_the_characters_they_stand_for() -> None:
    tagged = parsed("AT&amp;T &lt;b&gt; &#228;&#xE4;")
    assert (tagged.text, tagged.tags, tagged.escaped) == ("AT&T \ue000 ää", (), True)
    assert [part.raw for part in tagged.parts] == ["&lt;b&gt;"]
    assert not parse("<b>AT&T</b>").escaped


def test_overlapping_elements_are_made_to_nest_and_a_tag_without_partner_stands_alone() -> None:
    tags = [(tag.raw, tag.at) for tag in parse("<b>a <i>b</b> c</i>").tags]
    assert tags == [("<b>", 0), ("<i>", 2), ("</i>", 3), ("</b>", 3)]
    assert [tag.kind for tag in parse("</i>one <b>two").tags] == ["void", "void"]


def test_nothing_is_lost_by_taking_a_line_apart() -> None:
    random = Random(1)
    for _ in range(300):
        text = line(random)
        tagged = parsed(text)
        assert "".join(part.raw for part in scan(text)) == text
        parts = [tagged.parts[ord(mark) - FIRST] for mark in MARK.findall(tagged.text)]
        raws = [*(tag.raw for tag in tagged.tags), *(part.raw for part in parts)]
        assert sum((count(raw) for raw in raws), count("")) == count(text)
        assert [tag.at for tag in tagged.tags] == sorted(tag.at for tag in tagged.tags)


def test_words_keep_accents_and_scripts_without_spaces_are_split_by_character() -> None:
    def texts(text: str) -> list[str]:
        return [text[start:end] for start, end in words(text)]

    assert texts("Das (alte) Haus-Boot's.") == ["Das", "alte", "Haus", "Boot", "s"]
    assert texts("हिन्दी e\u0301t") == ["हिन्दी", "e\u0301t"]
    assert texts("日本のX線") == ["日", "本", "の", "X", "線"]


def test_tags_are_inside_a_text_or_around_it() -> None:
    around = [
        "<p> One <br/></p>",
        "<b>one two</b>",
        "<br/>one",
        "one",
        "",
        "<i><b>one</b></i><br/>",
    ]
    assert not any(parse(text).has_inner for text in around)
    inside = ["one <b>two</b>", "<p>one</p><p>two</p>", "<b>one</b>.", "one<br/>two"]
    assert all(parse(text).has_inner for text in inside)
