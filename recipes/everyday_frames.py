"""Training pairs that teach numbers, times, dates, units, prices and protected parts.

    More than {n} houses burned.   Mehr als {n} Häuser ...   Plus de {n:f} maisons ...

`frames/` has sentence frames in four languages, one file for each kind, written for this model by
authors who did not know its evaluation sets. A slot is filled in each language as that language
writes it: "half past three" is "halb vier", "trois heures et demie" and "las tres y media". A
number in words becomes words, digits stay digits. num2words writes the words, and Babel, with the
data of CLDR, the units (`pip install num2words babel`; the program itself needs neither).

`{p}` is a protected part, which the program takes out of a text before the model reads it: both
sides have the reserved token. `masked` puts reserved tokens into other pairs, in the place of what
both sides share, so that the model learns to copy them anywhere and in any order.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Literal

from babel.dates import get_day_names, get_month_names
from babel.units import format_unit
from everyday_data import CODES, LANGUAGES, Pairs, rows
from num2words import num2words

from models.text.tokenizer import RESERVED

LINES = 60_000  # of each language
MASKED_LINES = 60_000
TOKENS = 32  # for protected parts, from the character RESERVED on
SHARES = {  # of a file for each of its frames; 1 for others
    **{"numbers": 3.0, "bare": 3.0, "times": 3.0, "ordinals": 1.5, "millions": 0.7, "prices": 0.7},
    **{"capitals": 0.8, "phrases_numbers": 0.6},
}
SLOT = re.compile(r"\{(\w+)(?::\w+)?\}")
DECIMAL = {"en": ".", "de": ",", "fr": ",", "es": ","}
FEMININE = {"es": r"(?:libra|onza|milla|pulgada|yarda|tonelada|hora|semana|caloría|hectárea)s?\b"}
FEMININE["fr"] = r"(?:livre|once|tonne|heure|semaine|minute|seconde|année|calorie)s?\b"
FEMININE["fr"] = FEMININE["fr"].replace("heure|", "heure|milliseconde|verge|")
NAMES = Path(__file__).with_name("template_names.txt")
UNITS = {
    "weight": "mass-kilogram mass-kilogram mass-gram mass-ounce mass-pound mass-tonne",
    "dose": "mass-milligram mass-milligram mass-microgram volume-milliliter mass-gram",
    "length": "length-kilometer length-meter length-centimeter length-millimeter length-mile"
    " length-foot length-inch length-yard",
    "volume": "volume-liter volume-milliliter volume-cubic-meter volume-gallon volume-centiliter",
    "speed": "speed-kilometer-per-hour speed-mile-per-hour speed-meter-per-second",
    "temperature": "temperature-celsius temperature-celsius temperature-fahrenheit",
    "power": "power-kilowatt power-watt power-megawatt power-horsepower energy-kilowatt-hour"
    " electric-volt",
    "pressure": "pressure-bar pressure-bar pressure-millibar",
    "energy": "energy-calorie energy-kilocalorie",
    "area": "area-square-meter area-square-kilometer area-hectare area-acre",
    "storage": "digital-gigabyte digital-megabyte digital-terabyte",
    "duration": "duration-minute duration-hour duration-second duration-day duration-week"
    " duration-month duration-year duration-millisecond",
}
MONEY = {
    "$": ("dollars", "Dollar", "dollars", "dólares"),
    "€": ("euros", "Euro", "euros", "euros"),
    "£": ("pounds", "Pfund", "livres", "libras"),
}
AGO = {
    "second": ("Sekunden", "secondes", "segundos"),
    "minute": ("Minuten", "minutes", "minutos"),
    "hour": ("Stunden", "heures", "horas"),
    "day": ("Tagen", "jours", "días"),
    "week": ("Wochen", "semaines", "semanas"),
    "month": ("Monaten", "mois", "meses"),
    "year": ("Jahren", "ans", "años"),
}
ONE = {  # of a power of ten
    6: ("Million", "million", "un millón"),
    9: ("Milliarde", "milliard", "mil millones"),
    12: ("Billion", "billion", "un billón"),
}
HALVES = (  # from one and a half on
    ("an hour and a half", "anderthalb Stunden", "une heure et demie", "una hora y media"),
    ("half an hour", "eine halbe Stunde", "une demi-heure", "media hora"),
    ("one and a half hours", "eineinhalb Stunden", "une heure et demie", "una hora y media"),
    ("a year and a half", "anderthalb Jahre", "un an et demi", "un año y medio"),
)
POWERS = (  # of ten
    (6, "million", "Millionen", "millions", "millones"),
    (9, "billion", "Milliarden", "milliards", "mil millones"),
    (12, "trillion", "Billionen", "billions", "billones"),
)
DECADES = {
    20: ("twenties", "Zwanzigern", "vingt", "veinte"),
    30: ("thirties", "Dreißigern", "trente", "treinta"),
    50: ("fifties", "Fünfzigern", "cinquante", "cincuenta"),
    60: ("sixties", "Sechzigern", "soixante", "sesenta"),
    70: ("seventies", "Siebzigern", "soixante-dix", "setenta"),
    80: ("eighties", "Achtzigern", "quatre-vingt", "ochenta"),
    90: ("nineties", "Neunzigern", "quatre-vingt-dix", "noventa"),
}
PARTS_OF_DAY = (  # hours, and what English, German, French and Spanish say behind a time
    (range(5, 12), "in the morning", "morgens", "du matin", "de la mañana"),
    (range(13, 18), "in the afternoon", "nachmittags", "de l'après-midi", "de la tarde"),
    (range(18, 22), "in the evening", "abends", "du soir", "de la noche"),
)


class Form:
    """A value in one language; a format names another form of it, such as the feminine."""

    def __init__(self, usual: str, **others: str) -> None:
        self.usual, self.others = usual, others

    def __format__(self, form: str) -> str:
        return self.others.get(form, self.usual)


Value = tuple[Form, ...]  # in each of LANGUAGES


def forms(*texts: str) -> Value:
    """Return the value of a text in each language, or of one text for all."""
    return tuple(map(Form, texts if len(texts) > 1 else texts * len(LANGUAGES)))


@cache
def words(number: int, language: str, form: str = "") -> str:
    """Return a whole number in words.

    form: "" before a masculine noun, f before a feminine one, bare without a noun.
    """
    text = num2words(number, lang=language).replace(",", "")
    if language == "es":
        text = re.sub(r"uno(?= mil)", "ún", text).replace("y ún", "y un")
        if form == "f":
            text = re.sub(r"cientos\b", "cientas", text.replace("quinientos", "quinientas"))
            text = re.sub(r"uno$", "una", text)
        elif form != "bare":
            text = re.sub(r"veintiuno$", "veintiún", text)
            text = re.sub(r"uno$", "un", text)
    if language == "fr" and form == "f":
        text = re.sub(r"\bun$", "une", text)
    if language == "de":
        text = re.sub(r"^ein(?=hundert|tausend)", "", text) if number % 3 else text
        text = re.sub(r"(?<=hundert)ein$|(?<=tausend)ein$", "eins", text)
    return text


class Slots:
    """Random values of slots."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.part = 0  # number of the next reserved token
        text = NAMES.read_text("utf-8")
        self.names = dict(line.split(": ") for line in text.splitlines())
        days = [[*get_day_names("wide", locale=each).values()] for each in LANGUAGES]
        months = [[*get_month_names("wide", locale=each).values()] for each in LANGUAGES]
        self.days, self.months = ([*zip(*each, strict=True)] for each in (days, months))
        self.kinds: dict[str, Callable[[], Value]] = {
            "n": lambda: self.number(self.count()),
            "small": lambda: self.number(rng.randint(2, 99)),
            "bare": lambda: self.number(self.count(), form="bare"),
            "ord": self.ordinal,
            "million": self.million,
            "amount": self.amount,
            "time": self.time,
            "date": self.date,
            "day": lambda: forms(*rng.choice(self.days)),
            "month": lambda: forms(*rng.choice(self.months)),
            "year": lambda: forms(str(rng.randint(1700, 2060))),
            "decade": self.decade,
            "price": self.price,
            "ago": self.ago,
            "percent": self.percent,
            "version": self.version,
            "ratio": self.ratio,
            "p": self.protected,
            **{kind: (lambda kind=kind: self.measure(kind)) for kind in UNITS},  # type: ignore[misc]
            **{
                name: (lambda kind=kind: forms(rng.choice(self.names[kind].split(", "))))  # type: ignore[misc]
                for name, kind in (
                    ("first", "first"), ("last", "last"), ("street", "street"), ("city", "town"),
                )
            },
        }  # fmt: skip

    def value(self, name: str) -> Value:
        """Return a random value of a slot; time2 is a second time."""
        return self.kinds[name.rstrip("0123456789")]()

    def count(self) -> int:
        """Return a whole number from 2 on, small ones more often."""
        least, most, step = self.rng.choices(
            ((2, 20, 1), (21, 99, 1), (100, 999, 1), (1000, 9999, 1), (10_000, 99_000, 1000),
             (100_000, 900_000, 100_000), (100, 900, 100), (1000, 9000, 1000)),
            (20, 26, 34, 14, 4, 2, 3, 3),
        )[0]  # fmt: skip
        return self.rng.randrange(least, most + 1, step)

    def number(self, number: int, form: str = "", in_words: float = 0.7) -> Value:
        """Return a number in words or digits. form: of the usual value, see `words`."""
        if self.rng.random() >= in_words:
            return forms(str(number))
        english = words(number, "en")
        if self.rng.random() < 0.25:
            english = re.sub(r"^one (?=hundred|thousand)", "a ", english)
        if self.rng.random() < 0.3 and not english.startswith("a "):
            english = english.replace(" and ", " ")
        if self.rng.random() < 0.1:
            english = english.replace("-", " ")
        return (
            Form(english),
            *(
                Form(words(number, language, form), f=words(number, language, "f"))
                for language in LANGUAGES[1:]
            ),
        )

    def decimal(self, number: float | str) -> Value:
        """Return a number with a decimal part as each language writes it."""
        return forms(*(str(number).replace(".", DECIMAL[language]) for language in LANGUAGES))

    def ordinal(self) -> Value:
        """Return an ordinal: words up to the tenth, or digits."""
        number = self.rng.choice((*range(1, 11), *range(1, 11), self.rng.randint(11, 99)))
        if number > 10 or self.rng.random() < 0.3:
            return (
                Form(num2words(number, lang="en", to="ordinal_num")),
                Form(f"{number}."),
                Form("1er", f="1re") if number == 1 else Form(f"{number}e"),
                Form(f"{number}.º", f=f"{number}.ª"),
            )  # fmt: skip
        stem = num2words(number, lang="de", to="ordinal").removesuffix("e")
        french = num2words(number, lang="fr", to="ordinal")
        spanish = num2words(number, lang="es", to="ordinal")
        short = spanish.removesuffix("o") if number in (1, 3) else spanish
        return (
            Form(num2words(number, lang="en", to="ordinal")),
            Form(stem + "e", **{end: stem + end for end in ("e", "en", "er", "es", "em")}),
            Form(french, f="première" if number == 1 else french),
            Form(short, f=spanish.removesuffix("o") + "a", o=spanish),
        )

    def million(self) -> Value:
        """Return a number of millions, billions or trillions."""
        power, *names = self.rng.choices(POWERS, (5, 4, 1))[0]
        kind = self.rng.random()
        if kind < 0.08:
            german, french, spanish = ONE[int(power)]
            first = self.rng.choice(("a", "one"))
            return forms(f"{first} {names[0]}", f"eine {german}", f"un {french}", spanish)
        if kind < 0.14:
            return forms("half a million", "eine halbe Million", "un demi-million", "medio millón")
        if kind < 0.3:
            whole, tenth = self.rng.randint(1, 40), self.rng.randint(1, 9)
            english, *others = (format(one) for one in self.decimal(f"{whole}.{tenth}"))
            spanish = f"{others[2]} {names[3]}"
            if power == 9:
                spanish = f"{whole * 1000 + tenth * 100} millones"
            french = names[2] if whole > 1 else names[2].removesuffix("s")
            german = f"{others[0]} {names[1]}"
            return forms(f"{english} {names[0]}", german, f"{others[1]} {french}", spanish)
        number = self.number(
            self.rng.choice((*range(2, 21), 25, 30, 40, 50, 60, 75, 100, 200)), in_words=0.5
        )
        return forms(*(f"{one} {name}" for one, name in zip(number, names, strict=True)))

    def amount(self) -> Value:
        """Return an amount of money in millions or more."""
        sign, number = self.rng.choice("$$€€£"), self.million()
        names = MONEY[sign]
        of = "d'" if names[2][0] == "e" else "de "
        english = f"{number[0]}"
        if english[0].isdigit() and self.rng.random() < 0.4:
            english = sign + english
        else:
            english += f" {names[0]}"
        return forms(
            english,
            f"{number[1]} {names[1]}",
            f"{number[2]} {of}{names[2]}",
            f"{number[3]} de {names[3]}",
        )

    def time(self) -> Value:
        """Return a time of day, in words or figures; Spanish has its article."""
        hour, kind = self.rng.randint(1, 12), self.rng.random()
        if kind < 0.35:
            return self.time_in_figures()
        part = [""] * 4
        if self.rng.random() < 0.15:
            hours, *said = self.rng.choice(PARTS_OF_DAY)
            hour = (self.rng.choice([*hours]) - 1) % 12 + 1
            part = [f" {one}" for one in said]
        minute = self.rng.choice((0, 0, 15, 30, 30, 45, 45, 5, 10, 20, 25, 35, 40, 50, 55))
        texts = [one + end for one, end in zip(time_in_words(hour, minute), part, strict=True)]
        if minute in (15, 30, 45) and self.rng.random() < 0.15 and not part[0]:
            texts[0] = f"{words(hour, 'en')} {words(minute, 'en')}"
        return forms(*texts)

    def time_in_figures(self) -> Value:
        """Return a time in figures, in English with 12 or 24 hours."""
        hour, minute = self.rng.randint(0, 23), self.rng.choice((0, 0, *range(0, 60, 5), 17, 43))
        half, twelve = ("a.m.", "p.m.")[hour >= 12], (hour - 1) % 12 + 1
        half = self.rng.choice((half, half, half.replace(".", "")))
        if self.rng.random() < 0.12:
            said = next((one for one in PARTS_OF_DAY if hour in one[0]), None)
            if said and not minute:
                return forms(
                    f"{twelve} {self.rng.choice((said[1], half))}",
                    f"{twelve} Uhr {said[2]}",
                    f"{twelve} h {said[3]}",
                    f"{'la' if twelve == 1 else 'las'} {twelve} {said[4]}",
                )
        exact = f"{hour}:{minute:02}"
        short = f"{twelve}:{minute:02} {half}" if minute else f"{twelve} {half}"
        english = exact if self.rng.random() < 0.35 else short
        return forms(
            english,
            f"{exact if minute or english == exact else hour} Uhr",
            f"{hour} h {minute:02}" if minute else f"{hour} h",
            f"{'la' if hour == 1 else 'las'} {exact}",
        )

    def date(self) -> Value:
        """Return a day of a month, for a quarter with the year."""
        day, month = self.rng.randint(1, 31), self.rng.choice(self.months)
        nth = num2words(day, lang="en", to="ordinal_num")
        choices = (f"{month[0]} {day}", f"{month[0]} {nth}", f"{day} {month[0]}")
        english = self.rng.choice((*choices, f"{nth} of {month[0]}"))
        texts = [english, f"{day}. {month[1]}", f"{day if day > 1 else '1er'} {month[2]}"]
        texts.append(f"{day} de {month[3]}")
        if self.rng.random() < 0.25:
            ends = ("" if english[0].isdigit() else ",", "", "", " de")
            year = f" {self.rng.randint(1900, 2035)}"
            texts = [text + end + year for text, end in zip(texts, ends, strict=True)]
        return forms(*texts)

    def decade(self) -> Value:
        """Return a decade, as it stands behind "in"."""
        if self.rng.random() < 0.35:
            english, german, french, spanish = DECADES[self.rng.choice([*DECADES])]
            return forms(
                f"the {english}", f"den {german}", f"les années {french}", f"los años {spanish}"
            )
        year = self.rng.randrange(1700, 2030, 10)
        return forms(
            f"the {year}s", f"den {year}er Jahren", f"les années {year}", f"los años {year}"
        )

    def price(self) -> Value:
        """Return an amount of dollars, euros, pounds or cents."""
        sign, kind = self.rng.choice("$$€€£"), self.rng.random()
        if kind < 0.3:
            number, names = self.number(self.count(), in_words=0.8), MONEY[sign]
            texts = [f"{one} {name}" for one, name in zip(number, names, strict=True)]
            if names[2] == "livres":
                texts[2:] = [f"{number[2]:f} livres", f"{number[3]:f} libras"]
            return forms(*texts)
        if kind < 0.4:
            number = self.number(self.rng.randint(2, 99))
            names = ("cents", "Cent", "centimes", "céntimos")
            return forms(*(f"{one} {name}" for one, name in zip(number, names, strict=True)))
        whole = str(self.rng.choice((self.rng.randint(1, 20), self.rng.randint(1, 2500))))
        if self.rng.random() < 0.6:
            whole += f".{self.rng.choice((5, 20, 25, 40, 49, 50, 75, 80, 90, 95, 99)):02}"
        english, *others = (format(one) for one in self.decimal(whole))
        return forms(sign + english, *(f"{one} {sign}" for one in others))

    def ago(self) -> Value:
        """Return how long ago something was."""
        name, (german, french, spanish) = self.rng.choice([*AGO.items()])
        number = self.number(
            self.rng.choice((*range(2, 13), self.rng.randint(13, 60))), in_words=0.6
        )
        count = [format(one) for one in number]
        if spanish in ("horas", "semanas"):
            count[3] = f"{number[3]:f}"
        if french in ("secondes", "minutes", "heures", "semaines"):
            count[2] = f"{number[2]:f}"
        return forms(
            f"{count[0]} {name}s ago",
            f"vor {count[1]} {german}",
            f"il y a {count[2]} {french}",
            f"hace {count[3]} {spanish}",
        )

    def percent(self) -> Value:
        """Return a share in percent."""
        if self.rng.random() < 0.5:
            number = f"{self.rng.randint(1, 100)}" + self.rng.choice(
                ("", "", f".{self.rng.randint(1, 9)}")
            )
            english, *others = (format(one) for one in self.decimal(number))
            return forms(f"{english}%", *(f"{one} %" for one in others))
        number = self.number(self.rng.randint(2, 100), in_words=0.5)  # type: ignore[assignment]
        names = (self.rng.choice(("percent", "per cent")), "Prozent", "pour cent", "por ciento")
        return forms(*(f"{one} {name}" for one, name in zip(number, names, strict=True)))

    def version(self) -> Value:
        """Return the number of a version or a section, which no language changes."""
        parts = [self.rng.randint(1, 25), self.rng.choice((self.rng.randint(0, 9), 10, 4, 20))]
        parts += [self.rng.randint(0, 9)] if self.rng.random() < 0.15 else []
        text = ".".join(map(str, parts))
        return forms(f"{parts[0]}.{parts[1]:02}" if self.rng.random() < 0.2 else text)

    def ratio(self) -> Value:
        """Return a ratio, a scale or a score."""
        return forms(
            f"{self.rng.randint(0, 25)}:{self.rng.choice((0, 1, 2, 3, 9, 10, 14, 50, 100))}"
        )

    def measure(self, kind: str) -> Value:
        """Return a number with a unit, in words or with its sign."""
        if kind == "duration" and self.rng.random() < 0.25:
            return self.half_hours()
        unit = self.rng.choice(UNITS[kind].split())
        draw = self.rng.random()
        signs = draw < 0.35 and kind != "duration"
        length: Literal["short", "long"] = "short" if signs else "long"
        if signs or draw < 0.75:
            most = 260 if kind == "temperature" else 999
            text = str(self.rng.choice((self.rng.randint(2, 20), self.rng.randint(2, most))))
            if self.rng.random() < 0.25:
                text += f".{self.rng.randint(1, 9)}"
            number = self.decimal(text)
        else:
            number = self.number(self.rng.randint(2, 120))
        texts = []
        for one, language in zip(number, LANGUAGES, strict=True):
            locale = self.rng.choice(("en", "en_GB")) if language == "en" else language
            shown = format_unit(2, unit, length, locale=locale).replace("US ", "")
            shown = re.sub(r"[\s\u00a0\u202f]+", " ", shown)
            feminine = re.search(FEMININE[language], shown) if language in FEMININE else None
            texts.append(shown.replace("2", f"{one:f}" if feminine else f"{one}", 1))
        if signs and self.rng.random() < 0.25:
            texts[0] = texts[0].replace(" ", "")
        if "°" in texts[0]:
            texts = [re.sub(r" ?° ?", " °", text) for text in texts]
            texts[0] = self.rng.choice((texts[0], texts[0].replace(" ", "")))
        return forms(*texts)

    def half_hours(self) -> Value:
        """Return a time that ends with half an hour, a day or a week."""
        number = self.rng.choice((1, 1, 2, 3, 4, 5, 6))
        if number == 1:
            return forms(*self.rng.choice(HALVES))
        count = [words(number, language) for language in LANGUAGES]
        english, german, french, spanish = self.rng.choice((
            ("hours", "Stunden", "heures et demie", "horas y media"),
            ("years", "Jahre", "ans et demi", "años y medio"),
            ("days", "Tage", "jours et demi", "días y medio"),
            ("weeks", "Wochen", "semaines et demie", "semanas y media"),
        ))  # fmt: skip
        return forms(
            f"{count[0]} and a half {english}",
            f"{count[1]}einhalb {german}",
            f"{count[2]} {french}",
            f"{count[3]} {spanish}",
        )

    def protected(self) -> Value:
        """Return the next reserved token."""
        self.part += 1
        return forms(reserved(self.part - 1))


def reserved(number: int) -> str:
    """Return the reserved token with a number."""
    return chr(RESERVED + number % TOKENS)


def time_in_words(hour: int, minute: int) -> tuple[str, str, str, str]:
    """Return a time in words in each language. hour: 1 to 12. minute: a multiple of 5."""
    after = hour % 12 + 1
    german = {n: words(n, "de") if n > 1 else "eins" for n in (hour, after)}
    french = {n: f"{words(n, 'fr', 'f')} heure{'s' * (n > 1)}" for n in (hour, after)}
    spanish = {n: f"{'las' if n > 1 else 'la'} {words(n, 'es', 'f')}" for n in (hour, after)}
    english = {n: words(n, "en") for n in (hour, after)}
    if minute == 0:
        full = "ein" if hour == 1 else german[hour]
        return f"{english[hour]} o'clock", f"{full} Uhr", french[hour], spanish[hour]
    if minute == 30:
        return (
            f"half past {english[hour]}",
            f"halb {german[after]}",
            f"{french[hour]} et demie",
            f"{spanish[hour]} y media",
        )
    to, shown = minute > 30, min(minute, 60 - minute)
    base = after if to else hour
    quarter = shown == 15
    said = ["a quarter", "Viertel", "quart", "cuarto"] if quarter else [
        words(shown, language) for language in LANGUAGES
    ]  # fmt: skip
    joint = ("moins le " if quarter else "moins ") if to else ("et " if quarter else "")
    return (
        f"{said[0]} {'to' if to else 'past'} {english[base]}",
        f"{said[1]} {'vor' if to else 'nach'} {german[base]}",
        f"{french[base]} {joint}{said[2]}",
        f"{spanish[base]} {'menos' if to else 'y'} {said[3]}",
    )


def frames(code: str) -> Pairs:
    """Return filled frames as pairs of English and another language, kind by kind."""
    rng, column = random.Random(f"frames {code}"), LANGUAGES.index(CODES[code])
    slots, found = Slots(rng), Pairs()
    files = sorted(Path(__file__).with_name("frames").glob("*.tsv"))
    tables = [(path.stem, [*rows(path)]) for path in files]
    weights = [len(table) * SHARES.get(kind, 1) for kind, table in tables]
    while len(found) < LINES:
        kind, table = rng.choices(tables, weights)[0]
        slots.part = rng.choice((0, 0, rng.randrange(TOKENS)))
        found.append(filled(rng.choice(table), column, slots, small=kind.endswith("small")))
    return found


def filled(row: list[str], column: int, slots: Slots, *, small: bool = False) -> tuple[str, str]:
    """Return a frame in two languages with random values. small: English names of days in small."""
    values = {name: slots.value(name) for name in dict.fromkeys(SLOT.findall(row[0]))}
    sides = []
    for number in (0, column):
        shown = {name: value[number] for name, value in values.items()}
        if small and number == 0:
            shown = {name: Form(format(value).lower()) for name, value in shown.items()}
        text = row[number].format_map(shown).replace(".m..", ".m.")
        sides.append(
            text[:1].upper() + text[1:] if row[number].startswith("{") and not small else text
        )
    return sides[0], sides[1]


def masked(pairs: Pairs, code: str, shared: Callable[[str, str], list[str]]) -> Pairs:
    """Return pairs in which one to five parts that both sides share are reserved tokens.

    shared: returns the parts that stand equally in both texts.
    """
    rng, found = random.Random(f"masked {code}"), Pairs()
    for source, target in rng.sample(pairs, len(pairs)):
        parts = shared(source, target)
        if not parts:
            continue
        rng.shuffle(parts)
        chosen = sorted(parts[: rng.choice((1, 1, 2, 3, 5))], key=source.find)
        first = rng.choice((0, 0, rng.randrange(TOKENS)))
        sides = [source, target]
        for number, part in enumerate(chosen, first):
            place = re.compile(rf"(?<!\w){re.escape(part)}(?!\w)")
            sides = [place.sub(reserved(number), side) for side in sides]
        if sides[0] != source and re.findall("[\ue000-\ue0ff]", sides[0]):
            found.append((sides[0], sides[1]))
        if len(found) == MASKED_LINES:
            break
    return found
