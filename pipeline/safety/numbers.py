"""Payment cards, by issuer, length and check digit; what documentation prints as one is left."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.safety.rule import Span

_CARD = re.compile(r"(?a:(?<![\w.,/+-])[2-6]\d{3}(?:[ -]?\d{2,6}){2,4}(?![\w/]|[.,-]\d))")
_CODE = re.compile(
    r"(?i)\b(?:cvv2?|cvc2?|csc|cvn|(?:karten)?prüfnummer|security code|prüfziffer|cryptogramme|"
    r"código de seguridad|codice di sicurezza|kod cvv|セキュリティコード)(?![a-z])"
    r"[\s:=(\"']*(?:is |ist |est )?(?P<value>\d{3,4})(?!\d)"
)
_ISSUERS = (
    (re.compile(r"4"), (13, 16, 19)),
    (re.compile(r"5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)"), (16,)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"3(?:0[0-5]|[689])"), (14,)),
    (re.compile(r"35(?:2[89]|[3-8])"), (16,)),
    (re.compile(r"6(?:011|5|4[4-9]|2|0)"), (16, 17, 18, 19)),
    (re.compile(r"5[06-9]|6"), (16, 17, 18, 19)),
)
_PRINTED = frozenset({
    "4242424242424242", "4111111111111111", "4012888888881881", "4000056655665556", "5555555555554444",
    "5105105105105100", "378282246310005", "371449635398431", "6011111111111117", "6011000990139424",
    "30569309025904", "38520000023237", "3530111333300000", "2223003122003222", "4000000000000002",
    "5200828282828210",
})  # fmt: skip
"""Numbers that the documentation of payment services prints."""
_OTHER_NUMBER = re.compile(
    r"(?i)(?:invoice|order|請求書|注文|発票|发票|订单|송장|주문|счёт|счет|заказ|zamówieni\w|faktur\w*|sipariş|case|ticket|tracking|reference|ref|row|id|serial|rechnung\w*|bestell\w*|vorgang\w*|kunden\w*|factura|facture|"
    r"fattura|fatura|nummer|número|numéro|meter|zähler\w*|seq|ts|timestamp|channel|guild|imei|isbn|iban|phone|tel)\W{0,4}(?:no|nr|number|num|id|n[ºo]?|番号|号|번호|номер)?\W{0,3}(?:(?:is|ist|es|est|é|è|de|factura|facture|fattura|fatura|n|nº|№)\W{1,2}){0,3}\Z"
)


def cards(text: str) -> Iterator[Span]:
    """Yield start, end and kind of each card number in `text`, and of the codes that belong to them."""
    found_any = False
    for found in _CARD.finditer(text):
        digits = re.sub(r"[ -]", "", found[0])
        if digits in _PRINTED or not _issued(digits) or not _checks(digits):
            continue
        if len(set(digits)) > 3 and not _OTHER_NUMBER.search(text, max(0, found.start() - 40), found.start()):
            found_any = True
            yield (*found.span(), "card")
    if found_any or ("card" in text.lower() and _CODE.search(text)):
        for code in _CODE.finditer(text):
            yield (*code.span("value"), "card")


def _issued(digits: str) -> bool:
    return any(begin.match(digits) and len(digits) in lengths for begin, lengths in _ISSUERS)


def _checks(digits: str) -> bool:
    """Say whether the last of `digits` is the check digit that Luhn's rule gives the others."""
    total = sum(map(int, digits[-1::-2]))
    return (total + sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])) % 10 == 0
