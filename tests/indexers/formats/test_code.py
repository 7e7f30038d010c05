"""Code, commands and configuration are told apart in every format that flows, with and without a language."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexers.formats.flow.blocks import code_role
from tests.indexers.formats import packages

_MONO = '<w:rPr><w:rFonts w:ascii="Liberation Mono"/></w:rPr>'


@pytest.mark.parametrize(
    ("language", "text", "role"),
    [
        ("bash", "", "command"), ("YAML", "", "config"), ("python", "", "code"), ("text", "", "plain"),
        ("mermaid", "", "image"), ("", "", "code"),
        ("", "systemctl stop redis\nrsync -a /a /b", "command"),
        ("", "$ make\nbuilding\ndone", "command"), ("", "$ mytool run", "command"),
        ("", "$ in millions\nNet sales  1,204\nCost  900", "code"), ("", "% of total\nEurope  12\nAsia  4", "code"),
        ("", "$ per share\n$ in thousands", "code"),
        ("", "[ops@db ~]$ psql -c 'select 1'\nops@db:~$ exit", "command"),
        ("", "port: 6379\nmaxclients: 64\ndir: /srv", "config"),
        ("", "[server]\nport = 80\n# comment\nhost = a.example", "config"),
        ("", '{\n  "port": 80,\n  "host": "a.example"\n}', "config"),
        ("", "def f(a):\n    return a", "code"),
        ("", "x = f(1);\ny = g(2);", "code"),
        ("", "for (a: b) {\n  c();\n}", "code"),
        ("", "make = 3\nprint(make)", "code"),
    ],
)  # fmt: skip
def test_what_code_is_for_is_told_by_its_language_else_by_its_lines(language: str, text: str, role: str) -> None:
    assert code_role(language, text) == role


def _roles(path: Path) -> list[tuple[str, str]]:
    (page,) = packages.read(path)[1]
    return [(line.text, line.role) for line in page.lines if line.text and not line.text.startswith("```")]


def _typed(text: str) -> str:
    return f'<w:p><w:r>{_MONO}<w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def test_word_paragraphs_in_a_style_or_font_for_code_are_one_piece_of_code(tmp_path: Path) -> None:
    style = (
        '<w:style w:type="paragraph" w:styleId="P"><w:name w:val="Preformatted Text"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Q"><w:name w:val="mine"/><w:basedOn w:val="P"/></w:style>'
    )
    plain = packages.paragraph("Plain words around it.")
    body = (
        plain * 5 + _typed("def f(a):") + _typed("    return a") + plain
        + packages.paragraph("port: 80", "P") + packages.paragraph("host: a", "Q") + plain * 5
    )  # fmt: skip
    packages.docx(tmp_path / "a.docx", body, style)
    found = [one for one in _roles(tmp_path / "a.docx") if one[1] != "text"]
    assert found == [("def f(a):", "code"), ("    return a", "code"), ("port: 80", "config"), ("host: a", "config")]


def test_a_typewritten_document_is_no_code(tmp_path: Path) -> None:
    packages.docx(tmp_path / "a.docx", _typed("A letter from the harbour office.") * 9)
    assert {role for _, role in _roles(tmp_path / "a.docx")} == {"text"}


@pytest.mark.parametrize(
    "source",
    [
        '<pre><code class="language-bash">make all</code></pre>',
        '<div class="highlight-source-shell"><pre>make all</pre></div>',
        '<div class="highlight-sh notranslate"><div class="highlight"><pre>make all</pre></div></div>',
        "<pre>$ make all</pre>",
    ],
)
def test_a_web_page_says_the_language_where_its_highlighter_puts_it(tmp_path: Path, source: str) -> None:
    (tmp_path / "a.html").write_text(f"<p>Words.</p>{source}")
    assert _roles(tmp_path / "a.html")[-1][1] == "command"
