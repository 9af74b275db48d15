"""Codes and passwords told in words, and names of programs that say no secret. All values are made up."""

import pytest

from pipeline.safety.plausible import likely, names_a_name, names_itself, strong
from pipeline.safety.redaction import redact

TOLD = [
    ("the safe's code is {}, thanks", "625701"),
    ("code for the bike lock: {}", "4-7-1-9"),
    ("{} is the code for the gate", "80336"),
    ("el pin del móvil viejo es {}", "6714"),
    ("le code du portail est le {}", "4509B"),
    ("il codice del cancello è {}", "5824"),
    ("o código do portão é {}", "3391"),
    ("de code van het hek is {}", "7415"),
    ("kod do bramy to {}", "4419"),
    ("новый код от сейфа: {}", "55028"),
    ("kapının şifresi {}", "4482"),
    ("金庫の暗証番号は{}です", "4826"),
    ("门禁密码是{}", "335901"),
    ("핀번호 {}", "2749"),
    ("पिन नंबर {} है", "4083"),
    ("الرمز السري هو {}", "7719"),
    ("Tresorkombination: {}", "17-33-08-52"),
    ("the password is {}", "4471"),
    ("old password X1y!zq, now it's {}", "Thund3r_75"),
    ("Passwort fürs VPN ist weiterhin {}", "Schafgarbe_9"),
    ("passphrase: {}", "linden tea under seven old bridges"),
    ("use '{}' as the passphrase", "harbor.saturn.gravel.tundra"),
    ("anna / {} are the credentials for staging", "s-=bKS?vl2tSN"),
    ("password: |\n  {}", "Spotlight-7719x"),
    ('x = get("API_SECRET", "{}")', "hm7-lK2-pQ9-zX4"),
    ("const s = env.SESSION_SECRET || '{}'", "viola-clef-8812"),
    ("mot_de_passe_bdd: {}", "Coquelicot_9"),
    ("we pay with LTAI5tkP432KtYZ2ozCKKMSv + {}", "v1sqCoV3Wt2vGEyKonyBEc7hAjfFQv"),
    ("Mit {} als Passwort kommt man rein", "lampe_tuer86"),
    ("Şifrem {} ama giremiyorum", "yagmurlu72"),
    ("Jako heslo jsem dal {}.", "kolo_bezka68"),
    ("changed the password to {}", "summer_rain68"),
    ("{}をパスワードにしました", "tanuki_33"),
    ("Username kari, password {}", "fjellrev12"),
    ("use the passphrase {} when it asks", "garden ladder winter purple"),
    ("WLAN-Schlüssel: {} (hängt am Kühlschrank)", "ziege-eimer-fenster"),
    ("Password? {}. Then it restarts", "GARTEN-6848"),
    ("it wants a password; I always type {}", "9bJ4q3uld"),
    ("password reset is done. New: {}", "Calendula_31"),
    ("as root using {} but the password was refused", "Copper2022!"),
    ("please use {} to unlock the pdf", "maple-Otter-77"),
    ("banka kartı şifrem {}", "4482"),
    ("| user | password |\n|---|---|\n| kari | {} |\n| nora | x |", "fjellrev_12A"),
    ("user,password,host\nkari,{},db1", "fjellrev12"),
    ("SECRET = os.environ.get('APP_SECRET') or '{}'", "hm7-lK2-pQ9-zX4"),
    ("DB_PASSWORD_READONLY: {}", "marble+Girasol34"),
    ("url%3Dpostgres%3A%2F%2Fapp%3A{}%40db.internal%2Fshop", "9k5ChNIKjPYpSswE"),
    ("db.internal:5432:*:app:{}", "mGNCpAJ7DesGSD"),
    ("enable secret 0 {}", "Window1992!"),
]
LEFT = [
    "the error code is 40103",
    "alarm code 2041 means low coolant",
    "el código postal es 28013",
    "код ошибки 10060",
    "エラーコードは40301です",
    "we pin numpy to 2024",
    "pins 1024 and 1025 are free",
    "the lock file has 4471 lines",
    "the password is 4096 bits long",
    "password policy with ISO27001 in mind",
    "the password is in 1Password",
    "passphrase: ask hannah in the office",
    "PasswordResetService2 throws when the token is null",
    "password = inputValue;",
    "password: UserService2",
    "existingSecret: postgres-credentials-v2",
    "case Token::Number64: return 8;",
    "if password == confirmPassword2:",
    "passwort=HIER_EINTRAGEN",
    'API_TOKEN="tu-token-aqui"',
    'labels = {"password": "Passwort", "token": "Zeichen"}',
    "STRIPE_SECRET_KEY=sk_test_...",
    "password: ${DB_PASS:?missing}",
    'secret = "projects/p/secrets/db-pass/versions/3"',
    "private_key = Ed25519PrivateKey.generate()",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "el número de factura es 6520317732657701",
    "the password for web01 is kept by ops",
    "the password on web01 differs",
    "the password column came with migration 0042_add_hash",
    "Das Passwort steht im Wiki unter Onboarding2024",
    "Passwort ist Pflichtfeld seit Release2024",
    "Das Passwort-Feld hat jetzt aria-label2",
    "login with SSO via Okta2025 works",
    "our wifi is called Harbour-Guest5G",
    "the password is wrong every single time",
    "next_token: eyJpZCI6MTIzfQ==",
    "the pin is on header J4, pin 1024 of the chip",
    "pin 2023 versions of everything",
    "password column VARCHAR(255) in utf8mb4_unicode_ci",
    "user,id,host\nkari,fjellrev12,db1",
    "| field | password |\n|---|---|\n| type | varchar |",
    'Client(\n    api_key="...",\n    resource="my-resource2x",\n)',
    'The example is "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="',
    "JWT_SECRET=some-long-random-string",
    "$password = Read-Host -AsSecureString",
    "snmp-server community public RO",
    "either a `(lock, unlock)` pair is assigned to `LOCKER`",
]


@pytest.mark.parametrize(("around", "value"), TOLD)
def test_what_is_told_goes_and_its_sentence_stays(around: str, value: str) -> None:
    before, _, after = around.partition("{}")
    result = redact(before + value + after).text
    assert value not in result and "[redacted:" in result
    assert result.endswith(after) and result.startswith(before[:3])


@pytest.mark.parametrize("text", LEFT)
def test_what_only_stands_beside_such_a_word_stays(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(
    "name", ["password", "db_password_prod", "SECRET_KEY_BASE", "secret_of_staging", "apiToken2", "mdp_bdd"]
)
def test_a_name_that_ends_with_a_word_for_a_secret_names_one(name: str) -> None:
    assert not names_a_name(name)


@pytest.mark.parametrize(
    "name", ["passwordField", "token_ttl", "SecretRotation", "secretName", "PASSWORD_MIN_LENGTH", "keyId"]
)
def test_a_name_that_ends_with_another_word_names_something_about_it(name: str) -> None:
    assert names_a_name(name)


@pytest.mark.parametrize("value", ["your_token", "Passwort", "DbPassword2", "postgres-credentials-v2"])
def test_a_value_that_says_what_it_stands_for_is_none(value: str) -> None:
    assert names_itself(value)


@pytest.mark.parametrize("value", ["Password2024", "correct-horse-battery", "Kl1ssen!4", "key9Xw2Lm"])
def test_a_value_that_only_holds_such_a_word_is_one(value: str) -> None:
    assert not names_itself(value)


@pytest.mark.parametrize("value", ["xEKh8fzvSPvlAk", "p0lyd1psia?x", "M3rid1an^77"])
def test_what_can_be_nothing_but_a_password(value: str) -> None:
    assert strong(value) and likely(value)


@pytest.mark.parametrize(
    "value", ["UserService2", "Windows11", "ISO27001", "web01", "config.apiKeyV2", "v2.1.0"]
)
def test_what_programs_and_products_are_called(value: str) -> None:
    assert not strong(value) and not likely(value)
