"""What is left of users' words when values are taken out of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret.usage.redaction import WITHHELD, redact_value, redacted
from edgeret_export.reference.inputs.values import KINDS, values_in

NEVER = {KINDS.index(kind) for kind in ("url", "email", "iban", "phone", "quoted", "number")}


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Mail the minutes to ana.b@example.co.uk today", "Mail the minutes to [email] today"),
        ('Note that "the code is 4711"', "Note that [quoted]"),
        ("Call +49 170 1234567 at 7:30 pm", "Call [number] at [number] pm"),
        ("Pay 12.50€ to DE89 3704 0044 0532 0130 00", "Pay [number]€ to [number]"),
        ("Zip ~/tax/2025.pdf and report.docx", "Zip [path] and [path]"),
        ("Open https://bank.example/x?id=9 and shop.example.com", "Open [url] and [url]"),
        ("Tell #family I'm late", "Tell [channel] I'm late"),
        ("Turn the volume down a little", "Turn the volume down a little"),
        ("Ana's flat, don't forget", "Ana's flat, don't forget"),
        ("“Hallo Welt” an Jörg schicken", "[quoted] an Jörg schicken"),
    ],
)
def test_values_go_and_what_is_wished_stays(said: str, kept: str) -> None:
    assert redacted(said) == kept


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_no_text_keeps_a_value_or_a_digit(text: str) -> None:
    kept = redacted(text)
    assert kept == WITHHELD or not any(letter.isascii() and letter.isdigit() for letter in kept)
    plain = kept.replace("[", " ").replace("]", " ")
    assert not NEVER.intersection(values_in(plain))


def test_arguments_are_redacted_with_all_that_is_in_them() -> None:
    given = {"to": ["a@b.de"], "amount": 12, "urgent": True, "note": None, "body": {"text": "see you", "of": "$out_1"}}
    kept = {"to": ["[email]"], "amount": "[number]", "urgent": True, "note": None}
    kept["body"] = given["body"]
    assert redact_value(given, redacted) == kept
