"""English names of languages by ISO 639 code, and the languages written from right to left."""

from __future__ import annotations

TABLE = """
ar=Arabic az=Azerbaijani be=Belarusian bg=Bulgarian bn=Bengali bs=Bosnian ca=Catalan cs=Czech
cy=Welsh da=Danish de=German el=Greek en=English eo=Esperanto es=Spanish et=Estonian eu=Basque
fa=Persian fi=Finnish fr=French ga=Irish gl=Galician gu=Gujarati he=Hebrew hi=Hindi
hr=Croatian hu=Hungarian hy=Armenian id=Indonesian is=Icelandic it=Italian ja=Japanese
ka=Georgian kk=Kazakh km=Khmer kn=Kannada ko=Korean la=Latin lt=Lithuanian lv=Latvian
mk=Macedonian ml=Malayalam mn=Mongolian mr=Marathi ms=Malay mt=Maltese my=Burmese nb=Norwegian
ne=Nepali nl=Dutch no=Norwegian pa=Punjabi pl=Polish ps=Pashto pt=Portuguese ro=Romanian
ru=Russian si=Sinhala sk=Slovak sl=Slovenian sq=Albanian sr=Serbian sv=Swedish sw=Swahili
ta=Tamil te=Telugu th=Thai tl=Tagalog tr=Turkish uk=Ukrainian ur=Urdu uz=Uzbek vi=Vietnamese
yi=Yiddish zh=Chinese
"""
NAMES: dict[str, str] = {pair[:2]: pair[3:] for pair in TABLE.split()}
RIGHT_TO_LEFT = frozenset(("ar", "fa", "he", "ps", "ur", "yi"))


def name_of(code: str) -> str:
    """Return the English name of a language; its code if the name is not known."""
    return NAMES.get(code, code)
