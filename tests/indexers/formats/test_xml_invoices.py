"""Electronic invoices: values with their labels, lines as a table, and no word lost in odd places."""

from __future__ import annotations

import re
from pathlib import Path

import pymupdf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexers.formats.limits import ParseLimits
from indexers.formats.pdf.document import pdf_members
from tests.indexers.formats.packages import read, text_of
from tests.indexers.formats.test_xml_documents import _words, numbered, trees_of
from tests.indexers.formats.written import Case, check_case

_CII = (
    'xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100" '
    'xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100" '
    'xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100"'
)
_FACTUR_X = f"""<rsm:CrossIndustryInvoice {_CII}><rsm:ExchangedDocument><ram:ID>F-17</ram:ID>
<ram:TypeCode>380</ram:TypeCode>
<ram:IssueDateTime><udt:DateTimeString format="102">20240305</udt:DateTimeString></ram:IssueDateTime>
</rsm:ExchangedDocument><rsm:SupplyChainTradeTransaction><ram:IncludedSupplyChainTradeLineItem>
<ram:AssociatedDocumentLineDocument><ram:LineID>1</ram:LineID></ram:AssociatedDocumentLineDocument>
<ram:SpecifiedTradeProduct><ram:Name>Rope</ram:Name></ram:SpecifiedTradeProduct><ram:SpecifiedLineTradeDelivery>
<ram:BilledQuantity unitCode="MTR">20</ram:BilledQuantity></ram:SpecifiedLineTradeDelivery>
</ram:IncludedSupplyChainTradeLineItem><ram:ApplicableHeaderTradeAgreement><ram:SellerTradeParty>
<ram:Name>Harbour Ltd</ram:Name><ram:PostalTradeAddress><ram:CityName>Port</ram:CityName></ram:PostalTradeAddress>
</ram:SellerTradeParty></ram:ApplicableHeaderTradeAgreement><ram:ApplicableHeaderTradeSettlement>
<ram:SpecifiedTradeSettlementHeaderMonetarySummation><ram:GrandTotalAmount currencyID="EUR">52.90</ram:GrandTotalAmount>
</ram:SpecifiedTradeSettlementHeaderMonetarySummation></ram:ApplicableHeaderTradeSettlement>
</rsm:SupplyChainTradeTransaction></rsm:CrossIndustryInvoice>"""
_UBL = "urn:oasis:names:specification:ubl:schema:xsd"
_PARTS = f'xmlns:a="{_UBL}:CommonAggregateComponents-2" xmlns:b="{_UBL}:CommonBasicComponents-2"'

CASES = (
    Case(
        "factur-x.xml",
        _FACTUR_X,
        shows=("# Invoice F-17", "Issue date time: 2024-03-05", "Seller party, name: Harbour Ltd", "city name: Port",
               "rand total amount: 52.90 EUR", "## Lines", "| Line id | Name | Billed quantity |",
               "| 1 | Rope | 20 MTR |"),
        metadata=("title=Invoice F-17",),
    ),
    Case(
        "xrechnung.xml",
        f'''<Invoice xmlns="{_UBL}:Invoice-2" {_PARTS}><b:ID>U-3</b:ID><b:IssueDate>2024-01-02</b:IssueDate>
<b:InvoiceTypeCode>380</b:InvoiceTypeCode><a:AccountingSupplierParty><a:Party><a:PartyName><b:Name>Kelp AG</b:Name>
</a:PartyName></a:Party></a:AccountingSupplierParty><a:AdditionalDocumentReference><b:ID>plan</b:ID><a:Attachment>
<b:EmbeddedDocumentBinaryObject filename="plan.pdf">aGVsbG8gd29ybGQ=</b:EmbeddedDocumentBinaryObject></a:Attachment>
</a:AdditionalDocumentReference><a:LegalMonetaryTotal><b:PayableAmount currencyID="EUR">9.50</b:PayableAmount>
</a:LegalMonetaryTotal><a:InvoiceLine><b:ID>1</b:ID><a:Item><b:Name>Buoy</b:Name></a:Item></a:InvoiceLine>
<a:InvoiceLine><b:ID>2</b:ID><b:Note>Late</b:Note><a:Item><b:Name>Net</b:Name></a:Item></a:InvoiceLine></Invoice>''',
        shows=("# Invoice U-3", "Issue date: 2024-01-02", "payable amount: 9.50 EUR",
               "## Accounting supplier party – Party",
               "Party name, name: Kelp AG", "plan.pdf",
               "| ID | Name | Note |", "| 1 | Buoy |  |", "| 2 | Net | Late |"),
        hides=("aGVsbG8",),
        notes=("encoded value",),
    ),
    Case(
        "credit.xml",
        f'<CreditNote xmlns="{_UBL}:CreditNote-2" {_PARTS}><b:ID>C-9</b:ID><b:Note>Returned nets</b:Note>'
        "<a:CreditNoteLine><b:ID>1</b:ID><b:CreditedQuantity unitCode='C62'>4</b:CreditedQuantity></a:CreditNoteLine>"
        "</CreditNote>",
        shows=("# Credit note C-9", "Note: Returned nets", "| 1 | 4 C62 |"),
    ),
    Case(
        "zugferd1.xml",
        "<CrossIndustryDocument><HeaderExchangedDocument><ID>Z-1</ID><Name>RECHNUNG</Name></HeaderExchangedDocument>"
        "<SpecifiedSupplyChainTradeTransaction><ApplicableSupplyChainTradeAgreement><BuyerTradeParty><Name>Tern</Name>"
        "</BuyerTradeParty></ApplicableSupplyChainTradeAgreement></SpecifiedSupplyChainTradeTransaction>"
        "</CrossIndustryDocument>",
        shows=("# Invoice Z-1", "name: RECHNUNG", "Buyer party, name: Tern"),
    ),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_invoice_is_a_form_with_labelled_values(tmp_path: Path, case: Case) -> None:
    check_case(tmp_path, case)


def test_the_invoice_in_a_pdf_is_a_form(tmp_path: Path) -> None:
    document = pymupdf.open()
    document.new_page().insert_text((72, 72), "Invoice F-17")
    document.embfile_add("factur-x.xml", _FACTUR_X.encode(), filename="factur-x.xml")
    document.save(tmp_path / "a.pdf")
    for member in pdf_members(tmp_path / "a.pdf", ParseLimits()):
        (tmp_path / member.name).write_bytes(b"".join(member.read()))
    assert "Seller party, name: Harbour Ltd" in text_of(tmp_path / "factur-x.xml")


_ATTRIBUTES = ("", ' format="102"', ' unitCode="C62"')
_NAMES = ("ID TypeCode Name SellerTradeParty IssueDateTime DateTimeString IncludedSupplyChainTradeLineItem InvoiceLine "
          "PostalTradeAddress GrandTotalAmount ExchangedDocument Note xyz").split()  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(trees_of(_NAMES, st.just("word"), ("", ' format="102"', ' unitCode="C62"')), min_size=1, max_size=5)
)
def test_no_word_of_an_invoice_is_lost(tmp_path: Path, parts: list[str]) -> None:
    source = numbered(f"<CrossIndustryInvoice>{' '.join(parts)}</CrossIndustryInvoice>")
    (tmp_path / "a.xml").write_text(source)
    _, pages = read(tmp_path / "a.xml")
    assert set(_words(source)) <= set(re.findall(r"word\d+x", "\n".join(page.text for page in pages))), source
