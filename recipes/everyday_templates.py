"""Sentences with names, titles, times, dates, prices and addresses, made from templates.

    We meet Mr. {last} at {time}.   Wir treffen Herrn {last} um {time}.   Nous ...   Nos ...

`templates.tsv`, beside this file, has the templates in four languages; `template_names.txt` has
first names, surnames and streets. Both were written for this model, by authors who did not know
its evaluation sets. A slot is filled in each language as that language writes it: "3:45 p.m." is
"15:45 Uhr" and "15 h 45". Names, addresses and codes are the same in all languages.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

from everyday_data import CODES, LANGUAGES, Pairs, address, code_word, invented, rows

TEMPLATE_LINES = 40_000  # of each language
SLOT = re.compile(r"\{([a-z]+)\}")
ENDINGS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
FILE_ENDINGS = ("pdf", "txt", "docx", "jpg", "csv", "zip", "py", "html")

Value = tuple[str, ...]  # a text in each of LANGUAGES


def templates(data: Path, code: str) -> Pairs:
    """Return filled templates as pairs of English and another language."""
    rng, column = random.Random(f"templates {code}"), LANGUAGES.index(CODES[code])
    slots = Slots(data, rng)
    lines = list(rows(Path(__file__).with_name("templates.tsv")))
    found = Pairs()
    while len(found) < TEMPLATE_LINES:
        line = rng.choice(lines)
        values = {name: slots.value(name) for name in SLOT.findall(line[0])}
        sides = [
            line[n].format_map({name: value[n] for name, value in values.items()})
            for n in (0, column)
        ]
        found.append((sides[0].replace(".m..", ".m."), sides[1]))
    return found


class Slots:
    """Random values of slots."""

    def __init__(self, data: Path, rng: random.Random) -> None:
        self.rng = rng
        table = [row for row in rows(data / "words" / "names.tsv.xz") if all(row[:4])]
        self.days, self.months, self.cities = (
            [tuple(row[:4]) for row in table if row[4] == kind] for kind in ("day", "month", "city")
        )
        text = Path(__file__).with_name("template_names.txt").read_text("utf-8")
        self.lists = {
            kind: values.split(", ")
            for kind, values in (line.split(": ") for line in text.splitlines())
        }
        self.cities += map(same, self.lists["town"])
        self.kinds: dict[str, Callable[[], Value]] = {
            "first": lambda: self.named("first"),
            "last": lambda: self.named("last"),
            "street": lambda: self.named("street"),
            "city": lambda: rng.choice(self.cities),
            "day": lambda: rng.choice(self.days),
            "month": lambda: rng.choice(self.months),
            "time": self.time,
            "date": self.date,
            "price": self.price,
            "number": lambda: same(rng.randint(2, 99)),
            "year": lambda: same(rng.randint(1800, 2039)),
            "big": self.big,
            "decimal": self.decimal,
            "percent": self.percent,
            "phone": self.phone,
            "mail": self.mail,
            "url": self.url,
            "file": self.file,
            "code": lambda: same(code_word(rng, [])),
        }

    def value(self, name: str) -> Value:
        """Return a random value of a slot."""
        return self.kinds[name]()

    def named(self, kind: str) -> Value:
        """Return a name of a list; for a seventh of surnames and streets, an invented one."""
        if kind != "first" and self.rng.random() < 1 / 7:
            return same(invented(self.rng, []))
        return same(self.rng.choice(self.lists[kind]))

    def time(self) -> Value:
        """Return a time of day, in English with 12 or 24 hours."""
        hour = self.rng.choice((0, *range(2, 24)))  # Spanish has another article before 1
        minute = self.rng.choice((0, 0, 5, 10, 15, 20, 30, 40, 45, 50))
        half, twelve = ("a.m.", "p.m.")[hour >= 12], (hour - 1) % 12 + 1
        if self.rng.random() < 0.2:
            half = half.replace(".", "")
        exact = f"{hour}:{minute:02}"
        short = f"{twelve} {half}" if not minute else f"{twelve}:{minute:02} {half}"
        english = exact if self.rng.random() < 0.3 else short
        german = f"{exact if minute or english == exact else hour} Uhr"
        french = f"{hour} h {minute:02}" if minute else f"{hour} h"
        return english, german, french, exact

    def date(self) -> Value:
        """Return a day of a month, for a quarter with the year."""
        day, month = self.rng.randint(1, 31), self.rng.choice(self.months)
        forms = (
            f"{month[0]} {day}",
            f"{month[0]} {day}{ENDINGS.get(day, 'th')}",
            f"{day} {month[0]}",
        )
        english, year = self.rng.choice(forms), f"{self.rng.randint(1900, 2035)}"
        others = (
            f"{day}. {month[1]}",
            f"{day if day > 1 else '1er'} {month[2]}",
            f"{day} de {month[3]}",
        )
        if self.rng.random() < 0.75:
            return english, *others
        comma = "" if english[0].isdigit() else ","
        return (
            f"{english}{comma} {year}",
            f"{others[0]} {year}",
            f"{others[1]} {year}",
            f"{others[2]} de {year}",
        )

    def price(self) -> Value:
        """Return an amount in dollars, euros or pounds."""
        sign = self.rng.choice("$$€€£")
        amount = f"{self.rng.randint(1, 400)}"
        if self.rng.random() < 0.6:
            amount += f".{self.rng.choice((0, 5, 20, 25, 40, 49, 50, 75, 80, 90, 95, 99)):02}"
        if sign == "€" and "." not in amount:
            return f"{amount} euros", f"{amount} Euro", f"{amount} euros", f"{amount} euros"
        other = f"{amount.replace('.', ',')} {sign}"
        return f"{sign}{amount}", other, other, other

    def big(self) -> Value:
        """Return a whole number of four to seven digits with separators."""
        english = f"{int(10 ** self.rng.uniform(3, 7)):,}"
        dots = english.replace(",", ".")
        return english, dots, english.replace(",", " "), dots

    def decimal(self) -> Value:
        """Return a number with a decimal part."""
        english = f"{self.rng.randint(0, 60)}.{self.rng.randint(1, 9)}"
        return english, *(english.replace(".", ","),) * 3

    def percent(self) -> Value:
        """Return a share in percent."""
        number = f"{self.rng.randint(1, 100)}"
        if self.rng.random() < 0.3:
            number += f".{self.rng.randint(1, 9)}"
        return f"{number}%", *(f"{number.replace('.', ',')} %",) * 3

    def phone(self) -> Value:
        """Return a telephone number."""
        parts = [f"{self.rng.randrange(10**size):0{size}}" for size in (3, 4, 3, 5)]
        forms = ("{0}-{1}", "{0} {2} {1}", "+49 {2} {3}", "0{2} {3}", "({0}) {2}-{1}", "+33 {3}")
        return same(self.rng.choice(forms).format(*parts))

    def word(self) -> str:
        """Return an invented word or a surname in lower case."""
        letters = self.rng.choice((*self.named("last"), invented(self.rng, []))).lower()
        return re.sub(r"[^a-z]", "", letters) or "info"

    def mail(self) -> Value:
        """Return an e-mail address."""
        ending = self.rng.choice(("org", "com", "de", "fr", "es", "net"))
        return same(f"{self.rng.choice((self.word(), 'info', 'service'))}@{self.word()}.{ending}")

    def url(self) -> Value:
        """Return a web address, with a path, a query or neither."""
        if self.rng.random() < 0.3:
            return (
                same(address(self.rng, []))
                if self.rng.random() < 0.3
                else same(f"{self.word()}.com")
            )
        start = f"{self.rng.choice(('https://', 'https://www.', 'http://', 'www.'))}{self.word()}"
        path = "".join(f"/{self.word()}" for _ in range(self.rng.randint(0, 2)))
        query = f"?{self.word()[:4]}={self.word()}" if self.rng.random() < 0.4 else ""
        more = (
            f"&{self.word()[:3]}={self.rng.randint(1, 99)}"
            if query and self.rng.random() < 0.4
            else ""
        )
        ending = self.rng.choice(("org", "com", "de", "net", "fr", "es"))
        return same(f"{start}.{ending}{path}{query}{more}")

    def file(self) -> Value:
        """Return the name of a file, with or without a folder."""
        folder = self.rng.choice(("", "", "", "/etc/", "~/", "src/", "docs/"))
        mark = self.rng.choice(("", "-2", "_new", f"{self.rng.randint(1, 99)}"))
        return same(f"{folder}{self.word()}{mark}.{self.rng.choice(FILE_ENDINGS)}")


def same(value: object) -> Value:
    """Return a value that all languages write alike."""
    return (str(value),) * len(LANGUAGES)
