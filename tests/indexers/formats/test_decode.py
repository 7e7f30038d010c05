"""Encodings of text files: labels, guesses, and labels that the bytes contradict."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hybrid_core.errors import DocumentError
from indexers.formats.decode import codec_of, decode, guess_encoding
from tests.indexers.formats.packages import text_of

HERE = Path("a.txt")
UNLABELLED = [
    ("cp1251", "Поставка оборудования задерживается на две недели; счёт № 47 оплачен."),
    ("koi8-r", "Глава первая. О порядке приёма граждан на работу."),
    ("cp866", "Уважаемые коллеги, направляем вам отчёт о продажах."),
    ("mac_cyrillic", "Уважаемые коллеги, направляем вам отчёт о продажах за третий квартал."),
    ("cp1253", "Η πληρωμή γίνεται εντός τριάντα ημερών από την παραλαβή του τιμολογίου."),
    ("cp1254", "Şirketimizin yıllık toplantısı İstanbul'da ağustos ayında yapılacaktır; lütfen geliniz."),
    ("cp1255", "התשלום יבוצע תוך שלושים יום מקבלת החשבונית."),
    ("cp1256", "يتم الدفع خلال ثلاثين يوما من تاريخ استلام الفاتورة."),
    ("cp1250", "Płatność nastąpi w ciągu trzydziestu dni od otrzymania faktury; żądamy potwierdzenia."),
    ("iso8859-2", "Smlouva nabývá účinnosti dnem podpisu a řídí se českým právem."),
    ("cp1252", "The fee is due within 30 days — it’s not refundable, and “net” means net."),
    ("cp1252", "5° to 10°; ±2 µm"),
    ("cp1252", "It’s “fine” — 250 €"),
    ("cp1252", "“Yes,” she said—“we’re done…” 3–4 © 2020"),
    ("cp1252", "§ 1 Absatz 2 – „Gesetz“ – gilt… § 3 • Punkt"),
    ("mac_roman", "Así aquí allí país, sí"),
    ("mac_roman", "¿Qué pasó en España? El niño comió… “así”"),
    ("iso8859-2", "Příliš žluťoučký kůň úpěl ďábelské ódy, smlouva je platná."),
    ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy, smlouva je platná."),
    ("iso8859-2", "Płatność nastąpi w ciągu trzydziestu dni; są to środki własne Spółki."),
    ("cp1250", "Płatność nastąpi w ciągu trzydziestu dni; są to środki własne Spółki."),
    ("iso8859-15", "Für Übernachtungen gewähren wir Ermäßigungen; die Gebühr beträgt 250 €."),
    ("mac_roman", "Chers collègues, le rapport d’activité a été présenté à l’assemblée générale."),
    ("cp874", "ชำระเงินภายในสามสิบวันหลังจากได้รับใบแจ้งหนี้"),
    ("cp932", "第一条 本契約は平成三十年四月一日から効力を生じる。"),
    ("euc_jp", "お客様各位、来週より営業時間を変更いたしますのでお知らせします。"),
    ("iso2022_jp", "売上高は前年比で増加した。"),
    ("gb18030", "本合同自二〇二四年一月一日起生效，租金每月三千元。㐀"),
    ("big5", "第一條 為保護當事人之權益，特制定本法。"),
    ("cp949", "제1조 이 법은 근로자의 권리를 보호함을 목적으로 한다."),
    ("utf-16-be", "日本語のテキスト"),
    ("utf-16-le", "Привет всем, кто читает"),
    ("utf-32-be", "Счёт оплачен"),
]


@pytest.mark.parametrize(("encoding", "text"), UNLABELLED)
def test_unlabelled_text_is_read_by_its_bytes_with_a_note(encoding: str, text: str) -> None:
    decoded, warnings = decode(text.encode(encoding), HERE)
    assert decoded == text
    assert encoding == "iso2022_jp" or "read as" in warnings[0]


@pytest.mark.parametrize(
    ("label", "encoding", "text"),
    [
        ("windows-31j", "cp932", "価格は千二百円"), ("x-sjis", "cp932", "髙橋①"), ("x-gbk", "gbk", "价格为一百元整"),
        ("GB_2312-80", "gb2312", "价格为一百元整"), ("iso-8859-8-i", "iso8859-8", "שלום עולם"),
        ("windows-949", "cp949", "가격은 백 원"), ("dos-866", "cp866", "Цена двести"), ("x-cp1251", "cp1251", "Цена"),
        ("windows-874", "cp874", "ราคาหนึ่งร้อยบาท"), ("x-mac-cyrillic", "mac_cyrillic", "Цена двести"),
        ("big5", "big5hkscs", "香港嘅"), ("iso-8859-1", "cp1252", "12 € – “net”"), ("ibm850", "cp850", "Größe"),
        ("iso-2022-kr", "iso2022_kr", "가격은"), ("hz-gb-2312", "hz", "价格"), ("utf-7", "utf-7", "Köln"),
    ],
)  # fmt: skip
def test_labels_are_those_that_browsers_know(label: str, encoding: str, text: str) -> None:
    assert decode(text.encode(encoding), HERE, label) == (text, [])


@pytest.mark.parametrize(
    ("label", "encoding", "text"),
    [
        ("us-ascii", "koi8-r", "Цена двести рублей"), ("us-ascii", "cp1252", "Die Größe der Fläche für Bürger"),
        ("gb2312", "cp1252", "Die Größe der Fläche für Bürger"), ("iso-8859-1", "utf-8", "Grüße aus Köln"),
        ("iso-8859-1", "cp1251", "Цена двести рублей за штуку"), ("shift_jis", "euc_jp", "価格は千二百円"),
        ("utf-8", "cp1252", "Die Größe der Fläche"), ("x-nothing", "cp1251", "Цена двести рублей"),
    ],
)  # fmt: skip
def test_a_label_that_lies_is_overruled_with_a_note(label: str, encoding: str, text: str) -> None:
    decoded, warnings = decode(text.encode(encoding), HERE, label)
    assert decoded == text and "read as" in warnings[0] and label in warnings[0]


def test_labels_that_fit_more_than_one_reading_are_believed() -> None:
    assert decode("联通".encode("gbk"), HERE, "gb2312") == ("联通", [])
    assert decode("朱镕基".encode("gb18030"), HERE, "gb2312") == ("朱镕基", [])
    assert decode("plain ä".encode(), HERE, "utf-16") == ("plain ä", [])


def test_what_is_replaced_is_counted() -> None:
    for data, label in (
        (b"a\x81b", "windows-1252"),
        ("Größe".encode() * 9 + b"\xff", ""),
        (b"\xff\xfea\x00\x00\xd8", ""),
    ):
        text, warnings = decode(data, HERE, label)
        assert "\ufffd" in text and "replaced" in warnings[0]


def test_zero_bytes_and_marks_of_a_terminal_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\x1b[31mERROR\x1b[0m disk\x00full\nN\x08NA\x08AME\n" + b"\x00" * 20)
    assert text_of(tmp_path / "a.txt") == "ERROR diskfull\nNAME"
    for data in (os.urandom(4000), b"\x00\x01", b"\x00" * 90 + b"ab", bytes(range(32)) * 9):
        with pytest.raises(DocumentError, match="binary data"):
            decode(data, HERE)


def test_no_label_names_what_is_no_encoding() -> None:
    assert {codec_of(label) for label in ("base64", "rot13", "idna", "unicode_escape", "us-ascii", "x" * 999, "")} == {
        ""
    }
    assert guess_encoding("Привет, мир".encode("cp1251"), frozenset({"cp866", "cp1251"})) is not None


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", ["plain letters only", "Grüße, 中文 and more", "a;b\r\n1;2 € – “net”\r\n"])
def test_wide_encodings_are_known_by_their_zeros(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding), HERE)[0] == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("mac_roman", "“Quoted” – it’s 5 € …"), ("mac_roman", "café"), ("mac_roman", "Größe"), ("cp850", "Größe"),
     ("cp1252", "5 €/m² – ½ “net”…"), ("cp1252", "São Paulo · coração"), ("cp1250", "Łódź"), ("cp1250", "świąteczny"),
     ("cp932", "テスト"), ("cp932", "ありがとう"), ("cp932", "会議の記録です")],
)  # fmt: skip
def test_short_texts_hold_no_signs_within_words(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding), HERE)[0] == text


@pytest.mark.parametrize("text", ["one\n", "Größe\n", "a\tb\n" * 9])
def test_the_mark_of_dos_at_the_end_is_no_text(text: str) -> None:
    assert decode(text.encode() + b"\x1a", HERE)[0] == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("价格为一百元".encode("hz"), "价格为一百元"),
        (b"Price: " + "价格".encode("hz") + b" (draft)\n", "Price: 价格 (draft)\n"),
        (b"x~{a}~ and y~{b}~", "x~{a}~ and y~{b}~"),
        (b"see ~{0}~} here", "see ~{0}~} here"),
    ],
)
def test_chinese_in_seven_bits_needs_no_label(data: bytes, text: str) -> None:
    assert decode(data, Path("a.txt"))[0] == text
