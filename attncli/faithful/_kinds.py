"""Kinds of protected parts: a pattern and an example each."""

from __future__ import annotations

from typing import NamedTuple

from attncli.faithful.numbers import GROUPED, HOURS

DEEP = r"[^{}]*(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}[^{}]*)*"  # braces in braces in braces
SYMBOL = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf"
    "\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
TONED = f"[{SYMBOL}][\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*"
EMOJI = rf"[\U0001f1e6-\U0001f1ff]{{2}}|[0-9\#*]\ufe0f?\u20e3|{TONED}(?:\u200d{TONED})*"
FLAGS = r"[-+\#0']{0,9}"  # of printf
FIELD = r"(?:[yY]{4}|[yY]{2}|M{1,4}|D{1,2}|d{1,4}|[Hh]{1,2}|m{1,2}|[sS]{1,3})"  # of a date
SUFFIXES = (
    "js|jsx|ts|tsx|json|py|html?|css|csv|tsv|txt|md|pdf|png|jpe?g|gif|svg|xml|ya?ml|toml|ini|cfg"
    "|conf|sh|exe|dll|zip|gz|tar|docx?|xlsx?|pptx?|od[tsp]|po|mo|srt|vtt|mp[34]|php|rb|rs|java|cpp?"
    "|log|bak|lock"
)


IN_ADDRESS = r"[!\#-'*-;=?-\[\]_a-z~]"  # characters, but no parentheses
LINKED = r"\((?:[^()\n]|\([^()\n]*\))+\)"  # of a Markdown link
IN_BRACES = r"[^${}\n]*(?:\{[^${}\n]*\}[^${}\n]*)*"  # of a formula
FIGURES = r"\d{1,9}(?:[.,'’\u00a0\u202f]\d{1,9}){0,4}"
UNITS = (  # symbols of the SI and of data, the same in all languages
    r"[nµμkcdm]?m[²³]?|[µμmk]?g|[mcdh]?[lL]|[nµμm]?s|min|h(?! ?[0-5]\d(?!\d| min))|t|ha|mol|lm|lx"
    "|cd|K|[mkMG]?(?:W|Wh|V|VA|A|Ah|Hz|N|J|Pa|eV|Ω)|hPa|bar|psi|[kM]?cal|Nm|dBA?|kWp|ppm|ppb|rpm"
    "|dpi|px|pt|[kKMGT]i?B(?:/s)?|[kMG]?[Bb]it/s|[kMG]?bps|km/h|m/s|mph|g/km|kg/m³|m³/h|l/h|mg/k?[gl]"
)
CURRENCIES = (
    "EUR|USD|GBP|CHF|JPY|CNY|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|AUD|CAD|NZD|INR|BRL|MXN|TRY|ZAR"
    "|RUB|UAH|KRW|SGD|HKD|ILS|AED|THB"
)
DOMAINS = "com|org|net|edu|gov|io|info|dev|app|eu|uk|de|fr|ch|at"


class PartKind(NamedTuple):
    """A kind of protected part."""

    name: str
    example: str  # a part that the pattern matches as a whole
    pattern: str


# Of two kinds that match at the same place, the first is taken.
KINDS = (
    PartKind("mark", "\ue000", "[\ue000-\uf8ff]"),
    PartKind("address", "https://a.org/b?c=1",
         rf"(?:https?|ftp|file|mailto|ssh|git)://?(?:{IN_ADDRESS}|\({IN_ADDRESS}*\))*"
         rf"(?:[\#-&*+\-/-9=@-Z_a-z~]|\({IN_ADDRESS}*\))"),
    PartKind("host", "www.a-b.org/c", r"(?<![\w.@-])(?:www\.[\w-]+\.[\w./-]*[\w/]"
         rf"|(?:(?:[\w-]+\.)+(?:{DOMAINS})|localhost)(?::\d+)?(?![\w-]|\.\w)(?:/(?:[\w./?=%&-]*[\w/])?)?)"),
    PartKind("mail", "a.b+c@mail.example.org", r"(?<![\w.+-])[\w+-]{1,64}(?:\.[\w+-]{1,64}){0,8}"
         r"@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}"),
    PartKind("reference", "[%key:a::b%]", r"\[%[^\[\]\s]+%\]|(?<!\S)![a-z][a-z_]{2,}(?!\S)"
         r"|<<[\w.\#/-]+(?:,\s?|>>)"),
    PartKind("wiki link", "[[The big house|",
         r"\[\[(?:[^\[\]|\n]{1,200}\||[^\[\]|\n]{1,200}\]\])|\]\]"),
    PartKind("Markdown link", "](a.html)",
         rf"!?\[(?=[^\[\]\n]{{1,200}}\]{LINKED})|(?<=[^\[\]])\]{LINKED}"),
    PartKind("Markdown bold", "**", r"(?<![\w*])\*\*(?=\w)|(?<=[\w.,:!?])\*\*(?![\w*])"
         r"|(?<![\w'])'{2,3}(?=\w)|(?<=[A-Za-z.,:!?])'{2,3}(?![\w'])"),  # of wikis
    PartKind("date pattern", "yyyy-MM-dd HH:mm",
         rf"(?<![\w/.-]){FIELD}(?:[-/.:,]\s?{FIELD})+(?:[ T]{FIELD}(?::{FIELD})+)?(?: a\b)?"
         r"(?:(?:(?<=\.M)|(?<=\.MM))\.)?(?!\w)"),
    PartKind("account number", "DE89 3704 0044 0532 0130 00",
         r"(?<![\w-])[A-Z]{2}\d\d(?:[ \u00a0]?[A-Z0-9]{4}){2,7}(?:[ \u00a0]?[A-Z0-9]{1,3})?(?!\w)"),
    PartKind("bank code", "COBADEFFXXX",
         r"(?<!\w)[A-Z]{6}[A-Z0-9]{2}XXX(?!\w)|(?<=BIC )[A-Z]{6}[A-Z0-9]{2,5}(?!\w)"),
    PartKind("telephone", "+49 30 1234-567",
         r"(?<![\w+])(?:\+|\(\+?\d{2,5}\)|0\d{1,5}[ /-])[\d ()/.\u00a0-]{4,20}\d(?!\w)"),
    PartKind("card number", "1234 5678 9012 3456", r"(?<![\w-])\d{4}(?:[ -]\d{4}){2,4}(?![\w-])"),
    PartKind("feet and inches", "6'2\"",
         r"(?<![\w'’])\d{1,2}['’′] ?\d{1,2}(?:\.\d+)?(?:\"|''|[”″])"),
    PartKind("inches", "15.6\"", r"(?<![\w.,/])(?:\d+[ -])?\d+(?:[.,/]\d+)?\"(?!\w)"),
    PartKind("plate", "B-AB 1234", r"(?<!\w)[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} ?\d{1,4}[EH]?(?!\w)"),
    PartKind("postcode", "SW1A 1AA",
         r"(?<!\w)(?:[A-Z]{2}\d\d [A-Z]{3}|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2})(?!\w)"),
    PartKind("template", "<%= name %>", r"<%.{0,200}?%>|\{%[^{}]*%\}"),
    PartKind("message", "{n, plural, one {# file} other {# files}}",
         rf"\{{\s*\w+\s*,\s*(?:plural|select(?:ordinal)?|number|date|time|choice)\b{DEEP}\}}"),
    PartKind("braces", "${user.name}",
         r"\{\{\{?[^{}]*(?:\{\{[^{}]*\}\}[^{}]*)*\}?\}\}|\$\{[^{}]*\}|[$\#%@]?\{[^{}\s]*\}"
         r"|\{ \$\w+ \}|\{[#:@]\w+ [^{}]*\}"),
    PartKind("substitution", "|product|", r"(?<![\w|])\|\w[\w.-]*\|(?![\w|])"),
    PartKind("hidden text", "[X7X]", r"\[[A-Z]+[0-9]+[A-Z]*\]"),
    PartKind("percent sign", "%%", r"%%|(?<![\w%])%[A-Za-z_]\w*%(?![\w%])"),
    PartKind("printf by name", "%(name)s",
         r"%\([^()\s]+\)[-+\#0']{0,9}[\d*]{0,9}(?:\.[\d*]{1,9})?[diouxXeEfFgGcrsa]"),
    PartKind("strftime", "%d.%m.%Y", r"%[A-Za-z](?:[-:/.,]? ?%[A-Za-z]){1,9}(?![\w%])"),
    PartKind("printf", "%1$'05.2lf",
         rf"(?<!\d)%(?:\d{{1,9}}\$)?{FLAGS}(?:\d{{1,9}}|\*)?(?:\.(?:\d{{1,9}}|\*))?"
         rf"(?:hh?|ll?|[Lqjzt])?(?:[dfg][A-Za-z](?!\w)|[diouxXeEfFgGaAcrsSpn@])"
         rf"|%{FLAGS}\d{{0,9}}<PRI[diouxX]\w{{1,9}}>"),
    PartKind("Qt argument", "%L1", r"(?<!\d)%L?\d{1,2}(?![\w%$])"),
    PartKind("tag", "</b>", 
         r"</?[A-Za-z][\w:-]*(?:[\s=][^<>]*)?/?>|\[/?(?:[a-z][\w-]*|[A-Z_]{2,})\]"),
    PartKind("font", r"\fB", r"\\f[BI][^\s\\]+\\f[RP]|\\f[BIRP](?:[./~$-][\w./-]*\w)?"
         r"|(?<![A-Za-z])[BCFILSX]<[^<>\s]+>"
         r"|(?<![A-Za-z])[BCFILSX]<(?=\w[^<>]{1,200}>)"),
    PartKind("operator", "->", r"(?<!-)<?-{1,2}>|<-{1,2}(?!\w)|[!<>:=]=+>?|=>|<<|>>|<!--"
         r"|(?<=[A-Za-z]{2})>(?!\w)|-{4,}"),
    PartKind("time zone", "UTC+2",
         r"(?:(?<=:\d\d )|(?<=[AaPp]M )|(?<=\d[ap]m )|(?<=[ap]\.m\. ))(?![AP]M)[A-Z]{2,4}"
         r"(?:[+-]\d{1,2})?(?!\w)|(?<!\w)UTC(?:[+-]\d{1,2}(?::\d\d)?)?(?!\w)"),
    PartKind("name", "iPhone", r"(?<![\w-])[A-Za-z]*[a-z][A-Z][A-Za-z]*(?!\w)"),
    PartKind("entity", "&nbsp;", r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|\#\d{1,7}|\#x[0-9A-Fa-f]{1,6});"),
    PartKind("role", ":doc:`/admin/install`",
         r"(?::[a-z][\w:-]{0,30}:)?`(?=[^`<\n]{1,200} <[^`<>\n]{1,200}>`)"
         r"|(?<=[^`\s]) <[^`<>\n]{1,200}>`_{0,2}|:[a-z][\w:-]{0,30}:`[^`<\n]+`"),
    PartKind("code span", "`x = 1`", r"(?<!`)`{1,3}[^`\n]+`{1,3}"),
    PartKind("formula", "$x^2$", r"\$(?![\d\s])(?=[^$\n]*[\^_\\={])"
         rf"(?:[^${{}}\n]|\{{{IN_BRACES}\}}){{1,80}}(?<!\s)\$(?!\d)"),
    PartKind("dollar name", "$NAME$", r"\$[A-Za-z_]\w*\$?"),
    PartKind("underlined", "__name__", r"(?<!\w)__\w+?__(?!\w)|_{2,}"),
    PartKind("colon name", ":smile:",
         r"(?<![\w:]):[a-z_]{2,}(?::(?!\w)|(?!\w|:\w))|(?<=\w)::(?!\w)"),
    PartKind("account name", "@user", r"(?<![\w@.])@[A-Za-z_][\w-]*"),
    PartKind("topic", "#topic", r"(?<![\w\#&])\#(?:[A-Za-z_]\w+|(?!\S))"),
    PartKind("option", "--dry-run", r"(?<![\w-])--[a-z][\w-]*|(?<=[\w,] )-[A-Za-z](?![\w'’-])"),
    PartKind("call", "sys.exit()", r"(?<![\w.])[A-Za-z_][\w.]*\(\)|\(\)"),
    PartKind("Windows path", r"C:\tmp\a", r"[A-Za-z]:\\[^\s\"'<>|]*[^\s\"'<>|.,;:!?)]"
         r"|\\\\[\w.-]+\\[^\s\"'<>|]*[\w\\]"),
    PartKind("path", "~/a/b.txt",
         r"(?<![\w/<])(?<!\}(?=/[a-z]))(?:~|\.{1,2}|\$\w+)?/[\w.~*-]*(?:/[\w.~*-]*)*[\w/*]"
         r"|(?<![\w/])~/|(?<=\})/[\w-]*[./_\d][\w./-]*\w"
         r"|(?<![\w/.-])[\w.-]*\w(?:/[\w.-]*\w)+\.[a-z]\w{0,4}(?![\w/])"),
    PartKind("file", "setup.cfg", rf"(?<![\w/.-])(?:[\w-]+\.)+(?:{SUFFIXES})(?!\w)"),
    PartKind("escape", r"\n", r"\\(?:[\"'\\]|[nrt](?![a-z]))|(?<=[\w.,:;!?])\\n"),
    PartKind("colour code", "\u00a7c", "\u00a7[a-fk-or]|\u00a7[0-9](?=[A-Za-z]{2})"),
    PartKind("date", "2024-05-31T10:00Z",
         r"(?<![\w.-])\d{4}-\d\d-\d\d(?:[T ][\d:]+(?:[.,]\d+)?Z?(?:[+-]\d\d:?\d\d)?)?(?!\w|-\d)"),
    PartKind("hours", "9am-5:30pm", rf"(?<![\w.,:/-]){HOURS}(?!\w)"),
    PartKind("quantity", "2.5 km/h",
         rf"(?<![\w.,:/-])[-−]?(?:{FIGURES}[-–])?{FIGURES}[ \u00a0\u202f](?:{UNITS}|{CURRENCIES})"
         rf"(?![\w²³]|[/.'’-]\w)|(?<![\w.,:/-])(?:\d+[ -])?{FIGURES} in\.(?!\s+[^\sa-z])"
         rf"|(?<![\w-])(?:{CURRENCIES})[ \u00a0]?{FIGURES}(?![\w-]|[.,]\d)"),
    PartKind("number", "1,234.50", rf"(?<![\w.,:/-])(?:{GROUPED})(?!\w|[.:/-]\d)"),
    PartKind("spaced number", "45 226",
         r"(?<![\w.,:/-])(?<!\d )[1-9]\d{0,2}(?: \d{3})+(?:[.,]\d+)?(?! ?\d|\w|[.:/-]\d)"),
    PartKind("version", "v1.2.3-rc1", r"(?<![\w.])v?\d+(?:\.\d+){2,}"
         r"(?:[-+.]?(?:[A-Za-z]+[-.]?\d(?:[\w.-]*\w)?|[a-z]+))?(?![\w])"),
    PartKind("word", "KX-4731", r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9_]+"
         r"(?:[-.:][A-Za-z0-9_]+)*(?![\w-])|(?<!\w)\w*[A-Za-z0-9]_\w+"),
    PartKind("locale", "en-GB", r"(?<![\w-])[a-z]{2}[-_][A-Z]{2}(?![\w-])"),
    PartKind("digits", "0007", r"(?<![\w.,/:-])\d+(?:[/:-]\d+){0,2}(?![\w/-]|[.,:]\d)"),
    PartKind("dots", ".....", r"(?<=[“\"'«„‘])\.{1,2}(?=[”\"'»“’])|\.{4,}|(?:\. ?){5,}|…{2,}"),
)  # fmt: skip
