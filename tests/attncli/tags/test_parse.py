"""What is markup, what is text, and what the model gets to read."""

from __future__ import annotations

from random import Random

import pytest

from attncli.tags.parse import count, parse, scan
from attncli.tags.protect import FIRST, MARK
from attncli.tags.spans import words
from attncli.tags.stand_ins import stand_ins
from tests.attncli.tags.small import line


def found(text: str) -> tuple[str, list[str]]:
    """Return the text that the model reads, and tags and protected parts."""
    tagged = parse(text)
    parts = [tagged.parts[ord(mark) - FIRST].raw for mark in MARK.findall(tagged.text)]
    return stand_ins(tagged.text, tagged.parts, 0).text, [*(t.raw for t in tagged.tags), *parts]


@pytest.mark.parametrize(
    "text", ["3 < 4 and 5 > 2", "a <b", "< b>", "100% sure", "50%ig", "AT&T", "&c; {", "a } {b c}"]
)
def test_what_only_looks_like_markup_is_text(text: str) -> None:
    assert found(text) == (text, [])


@pytest.mark.parametrize(
    "tag",
    ["<br>", '<img alt="a > b"/>', "<!-- <b> -->", "{name}", "{0:.2f}", "{}", "{{x y}}", "${var}"]
    + ["%s", "%d", "%(x)d", "%1$s", "%-5.2f", "%@", "%ld", "%%", "%1", "#{x}", "{% if x %}"]
    + ["{n, plural, one {# file} other {{n} files}}", "https://a.b/c%20d?x=y", "a.b+c@d-e.org"]
    + ["<b></b>", "<i>{x}</i>", "<code>ls -l</code>", "<sup>1</sup>"]
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
        ("{a}, {b} and {c}", "{1} and {2}", ["{a}, {b}", "{c}"]),
        ("word<sup>1</sup> and m<x1/>", "word{1} and {2}", ["<sup>1</sup>", "m<x1/>"]),
        ("10&nbsp;km", "10 km", ["&nbsp;"]),
    ],
)
def test_the_model_reads_a_sentence_without_holes(line: str, text: str, tags: list[str]) -> None:
    assert found(line) == (text, tags)


def test_entities_are_read_as_the_characters_they_stand_for() -> None:
    tagged = parse("AT&amp;T &lt;b&gt; &#228;&#xE4; &unknown;")
    assert (tagged.text, tagged.tags, tagged.escaped) == ("AT&T \ue000 ää &unknown;", (), True)
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
        tagged = parse(text)
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


def test_a_block_ends_a_text_and_a_line_break_does_not() -> None:
    assert parse("<ul><li>One</li> <li>two<br>three</li></ul>").blocks == ["One", "two three"]
    assert parse(" one <b>two</b> ").blocks == [" one two "]
