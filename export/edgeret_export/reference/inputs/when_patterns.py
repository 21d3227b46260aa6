"""Expressions for numbers, lengths of time, days and times of a day, out of lists of words. Knows nothing of
requests."""

from __future__ import annotations

from collections.abc import Sequence

from edgeret.inputs.numerals import NUMERALS
from edgeret_export.reference.inputs.values import MONTH, listed

_STREET_END_WORDS = "street st road rd avenue ave boulevard blvd lane ln square sq terrace"
STREET_ENDS = frozenset(_STREET_END_WORDS.split(" "))
"""Words that end an English street's name."""
_STREET_WORDS = "rue avenue boulevard bd chemin quai allée impasse calle avenida plaza paseo camino"
STREETS = frozenset(_STREET_WORDS.split(" "))
"""Words that begin one in French and in Spanish."""
MORE = r"(?: and (?:a (?:half|quarter)|three quarters))?"
QUARTERS = r"(?:a |three )?quarters?(?: of)?(?: an?)?"
SHORT_LENGTHS = (
    r"(?<![\w.,:])\d{1,3} ?h(?:(?:ou)?rs?)?,? ?\d{1,2} ?m(?:in(?:ute)?s?)?(?!\w)",
    r"(?<![\w.,:])\d{1,3}h\d{1,2}(?!\w|[.:,]\d)",
    # "2 hours 30 people": nothing may stand behind it
    r"(?<![\w.,:])\d{1,3} ?(?:h|hrs?|hours?|min|mins|minutes?) \d{1,2}(?=[ .!?]*(?:(?:please|pls)[ .!?]*)?(?![\w\W]))",
    r"(?<=\bin )\d{1,3}:[0-5]\d(?![\w:])(?! ?(?:[ap]\.?m\b|uhr\b|h\b))",
    r"(?<!\bat )(?<!\bto )(?<!\bby )(?<!\bfrom )(?<!\buntil )(?<![\w.,:])\d{1,3}(?:[.,]\d)? ?h(?!\w)",
)
"""Lengths of time in short; behind "at" 8 h is a time of the day."""


def number_pattern() -> str:
    """A number in digits or in a word."""
    return rf"(?:\d+(?:[.,]\d+)?|{listed('count')}|{'|'.join(NUMERALS)})"


def days_and_times(date: str, time: str, unit: str, count: str) -> tuple[Sequence[str], Sequence[str]]:
    """Expressions for days and for times of a day, out of the words for them."""
    month = rf"(?:{MONTH})(?:[a-zä]+|\.(?= ))?"
    part = r"(?: (?:morning|noon|afternoon|evening|night))?"
    hour = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|[01]?\d|2[0-4])"
    few = r"(?:\d+|an?|one|two|three|four|five|six|ten|fifteen|twenty|thirty|forty)"
    which = r"next|last|this|coming|first|second|third|nächsten?|letzten?|diesen?"
    to, end = r" (?:-|–|to|until|till|through|thru) ", rf"\d{{1,2}}(?:st|nd|rd|th|\.)?(?: of)? {month}(?!\w)"
    short = "mon|tue|wed|thu|fri|sat|sun"
    period = r"week|month|year|quarter|term|spring|summer|autumn|winter|woche|monat|jahr"
    days = (
        r"\d{4}-\d\d-\d\d|\d{1,2}/\d{1,2}(?:/\d{2,4})?|\d{1,2}\.\d{1,2}\.(?:\d{2,4})?",
        rf"{month} \d{{1,2}}(?:st|nd|rd|th)?(?!\w|:)(?:,? \d{{4}})?",
        rf"\d{{1,2}}(?:st|nd|rd|th|\.)?(?: of)? {month}(?!\w)(?: \d{{4}})?",
        # 3 of "3 to 10 August", "3. by 10." for German "bis"
        rf"(?<![\w.,:/-])(?:\d{{1,2}}\.?(?=(?:-|–|{to}){end})|\d{{1,2}}\.(?= by {end})|"
        rf"(?:(?<=\bbetween )|(?<=\bbetween the ))\d{{1,2}}(?:st|nd|rd|th|\.)?(?= and (?:the )?{end}))",
        rf"(?:mon|sat|sun)(?=(?:-|–|{to})(?:{short}))",
        rf"(?:(?<=\b(?:{short})-)|(?<=\b(?:{short}) - )|(?<=\b(?:{short}) to ))(?:mon|sat|sun)",
        rf"(?:(?:{which}) ){{1,2}}(?:{date}|{period})(?!\w){part}(?:(?: of)? {month}(?!\w))?",
        rf"(?:the )?day after tomorrow|\d{{1,2}}(?:st|nd|rd|th)|(?:{date}){part}",
        # "sat", "sun" and the French "mon" say something else, too; a value that is read again begins with them
        r"(?:(?:next|last|this|coming) )?(?:tues?|weds?|thu|thurs?|fri)(?![-'’])(?:\.(?= ))?" + part,
        r"(?:(?<![\w\W])|(?<=\bon )|(?<=\bby )|(?<=\bfor )|(?:next|last|this|coming) )(?:mon|sat|sun)(?![-'’])" + part,
        r"(?<!\bhe )(?<!\bshe )(?<!\bthe )(?<!\bthey )(?<!\bwe )(?<!\bi )"
        r"(?:mon|sat|sun)(?= (?:at )?\d{1,2}(?::\d\d| ?[ap]m\b))",
        r"(?:mon|sat|sun) (?:morning|afternoon|evening|night)|(?:tmrw|tmr)" + part,
        rf"in (?:\d+|{count}) (?:days?|weeks?|months?|tagen?|wochen?)",
        rf"{few} (?:days?|weeks?) from (?:today|now|tomorrow)",
        "今天|明天|后天|昨天|星期[一二三四五六日天]|周[一二三四五六日末]",
    )
    of_day = r"in the (?:morning|afternoon|evening)|at night|tonight|this (?:morning|afternoon|evening)"
    # "2 to 5" and "ten to twelve" are from one hour to another.
    minutes = (
        r"(?:(?:half|quarter|five|ten|twenty|\d{1,2}) past|(?:(?:five|ten|twenty|\d{1,2}) minutes|quarter) (?:past|to))"
    )
    street = rf"(?: [^\W\d_]{{1,20}}){{1,3}} (?:{'|'.join(sorted(STREET_ENDS))})\b| (?:{'|'.join(sorted(STREETS))})\b"
    length = rf"(?:{few}{MORE} (?:minutes?|mins?|hours?|hrs?){MORE}|half an hour|{QUARTERS} hour)"
    at = rf"{hour}(?:[:.]\d\d)?"
    whole = rf"(?:{at} ?(?:[ap]m\b|[ap]\.m\.|o['’]clock\b|uhr\b|h\b)|\d{{1,2}}:\d\d(?!\d))"
    clock = (
        # 9 of "9-10 am", which has the other one's half of the day
        rf"(?<![:/-]){at}(?=(?: ?[-–] ?| (?:to|until|till|by|a) ){whole})|(?<=\bbetween ){at}(?= and {whole})",
        rf"(?:{minutes} )?{hour}(?:[:.]\d\d)?(?: o['’]clock)? (?:{of_day})",
        rf"in {length}(?! long)|{length} from now",
        r"\d{1,2}[:.]\d\d(?::\d\d)?(?: ?[ap]\.?m\b\.?| ?(?:uhr|h)\b)?",
        rf"{hour} ?(?:[ap]m\b|[ap]\.m\.|o['’]clock\b)|\d{{1,2}} ?(?:uhr|h)\b",
        rf"{minutes} {hour}(?: ?(?:[ap]m\b|[ap]\.m\.))?(?!:)|{time}",
        rf"(?:(?<=\bat )|(?<=\bum )){hour}(?! ?(?:{unit}|per|%|degrees)|[:.]\d|{street})",
    )
    return days, clock
