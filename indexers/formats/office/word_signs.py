"""Characters of symbol fonts, forms and fields without a stored result, as they are shown on the page."""

from __future__ import annotations

import re

from lxml import etree

from indexers.formats.office.ooxml import W
from indexers.formats.office.symbol_fonts import decode_signs, signs_of


def symbol(sign: etree._Element) -> str:
    """Return the character that a symbol element specifies by its font and code."""
    try:
        code = int(sign.get(f"{W}char") or "", 16)
    except ValueError:
        return ""
    signs = signs_of(sign.get(f"{W}font") or "")
    if signs is not None:
        return signs.get(code & 0xFF, "").strip("\0")
    return chr(code) if 0x20 <= code < 0xE000 and not 0xD800 <= code < 0xE000 else ""


def run_words(text: str, properties: etree._Element | None) -> str:
    """Return the text of a run as the symbol font of the run shows it."""
    fonts = properties.find(f"{W}rFonts") if properties is not None else None
    names = [fonts.get(f"{W}{kind}") or "" for kind in ("ascii", "hAnsi", "cs")] if fonts is not None else []
    return decode_signs(text, [name for name in names[:2] if name][:1], names)


def form_field(data: etree._Element) -> str:
    """Return the text that a check box or drop-down list of a form shows.

    Other fields give "", since text typed into a field is part of the normal text.
    """
    if (box := data.find(f"{W}checkBox")) is not None:
        state = box.find(f"{W}checked")
        state = state if state is not None else box.find(f"{W}default")
        return "☒" if state is not None and state.get(f"{W}val", "1") not in ("0", "false", "off") else "☐"
    if (listed := data.find(f"{W}ddList")) is not None:
        entries = [entry.get(f"{W}val") or "" for entry in listed.findall(f"{W}listEntry")]
        state = listed.find(f"{W}result")
        state = state if state is not None else listed.find(f"{W}default")
        number = "0" if state is None else state.get(f"{W}val") or "0"
        return entries[int(number)] if number.isdigit() and int(number) < len(entries) else ""
    return ""


_SYMBOL = re.compile(r'SYMBOL\s+(0x[0-9a-f]{1,4}|\d{1,5})\b(?:.*?\\f\s+(?:"([^"]*)"|(\S+)))?', re.I | re.S)
_BUTTON = re.compile(r"MACROBUTTON\s+\S+\s+(.*)", re.I | re.S)
_FORMULA = re.compile(r"EQ\s+(.*)", re.I | re.S)
_SWITCH = re.compile(r"\\([a-z]+)(?:\s*\d+)?\s*", re.I)
_ROUND = frozenset("○〇◯△□")  # signs around a character
_LONGEST_INSTRUCTION, _LONGEST_FORMULA = 2_000, 500


def field_words(instruction: str) -> str:
    """Return what a field without a stored result shows: a sign, the words on a button, or an old formula (EQ)."""
    instruction = instruction[:_LONGEST_INSTRUCTION].strip()
    if (sign := _SYMBOL.match(instruction)) is not None:
        code = int(sign[1], 16 if sign[1].lower().startswith("0x") else 10)
        signs = signs_of(sign[2] or sign[3] or "")
        if signs is not None:
            return signs.get(code & 0xFF, "").strip("\0")
        return bytes([code]).decode("cp1252", "replace") if code < 256 else chr(code) if code < 0xD800 else ""
    if (button := _BUTTON.match(instruction)) is not None:
        return button[1]
    formula = _FORMULA.match(instruction[:_LONGEST_FORMULA])
    return _formula(formula[1]) if formula is not None else ""


def _formula(text: str) -> str:
    """Return an EQ formula as a line: ``\\f(1,2)`` is ``1/2``, and ``\\r(3,x)`` is a root."""
    stack: list[tuple[str, list[str]]] = [("", [""])]  # of open switches: their name and arguments
    at, waiting = 0, ""
    while at < len(text):
        switch, sign = _SWITCH.match(text, at), text[at]
        if switch is not None and text[at + 1 : at + 2] not in "(),;":
            waiting = switch[1].lower() if not waiting or switch[1].lower() in _PLACED else waiting
            at = switch.end()
            continue
        if sign == "\\":
            stack[-1][1][-1] += text[at + 1 : at + 2]
            at += 1
        elif sign == "(" and waiting:
            stack.append((waiting, [""]))
            waiting = ""
        elif sign == ")" and len(stack) > 1:
            name, arguments = stack.pop()
            stack[-1][1][-1] += _shown(name, [argument.strip() for argument in arguments])
        elif sign in ",;" and len(stack) > 1:
            stack[-1][1].append("")
        else:
            stack[-1][1][-1] += sign
        at += 1
    return " ".join(" ".join("".join(arguments) for _, arguments in stack).split())


_PLACED = {"up": "^", "do": "_", "su": "∑ ", "pr": "∏ ", "in": "∫ "}  # options that decide what a switch shows


def _shown(name: str, arguments: list[str]) -> str:
    """Return what a switch of a formula shows for its arguments."""
    if name == "f" and len(arguments) == 2:
        return "/".join(f"({part})" if re.search(r"[+\-−/ ]", part) else part for part in arguments)
    if name == "r":
        return f"{arguments[0] if len(arguments) > 1 else ''}√({arguments[-1]})"
    if name == "b":
        return f"({' '.join(arguments)})"
    if name in _PLACED or name == "i":
        return _PLACED.get(name, "∫ ") + " ".join(filter(None, arguments))
    if name == "o":
        return "".join(argument for argument in arguments if argument not in _ROUND)
    return " ".join(filter(None, arguments))
