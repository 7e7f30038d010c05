"""Terms that documents define themselves: contracts, licences, statutes; what only looks like one is left out."""

from __future__ import annotations

import pytest

from hybrid_pageindex import Engine, run
from hybrid_pageindex.engine.documents.contents import definitions, introductions

CONTRACT = """1.1 “Affiliate” means, with respect to any Person, any other Person that controls it
(including by contract).  1.2 “Net Sales” shall mean the gross amount invoiced by Acme Inc. and its Affiliates; 1.3
"Territory" has the meaning set forth in Section 9.

This Agreement (this “Agreement”) is made between Acme, Inc., a Delaware corporation (“Acme”), and Nadir Ltd.
(hereinafter referred to as the "Licensee").
"""
LICENCE = """«Program» refers to any copyrightable work. To “modify” a work means to copy from it. Each licensee is
addressed as “you”. "Source code" for a work means the preferred form of it.
"""
STATUTE = """第二条　本法所称公司，是指依照本法在中华人民共和国境内设立的有限责任公司。
第三条 “控股股东”，是指其出资额占百分之五十以上的股东；「关联关系」是指可能导致公司利益转移的其他关系。
"""
LEASE = """Im Sinne dieses Vertrags bezeichnet „Mietsache“ die Halle. „Mieter“ bedeutet die Nadir GmbH."""
PLAIN = """He said "no" and meant it. She called him “a means to an end”. The word (see page 4) has many meanings."""


def test_terms_of_a_contract_come_with_their_sentences() -> None:
    found = dict(definitions(CONTRACT))
    assert list(found) == ["Affiliate", "Net Sales", "Territory"]
    assert found["Affiliate"].endswith("(including by contract).") and "1.2" not in found["Affiliate"]
    assert "Acme Inc. and its Affiliates" in found["Net Sales"], "an abbreviation ends no sentence"
    called = dict(introductions(CONTRACT))
    assert list(called) == ["Agreement", "Acme", "Licensee"]
    assert called["Licensee"].startswith("This Agreement") or "Nadir Ltd" in called["Licensee"]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        (LICENCE, {"Program"}),
        (STATUTE, {"公司", "控股股东", "关联关系"}),
        (LEASE, {"Mieter"}),
        (PLAIN, set()),
        ("", set()),
        ("“" * 20_000 + "means" * 9_000, set()),
        ("(the “" * 20_000, set()),
    ],
    ids=["licence", "statute", "lease", "plain", "nothing", "quotes", "brackets"],
)
def test_other_kinds_of_documents(text: str, terms: set[str]) -> None:
    assert {term for find in (definitions, introductions) for term, _ in find(text)} == terms


def test_a_term_is_listed_once_with_the_page_of_its_definition(engine: Engine) -> None:
    pages = (
        f"# Lease\n\nNadir Ltd. (the “Tenant”) and others.\n\n# Definitions\n\n{CONTRACT}\n\n“Tenant” means Nadir.\n"
    )
    run(engine.index(pages.encode(), name="lease.md"))
    terms = run(engine.documents.glossary("lease.md"))
    names = [each.term for each in terms]
    assert names == sorted(names, key=str.casefold) and names.count("Tenant") == 1
    [tenant] = [each for each in terms if each.term == "Tenant"]
    assert tenant.text == "“Tenant” means Nadir." and tenant.page >= 1
