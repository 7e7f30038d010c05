"""The forms in which programs send texts, reports and signatures: every word is read, and no code of a form is."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

import pytest

from indexers.formats.limits import ParseLimits
from indexers.formats.mail.mend import signed_content
from indexers.formats.mail.message import eml_members
from tests.indexers.formats.packages import read, text_of

HEAD = "From: ann@example.org\nSubject: Port\nMIME-Version: 1.0\n"


def mail(folder: Path, body: str | bytes, head: str = HEAD) -> Path:
    path = folder / "a.eml"
    path.write_bytes(head.encode() + (body if isinstance(body, bytes) else body.encode()))
    return path


def words(path: Path) -> str:
    return " ".join(text_of(path).split())


def parts(kind: str, *texts: str) -> str:
    """Return a multipart body; each text begins with its own fields."""
    return f"Content-Type: multipart/{kind}; boundary=B\n\n" + "".join(f"--B\n{text}\n" for text in texts) + "--B--\n"


_FEE = "The fee is 450 euros for each of the four quarters of this year, paid in advance to the office."
PLAIN, HTML = "Content-Type: text/plain\n\n", "Content-Type: text/html\n\n"


@pytest.mark.parametrize(
    ("body", "present", "absent"),
    [
        (parts("alternative", PLAIN + "Open this in a browser.", HTML + "<p>The fee is 450 euros, due in May</p>"),
         ["The fee is 450 euros, due in May"], ["browser"]),
        (parts("alternative", PLAIN + "The fee is 450 euros", HTML + "<p>The <b>fee</b> is 450 euros</p>"),
         ["The fee is 450 euros"], ["euros The"]),
        (parts("mixed", PLAIN + "Intro of Ann", HTML + "<p>The table of fares</p>", PLAIN + "Sent by the list"),
         ["Intro of Ann The table of fares Sent by the list"], []),
        (parts("mixed", HTML + "<p>First page</p>", HTML + "<p>Second page</p>"), ["First page Second page"], []),
        (parts("alternative", "Content-Type: text/x-amp-html\n\n<style amp-custom>h1{}</style>", PLAIN + "Plain words"),
         ["Plain words"], ["amp-custom"]),
        (parts("alternative", PLAIN + _FEE, HTML + f"<p>{_FEE}</p><p>Quay, berth 12, with crane hire and pilots</p>"),
         ["crane hire", "paid in advance"], ["office. The fee"]),
        (parts("alternative", PLAIN + f"{_FEE} See https://example.org/a/b/c/d?e=f",
               HTML + f"<p>{_FEE} <a href='https://example.org'>See</a> also: by cheque, by card, or in cash.</p>"),
         ["or in cash"], ["example.org/a"]),
        (parts("alternative", PLAIN + f"{_FEE} The board meets in room 5 upstairs.",
               HTML + "<p>Board: <b>moved</b></p>"),
         ["room 5 upstairs", "Board: moved"], []),
        (parts("related", HTML + "<p>Saved page</p>", "Content-Type: text/css\n\np{color:red}"),
         ["Saved page"], ["color"]),
    ],
)  # fmt: skip
def test_each_text_is_read_once(tmp_path: Path, body: str, present: list[str], absent: list[str]) -> None:
    text = words(mail(tmp_path, body))
    assert all(part in text for part in present) and not any(part in text for part in absent)


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain; format=flowed", "The price is \ntwelve euros.\nPaid.", "The price is twelve euros.\nPaid."),
        ("text/plain; format=flowed; delsp=yes", "东京 \n都的价格", "东京都的价格"),
        ("text/plain; format=flowed", "> She said \n> yes.\n From Ann", "> She said yes.\nFrom Ann"),
        ("text/enriched", "<bold>Bold</bold> <color><param>red</param>words</color> << 5", "Bold words < 5"),
        ("text/rtf", "{\\rtf1\\ansi Hello \\b bold\\b0  words}", "Hello bold words"),
        ("text/plain", "Gr=C3=B6=C3=9Fe der K=C3=BCche", "Größe der Küche"),
        ("text/plain", "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n- -- It is agreed.\n"
                       "-----BEGIN PGP SIGNATURE-----\n\niQEzBA\n-----END PGP SIGNATURE-----\n", "-- It is agreed."),
        ("text/calendar", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20240510T100000\nSUMMARY:Budget\\, spri\n ng\n"
                          "ORGANIZER;CN=Ada:mailto:ada@x.org\nEND:VEVENT\nEND:VCALENDAR",
         "Start: 2024-05-10 10:00\nSummary: Budget, spring\nOrganizer: Ada <ada@x.org>"),
        ("text/vcard", "BEGIN:VCARD\nFN:Ada Byron\nORG:Engines;Sales\nEND:VCARD", "Fn: Ada Byron\nOrg: Engines;Sales"),
    ],
)  # fmt: skip
def test_the_code_of_a_form_is_no_text(tmp_path: Path, kind: str, body: str, text: str) -> None:
    _, (page,) = read(mail(tmp_path, f"Content-Type: {kind}; charset=utf-8\n\n{body}"))
    assert page.text.endswith(f"From: ann@example.org\n\n{text}")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (parts("report", PLAIN + "It failed.", "Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\n"
               "Final-Recipient: rfc822; bob@x.org\nDiagnostic-Code: smtp; No such user"), "smtp; No such user"),
        (parts("report", PLAIN + "Read.", "Content-Type: message/disposition-notification\n\n"
               "Reporting-UA: mua\nDisposition: manual-action; displayed"), "manual-action; displayed"),
        (parts("mixed", PLAIN + "See", "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"
               + base64.encodebytes(b"From: z@z.org\nSubject: Inner\n\nInner words").decode()), "Inner words"),
        ("Content-Type: multipart/mixed; boundary=XYZ\n\n--ABC\nContent-Type: text/plain\n\nWords inside\n--ABC--\n",
         "Words inside"),
        ("Content-Type: multipart/mixed; boundary=XYZ\n\nOnly words, no part\n", "Only words, no part"),
        (parts("mixed", PLAIN + "One", PLAIN + "Two").removesuffix("--B--\n"), "Two"),
    ],
)  # fmt: skip
def test_reports_and_damaged_parts_are_read(tmp_path: Path, body: str, text: str) -> None:
    pages = read(mail(tmp_path, body))[1]
    assert text in "\n".join(page.text for page in pages)


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("Subject: Größe\n".encode("latin-1") + b"Content-Type: text/plain; charset=iso-8859-1\n", "Größe"),
        ("Subject: Цена поставки двести рублей\n".encode("cp1251"), "Цена поставки двести рублей"),
        ("Subject: Größe 中文\n".encode(), "Größe 中文"),
        (b"Subject: =?gb2312?B?" + base64.b64encode("朱镕基".encode("gbk")) + b"?=\n", "朱镕基"),
        (b"Subject: =?windows-874?Q?" + b"".join(b"=%02X" % c for c in "ราคา".encode("cp874")) + b"?= x\n", "ราคา x"),
        (b"Subject: =?iso-2022-jp?B?" + base64.b64encode(b"\x1b$B-!$N7o\x1b(B") + b"?=\n", "①の件"),
        (b"Subject: =?shift_jis?B?" + base64.b64encode("会議".encode("cp932")) + b"?=\n =?shift_jis?B?"
         + base64.b64encode("①".encode("cp932")) + b"?=\n", "会議①"),
    ],
)  # fmt: skip
def test_heads_in_any_encoding(tmp_path: Path, head: bytes, title: str) -> None:
    info, _ = read(mail(tmp_path, b"From: a@x.org\n" + head + b"\nBody", ""))
    assert info.metadata["title"] == title


def _file(data: bytes) -> str:
    lines = [binascii.b2a_uu(data[at : at + 45]).decode() for at in range(0, len(data), 45)]
    return f"begin 644 a.txt\n{''.join(lines)}`\nend\n"


@pytest.mark.parametrize("data", [b"Cat", b"The whole contract.\n" * 9, bytes(range(256))])
def test_files_inside_a_text_are_members(tmp_path: Path, data: bytes) -> None:
    path = mail(tmp_path, f"{PLAIN}Before\n{_file(data)}After begin 644 of it\n")
    assert [(member.name, b"".join(member.read())) for member in eml_members(path, ParseLimits())] == [("a.txt", data)]
    assert "Before After begin 644 of it - Attached: a.txt" in words(path)


@pytest.mark.parametrize("tail", ["-- \nA mailing list", "____\nhttps://example.org/list", "Virus-free."])
def test_words_below_base64_are_kept(tmp_path: Path, tail: str) -> None:
    packed = base64.encodebytes("Grüße aus Köln. ".encode() * 9).decode()
    kind = "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
    text = words(mail(tmp_path, f"{kind}{packed}\n{tail}\n"))
    assert text.count("Grüße aus Köln.") == 9 and text.endswith(" ".join(tail.split()))


def _ber(tag: int, *contents: bytes, endless: bool = False) -> bytes:
    data = b"".join(contents)
    if endless:
        return bytes([tag, 0x80]) + data + b"\0\0"
    length = bytes([len(data)]) if len(data) < 128 else bytes([0x82]) + len(data).to_bytes(2, "big")
    return bytes([tag]) + length + data


def signed(message: bytes, endless: bool = False, pieces: int = 1) -> bytes:
    """Return a package of S/MIME without certificates and signatures, which readers do not check."""
    oid = bytes.fromhex("2a864886f70d0107")
    size = -(-len(message) // pieces)
    octets = [_ber(4, message[at : at + size]) for at in range(0, len(message), size)]
    content = octets[0] if pieces == 1 else _ber(0x24, *octets, endless=endless)
    inner = _ber(0x30, _ber(6, oid + b"\1"), _ber(0xA0, content, endless=endless), endless=endless)
    data = _ber(0x30, _ber(2, b"\1"), _ber(0x31), inner, _ber(0x31), endless=endless)
    return _ber(0x30, _ber(6, oid + b"\2"), _ber(0xA0, data, endless=endless), endless=endless)


@pytest.mark.parametrize(("endless", "pieces"), [(False, 1), (True, 1), (True, 3)])
def test_a_signature_around_a_mail_is_taken_off(tmp_path: Path, endless: bool, pieces: int) -> None:
    inner = parts(
        "mixed", PLAIN + "The signed contract " * 20, "Content-Disposition: attachment; filename=a.csv\n\n1,2"
    )
    package = base64.encodebytes(signed(inner.encode(), endless, pieces)).decode()
    kind = "Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\n"
    path = mail(tmp_path, f"{kind}Content-Transfer-Encoding: base64\n\n{package}")
    assert words(path).count("The signed contract") == 20 and "smime" not in words(path)
    assert [member.name for member in eml_members(path, ParseLimits())] == ["a.csv"]


@pytest.mark.parametrize("data", [b"", b"\x30", b"\x30\x80" * 90, b"\x30\x84\xff\xff\xff\xff", signed(b"x" * 300)[:99]])
def test_a_damaged_signature_is_none(data: bytes) -> None:
    assert signed_content(data) == b""


@pytest.mark.parametrize(
    "body",
    [
        "Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\n\nxx",
        parts("encrypted", "Content-Type: application/pgp-encrypted\n\nVersion: 1"),
        PLAIN + "-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----",
    ],
)
def test_encrypted_mails_say_so(tmp_path: Path, body: str) -> None:
    info, pages = read(mail(tmp_path, body))
    assert "encrypted with" in info.warnings[-1] and "hQEMA" not in pages[0].text


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("Content-Disposition: attachment; filename==?iso-8859-1?Q?M=FCll=2Etxt?=", "Müll.txt"),
        ("Content-Disposition: attachment; filename= =?utf-8?B?5ZCI5ZCMLnR4dA==?=", "合同.txt"),
        ("Content-Disposition: attachment\nContent-Type: image/x; name==?utf-8?Q?a?= =?utf-8?Q?b=2Etxt?=", "ab.txt"),
        ('Content-Disposition: attachment; filename="plain.txt"', "plain.txt"),
    ],
)  # fmt: skip
def test_file_names_that_are_encoded_words_without_quotes(tmp_path: Path, field: str, name: str) -> None:
    path = mail(tmp_path, parts("mixed", PLAIN + "Hello", f"{field}\n\nattached"))
    assert [member.name for member in eml_members(path, ParseLimits())] == [name]
    assert f"Attached: {name}" in text_of(path)


@pytest.mark.parametrize(
    ("sender", "shown"),
    [
        ("=?utf-8?B?w4TDlg==?=\n =?utf-8?B?w5w=?= <a@example.org>", "ÄÖÜ <a@example.org>"),
        ("=?utf-8?B?w4TD?= =?utf-8?B?lsOc?= <a@example.org>", "ÄÖÜ <a@example.org>"),
        ("=?utf-8?Q?K=F6ln?= <a@example.org>", "Köln <a@example.org>"),  # its label lies
        ("=?utf-8?Q?K=C3=B6ln?= <a@example.org>", "Köln <a@example.org>"),
    ],
)
def test_encoded_words_side_by_side_are_one(tmp_path: Path, sender: str, shown: str) -> None:
    assert f"From: {shown}" in words(mail(tmp_path, "Content-Type: text/plain\n\nx", f"From: {sender}\nSubject: s\n"))


@pytest.mark.parametrize(
    "head",
    [
        "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: Quoted-Printable \n",
        'Content-Type: text/plain; charset="utf-8\nContent-Transfer-Encoding: quoted-printable; x\n',
        "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 7bit\n",
    ],
)
def test_quoted_printable_is_decoded_whatever_its_header_says(tmp_path: Path, head: str) -> None:
    assert words(mail(tmp_path, f"{head}\nGr=C3=B6=C3=9Fe und Ma=C3=9F\n")).endswith("Größe und Maß")


@pytest.mark.parametrize("packing", ["quoted-printable", "quoted-printable; x"])
def test_bare_letters_in_quoted_printable_are_in_the_declared_character_set(tmp_path: Path, packing: str) -> None:
    head = f"Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: {packing}\n\n"
    path = mail(tmp_path, head + "caf@ =E9t=E9\n")
    path.write_bytes(path.read_bytes().replace(b"@ =", b"\xe9 ="))
    assert words(path).endswith("café été")


@pytest.mark.parametrize("noise", ["!!\n", "\n--\n", "*** ***\n"])
def test_noise_between_lines_of_base64_is_skipped(tmp_path: Path, noise: str) -> None:
    packed = base64.encodebytes("Grüße aus Köln. ".encode() * 9).decode().splitlines(keepends=True)
    kind = "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
    assert words(mail(tmp_path, kind + noise.join(packed))).count("Grüße aus Köln.") == 9
