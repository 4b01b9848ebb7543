"""Random documents of each format, from a seed: fragments of its syntax in random order."""

from __future__ import annotations

import json
from random import Random

TEXT = "the dog sees a small house naïve Straße 12 it's don't 犬 & < > 50% {name} %s -- — «x» U.S."
WORDS = TEXT.split()
INLINE_MD = (
    "**{}**", "*{}*", "_{}_", "`{}`", "[{}](http://a.b/c_d)",
    '[{}](<x y> "a \\" title")', "![{}](p.png)",
    "~~{}~~", "$x_1^2 {}$", "<b>{}</b>", "<kbd>{}</kbd>", "\\*{}\\*", "[{}]", "[{}][ref]",
    "[{}][]", "<https://a.b/{}>", "&amp; {} &nbsp;", "[^1] {}", "***{}** x*", "{}<br>",
    ":smile: {}", "a_b_{}",
)  # fmt: skip
INLINE_HTML = (
    "<b>{}</b>", "<a href='x>y'>{}</a>", "<code>{}</code>", "<br/>{}", "&nbsp;{}&amp;&#39;",
    "<!-- {} -->", "<i>{}", "{}</i>", "<span translate=no>{}</span>", "<img alt='{}'>",
    "<sup>{}</sup>", "<b><i>{}</b></i>",
)  # fmt: skip


def sentence(random: Random, most: int = 9) -> str:
    return " ".join(random.choice(WORDS) for _ in range(random.randint(1, most)))


def marked(random: Random, inline: tuple[str, ...]) -> str:
    parts = [sentence(random, 4) for _ in range(random.randint(1, 4))]
    return random.choice((" ", "", "\n")).join(
        random.choice(inline).replace("{}", part) if random.random() < 0.6 else part
        for part in parts
    )


def unended(random: Random) -> str:
    """Return a text without the end of a sentence, which would divide a subtitle."""
    return sentence(random).replace(".", "")


def srt(random: Random) -> str:
    texts = ("{}", "<i>{}</i>", "- {}", "{\\an8}{}", "♪ {} ♪", "<font color='red'>{}")
    cues = []
    for number in range(random.randint(0, 6)):
        lines = [
            random.choice(texts).replace("{}", unended(random)) for _ in range(random.randint(0, 3))
        ]
        cues.append("\n".join([str(number), "00:00:01,000 --> 00:00:02,000 X1:1", *lines, ""]))
    return random.choice(("\n", "", "\n\n")).join(cues)


def vtt(random: Random) -> str:
    blocks = ["WEBVTT - title", "NOTE\na note here", "STYLE\n::cue { color: red }"]
    for number in range(random.randint(0, 6)):
        lines = [
            random.choice(("{}", "<v Fred>{}", "<c.a>{}</c>", "{}<00:00:01.000>x", "&amp; {}"))
            .replace("{}", unended(random).replace("-->", "->"))
            for _ in range(random.randint(1, 3))
        ]  # fmt: skip
        name = [f"cue {number}"] if random.random() < 0.5 else []
        blocks.append("\n".join([*name, "01:00.000 --> 01:02.000 align:start", *lines]))
    return "\n\n".join(blocks) + random.choice(("\n", ""))


def markdown(random: Random) -> str:
    def text() -> str:
        return marked(random, INLINE_MD)

    def line() -> str:
        return text().replace("\n", " ")

    makers = (
        lambda: text(),
        lambda: f"# {line()} #",
        lambda: f"{line()}\n===",
        lambda: f"- [ ] {line()}\n- {line()}\n  {line()}\n\n    1. {line()}",
        lambda: f"> {line()}\n> {line()}\n>> - {line()}",
        lambda: f"| {line()} | a |\n|---|:-:|\n| {line()} | {line()} |\n|a\\|b| |",
        lambda: f"```sh\n{text()}\n```",
        lambda: f"    {line()}",
        lambda: f"$$\n{sentence(random)}\n$$",
        lambda: f"<div>\n{marked(random, INLINE_HTML)}\n</div>",
        lambda: "[ref]: http://a.b 'title'",
        lambda: f"[^1]: {line()}",
        lambda: f"{line()}  \n{line()}\\\n\t{line()}",
        lambda: f"> [!NOTE]\n> {line()}",
        lambda: "***",
    )
    front = random.choice(("", "", "---\ntitle: The page\n---\n", "+++\na = 1\n+++\n"))
    blocks = [random.choice(makers)() for _ in range(random.randint(0, 8))]
    return front + random.choice(("\n\n", "\n")).join(blocks) + random.choice(("\n", ""))


def html(random: Random) -> str:
    makers = (
        "<p>{}</p>", "<li>{}", "<h1 title='a b'>{}</h1>", "<pre>{}</pre>", "<td>{}</td>", "{}",
        "<script>{}</script>", "<style>{}</style>", "<div class='notranslate'>{}</div>",
        "<![CDATA[{}]]>", "<textarea>{}</textarea>", "<?php {} ?>", "</p>{}", "<p",
    )  # fmt: skip
    blocks = [
        random.choice(makers).replace("{}", marked(random, INLINE_HTML))
        for _ in range(random.randint(0, 8))
    ]
    return random.choice(("", "<!DOCTYPE html>\n")) + "\n".join(blocks)


def csv(random: Random) -> str:
    cells = ("{}", '"{}"', '"{}, ""{}"""', '"{}\n{}"', "", '""', 'a "b" c')
    rows = [
        ",".join(random.choice(cells).replace("{}", sentence(random)) for _ in range(3))
        for _ in range(random.randint(0, 6))
    ]
    return "\n".join(["id,text,more", *rows]) + random.choice(("\n", ""))


def json_object(random: Random) -> str:
    def value(depth: int = 0) -> object:
        text = sentence(random) + random.choice(("", "\n", '\t"\\/\u2028 😀', "\r\nx "))
        choices = [text, text, random.random(), None, True]
        if depth < 2:
            choices += [[value(depth + 1)], {"text": value(depth + 1), "a.b": "c"}, {}, []]
        return random.choice(choices)

    return json.dumps(
        {"id": "x y", "text": value(), "n": [1, -2.5e10]},
        ensure_ascii=random.random() < 0.5,
        separators=random.choice(((",", ":"), (", ", ": "), ("  ,", " :\t"))),
    )


def json_file(random: Random) -> str:
    return json_object(random).replace("  ,", "\n,") + random.choice(("", "\n"))


def jsonl(random: Random) -> str:
    rows = [json_object(random) for _ in range(random.randint(1, 6))]
    return "\n".join([*rows, *random.choice(([], [""], ["not json {"], ['{"text": "a'], ["[1,]"]))])


def po(random: Random) -> str:
    entries = ['msgid ""\nmsgstr ""\n"Plural-Forms: nplurals=2; plural=(n != 1);\\n"']
    for _ in range(random.randint(0, 6)):
        text = json.dumps(sentence(random), ensure_ascii=False)
        more = json.dumps(sentence(random), ensure_ascii=False)
        entries.append(
            random.choice(
                (
                    f'#: a.c:1\n#, fuzzy\nmsgid {text}\nmsgstr "x y"',
                    f"msgctxt {more}\nmsgid {text}\nmsgstr {more}",
                    f'msgid {text}\nmsgid_plural {more}\nmsgstr[0] ""\nmsgstr[1] ""',
                    f'msgid ""\n{text}\n"\\n"\n{more}\nmsgstr ""',
                    f'msgid {text}\nmsgstr ""',
                    f'#~ msgid {text}\n#~ msgstr ""',
                )
            )
        )
    return "\n\n".join(entries) + "\n"


def ass(random: Random) -> str:
    head = "[Script Info]\nTitle: a b\n\n[Events]\nFormat: Layer, Start, End, Style, Text\n"
    texts = ("{}", "{\\i1}{}{\\i0}", "- {}\\N- {}", "{\\p1}m 0 0{\\p0}", "♪ {}\\N{} ♪", "{}\\h{}")
    lines = []
    for _ in range(random.randint(0, 6)):
        first, *others = random.choice(texts).split("{}")
        text = first + "".join(sentence(random).replace("{name}", "") + part for part in others)
        lines.append(f"Dialogue: 0,0:00:01.00,0:00:02.00,Default,{text}")
    return head + "\n".join(lines) + "\n"


def arb(random: Random) -> str:
    text, more = (json.dumps(sentence(random)) for _ in "ab")
    return f'{{"@@locale": "en", "a": {text},\n "@a": {{"description": "a b"}}, "b": {more}}}\n'


def yaml(random: Random) -> str:
    lines = ["# a comment: here", "en:"]
    for number in range(random.randint(0, 6)):
        text, more = (sentence(random).replace("\n", " ") for _ in "ab")
        single = text.replace("'", "''")
        style = random.choice(
            ("'{s}'", "{d}", "|\n    {t}\n    {m}\n", ">-\n    {t}\n", "&x{n} '{s}'")
        )
        value = style.replace("{s}", single).replace("{d}", json.dumps(text))
        value = value.replace("{t}", text).replace("{m}", more).replace("{n}", str(number))
        lines.append(f"  key{number}: {value}")
    return "\n".join([*lines, "  number: 12", "  plain: a text # b"]) + "\n"


def properties(random: Random) -> str:
    forms = ("a.b = {}", "# {}\na: {}", "k=C\\:\\\\x {}", "a b\\\n    c {}", "e =", "! {}")
    lines = [
        random.choice(forms).replace("{}", sentence(random)) for _ in range(random.randint(1, 6))
    ]
    return "\n".join(lines) + "\n"


def strings(random: Random) -> str:
    forms = ('"k" = {};', '/* "a" = "b"; */\nkey.b = {} ;', '// {}\n"x\\"y"={};', '"e" = "";')
    texts = (json.dumps(sentence(random), ensure_ascii=False) for _ in range(9))
    return "\n".join(random.choice(forms).replace("{}", text) for text in texts) + "\n"


def xml(random: Random) -> str:
    inline = ("{}", "<b>{}</b>", "a {} &amp; b", "<!-- x --> {}", "<g id='1'>{}</g>", "{}<x/>")
    units = (
        ("<resources>{}</resources>", "<string name='a'>{}</string>"),
        ("<tt xml:lang='en'>{}</tt>", "<p begin='0s'>{}<br/>x {}</p>"),
        (
            "<xliff version='1.2'><file>{}</file></xliff>",
            "\n <trans-unit id='1'>\n  <source>{}</source>\n </trans-unit>",
        ),
        (
            "<xliff version='2.0' trgLang='fr'>{}</xliff>",
            "<segment><source>{}</source><target></target></segment>",
        ),
    )
    whole, unit = random.choice(units)

    def text() -> str:
        plain = sentence(random).replace("&", "and").replace("<", "(").replace("'", "")
        return random.choice(inline).replace("{}", plain)

    each = [unit.replace("{}", text()) for _ in range(random.randint(1, 6))]
    return "<?xml version='1.0'?>\n" + whole.replace("{}", "".join(each)) + "\n"


MAKERS = {
    "srt": srt,
    "vtt": vtt,
    "markdown": markdown,
    "html": html,
    "csv": csv,
    "json": json_file,
    "jsonl": jsonl,
    "po": po,
    "ass": ass,
    "arb": arb,
    "yaml": yaml,
    "properties": properties,
    "strings": strings,
    "xml": xml,
}


def document(name: str, seed: int) -> str:
    """Return a document of a format; with a byte order mark, or CR LF at line ends, at times."""
    random = Random(f"{name} {seed}")
    content = MAKERS[name](random)
    if random.random() < 0.2:
        content = "\ufeff" + content
    return content.replace("\n", "\r\n") if random.random() < 0.2 else content
