"""Decoding of text files: by byte order mark, as UTF-8, by declared label, or by a detector. Every guess adds a
warning.

Labels are those of the WHATWG Encoding Standard (https://encoding.spec.whatwg.org), as in browsers. Guesses come from
``chardet`` 7: of 145 unlabelled texts in 29 languages it reads 139 correctly, ``chardetng`` 123, ``charset-normalizer``
107 and ``chardet`` 5 96. With the checks below it is 143.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import webencodings

from hybrid_core.errors import BrokenFileError, DocumentError, EmptyFileError
from hybrid_core.types.notes import Note

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, since its mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = re.compile(rb"[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f]")
_MAX_CONTROLS = 0.02  # share of control bytes above which a file is not text
_MAX_ZEROS = 0.5  # share of zero bytes; a log can end in a block of them
_HIGH = re.compile(rb"[\x80-\xff]+")
_HIGH_WORD = re.compile(rb"[^\s\x00-\x20]{0,40}[\x80-\xff][^\s\x00-\x20]*")
_C1_BYTES = re.compile(rb"[\x80-\x9f]")
_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_ISO_2022 = re.compile(rb"\x1b(?:\$[@AB()]|\([BIJ])")
_HZ = re.compile(rb"~\{(?:[!-w][!-~]){2,}~\}")  # Chinese in 7-bit mails and news
_JIS = re.compile(rb"\x1b\$[@B]")  # the newer edition, which includes the characters of NEC
_ISO_2022_KR = b"\x1b$)C"
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)|[@-Z\\^_=>])|.\x08|\x1b")
_SAMPLE = 200_000  # bytes used for a guess
_MIN_WIDE, _WIDE_SAMPLE = 8, 16_384
# minimum share of zeros among bytes that are zero in UTF-32; minimum share in UTF-16 for Latin letters
_ZEROS, _MOST_LATIN = 0.9, 0.3
_UNLABELLED = frozenset("us-ascii ascii iso646-us ansi_x3.4-1968 unknown-8bit x-unknown binary 8bit 7bit".split())
_CODE_PAGE = re.compile(r"(?:x-)?(?:windows|ibm|cp|oem|dos|ms|mac)?-?(\d{3,5})")
_NOT_TEXT = frozenset("idna punycode undefined unicode_escape raw_unicode_escape mbcs oem".split())
_CODECS = {  # Python codecs of encodings that include another one
    "gbk": "gb18030", "gb2312": "gb18030", "big5": "big5hkscs", "shift_jis": "cp932", "euc_kr": "cp949",
    "euc-kr": "cp949",
    "iso8859-1": "cp1252", "iso8859-9": "cp1254", "latin-1": "cp1252", "tis-620": "cp874", "iso8859-11": "cp874",
}  # fmt: skip
_LEGACY = {"hz-gb-2312": "hz", "iso-2022-kr": "iso2022_kr", "csiso2022kr": "iso2022_kr"}
_GUESSED = {  # codec -> weight of a guess: common encodings of a system before its rare ones
    "cp1252": 1.15, "cp1251": 1.01, "cp1250": 1.0, "cp1253": 1.0, "cp1254": 1.0, "cp1255": 1.0, "cp1256": 1.0,
    "cp1257": 1.0, "cp1258": 1.0, "cp874": 1.0, "koi8_r": 1.0, "koi8_u": 1.0, "cp866": 1.0, "mac_cyrillic": 1.0,
    "iso8859_2": 0.98, "iso8859_5": 1.0, "iso8859_6": 0.98, "iso8859_7": 0.98, "iso8859_8": 0.98, "iso8859_15": 1.0,
    "mac_roman": 1.05, "mac_latin2": 0.9, "cp850": 0.98, "cp852": 0.98, "cp437": 0.9, "gb18030": 1.0, "big5hkscs": 1.0,
    "cp932": 1.0, "euc_jp": 1.0, "cp949": 1.0,
}  # fmt: skip
_VOTED = {"euc_jis_2004": "euc_jp", "euc_jisx0213": "euc_jp", "shift_jis_2004": "cp932", "shift_jisx0213": "cp932",
          "iso8859_1": "cp1252", "latin_1": "cp1252", "iso8859_9": "cp1254"}  # fmt: skip
_TYPOGRAPHIC = bytes([  # quotation marks, dashes and other signs of Windows-1252, but no letters
    0x80, 0x82, 0x84, 0x85, 0x8B, *range(0x91, 0x98), 0x99, 0x9B, 0xA0, 0xA7, 0xA9, 0xAB, 0xAE, 0xB0, 0xB7, 0xBB
])  # fmt: skip
_INNER = re.compile(rb"(?<=[A-Za-z])[\x80-\xff](?=[A-Za-z])")
_APOSTROPHE, _DASHES, _QUOTES = b"\x92", b"\x96\x97", b"\x93\x94"
_CENTRAL = ("cp1250", "iso8859_2")  # encodings that differ in a few letters
_POLISH, _CZECH = re.compile("[ąęłśźż]", re.I), re.compile("[čěřšťůžďňľĺŕ]", re.I)
_FEW = 3  # number of runs of non-ASCII bytes that is too low for a detector
_TOGETHER = 1.4, 3  # mean length of such runs: accented letters are isolated, letters of other alphabets form runs
_NAMES = {"cp1252": "Windows-1252", "gb18030": "GB 18030", "big5hkscs": "Big5", "cp932": "Shift_JIS", "cp949": "EUC-KR"}
_SCRIPTS = re.compile(r"[a-z][\u0370-\u06ff\u0e00-\u0e7f]|[\u0370-\u06ff\u0e00-\u0e7f][a-z]", re.IGNORECASE)
_GLUED = re.compile(r"(?<=[a-z])[\u3400-\u9fff\uac00-\ud7af\uff61-\uff9f]{1,2}(?=[a-z])", re.IGNORECASE)
_WIDE = re.compile(r"[\u3400-\u9fff\uac00-\ud7af\uff61-\uff9f]")
_HALF_WIDTH = re.compile(r"[\uff61-\uff9f]")
_KANA = re.compile(r"[\u3040-\u30ff]")
# line and block characters of DOS
_BOX, _BOXES = re.compile(r"[\u2500-\u259f]"), re.compile(r"(?:[\u2500-\u259f] *){3,}")
_MOST_STRAY = 0.1  # maximum share of non-ASCII characters that are signs within words
_LEAST_BOXES = 0.1  # share of non-ASCII characters above which box characters have to be consecutive
_MOST_KANA = 0.5  # minimum share of kana among non-ASCII characters
_FOREIGN = re.compile(r"[\u0370-\u06ff\u0e00-\u0e7f]")
_C1 = re.compile(r"[\x80-\x9f\ue000-\uf8ff]")


class Guess(NamedTuple):
    """A guessed encoding.

    ``confidence`` comes from the detector, 0 to 1. For long plain texts it seldom exceeds 0.5.
    """

    codec: str
    confidence: float

    @property
    def name(self) -> str:
        return encoding_name(self.codec)


def read_text(path: Path) -> tuple[str, list[str]]:
    """Return the file's text with line ends as newlines, and warnings.

    Raise DocumentError if it cannot be read, is empty, or is not text.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"the file cannot be read ({error.strerror}).", file=path) from error
    if not data:
        raise EmptyFileError("the file is empty.", file=path)
    text, warnings = decode(data, path)
    return text.replace("\r\n", "\n").replace("\r", "\n"), warnings


def decode(data: bytes, path: Path, label: str = "") -> tuple[str, list[str]]:
    """Return bytes as text, and warnings. Raise DocumentError if they are not text.

    ``label`` is the encoding that the file or its container declares. A label that contradicts the bytes is ignored.
    """
    text, warnings = _decoded(data, path, label)
    if "\x00" in text:
        warnings.append(Note("read.zero-bytes", count=text.count(chr(0))))
        text = text.replace("\x00", "")
    return (_TERMINAL.sub("", text) if "\x1b" in text or "\x08" in text else text), warnings


def codec_of(label: str) -> str:
    """Return Python's codec for an encoding label.

    Return "" if the label is unknown or carries no information, such as ``us-ascii`` for 8-bit text.
    """
    label = label.strip(" \t\r\n\f\"'").lower()
    if label in _UNLABELLED:
        return ""
    if label in _LEGACY:
        return _LEGACY[label]
    if (encoding := webencodings.lookup(label)) is not None and encoding.name not in ("replacement", "x-user-defined"):
        name = str(encoding.codec_info.name)
        return _CODECS.get(encoding.name, _CODECS.get(name, name))
    page = _CODE_PAGE.fullmatch(label)
    for name in (label, label.removeprefix("x-"), f"cp{page[1]}" if page else ""):
        try:
            info = codecs.lookup(name)
        except (LookupError, ValueError):
            continue
        if getattr(info, "_is_text_encoding", False) and info.name.replace("-", "_") not in _NOT_TEXT:
            return _CODECS.get(info.name, info.name)
    return ""


def guess_encoding(data: bytes, only: frozenset[str] = frozenset(_GUESSED)) -> Guess | None:
    """Return the most likely legacy encoding of bytes, None if none fits."""
    import chardet

    sample = data[:_SAMPLE]
    run = mean_run(sample)
    if "cp932" in only and _is_kana(sample):
        return Guess("cp932", 0.0)
    if "cp1252" in only and len(_HIGH.findall(sample)) <= _FEW and _plausible(sample.decode("cp1252", "replace"), run):
        return Guess("cp1252", 0.0)
    if "cp1252" in only and _is_typographic(sample):
        return Guess("cp1252", 0.0)
    scores: dict[str, float] = {}
    words = sample if run < _TOGETHER[1] else b" ".join(_HIGH_WORD.findall(sample))
    for vote in chardet.detect_all(words, ignore_threshold=True, compat_names=False)[:60]:
        codec = codec_of(vote["encoding"] or "").replace("-", "_")
        codec = _VOTED.get(codec, codec)
        if codec in only and codec in _GUESSED:
            scores.setdefault(codec, vote["confidence"])
    for codec in sorted(scores, key=lambda codec: -scores[codec] * _GUESSED[codec]):
        if _plausible(codecs.getincrementaldecoder(codec)("replace").decode(sample), run):
            euro = codec == "cp1252" and b"\xa4" in sample and not _C1_BYTES.search(sample)
            central = min(_CENTRAL, key=lambda name: _mixed_letters(sample.decode(name, "replace")))
            shown = "iso8859_15" if euro else central if codec in _CENTRAL and central in only else codec
            return Guess(shown, scores[codec])
    return None


def _is_typographic(data: bytes) -> bool:
    """Return whether all non-ASCII bytes are quotation marks, dashes and other signs in their places."""
    signs = data.translate(None, bytes(range(128)))
    if signs.translate(None, _TYPOGRAPHIC) or not signs.strip(_APOSTROPHE):
        return False
    allowed = _APOSTROPHE + (_DASHES if all(quote in data for quote in _QUOTES) else b"")
    return all(sign in allowed for sign in _INNER.findall(data))


def _mixed_letters(text: str) -> int:
    """Return the number of letters that are implausible beside the others: Polish ones in Czech words, and signs."""
    strays = sum(_is_stray(text, at) for at, sign in enumerate(text) if not sign.isascii())
    return strays + min(len(_POLISH.findall(text)), len(_CZECH.findall(text)))


def _is_kana(data: bytes) -> bool:
    """Return whether bytes are Shift_JIS text with mostly kana, whose bytes are rare in other encodings."""
    try:
        text = data.decode("cp932")
    except UnicodeDecodeError:
        return False
    others = sum(not character.isascii() for character in text)
    return len(_KANA.findall(text)) > max(1.0, _MOST_KANA * others)


def encoding_name(codec: str) -> str:
    """Return the usual name of a codec."""
    codec = codec.replace("-", "_")
    page = re.fullmatch(r"cp(125\d|874)", codec)
    if page:
        return f"Windows-{page[1]}"
    return _NAMES.get(codec) or codec.replace("iso8859_", "iso-8859-").replace("_", "-").upper()


def _decoded(data: bytes, path: Path, label: str) -> tuple[str, list[str]]:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _replaced(data[len(mark) :], encoding, [])
    codec = codec_of(label) if label else "iso2022_kr" if data.startswith(_ISO_2022_KR) else ""
    if not label and data.isascii() and _HZ.search(data) is not None:
        try:
            return data.decode("hz"), [Note("read.encoding-unnamed", encoding="HZ-GB-2312")]
        except UnicodeDecodeError:
            pass  # its signs mean something else
    if codec in ("hz", "iso2022_kr", "utf-7") and data.isascii():
        return _replaced(data, codec, [])
    data = data.rstrip(b"\x1a") or data  # the end-of-file mark of DOS
    zeros = data.count(0)
    controls = len(_CONTROLS.findall(data))
    if wide := _wide(data, sure=bool(zeros) or controls > _MAX_CONTROLS * len(data)):
        return _replaced(data, wide, [Note("read.encoding-unnamed", encoding=wide.upper())])
    if zeros > _MAX_ZEROS * len(data) or controls > _MAX_CONTROLS * (len(data) - zeros):
        raise BrokenFileError("the file is not a text file, because it contains binary data.", file=path)
    if _ISO_2022.search(data) and data.isascii():
        for text_data, name in ((data, "iso2022_jp_2"), (_JIS.sub(b"\x1b$(Q", data), "iso2022_jp_2004")):
            try:
                return text_data.decode(name), []
            except UnicodeDecodeError:
                continue
    if codec.startswith(("utf-16", "utf-32")) or (codec == "utf-8" and not label):
        codec = ""  # without zero bytes this is impossible
    return _labelled(data, codec, label) if codec and codec != "utf-8" else _unlabelled(data, label)


def _labelled(data: bytes, codec: str, label: str) -> tuple[str, list[str]]:
    """Return bytes decoded with the codec of their declared label, and warnings.

    If the bytes contradict the label, they are decoded as UTF-8 or with a guessed codec.
    """
    high = sum(map(len, _HIGH.findall(data)))
    several = codec.startswith(("gb", "big5", "cp932", "cp949", "euc", "iso2022", "johab"))
    label = label.strip()[:40]
    if high and (high >= 12 or not several):
        try:
            return data.decode("utf-8"), [Note("read.label-overruled", label=label, encoding="UTF-8")]
        except UnicodeDecodeError:
            pass
    try:
        text = data.decode(codec)
        if _fits(text, data, codec):
            return text, []
    except UnicodeDecodeError as error:
        if codec == "cp1252" and set(_HIGH.findall(data[error.start : error.end])) and mean_run(data) < _TOGETHER[0]:
            return _replaced(data, codec, [])
    guess = guess_encoding(data)
    if guess is None or guess.codec == codec:
        return _replaced(data, codec, [])
    note = Note("read.label-guessed", label=label, encoding=guess.name, confidence=round(guess.confidence, 2))
    return _replaced(data, guess.codec, [note])


def _fits(text: str, data: bytes, codec: str) -> bool:
    """Return whether a text looks right in its declared encoding.

    Signs of a wrong encoding are Chinese letters in Latin words, and long runs of accented letters.
    """
    if codec in ("cp1252", "iso8859-15", "cp1254"):
        return mean_run(data) < _TOGETHER[1]
    wide = len(_WIDE.findall(text))
    if codec == "cp932" and len(_HALF_WIDTH.findall(text)) > 0.5 * wide > 1:
        return False
    return not wide or sum(map(len, _GLUED.findall(text))) < 0.5 * wide


def _unlabelled(data: bytes, label: str) -> tuple[str, list[str]]:
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    high = sum(map(len, _HIGH.findall(data)))
    if sum(map(len, _SEQUENCE.findall(data))) > 0.7 * high:
        text = data.decode("utf-8", "replace")
        return text, [Note("read.bytes-replaced", line=line)]
    guess = guess_encoding(data) or Guess("cp1252", 0.0)
    encoding, confidence = guess.name, round(guess.confidence, 2)
    if label:
        note = Note("read.label-guessed", label=label.strip()[:40], encoding=encoding, confidence=confidence)
    else:
        note = Note("read.encoding-guessed", line=line, encoding=encoding, confidence=confidence)
    return _replaced(data, guess.codec, [note])


def _replaced(data: bytes, codec: str, warnings: list[str]) -> tuple[str, list[str]]:
    """Decode bytes with U+FFFD in place of invalid ones, and add a warning with the number of invalid bytes."""
    text = data.decode(codec, "replace")
    if count := text.count("\ufffd"):
        warnings = [*warnings, Note("read.replaced", encoding=encoding_name(codec), count=count)]
    return text, warnings


def _plausible(text: str, run: float) -> bool:
    """Return whether a text decoded with a guessed encoding has plausible words.

    They use one alphabet, have no capitals inside, and few unusual signs. ``run`` is the mean length of runs of
    non-ASCII bytes in the data.
    """
    others = [at for at, character in enumerate(text) if not character.isascii()]
    if not others:
        return True
    foreign, wide = len(_FOREIGN.findall(text)), len(_WIDE.findall(text))
    if foreign and (run < _TOGETHER[0] or len(_SCRIPTS.findall(text)) > 0.2 * foreign):
        return False
    if not foreign and not wide and run >= _TOGETHER[1]:
        return False
    if wide and sum(map(len, _GLUED.findall(text))) > 0.3 * wide:
        return False
    inner = sum(text[at].isupper() and text[at - 1 : at].islower() for at in others)
    if inner > 0.1 * len(others):
        return False
    if sum(_is_stray(text, at) for at in others) > _MOST_STRAY * len(others):
        return False
    boxes = len(_BOX.findall(text)) if _BOX.search(text) is not None else 0
    if boxes and boxes > _LEAST_BOXES * len(others) and sum(map(len, _BOXES.findall(text))) < 0.5 * boxes:
        return False
    return len(_C1.findall(text)) + 3 * text.count("\ufffd") <= 0.02 * len(others)


def _is_stray(text: str, at: int) -> bool:
    """Return whether the character at an index is an unusual sign inside a word.

    Letters, accents, dashes and apostrophes are usual there.
    """
    sign = text[at]
    if not (text[at - 1 : at].isalpha() and text[at + 1 : at + 2].isalpha()) or sign in "\u2019\u2026\u00b7\u30fb":
        return False
    return unicodedata.category(sign) in ("Sc", "Sk", "So", "Sm", "No", "Po", "Pi", "Pf", "Ps", "Pe")


def mean_run(data: bytes) -> float:
    """Return the mean length of runs of non-ASCII bytes."""
    runs = _HIGH.findall(data[:_SAMPLE])
    return sum(map(len, runs)) / len(runs) if runs else 0.0


def _wide(data: bytes, sure: bool) -> str:
    """Return the UTF-16 or UTF-32 codec of bytes without a byte order mark, "" for other text.

    The letters must be of one script. ``sure`` means that the bytes include some that occur in no other encoding. If
    not, text without zero bytes is recognised only by Japanese kana, as it may be in an older Chinese encoding.
    """
    if len(data) < _MIN_WIDE or (not sure and (len(data) % 2 or data.isascii())):
        return ""
    if codec := _by_zeros(data[:_WIDE_SAMPLE]):
        return codec
    best, best_share = "", 0.9
    for codec in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be"):
        unit = 4 if codec.startswith("utf-32") else 2
        try:
            text = codecs.getincrementaldecoder(codec)().decode(data[: min(len(data), _WIDE_SAMPLE) // unit * unit])
        except UnicodeDecodeError:
            continue
        share = _one_script(text) if sure or len(_KANA.findall(text)) > 0.2 * len(text) else 0.0
        if share > best_share:
            best, best_share = codec, share
    return best


def _by_zeros(data: bytes) -> str:
    """Return the UTF-16 or UTF-32 codec of mostly Latin text, recognised by the positions of its zero bytes.

    Return "" for other bytes.
    """
    zeros = [data[at::4].count(0) / max(1, len(data) // 4) for at in range(4)]
    for codec, high, low in (("utf-32-le", (2, 3), 0), ("utf-32-be", (0, 1), 3)):
        if min(zeros[at] for at in high) > _ZEROS and zeros[low] < 1 - _ZEROS and _decodes(data, codec, 4):
            return codec
    even, odd = (zeros[0] + zeros[2]) / 2, (zeros[1] + zeros[3]) / 2
    for codec, high_share, low_share in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if high_share > _MOST_LATIN and low_share < 0.1 * high_share and _decodes(data, codec, 2):
            return codec
    return ""


def _decodes(data: bytes, codec: str, unit: int) -> bool:
    """Return whether bytes are valid text in an encoding and contain only assigned characters."""
    try:
        text = data[: len(data) // unit * unit].decode(codec)
    except UnicodeDecodeError as error:
        if error.end < len(data) - 4:
            return False
        text = data[: error.start].decode(codec)
    return not any(unicodedata.category(c) in ("Cc", "Cn", "Co") and c not in "\t\n\r\f\x1b" for c in text)


def _one_script(text: str) -> float:
    """Return the share of characters that are ASCII, spaces, or letters of the most frequent script besides Latin."""
    if not text or any(unicodedata.category(c) in ("Cc", "Cn", "Co") and c not in "\t\n\r\f\x1b" for c in text):
        return 0.0
    scripts = Counter(_script(character) for character in text)
    plain = scripts.pop("", 0)
    return (plain + max(scripts.values(), default=0)) / len(text)


def _script(character: str) -> str:
    if character.isascii() or not character.isalpha():
        return "" if character < "\u2e80" or "\u3000" <= character <= "\u303f" or character >= "\uff00" else "other"
    name = unicodedata.name(character, "?").split()[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA", "HALFWIDTH", "FULLWIDTH", "IDEOGRAPHIC") else name
