"""Flags of sections, told by the shape of their lines."""

from __future__ import annotations

import pytest

from hybrid_core.types.documents import Line, ParsedPage, Section
from indexers.assembly.flags import find_flags


def page(number: int, lines: list[str], font: str = "Times", images: int = 0) -> ParsedPage:
    made = tuple(Line(text, 50, 20 * n, 300, 20 * n + 12, 10, False, False, font) for n, text in enumerate(lines, 1))
    return ParsedPage(number, "", 600, 800, made, images)


def flags(lines: list[str], font: str = "Times", images: int = 0) -> tuple[str, ...]:
    return find_flags([Section("0001", None, 1, "S", 1, 1)], [page(1, lines, font, images)])[0]


PROSE = [
    "The committee met twice in spring.",
    "Its report: nothing was found.",
    "We paid $ 20 for it and left; all agreed.",
]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (PROSE, ()),
        (["Cash  12  14", "Stock  7  9", "Total  19  23"], ("has_table",)),
        (["Cash  12  14", "and then prose", "Total  19  23"], ()),
        (["To install it, type", "$ apt-get install thing", "and wait."], ("has_command",)),
        (["root@host:~# systemctl restart web"], ("has_command",)),
        (["# Heading of a page", "$ 20 were paid"], ()),
        (["listen_port: 8080", "workers: 4", "log_level: debug"], ("has_config",)),
        (["[server]", "host = localhost", "port = 8080"], ("has_config",)),
        (["Figure 3. Water levels since 1990"], ("has_figure",)),
        (["figures fell in 1990"], ()),
    ],
)
def test_flags_by_shape(lines: list[str], expected: tuple[str, ...]) -> None:
    assert flags(lines) == expected


def test_code_needs_its_font_or_its_length() -> None:
    code = ["def area(w, h):", "if w == h:"]
    assert flags(code, font="CourierNew") == ("has_code",)
    assert flags(code) == ()
    assert flags([*code, "while (x != 3) {", "}"]) == ("has_code",)


def test_images_are_figures() -> None:
    assert flags(PROSE, images=1) == ("has_figure",)


def test_flags_belong_to_the_section_whose_own_text_shows_them() -> None:
    lines = ["One", "Cash  1  2", "Stock  3  4", "Total  4  6", "Two", "plain words only"]
    at = len("\n".join(lines[:4])) + 1
    sections = [
        Section("0001", None, 1, "One", 1, 1, 0, at),
        Section("0002", None, 1, "Two", 1, 1, at, None),
    ]
    assert find_flags(sections, [page(1, lines)]) == [("has_table",), ()]


MONEY = [
    "$ in millions", "$ in millions/thousands, except per share amounts", "£ per share", "$ per share data",
    "US$ in thousands", "$ amounts in thousands", "$ value of shares withheld", "€ in billions",
    "% of total revenues", "% change year-over-year", "% top ten customers", "# of shares outstanding",
    "# find the mean", "> see note 3", "> 5 years", "$ less interest", "$ service revenue",
    "$ export sales and/or services", "$ cost of sales    1,204    1,377", "$ make-whole premium",
    "$ node revenue 12 14", "% vault deposits", "$ a. m. rate", "$ millions", "The price is $ ls of it",
]  # fmt: skip
SHELL = [
    "$ apt-get install thing", "$ ./configure --prefix=/usr", "$ make -j4", "% ls", "# systemctl restart web",
    "> npm install", "$ cat report.txt", "$ tool --help", "$ export PATH=/usr/bin", "$ top | head", "$ ~/bin/run",
    "me@host:~$ make", "[root@db ~]# find .", "PS C:\\> dir", "$ mytool run -v", "# curl https://example.org/x",
]  # fmt: skip


@pytest.mark.parametrize("line", MONEY)
def test_signs_of_money_and_shares_are_no_prompts(line: str) -> None:
    assert "has_command" not in flags(["Revenue and cost", line, "Net sales rose."])
    assert "has_command" not in flags([line], font="Courier")


@pytest.mark.parametrize("line", SHELL)
def test_prompts_with_programs_options_and_paths_are_commands(line: str) -> None:
    assert "has_command" in flags(["To begin, type", line, "and wait."])
