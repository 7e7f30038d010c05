"""JSON, JSON Lines, YAML and TOML: every value under its name, records as sections, tables of flat records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_core.errors import DocumentError
from indexers.formats.registry import format_of
from tests.indexers.formats.packages import read, text_of
from tests.indexers.formats.written import Case, check_case, roles_of

JSON = (
    Case(
        "config.json",
        '{"name": "tidewatch", "server": {"port": 8080, "tls": {"on": true, "key": null}}, "hosts": ["a1", "b2"], '
        '"price": 1.50, "id": 12345678901234567890123}',
        shows=("name: tidewatch", "hosts: a1, b2", "price: 1.50", "id: 12345678901234567890123", "# server",
               "port: 8080",
               "tls.on: true", "tls.key: null"),
        tree=("# server",),
        metadata=("title=tidewatch",),
    ),
    Case(
        "rows.json",
        '[{"site": "North", "cm": 12, "ok": true}, {"site": "South", "cm": 1e-7}, {"site": "West|End", "cm": -0.0}]',
        shows=("| site | cm | ok |", "| North | 12 | true |", "| South | 1e-7 |", "| West\\|End | -0.0 |"),
        tree=(),
    ),
    Case(
        "items.json",
        json.dumps({"articles": [{"title": "Pier", "body": "The pier is old. " * 20, "tags": ["wood", "sea"]},
                                 {"title": "Light", "body": "The lamp burns. " * 20, "by": {"name": "Ada"}}]}),
        shows=("# articles", "## Pier", "The pier is old.", "tags: wood, sea", "## Light", "The lamp burns.",
               "by.name: Ada"),
        tree=("# articles", "## Pier", "## Light"),
    ),
    Case(
        "twice.json", '{"port": 1, "port": 2, "x": NaN, "y": -Infinity, "z": 1E400}',
        shows=("port: 1", "port: 2", "x: NaN", "y: -Infinity", "z: 1E400"),
    ),
    Case(
        "shapes.geojson",
        '{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"name": "Bay"}, "geometry": '
        '{"type": "Point", "coordinates": [10.50, 59.9]}}]}',
        shows=("type: FeatureCollection", "# features", "## Bay", "properties.name: Bay", "10.50, 59.9"),
    ),
    Case(
        "comments.json", '// settings\n{"a": 1, /* two */ "b": [1, 2,], \'c\': "x",}\n', ("a: 1", "b: 1, 2", "c: x"),
        notes=("not strict JSON",),
    ),
    Case(
        "cut.json", '{"title": "Tides", "rows": [{"day": 1}, {"day": 2}, {"day": "thr',
        shows=("title: Tides", "1", "2", "thr"), notes=("read only in part",),
    ),
    Case("odd-text.json", json.dumps({"a": "x\x00y\ud800 é", "b": "line 1\nline 2"}), ("a: xy", "é", "line 1\nline 2")),
    Case("utf16.json", '{"größe": "5 €"}'.encode("utf-16"), ("größe: 5 €",)),
    Case("latin.json", '{"stadt": "Größe und Möwe in der Straße"}'.encode("latin-1"), ("stadt: Größe und Möwe",),
         notes=("not UTF-8",)),
    Case("bare.json", '"only words"', ("only words",)),
    Case("data.json", json.dumps({"logo": "iVBORw0KGgo" * 400, "name": "Port"}), ("name: Port",),
         hides=("iVBORw0KGgo",),
         notes=("1 encoded value",)),
    Case("empty.json", '{"a": {}, "b": [], "c": ""}', ("a: {}", "b: []", "c:")),
    Case("two.json", '{"a": 1}\n{"a": 2}\n', ("a: 1", "a: 2"), tree=("# Record 1", "# Record 2")),
    Case("pretty.json", "\ufeff{\n  \"café\": [\n    [1, 2],\n    [3, 4]\n  ]\n}", ("café: [1, 2], [3, 4]",)),
)  # fmt: skip

LINES = (
    Case(
        "log.jsonl",
        '{"id": 7, "title": "Pier", "text": "Old planks."}\n\n{"id": 8, "title": "Light", "text": "New lamp.", "n": '
        '{"a": 1}}\n',
        shows=("# Pier", "id: 7", "text: Old planks.", "# Light", "n.a: 1"), tree=("# Pier", "# Light"),
    ),
    Case("plain.ndjson", "1\n\"two\"\n[3, 4]\nnull\n", ("1", "two", "3, 4", "null")),
    Case(
        "wrong.jsonl", '{"a": 1}\n{"a": oops}\n{"a": 3}\n', ("a: 1", '{"a": oops}', "a: 3"),
        notes=("1 line of the file is not JSON",),
    ),
    Case("cut.jsonl", '{"text": "whole"}\n{"text": "ha', ("text: whole", '{"text": "ha'), notes=("1 line",)),
    Case("array.jsonl", '[{"text": "one array", "n": 1},\n {"text": "in a file", "n": 2}]\n',
         ("one array", "in a file")),
    Case("chat.jsonl", '{"messages": [{"role": "user", "content": "When is high tide?"}, {"role": "assistant", "cont'
    'ent": '
         '"At noon."}]}\n', ("user", "When is high tide?", "assistant", "At noon.")),
)  # fmt: skip

YAML = (
    Case(
        "app.yaml",
        "# Settings of the harbour\nserver:\n  port: 8080  # of the pump\n  hosts: [a1, b2]\nclient:\n  text: |\n   "
        " key: no "
        "heading\n    two\n",
        shows=("Settings of the harbour", "# server", "port: 8080  # of the pump", "hosts: [a1, b2]", "# client",
               "key: no heading"),
        tree=("# server", "# client"),
    ),
    Case("docs.yml", "---\na: 1\n---\nb: 2\n...\n", ("a: 1", "b: 2")),
    Case(
        "bomb.yaml", "a: &a [lol, lol]\n" + "".join(f"{c}: &{c} [{f'*{p}, ' * 8}]\n" for p, c in
                                                    zip("abcdefgh", "bcdefghi", strict=True)),
        ("a: &a [lol, lol]", "i: &i"),
    ),
    Case("wrong.yaml", "a: [1, 2\nb: kelp\n\t- x: }\n", ("a: [1, 2", "b: kelp"), notes=("not valid YAML",)),
    Case("tagged.yaml", "a: !!python/object/apply:os.system ['echo kelp']\n", ("os.system ['echo kelp']",)),
    Case("list.yaml", "- name: Install\n  run: make\n- name: Start\n  run: tide\n", ("name: Install", "run: tide")),
    Case("latin.yml", "stadt: Größe und Möwe in der Straße\n".encode("latin-1"), ("Größe",), notes=("not UTF-8",)),
)  # fmt: skip

TOML = (
    Case(
        "project.toml",
        '# The project\ntitle = "Tidewatch"\n[tool.ruff]\nline-length = 120\n[[people]]\nname = "Ada"\n[[people]]\nn'
        'ame = "Kim"\n',
        shows=("The project", 'title = "Tidewatch"', "# tool.ruff", "line-length = 120", "# people", 'name = "Ada"',
               'name = "Kim"'),
        tree=("# tool.ruff", "# people", "# people"),
    ),
    Case("text.toml", 'a = """\n[not a table]\nwords"""\n[b]\nc = 1979-05-27T07:32:00Z\n',
         ("[not a table]", "# b", "1979-05-27"),
         tree=("# b",)),
    Case("wrong.toml", "a = \n[b\nkelp\n", ("a =", "kelp"), notes=("not valid TOML",)),
    Case("flat.toml", "a = 1\nb = [1, 2]\n", ("a = 1", "b = [1, 2]"), tree=()),
    Case("quoted.toml", '["x.y".z]\na = 1\n', ('# "x.y".z', "a = 1")),
)  # fmt: skip


@pytest.mark.parametrize("case", (*JSON, *LINES, *YAML, *TOML), ids=lambda case: case.name)
def test_data_shows_what_a_reader_must_see(tmp_path: Path, case: Case) -> None:
    check_case(tmp_path, case)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["kelp", "5 €", "价格 up", "a\nb", ""]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from("port name x tide".split()), inner, max_size=4
    ),
    max_leaves=30,
)  # fmt: skip


def leaves(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for inner in value.values() for text in leaves(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in leaves(inner)]
    return (value if isinstance(value, str) else json.dumps(value)).split()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_VALUES)
def test_json_loses_no_value(tmp_path: Path, value: object) -> None:
    (tmp_path / "a.json").write_text(json.dumps(value, ensure_ascii=False))
    text = text_of(tmp_path / "a.json")
    for leaf in set(leaves(value)):
        assert text.count(leaf) >= leaves(value).count(leaf), (leaf, text)


def test_a_text_that_is_json_stays_a_text(tmp_path: Path) -> None:
    for name in ("a.txt", "a.md", "a.csv"):
        (tmp_path / name).write_text('{"kelp": "gull"}\n')
        assert format_of(tmp_path / name).name != "jsondoc"
    (tmp_path / "answer").write_text('{"kelp": "gull"}\n')
    assert text_of(tmp_path / "answer") == "kelp: gull"
    (tmp_path / "error.json").write_text("<!doctype html><html><body><p>Not found</p></body></html>")
    assert text_of(tmp_path / "error.json") == "Not found"
    (tmp_path / "a.yaml").write_text("a: 1\n")
    assert roles_of(tmp_path / "a.yaml")["a: 1"] == "config"


@pytest.mark.parametrize("opened", ["[", '{"a":', '[{"a":[', "- "])
def test_levels_without_end_end(tmp_path: Path, opened: str) -> None:
    closed = "".join({"[": "]", "{": "}"}.get(sign, "") for sign in reversed(opened))
    for name in ("a.json", "a.yaml", "a.jsonl"):
        (tmp_path / name).write_text(opened * 100_000 + '"kelp"' + closed * 100_000)
        try:
            info, pages = read(tmp_path / name)
        except DocumentError as error:
            assert name in str(error) and "Error" not in str(error)
        else:
            assert info.warnings and any(page.text for page in pages)


def test_many_records_are_read_and_their_sections_bounded(tmp_path: Path) -> None:
    lines = [json.dumps({"id": at, "text": f"The tide {at} turns."}) for at in range(6_000)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    info, pages = read(tmp_path / "a.jsonl")
    assert "The tide 5999 turns." in pages[-1].text and 1_000 < len(info.headings or ()) < 6_000
    assert "sections" in info.warnings[0]


def test_what_is_no_data_gives_a_reason(tmp_path: Path) -> None:
    for name in ("a.json", "a.jsonl", "a.yaml", "a.toml"):
        (tmp_path / name).write_bytes(bytes(range(256)) * 40)
        with pytest.raises(DocumentError, match=name) as caught:
            read(tmp_path / name)
        assert "Error" not in str(caught.value)
    (tmp_path / "b.json").write_text("kelp and gull\n")
    with pytest.raises(DocumentError, match="not valid JSON"):
        read(tmp_path / "b.json")
    with (tmp_path / "c.json").open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(DocumentError):
        read(tmp_path / "c.json")
