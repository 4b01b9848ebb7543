"""A lexicon: packed = in memory, the longest form, compounds, languages, damaged files."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from models.core.errors import DamagedError
from models.text.lexicon import ALWAYS, MARKS, Lexicon, LexiconEntry, is_one_of, pack

Row = tuple[str, LexiconEntry]
LETTERS = "abcdefghiäöüß"


def row(form: str, *candidates: str, rarity: int = 0, direction: str = "de-en") -> Row:
    """Return an entry with its direction."""
    return direction, LexiconEntry(form, rarity, candidates)


def shown(text: str) -> str:
    """Return a text with visible marks."""
    return text.translate(str.maketrans("".join(MARKS), "<|=>"))


def drawn(count: int, rng: random.Random) -> list[Row]:
    """Return entries with random forms of one to three words."""
    forms = {
        " ".join("".join(rng.choices(LETTERS, k=rng.randint(1, 6))) for _ in range(words))
        for words in rng.choices((1, 1, 2, 3), k=count)
    }
    directions = rng.choices(("de-en", "fr-en"), k=len(forms))
    return [
        row(form, *(f"{form}{n}" for n in range(rng.randint(1, 3))), direction=direction)
        for form, direction in zip(sorted(forms), directions, strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("I saw Fisher with a fisher.", "I saw Fisher with a< Fischer>."),
        ("He left. Fisher came with a net.", "He left.< Fischer> came with a net."),
        ("Fisher and others", "< Fischer> and others"),
        ("FISHER WANTED", "< Fischer> WANTED"),
        ("Old Fisher Wanted", "Old< Fischer> Wanted"),
        ("I met Mr Fishermoon at noon.", "I met Mr Fishermoon at noon."),
        ("I met a fishermoon at noon.", "I met a< fishermoon= Fischer Mond> at noon."),
        ("we saw the Moon", "we saw the< Mond>"),
    ],
)
def test_a_name_inside_a_sentence_is_no_small_word(text: str, read: str) -> None:
    rows = [row("fisher", "Fischer"), row("moon", "Mond"), row("Moon", "Mond")]
    lexicon = Lexicon(
        added=rows[:1] if "moon" not in text.lower() else rows[: 2 + ("Moon" in text)]
    )
    lexicon.most = 5
    assert shown(lexicon.read(text, "de-en")) == read


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("Dear Mr. Fisher,", False),
        ("Call Prof. Fisher", False),
        ("Send the letter to Helen Fisher, Oak Street, Boston", False),
        ("Kind regards, Tom Fisher", False),
        ("Please ask Jane Fisher.", False),
        ("The Fisher of the Sea", True),  # a heading With Capitals
        ("It is here. Fisher wanted.", True),
    ],
)
def test_a_name_behind_a_title_or_in_a_sentence_is_no_small_word(text: str, is_read: bool) -> None:
    lexicon = Lexicon(added=[row("fisher", "Fischer", rarity=3, direction="en-de")])
    lexicon.most = 7
    assert ("Fischer" in lexicon.read(text, "en-de")) == is_read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Closed on Dec. 24 and Dec. 25.", "Closed on< December> 24 and< December> 25."),
        ("Open in Dec. as usual.", "Open in< December> as usual."),
        ("Closed in Dec. We are sorry.", "Closed in< December>. We are sorry."),
        ("Closed in Dec.", "Closed in< December>."),
    ],
)
def test_the_full_stop_of_an_abbreviation_is_read_with_it(text: str, read: str) -> None:
    lexicon = Lexicon(added=[row("Dec", "December")])
    assert shown(lexicon.read(text, "de-en")) == read


def test_a_form_with_a_full_stop_is_read_inside_a_text() -> None:
    rows = [row("Mio", "million"), row("Mio.", "million"), row("Miozän", "Miocene")]
    for lexicon in (Lexicon(pack(rows, 5)), Lexicon(added=rows)):
        lexicon.most = 5
        assert shown(lexicon.read("3 Mio. Euro im Miozän", "de-en")) == (
            "3< million> Euro im< Miocene>"
        )
        assert shown(lexicon.read("Es sind 3 Mio.", "de-en")) == "Es sind 3< million>."


def test_an_added_entry_is_read_in_any_case() -> None:
    lexicon = Lexicon(added=[row("fisher", "Fischer", rarity=-1)])
    assert shown(lexicon.read("I saw Fisher with a net.", "de-en")) == "I saw< Fischer> with a net."


@pytest.mark.parametrize("count", [1, 2, 10, 1000, 20_000])
def test_a_packed_lexicon_reads_as_its_entries_in_memory(count: int) -> None:
    rng = random.Random(count)
    rows = drawn(count, rng)
    packed, memory = Lexicon(pack(rows, 5)), Lexicon(added=rows)
    memory.most = packed.most
    for _ in range(200):
        chosen = [entry.form for _, entry in rng.choices(rows, k=rng.randint(1, 8))]
        text = " ".join((*chosen, "zz"))
        for direction in ("de-en", "fr-en", "en-de"):
            assert packed.read(text, direction) == memory.read(text, direction)


def test_a_direction_may_leave_fewer_forms_to_the_weights() -> None:
    rows = [row("Burg", "castle", rarity=6), row("Burg", "castle", rarity=6, direction="de-fr")]
    lexicon = Lexicon(pack(rows, 5, {"de-en": 9}))
    assert shown(lexicon.read("Die Burg", "de-en")) == "Die< castle>"
    assert lexicon.read("Die Burg", "de-fr") == "Die Burg"
    assert lexicon.with_entries([]).most_of("de-en") == 9 and lexicon.most_of("") == 5


def test_equal_entries_give_equal_bytes() -> None:
    rows = drawn(1000, random.Random(1))
    assert pack(rows, 5) == pack(random.Random(2).sample(rows, len(rows)), 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Die Mahngebühr fehlt.", "Die< reminder fee| fine> fehlt."),
        ("Die mahngebühr fehlt.", "Die< reminder fee| fine> fehlt."),
        ("um halb sieben.", "um< half past six>."),
        ("halb offen", "halb offen"),
        ("Die Gebühr", "Die Gebühr"),  # the model knows it,
        ("Parkgebühr", "< Parkgebühr= park fee>"),  # but no compound with it
        ("Parksgebühr", "< Parksgebühr= park fee>"),
        ("", ""),
        ("42 %", "42 %"),
    ],
)
def test_rare_forms_are_read_as_their_candidates(text: str, expected: str) -> None:
    rows = [
        *(row("Mahngebühr", "reminder fee", "fine"), row("halb sieben", "half past six")),
        *(row("Gebühr", "fee", rarity=7), row("Park", "park", rarity=6), row("die", rarity=12)),
    ]
    assert shown(Lexicon(pack(rows, 5)).read(text, "de-en")) == expected


def test_the_form_in_the_same_case_comes_first() -> None:
    rows = [row("essen", "eat"), row("Essen", "food")]
    lexicon = Lexicon(pack(rows, 5))
    assert [shown(lexicon.read(one, "de-en")) for one in ("Essen", "essen")] == [
        "< food>",
        "< eat>",
    ]


def test_added_entries_come_first_in_any_direction() -> None:
    lexicon = Lexicon(pack([row("Bon", "receipt")], 5))
    changed = lexicon.with_entries([("", LexiconEntry("Bon", 0, ("voucher",)))])
    assert shown(changed.read("Ein Bon.", "de-en")) == "Ein< voucher>."
    assert shown(changed.read("Ein Bon.", "fr-en")) == "Ein< voucher>."
    assert shown(lexicon.read("Ein Bon.", "de-en")) == "Ein< receipt>."
    assert changed.read("Ein Ton.", "de-en") == "Ein Ton."


def test_common_forms_tell_the_language() -> None:
    common = {"de-en": ("die", "und"), "fr-en": ("les", "et")}
    rows = [row(w, rarity=9, direction=d) for d, words in common.items() for w in words]
    lexicon = Lexicon(pack(rows, 5))
    languages = ("en", "de", "fr")
    assert lexicon.language("Die Rose und der Wind", "en", languages) == "de"
    assert lexicon.language("les roses et le vent", "en", languages) == "fr"
    assert lexicon.language("roses", "en", languages) == ""


def damaged(packed: bytes, rng: random.Random) -> bytes:
    """Return a file with one changed byte, or a part of it."""
    place = rng.randrange(len(packed))
    if rng.random() < 0.3:
        return packed[:place]
    return bytes((*packed[:place], packed[place] ^ rng.randrange(1, 256), *packed[place + 1 :]))


def reads(packed: bytes, texts: Sequence[str]) -> None:
    """Read texts with a lexicon; a DamagedError if its file is damaged."""
    lexicon = Lexicon(packed)
    for text in texts:
        lexicon.read(text, "de-en")


def test_damaged_files_raise_one_kind_of_error() -> None:
    rng = random.Random(3)
    rows = drawn(300, rng)
    packed, texts = pack(rows, 5), [entry.form for _, entry in rows[:20]]
    failed = 0
    for _ in range(300):
        try:
            reads(damaged(packed, rng), texts)
        except DamagedError:
            failed += 1
    assert failed > 100


def test_another_case_of_a_common_word_is_no_rare_word() -> None:
    rows = [row("La", "la note"), row("la", rarity=9, direction="de-en"), row("Da", "there")]
    lexicon = Lexicon(pack(rows, 5))
    assert lexicon.read("la", "de-en") == "la"
    assert shown(lexicon.read("da", "de-en")) == "< there>"


@pytest.mark.parametrize("count", [0, 1, 50, 3000])
def test_sizes_count_the_entries_with_candidates(count: int) -> None:
    rng = random.Random(count)
    rows = [
        *drawn(count, rng),
        *(row(f"q{n}", direction=rng.choice(("de-en", "it-en"))) for n in range(9)),
    ]
    expected = {
        way: sum(bool(entry.candidates) for direction, entry in rows if direction == way)
        for way in ("de-en", "fr-en", "it-en")
    }
    found = Lexicon(pack(rows, 5)).sizes()
    assert {way: found.get(way, 0) for way in expected} == expected
    assert [*found] == sorted(found)
    assert Lexicon().sizes() == {}


HEADING = [
    row("save", "speichern", rarity=12),
    row("Save", rarity=9),
    row("edit", "bearbeiten", rarity=11),
    row("york", "York", rarity=2),
    row("York", rarity=9),
    row("times", "mal", rarity=12),
    row("new", "neu", rarity=12),
    *(row("may", rarity=14), row("May", "Mai", rarity=12), row("sun", "Sonne", rarity=10)),
    *(row("Sun", "Sonntag"), row("action", "Aktion", rarity=11), row("Action", rarity=7)),
]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Save Edit", "Save edit"),
        ("Save and Edit", "Save and edit"),
        ("SAVE Edit", "SAVE Edit"),
        ("Save PDF Edit", "Save PDF edit"),
        ("New York Times", "New York Times"),  # what follows a name belongs to it
        ("Times New York", "Times new York"),
        ("Maria Edit", "Maria Edit"),  # a first word that may be a name
        ("save Edit", "save Edit"),
        ("Save Edit.", "Save Edit."),  # a sentence
        ("We Always Save something Edit", "We Always Save something Edit"),
        ("Save", "Save"),
        ("12 Save Edit", "12 Save edit"),
        ("Edit Action", "Edit action"),
        ("Save Sun May", "Save Sun May"),  # words of their own
    ],
)
def test_a_heading_with_capitals_is_read_in_sentence_case(text: str, read: str) -> None:
    lexicon = Lexicon(added=HEADING)
    assert lexicon.in_sentence_case(text, "de-en") == read
    assert lexicon.in_sentence_case(read, "de-en") == read


def test_sentence_case_changes_nothing_but_first_letters() -> None:
    rng, lexicon = random.Random(4), Lexicon(added=HEADING)
    words = [
        "Save",
        "save",
        "EDIT",
        "Edit",
        "Times",
        "of",
        "York",
        "Ünal",
        "it's",
        "4",
        "-",
        "(",
        "New",
    ]
    for count in (0, 1, 2, 3, 10, 1000):
        text = " ".join(rng.choices(words, k=count))
        found = lexicon.in_sentence_case(text, "de-en")
        assert found.lower() == text.lower()
        assert all(a == b or (a.isupper() and not before.isalpha())
                   for before, a, b in zip(f" {text}", text, found, strict=False))  # fmt: skip


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("cancel", ("abbrechen", "nicht mehr wollen")),  # those of one word first
        (" Cancel ", ("abbrechen", "nicht mehr wollen")),
        ("Thanks", ("danke", "Danke")),  # the form in the same case first
        ("thanks", ("Danke", "danke")),
        ("Smith", ()),  # a name
        ("smith", ("Schmied",)),
        ("ROSE", ()),  # an acronym
        ("Rose", ()),
        ("Move", ("bewegen",)),  # more often a word than a name
        ("cancel it", ()),
        ("cancel!", ()),
        ("Cancel.", ("abbrechen", "nicht mehr wollen")),
        ("Cancel:", ("abbrechen", "nicht mehr wollen")),
        ("Dec.", ()),  # an abbreviation
        ("Dec", ("Dezember",)),
        ("unknown", ()),
        ("", ()),
    ],
)
def test_a_text_of_one_word_has_the_translations_of_its_forms(
    text: str, candidates: tuple[str, ...]
) -> None:
    rows = [
        *(row("cancel", "nicht mehr wollen", "abbrechen", rarity=10), row("Thanks", "danke")),
        *(row("thanks", "Danke"), row("Smith", rarity=6), row("smith", "Schmied", rarity=6)),
        *(row("Rose", rarity=3), row("rose", "stieg", rarity=10)),
        *(row("Dec", "Dezember"), row("Dec.", "Dezember")),
        *(row("Move", rarity=9), row("move", "bewegen", rarity=12)),
    ]
    assert Lexicon(pack(rows, 5)).translations(text, "de-en") == candidates


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("Abbrechen", True),
        ("abgebrochen", False),
        ("abbrechend", True),  # an inflection
        ("abbrechen und gehen", False),
        ("Cancelieren", False),
        ("Nicht mehr wollen", True),
        ("", False),
    ],
)
def test_an_output_is_a_candidate_in_any_inflection_and_nothing_else(
    text: str, is_one: bool
) -> None:
    assert is_one_of(text, ("abbrechen", "nicht mehr wollen")) == is_one


def test_a_users_entry_comes_before_another_case_of_the_file() -> None:
    packed = pack([row("Widget", "Ding"), row("widget", "Dingsda")], 5)
    lexicon = Lexicon(packed).with_entries([row("widget", "Steuerelement", rarity=ALWAYS)])
    for text in ("widget", "Widget", "the Widget is here"):
        assert "Steuerelement" in lexicon.read(text, "de-en")
    assert lexicon.translations("Widget", "de-en") == ("Steuerelement",)
