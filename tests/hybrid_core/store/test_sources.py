"""Where a library's documents come from, and what was removed by hand."""

from __future__ import annotations

import glob
from pathlib import Path

import pytest

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.libraries import (
    all_sources,
    exclude,
    exclusions,
    forget_sources,
    note_mounts,
    remember,
    set_watch,
)
from hybrid_core.types.sources import Source


def folder(path: str, **options: str | bool) -> Source:
    return Source("default", path, "folder", options)


def file(path: str, **options: str | bool) -> Source:
    return Source("default", path, "file", options)


def test_a_file_in_a_folder_of_the_same_options_needs_no_row(catalog: Catalog) -> None:
    remember(catalog, "default", [file("/a/b/x.pdf"), file("/c/y.pdf"), file("/ab/z.pdf")])
    remember(catalog, "default", [folder("/a"), file("/a/q.pdf"), file("/a/seen.pdf", vision="always")])
    assert [one.path for one in all_sources(catalog)] == ["/a", "/a/seen.pdf", "/ab/z.pdf", "/c/y.pdf"]
    remember(catalog, "default", [folder("/a", vision="always")])
    assert [one.path for one in all_sources(catalog, "default")] == ["/a", "/ab/z.pdf", "/c/y.pdf"]
    forget_sources(catalog, "default", ["/c/y.pdf", "/nothing"])
    assert all_sources(catalog, "other") == [] and len(all_sources(catalog)) == 2


def test_what_is_known_of_a_source_outlives_its_being_named_again(catalog: Catalog) -> None:
    set_watch(catalog, Source("default", "/a", "folder", watch="poll"))
    note_mounts(catalog, folder("/a"), {"/": "7"})
    remember(catalog, "default", [folder("/a", vision="never")])
    assert all_sources(catalog) == [Source("default", "/a", "folder", {"vision": "never"}, "poll", {"/": "7"})]
    set_watch(catalog, folder("/a"))
    assert all_sources(catalog)[0].watch == "" and all_sources(catalog)[0].options == {"vision": "never"}


def test_what_was_removed_by_hand_comes_back_when_it_is_named(catalog: Catalog) -> None:
    remember(catalog, "default", [folder("/a"), file("/c/y.pdf")])
    exclude(catalog, "default", ["/a/x.pdf", "/a/b/z.pdf", "/c/y.pdf"])
    assert exclusions(catalog, "default") == {"/a/x.pdf", "/a/b/z.pdf"}, "/c/y.pdf is no source any more"
    assert [one.path for one in all_sources(catalog)] == ["/a"]
    remember(catalog, "default", [file("/a/x.pdf")])
    assert exclusions(catalog, "default") == {"/a/b/z.pdf"}
    remember(catalog, "default", [folder("/a")])
    assert exclusions(catalog, "default") == frozenset()


def test_a_library_that_is_removed_takes_its_sources_along(catalog: Catalog) -> None:
    catalog.ensure_library("other")
    remember(catalog, "default", [folder("/a")])
    remember(catalog, "other", [Source("other", "/a", "folder")])
    exclude(catalog, "default", ["/a/x"])
    catalog.remove_library("default")
    assert [one.library for one in all_sources(catalog)] == ["other"] and not exclusions(catalog, "default")


@pytest.mark.parametrize("pattern", ["**/*.md", "*.md", "*", "**", "a?/[xy]*.md", "*b*/**/z.md", "a1/**"])
def test_a_glob_holds_what_glob_finds(tmp_path: Path, pattern: str) -> None:
    paths = ["x.md", "y.txt", "a1/x.md", "a1/n.md", "cbd/z.md", "cbd/e/z.md", "cbd/e/f/z.md", "a2/yy.md"]
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    source = Source("default", f"{tmp_path}/{pattern}", "glob")
    found = {Path(name) for name in glob.glob(source.path, recursive=True)}  # noqa: PTH207 - what it is compared with
    below = {path for path in paths if found & {tmp_path / path, *(tmp_path / path).parents}}
    assert {path for path in paths if source.holds(str(tmp_path / path))} == below
    assert source.root == (tmp_path / "a1" if pattern == "a1/**" else tmp_path)
