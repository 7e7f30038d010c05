"""The characters that fonts of symbols show, such as Symbol and Wingdings."""

from __future__ import annotations

from collections.abc import Iterable

_GREEK = (  # the font Symbol from 0x20 on; "\0" for a missing character
    " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
)
_MATHS = (  # the same from 0xA0 on
    "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…|—↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\0〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
)
_SIGNS = {  # by the last byte of the character code
    "symbol": {**dict(enumerate(_GREEK, 0x20)), **dict(enumerate(_MATHS, 0xA0))},
    "wingdings": {
        0x6F: "☐", 0xA8: "☐", 0x71: "☐", 0x72: "☐", 0xFE: "☒", 0xFD: "☒", 0x78: "☒", 0xFC: "✓", 0xFB: "✗", 0xE0: "→",
        0xDF: "←", 0xE1: "↑", 0xE2: "↓", 0xE8: "→", 0xF0: "⇨", 0x6C: "●", 0x6E: "■", 0xA7: "▪", 0x9F: "•", 0x76: "❖",
        0xD8: "➢", 0x4A: "☺", 0x4C: "☹", 0x28: "☎", 0x2A: "✉", 0x46: "☞", 0x45: "☜", 0xAB: "★", 0x80: "⓪",
        **{0x81 + at: chr(0x2460 + at) for at in range(10)}, **{0x8C + at: chr(0x2776 + at) for at in range(10)},
    },
    "wingdings 2": {0x50: "✓", 0x4F: "✗", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0x56: "☒", 0xA3: "☐",
                    0x97: "●", 0xA2: "■"},
    "wingdings 3": {0x67: "↑", 0x68: "↓", 0x66: "←", 0x65: "→", 0x75: "▶", 0x7D: "▶", 0x84: "➤"},
    "webdings": {0x61: "✓", 0x63: "☐", 0x67: "■", 0x72: "✗", 0x3D: "●"},
}  # fmt: skip
_SYMBOL_NAMES = frozenset(("symbol mt", "symbolmt", "symbol (ttf)", "symbolps", "symbol set swa"))
_BULLET = {0xB7: "•"}
_PRIVATE = range(0xF020, 0xF100)  # private characters in which such fonts are stored


def signs_of(font: str) -> dict[int, str] | None:
    """Return ``{last byte of a code: character}`` for a symbol font, None for a font of letters."""
    name = " ".join(font.lower().split())
    return _SIGNS.get("symbol" if name in _SYMBOL_NAMES else name)


def decode_signs(text: str, fonts: Iterable[str], others: Iterable[str] = ()) -> str:
    """Return a text as the first symbol font among ``fonts`` shows it.

    Private characters are also decoded by the fonts ``others``, which do not apply to usual letters.
    """
    table = next((signs for name in fonts if (signs := signs_of(name)) is not None), None)
    if table is None and not any(ord(sign) in _PRIVATE for sign in text):
        return text
    private = table or next((signs for name in others if (signs := signs_of(name)) is not None), _BULLET)
    usual = table or {}
    return "".join(
        private.get(ord(sign) & 0xFF, "") if ord(sign) in _PRIVATE else usual.get(ord(sign), sign) for sign in text
    )
