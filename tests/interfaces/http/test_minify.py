"""Files of the page become small and stay what they are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import hybrid_pageindex
from hybrid_pageindex.http.routers.web import bundle_parts, minify

PAGE = Path(hybrid_pageindex.__file__).parent / "web"
SCRIPTS = {
    "const a = 1; // one\n\n    const b = a / 2 / a;": "const a=1;const b=a / 2 / a;\n",
    "/** @param {string} a */\nexport const f = (a) => a;": "export const f=(a)=>a;\n",
    "return /[/\"'`]\\/\\/* x/g.test(a) // gone": "return /[/\"'`]\\/\\/* x/g.test(a)\n",
    "x = a ? .5 : 'it\\'s // here'": "x=a?.5:'it\\'s // here'\n",
    "a = b + +c\n++d": "a=b + +c\n++d\n",
    "html`<p>/* kept */ ${a && html`<b>// ${{ a: `}` /* gone */ }}</b>`}\n      </p>`": (
        "html`<p>/* kept */ ${a&&html`<b>// ${{a:`}`}}</b>`}\n</p>`\n"
    ),
    "`\\`${1}\\${` // gone": "`\\`${1}\\${`\n",
    "return\nx": "return\nx\n",
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_loses_comments_and_blanks_alone(script: str) -> None:
    assert minify(".js", script) == SCRIPTS[script]


def test_a_style_sheet_and_texts_lose_blanks_alone() -> None:
    style = '/* of it */\n.a  > .b,\n.c:not(.d) .e {\n  content: "/* x */  ;";\n  margin: 0 -1px;\n}\n'
    assert minify(".css", style) == '.a > .b,.c:not(.d) .e{content: "/* x */  ;";margin: 0 -1px;}'
    assert minify(".json", '{ "a": "é  {n}" }') == '{"a":"é  {n}"}'


def test_a_bundle_holds_each_module_once_after_what_it_imports() -> None:
    names: list[str] = []
    for bundle in ("bundle/app.js", "bundle/views.js"):
        for name in bundle_parts(bundle)[1]:
            for path in re.findall(r'^(?:import|} from).*"(\..+)";', (PAGE / name).read_text("utf-8"), re.MULTILINE):
                assert (PAGE / name).parent.joinpath(path).resolve().relative_to(PAGE).as_posix() in names, (name, path)
            names.append(name)
    assert sorted(names) == sorted(file.relative_to(PAGE).as_posix() for file in PAGE.rglob("*.js"))


@pytest.mark.parametrize("kind", [".js", ".css", ".json"])
def test_every_file_of_the_page_is_understood_to_its_end(kind: str) -> None:
    """Read wrongly, a quotation mark would make code a text, and reading it again would give something else."""
    for file in PAGE.rglob(f"*{kind}"):
        if file.name == "tsconfig.json":
            continue
        once = minify(kind, file.read_text("utf-8"))
        assert minify(kind, once) == once, file
        assert "@param" not in once and "/**" not in once, file
        if kind == ".json":
            assert json.loads(once) == json.loads(file.read_text("utf-8"))
