"""What a run of tests says of required tests that it left out."""

from __future__ import annotations

from tests.required import left_out


def test_required_tests_that_were_skipped_or_are_gone_are_named() -> None:
    passed, skipped = ["a.py::test_one[edge]", "a.py::test_one[server (real)]"], ["b.py::test_two[three nodes]"]
    assert left_out(["server (real)", "[edge]"], passed, skipped) == []
    assert left_out(["three nodes", "four"], passed, skipped) == [
        "1 required tests of 'three nodes' were skipped, as b.py::test_two[three nodes]",
        "no test of 'four' ran",
    ]
