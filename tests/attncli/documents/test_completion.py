"""A file that has some translations keeps all it has, and gets the keys that it lacks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from lxml import etree

from attncli.documents._completion import completed
from attncli.shell.app import run
from attncli.translate.runner import TranslateRunner
from models.core.errors import InputError
from tests.upper_model import opened

Tree = dict[str, Any]


def tree(random: Random, keys: str, depth: int = 0, *, flat: bool) -> Tree:
    """Return random groups: a key has a value or a group in every tree of one letter case."""
    found: Tree = {}
    for key in random.sample(keys, random.randint(2, len(keys))):
        if key > "f" and depth < 2 and not flat:
            found[key] = tree(random, keys, depth + 1, flat=flat)
        else:
            found[key] = random.choice(("a dog", 'it\'s: "x"', "- # b", "", "two\nlines", "50 %"))
    return found


def merged(new: Tree, old: Tree) -> Tree:
    """Return the tree that has the values of the old one, and else those of the new one."""
    found = dict(old)
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(old.get(key), dict):
            found[key] = merged(value, old[key])
        else:
            found[key] = old.get(key) or value
    return found


def json_file(random: Random, made: Tree) -> str:
    indent = random.choice((None, 1, 4, "\t"))
    return json.dumps(made, indent=indent, ensure_ascii=random.random() < 0.5) + "\n"


def yaml_file(random: Random, made: Tree) -> str:
    flow = random.choice((None, False, False))
    text = yaml.safe_dump(made, default_flow_style=flow, indent=random.choice((2, 4)))
    root = f"{random.choice(('en', 'de'))}:\n" + re.sub("(?m)^(?=.)", "  ", text)
    return commented(random, root if random.random() < 0.5 else text, "#")


def commented(random: Random, text: str, sign: str) -> str:
    """Return a text of lines, some with a comment behind or before them."""
    number = count()

    def comment(found: re.Match[str]) -> str:
        return found[0] + random.choice(("", f" {sign} note {next(number)}"))

    head = f"{sign} first {next(number)}\n" if random.random() < 0.5 else ""
    return head + re.sub(r"(?m)(?:a dog|: ''|;)$", comment, text)


def properties_file(random: Random, made: Tree) -> str:
    sign = random.choice((" = ", "=", ": "))
    ends = random.choice(("\n", "\r\n"))
    lines = [f"{key}{sign}" + text.replace("\n", f" \\{ends}  ") for key, text in made.items()]
    return ends.join(["# first", *lines, *random.choice(([], ["! last"], [""]))])


def strings_file(random: Random, made: Tree) -> str:
    lines = [f'"{key}" = {json.dumps(text)};' for key, text in made.items()]
    return commented(random, "\n".join(lines), "//")


def android_file(random: Random, made: Tree) -> str:
    root = etree.Element("resources")
    for key, value in made.items():
        kind = "plurals" if isinstance(value, dict) else "string"
        element = etree.SubElement(root, kind, name=key)
        root.insert(0, etree.Comment(f"note {key}"))
        for name, text in value.items() if kind == "plurals" else ():
            etree.SubElement(element, "item", quantity=name).text = str(text)
        if kind == "string":
            element.text = value
    if random.random() < 0.5:
        etree.indent(root, "    ")
    return etree.tostring(root, encoding="unicode")


def read_properties(content: str) -> Tree:
    return dict(pytest.importorskip("javaproperties").loads(content))


def read_strings(content: str) -> Tree:
    pairs = re.findall(r'^("\w+") = (".*");', content, re.MULTILINE)
    return {json.loads(key): json.loads(text) for key, text in pairs}


def read_yaml(content: str) -> Tree:
    found = yaml.safe_load(content)
    return dict(found.get("de") or found.get("en") or found)


def read_android(content: str) -> Tree:
    found: Tree = {}
    for one in etree.fromstring(content).iterchildren(tag=etree.Element):
        items = {item.get("quantity"): item.text or "" for item in one}
        found[one.get("name")] = items if one.tag == "plurals" else one.text or ""
    return found


FORMATS: dict[str, tuple[Callable[[Random, Tree], str], Callable[[str], Tree]]] = {
    "json": (json_file, json.loads),
    "arb": (json_file, json.loads),
    "yaml": (yaml_file, read_yaml),
    "properties": (properties_file, read_properties),
    "strings": (strings_file, read_strings),
    "xml": (android_file, read_android),
}


@pytest.mark.parametrize("name", FORMATS)
def test_all_that_was_there_is_there_afterwards(name: str) -> None:
    write, load = FORMATS[name]
    done = 0
    for seed in range(200):
        random = Random(seed)
        flat = name in ("properties", "strings")
        new, old = (tree(random, "abcdefghi", 1 if name == "xml" else 0, flat=flat) for _ in "ab")
        source, existing = write(random, new), write(random, old)
        try:
            content, _ = completed(source, existing, name)
        except InputError as error:
            assert "no key" in str(error) or "groups" in str(error)
            continue
        done += 1
        assert load(content) == merged(load(source), load(existing)), (source, existing, content)
        for comment in re.findall(r"(?:#|//|!|<!--) ?(?:first|last|note)[ \w]*", existing):
            assert comment in content
    assert done > 70


UNIT = "<trans-unit id='{}'><source>{}</source>{}</trans-unit>"
XLIFF = "<xliff><file original='a' target-language='{}'><body>\n{}\n</body></file></xliff>"
SHOP = "en:\n  shop:\n    title: The house\n    text: a dog\n"
OLD = "de:\n  shop:\n    title: Das Heim # checked by Anna\n"


@pytest.mark.parametrize(
    ("name", "source", "existing", "done"),
    [
        ("a.yml", SHOP, OLD, f"{OLD}    text: A DOG\n"),
        ("a.yml", SHOP, "de:\n", "de:\n  shop:\n    title: THE HOUSE\n    text: A DOG\n"),
        ("a.yml", SHOP, "fr:\n  shop:\n    title: x\n", "translations in the language fr"),
        ("a.yml", SHOP, "de:\n  b: x\n", "no key of the input is in it"),
        ("a.yml", SHOP, "de:\n  shop: {title: x}\n", "de:\n  shop: {title: x,text: A DOG}\n"),
        ("a.yml", "a: {b: c}\nd: e\n", "a: x\nd: y\n", "not in the groups of the input"),
        ("a.json", '["a dog", "b"]', '["ein Hund"]', '["ein Hund","B"]'),
        ("a.json", '{"a": "b", "c": "d"}', '{"e": "f"}', "no key of the input is in it"),
        ("a.json", '{"a": "b", "c": "d"}', '{"c": null}', '{"c": "D","a": "B"}'),
        ("a.arb", '{"@@locale": "en", "a": "b"}', '{"@@locale": "fr", "a": "c"}', "language fr"),
        ("a.strings", '"a"="b";', '"c"="d";', "no key of the input is in it"),
        ("a.ttml", "<tt><p>a</p></tt>", "<tt><p>b</p></tt>", "no key of the input is in it"),
        (
            "a.xlf",
            XLIFF.format("", "\n".join([UNIT.format(n, f"a {n}", "") for n in "123"])),
            XLIFF.format("de", UNIT.format(2, "a 2", "<target>alt</target>")),
            XLIFF.format(
                "de",
                "\n".join(
                    UNIT.format(n, f"a {n}", f"<target>{text}</target>")
                    for n, text in (("2", "alt"), ("1", "A 1"), ("3", "A 3"))
                ),
            ),
        ),
    ],
)
def test_the_command_completes_a_file_or_refuses_in_one_line(
    name: str,
    source: str,
    existing: str,
    done: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(TranslateRunner, "load", opened)
    into = tmp_path / f"into.{name}"
    (tmp_path / name).write_text(source, "utf-8")
    into.write_text(existing, "utf-8")
    words = ["translate", "-m", "upper", "--to", "de", "-i", str(tmp_path / name)]
    failed = run([*words, "--into", str(into)])
    said = capsys.readouterr().err
    if failed:
        assert done in said and said.count("\n") == 1 and into.read_text("utf-8") == existing
    else:
        assert into.read_text("utf-8") == done
