"""Names of days and months, and their English abbreviations, as CLDR has them."""

_DAYS = (
    ("en", "Sunday Monday Tuesday Wednesday Thursday Friday Saturday"),
    ("de", "Sonntag Montag Dienstag Mittwoch Donnerstag Freitag Samstag"),
    ("fr", "dimanche lundi mardi mercredi jeudi vendredi samedi"),
    ("es", "domingo lunes martes miércoles jueves viernes sábado"),
)
DAYS = {language: names.split() for language, names in _DAYS}
_MONTHS = (
    ("en", "January February March April May June July August September October November December"),
    ("de", "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
    ("fr", "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
    (
        "es",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    ),
)
MONTHS = {language: names.split() for language, names in _MONTHS}
_SHORT = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
SHORT_MONTHS = _SHORT.split()
