"""Payment cards, by issuer, length and check digit; what documentation prints as one is left."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.safety.late import late
from pipeline.safety.rule import Span

_CARD = late(r"(?a:(?<![\w.,/+-])[2-6]\d{3}(?:[ \u00a0-]?\d{2,6}){2,4}(?![\w/]|[.,-]\d))")
_CODE = late(
    r"(?i)(?<![a-z])(?:cvv2?|cvc2?|cvn2?|csc|cryptogramme(?: visuel)?|(?:karten)?prüf(?:nummer|ziffer)|sicherheits(?:code|nummer)|(?:card )?security[ _-]?code|"
    r"c(?:ode|ód\.?|ódigo|odice) (?:de |di |d[ea] )?(?:sécurité|seguridad|segurança|sicurezza|verificación)|beveiligingscode|säkerhetskod|sikkerhedskode|"
    r"kod (?:cvv|cvc|zabezpieczający)|güvenlik kodu|код (?:безопасности|cvc|cvv)|セキュリティ ?コード|安全码|安全碼|校验码|보안 ?코드)(?![a-z])"
    r"[\s:=(\"'>：]{0,5}(?:\b(?:is|ist|est|es|è|é|jest)\b |は|是|는 )?[\"']?(?P<value>\d{3,4})(?!\d)"
)
_ABOUT_CARDS = ("card", "cvv", "cvc", "karte", "tarjeta", "carte", "カード", "카드", "卡")
_ISSUERS = (
    (late(r"4"), (13, 16, 19)),
    (late(r"5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)"), (16,)),
    (late(r"3[47]"), (15,)),
    (late(r"3(?:0[0-5]|[689])"), (14,)),
    (late(r"35(?:2[89]|[3-8])"), (16,)),
    (late(r"6(?:011|5|4[4-9]|2|0)"), (16, 17, 18, 19)),
    (late(r"5[06-9]|6"), (16, 17, 18, 19)),
)
_PRINTED = frozenset({
    "4242424242424242", "4111111111111111", "4012888888881881", "4000056655665556", "5555555555554444",
    "5105105105105100", "378282246310005", "371449635398431", "6011111111111117", "6011000990139424",
    "30569309025904", "38520000023237", "3530111333300000", "2223003122003222", "4000000000000002",
    "5200828282828210",
})  # fmt: skip
"""Numbers that the documentation of payment services prints."""
_OTHER_NUMBER = late(
    r"(?i)(?:\b(?:invoice|order|case|ticket|tracking|reference|ref|row|id|serial|rechnung\w*|bestell\w*|auftrag\w*|sendung\w*|paket\w*|vorgang\w*|kunden\w*|"
    r"pedido|encomenda|factura|facture|commande|colis|ordine|fattura|fatura|nota fiscal|nummer|número|numéro|numero|numer\w*|zamówieni\w*|zleceni\w*|faktur\w*|"
    r"factuur\w*|bestelling|sipariş\w*|takip|заказ\w*|сч[её]т\w*|накладн\w*|meter|zähler\w*|seq|ts|timestamp|channel|guild|imei|isbn|iban|phone|tel)"
    r"|注文(?:番号)?|伝票番号|追跡番号|請求書(?:番号)?|订单号?|訂單編?號?|运单号|[发發]票号?|주문(?: ?번호)?|송장(?: ?번호)?)"
    r"\W{0,4}(?:no|nr|number|num|id|n[ºo]?|番号|号|번호|номер)?\W{0,4}(?:(?:is|ist|es|est|é|è|de|factura|facture|fattura|fatura|n|nº|№)\W{1,2}){0,3}\Z"
)


def cards(text: str) -> Iterator[Span]:
    """Yield start, end and kind of each card number in `text`, and of the codes that belong to them."""
    found_any = False
    for found in _CARD.finditer(text):
        digits = re.sub(r"\D", "", found[0])
        if digits in _PRINTED or not _issued(digits) or not _checks(digits):
            continue
        if len(set(digits)) > 3 and not _OTHER_NUMBER.search(text, max(0, found.start() - 40), found.start()):
            found_any = True
            yield (*found.span(), "card")
    if found_any or (any(about in text.lower() for about in _ABOUT_CARDS) and _CODE.search(text)):
        for code in _CODE.finditer(text):
            yield (*code.span("value"), "card")


def _issued(digits: str) -> bool:
    return any(begin.match(digits) and len(digits) in lengths for begin, lengths in _ISSUERS)


def _checks(digits: str) -> bool:
    """Say whether the last of `digits` is the check digit that Luhn's rule gives the others."""
    total = sum(map(int, digits[-1::-2]))
    return (total + sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])) % 10 == 0
