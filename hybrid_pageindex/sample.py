"""A sample document: the annual report of an invented company, written as a PDF of 24 pages.

``python -m hybrid_pageindex.sample PATH`` writes it. It has a cover, a printed table of contents, front
matter numbered in roman, page labels, running heads, tables and notes, but no bookmarks, as most annual
reports do. Its figures add up. The file is long because it carries the report's text.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMPANY = "Kestrel Vale Water Technologies, Inc."
FRONT_MATTER = 4  # pages labelled i to iv; the body begins with 1

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP = 612.0, 792.0, 72.0, 540.0, 84.0
_DATE = "D:20251114090000Z"
_ROMAN = ("i", "ii", "iii", "iv")


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A question about the sample report, its one right page, and words of the answer on that page."""

    question: str
    page: int
    answer: str


SAMPLE_QUESTIONS = (
    SampleQuestion("What was the capital expenditure in fiscal 2025?", 18, "58,700"),
    SampleQuestion("How many people does Kestrel Vale employ?", 7, "3,140 people"),
    SampleQuestion("What share of net sales comes from the largest customer?", 6, "9 percent"),
    SampleQuestion("What is the lawsuit about the Thornby foundry about?", 10, "stormwater"),
    SampleQuestion("When does the term loan mature?", 22, "June 30, 2029"),
    SampleQuestion("What was the effective tax rate in fiscal 2025?", 23, "23.0 percent"),
    SampleQuestion("Which quarterly dividend did the Board declare in October 2025?", 24, "$0.11 per share"),
)

# The pages, in a small markup: "# ", "## ", "### " headings by level; "- " an item of a list; "|" a row of
# a table with its cells ("|^" the head, "|=" a total); ">" a line of the printed contents, indented by its
# depth; "!" a centred line of the cover; anything else a paragraph, ended by an empty line.
_PAGES = (
    """
!24 Kestrel Vale Water Technologies, Inc.

!18 2025 Annual Report

!12 For the fiscal year ended September 30, 2025

!10 A specimen. The company, its people and its figures are invented.
""",
    """
# Contents

> Fiscal 2025 at a Glance | iii
> Letter to Shareholders | iv
> Item 1. Business | 1
>> Overview | 1
>> Customers and Competition | 2
>> Manufacturing, Supply and People | 3
> Item 1A. Risk Factors | 4
>> Risks of Our Markets and Operations | 4
>> Financial and Legal Risks | 5
> Item 2. Properties | 6
> Item 3. Legal Proceedings | 6
> Item 7. Management's Discussion and Analysis | 7
>> Results of Operations | 7
>> Segment Results | 8
>> Liquidity and Capital Resources | 9
>> Critical Accounting Estimates | 10
>> Outlook | 10
> Item 8. Financial Statements | 11
>> Report of the Independent Auditor | 11
>> Consolidated Statements of Income | 12
>> Consolidated Balance Sheets | 13
>> Consolidated Statements of Cash Flows | 14
>> Consolidated Statements of Shareholders' Equity | 15
>> Notes to Consolidated Financial Statements | 16
""",
    """
# Fiscal 2025 at a Glance

Five years in figures. Amounts are in thousands of dollars, except per share.

|^ Fiscal year ended September 30 | 2025 | 2024 | 2023 | 2022 | 2021
| Net sales | 830,500 | 782,300 | 722,400 | 668,900 | 611,200
| Operating income | 116,100 | 107,600 | 87,400 | 76,300 | 68,100
| Diluted earnings per share | 1.90 | 1.65 | 1.29 | 1.12 | 0.98
| Dividends per share | 0.40 | 0.35 | 0.30 | 0.26 | 0.24

Net sales grew in each of the five years. Operating income reached 14.0 percent of net sales, the
highest share since the company was listed.

- Municipal Water passed four hundred million dollars of net sales for the first time.
- Metering and Service connected its two-millionth smart meter in May.
- The Board raised the dividend for the ninth year in a row.
- The injury rate fell to 0.8 recordable cases per 200,000 hours worked.
""",
    """
# Letter to Shareholders

Dear fellow shareholders,

Towns do not postpone the repair of a burst main, and this year they did not postpone its prevention
either. Demand for pumps, valves and leak detection was steady from the first quarter to the last. We
shipped more equipment than in any year before, and we shipped it on time: 96 percent of orders left our
works on the promised day, against 91 percent two years ago.

Three decisions shaped the year. We bought Brightwell Metering, a maker of ultrasonic meters whose
engineers we had admired for a long time. We closed the old casting line at Millrace and moved its work
to a new line that needs half the energy. And we began to sell our monitoring software by subscription,
so that even a village with two wells can afford it.

Not everything went well. Orders from paper and chemical works fell, and our industrial segment shrank a
little. A supplier's fire held back control panels through the winter. We have since qualified a second
source.

I thank our colleagues for their care, our customers for their patience in the winter, and you for your
trust.

Odile Marchetti-Brandt, Chair and Chief Executive Officer
""",
    """
# Item 1. Business

## Overview

Kestrel Vale Water Technologies, Inc. designs, makes and services equipment that moves, controls and
measures water. The company was founded in 1958 as a repair shop for windmill pumps and has its head
office in Alder Reach. Its shares have been listed since 2004.

We report three segments.

### Municipal Water

Pumps, gate and butterfly valves, hydrants and pumping stations for towns and water districts. A pumping
station is usually delivered complete with its controls, and about a third of orders includes
commissioning on site.

### Industrial Process

Pumps and valves for corrosive, hot or abrasive liquids in chemical works, paper mills, mines and
breweries. Products are engineered to order, and the time from order to delivery is four to nine months.

### Metering and Service

Water meters, leak sensors, the Clearflow monitoring software, spare parts and field service. More than
half of this segment's sales recur every year under contracts of one to five years.

Our strategy is to earn the place of a customer's first call: equipment that lasts, parts in stock, and
a service engineer within a day's drive.
""",
    """
## Customers and Competition

We sold to about 6,400 customers in 41 countries. Water districts and towns buy after public tenders, in
which price, energy use over the life of the pump and delivery time are weighed. Industrial customers
buy through engineering contractors or directly.

Our largest customer, the Greater Lowmarsh Water Authority, accounted for 9 percent of net sales. No
other customer accounted for more than 4 percent. The ten largest customers together accounted for 27
percent.

Sales to customers outside North America were 31 percent of the total. We sell there through 58
distributors and through our own offices in four countries.

The markets for pumps and valves are fragmented. In most tenders we meet between three and six
competitors, some of them larger than we are and some of them local firms with lower costs. In meters, a
few large makers hold most of the market, and customers change supplier rarely because meters and
reading systems must fit together.

We believe that energy efficiency, the breadth of our range and the density of our service network are
our main advantages. Sales are somewhat seasonal: the spring and summer quarters are stronger, since
pipes are laid when the ground is not frozen.
""",
    """
## Manufacturing, Supply and People

### Manufacturing

We make castings, machine them, assemble and test. Every pump above 15 kilowatts runs on a test bed
before it is shipped. A new casting line at Millrace replaced two older ones in March and uses induction
furnaces in place of coke.

### Supply

The main purchased materials are scrap iron, bronze ingots, stainless steel, electric motors and
electronic control panels. Most are available from several sources. Control panels came from a single
maker until this winter, when a fire stopped its works for eleven weeks; a second maker has been
qualified since.

### Research and development

About 290 engineers work on hydraulics, materials, sensors and software. The company holds 212 patents,
which expire between 2026 and 2043. No single patent is material.

### People

On September 30, 2025 we employed 3,140 people, of whom 2,215 worked in manufacturing and service, 635
in sales and administration and 290 in engineering. About 38 percent are covered by collective
agreements, the next of which expires in February 2027. Voluntary turnover was 7 percent. Each
apprentice who finished was offered a permanent place.
""",
    """
# Item 1A. Risk Factors

## Risks of Our Markets and Operations

Public budgets may be cut. Towns finance water works from fees, bonds and grants. When rates rise or
grants end, projects are put off, and our order book reacts about two quarters later.

Demand from process industries moves in cycles. Paper and chemical works stopped several projects this
year. A longer pause would leave parts of our Stonegate works underused.

We depend on a few foundries and test beds. A fire, flood or long outage at Millrace would stop the
supply of large castings, and replacement from outside would take six months or more.

The prices of metals and electricity vary. We pass changes on through price clauses in about half of our
contracts; in the others we carry the change until the next tender.

Software and connected meters can be attacked. An intrusion into Clearflow could expose customers'
consumption data or interrupt readings. We test our systems with outside specialists every year, but no
test finds everything.

Skilled people are scarce. Machinists, pattern makers and field engineers take years to train, and a
quarter of those we have will reach retirement age within ten years.

Weather affects us. Drought leads districts to ban new connections, and flooding closes building sites.
""",
    """
## Financial and Legal Risks

We owe money. Our loan agreement limits further borrowing and requires that net debt stays below three
and a half times earnings before interest, taxes, depreciation and amortization. A breach would let the
lenders demand repayment.

Exchange rates move. About a third of our sales but only a fifth of our costs are in currencies other
than the dollar. We hedge firm orders, not forecasts.

Goodwill may be impaired. Acquired businesses may earn less than we expected when we bought them, and a
charge would then reduce our income.

Warranty costs may exceed what we have set aside. Valves are commonly guaranteed for ten years, and a
flaw in material may show itself late.

Environmental law is strict for foundries. Limits on dust, sand and waste water are tightened from time
to time, and old sites may need to be cleaned up at our expense even where earlier owners caused the
damage.

Taxes may change. We operate in fourteen tax jurisdictions, and the rules for the allocation of income
among them are under review in several.

Provisions of our charter, such as the staggered terms of directors, could make a takeover more
difficult, even one that shareholders would welcome.
""",
    """
# Item 2. Properties

The principal sites are listed below. We consider them suitable and sufficient for the coming years.

|^ Site | Use | Square feet | Held
| Alder Reach | Head office, laboratory | 118,000 | Owned
| Millrace | Foundry, large pumps | 640,000 | Owned
| Stonegate | Industrial pumps | 385,000 | Owned
| Thornby | Valves, foundry | 410,000 | Owned
| Quillford | Meters, electronics | 152,000 | Leased
| Five service centers | Service, parts | 96,000 | Leased

# Item 3. Legal Proceedings

In August 2024 the Thornby River Conservancy brought an action against a subsidiary of the company in
the district court. It alleges that stormwater from the sand yard of the Thornby foundry carried
phenolic resin into the river between 2016 and 2022, and it seeks the removal of sediment and civil
penalties. We dispute the claim. The yard was roofed in 2022. The court has appointed an expert, whose
report is expected in the spring of 2026. We have set aside $3.2 million for the investigation and for
legal fees and cannot yet estimate a loss beyond that amount.

A former distributor claims commissions of $1.1 million for orders placed after the end of its contract.
A hearing is set for January 2026.

We are party to other proceedings that arise in the ordinary course of business, none of which we expect
to be material.
""",
    """
# Item 7. Management's Discussion and Analysis

## Results of Operations

Amounts are in thousands of dollars.

|^ Fiscal year | 2025 | 2024 | Change
| Net sales | 830,500 | 782,300 | 6.2%
| Gross profit | 315,600 | 288,700 | 9.3%
| Research and development | 41,500 | 37,200 | 11.6%
| Selling, general and administrative | 151,200 | 143,900 | 5.1%
|= Operating income | 116,100 | 107,600 | 7.9%

Net sales rose by $48.2 million. Higher volume added $31 million, prices $13 million and Brightwell
Metering, which we own since January, $6 million; exchange rates took away about $2 million.

Gross margin improved from 36.9 to 38.0 percent of net sales. The new casting line lowered scrap and
energy use, and the share of service and software in our sales rose. Freight was cheaper than in the
year before.

Research and development grew because engineers joined with Brightwell Metering and because work on the
next generation of Clearflow began. Selling, general and administrative expenses fell from 18.4 to 18.2
percent of net sales.

The restructuring charge of $6.8 million covers severance and the dismantling of the old casting lines
at Millrace. There was no such charge in fiscal 2024.

Interest expense declined to $14.6 million, since we repaid debt and the rate on the variable part was
lower.
""",
    """
## Segment Results

Amounts are in thousands of dollars.

|^ Net sales | 2025 | 2024 | Change
| Municipal Water | 412,300 | 381,900 | 8.0%
| Industrial Process | 268,450 | 271,800 | (1.2%)
| Metering and Service | 149,750 | 128,600 | 16.4%

### Municipal Water

Sales of pumping stations were strong after the flood programs of three coastal states released their
second round of grants. Hydrants and small valves were flat. Segment margin rose to 17.2 percent.

### Industrial Process

Orders from paper mills and chemical works fell by 14 percent, while mining and beverage customers
bought more. Deliveries were also held back in the winter by missing control panels, most of which were
shipped in the third quarter. The order book at the end of the year stood at $121 million, against $139
million a year earlier.

### Metering and Service

Growth came from ultrasonic meters, from subscriptions to Clearflow and, for nine months, from
Brightwell Metering. Subscriptions were sold to 212 districts, most of which had not been customers
before. Field service raised its prices in January for the first time in two years.
""",
    """
## Liquidity and Capital Resources

Our sources of cash are the money earned by operations, a revolving credit line of $150 million, which
was unused at the end of the year, and the capital markets.

Cash from operations was $121.3 million, against $112.2 million in fiscal 2024. Inventories and
receivables grew more slowly than sales.

Capital expenditure in fiscal 2025 was $58.7 million, compared with $46.3 million in fiscal 2024. About
$29 million went into the new casting line at Millrace, $11 million into automated machining cells at
Stonegate, $8 million into a meter assembly hall at Quillford, and the rest into replacement and safety.
We expect capital expenditure of $45 million to $50 million in fiscal 2026, as the casting line is
complete.

We paid $22.5 million for Brightwell Metering, repaid $20.0 million of debt, bought back shares for
$18.0 million and paid dividends of $16.6 million. Cash fell by $14.0 million to $75.1 million.

Net debt was $149.9 million, or 1.0 times earnings before interest, taxes, depreciation and
amortization; the loan agreement allows 3.5 times.

We believe that cash from operations and the unused credit line will cover our needs for at least the
next twelve months.
""",
    """
## Critical Accounting Estimates

Some figures in our statements rest on estimates that could reasonably have been different.

Revenue over time. Large pumping stations are recognized as costs are incurred. If the estimated total
cost of all open projects were 1 percent higher, operating income would have been $1.9 million lower.

Warranty. We set aside 1.3 percent of the sales of guaranteed products, based on the claims of the past
eight years. A change of a tenth of a percentage point would move the annual charge by $0.6 million.

Goodwill. Each unit's value is estimated from expected cash flows, discounted at 8.5 to 10.5 percent.
The value of the Industrial Process unit exceeded its carrying amount by 34 percent; the other units had
wider margins.

## Outlook

For fiscal 2026 we expect net sales of $860 million to $885 million and an operating margin between 14.0
and 14.6 percent. We assume that municipal demand stays firm, that the order intake of process
industries does not fall further, and that exchange rates stay where they were in October 2025. These
statements look forward; what really happens may differ for the reasons given under Risk Factors.
""",
    """
# Item 8. Financial Statements

## Report of the Independent Auditor

To the shareholders and the Board of Directors of Kestrel Vale Water Technologies, Inc.

Opinion. We have audited the consolidated balance sheets of the company as of September 30, 2025 and
2024, and the related consolidated statements of income, cash flows and shareholders' equity for each of
the three years then ended, with the notes. In our opinion they present fairly, in all material
respects, the financial position of the company and the results of its operations in conformity with
generally accepted accounting principles.

Basis. We conducted our audits in accordance with the applicable auditing standards. We are independent
of the company and believe that our audits provide a reasonable basis for our opinion.

Critical audit matter: revenue recognized over time. Estimates of the cost to complete pumping stations
require judgment. We tested the controls over these estimates, compared earlier estimates with actual
outcomes, visited four projects, and recalculated the revenue of a sample of contracts.

Internal control. We also audited internal control over financial reporting and found it effective as of
September 30, 2025.

Harcastle Lindqvist LLP, Alder Reach, November 14, 2025. We have served as the company's auditor since
2013.
""",
    """
## Consolidated Statements of Income

(In thousands of dollars, except per share)

|^ Fiscal year ended September 30 | 2025 | 2024 | 2023
| Net sales | 830,500 | 782,300 | 722,400
| Cost of goods sold | 514,900 | 493,600 | 462,300
|= Gross profit | 315,600 | 288,700 | 260,100
| Research and development | 41,500 | 37,200 | 33,900
| Selling, general and administrative | 151,200 | 143,900 | 135,600
| Restructuring | 6,800 | - | 3,200
|= Operating income | 116,100 | 107,600 | 87,400
| Interest expense | (14,600) | (16,900) | (15,300)
| Other income, net | 2,100 | 1,300 | 900
|= Income before taxes | 103,600 | 92,000 | 73,000
| Income taxes | 23,800 | 21,600 | 17,500
|= Net income | 79,800 | 70,400 | 55,500
| Basic earnings per share | 1.92 | 1.67 | 1.30
| Diluted earnings per share | 1.90 | 1.65 | 1.29
| Weighted shares, basic (thousands) | 41,500 | 42,100 | 42,700
| Weighted shares, diluted (thousands) | 42,000 | 42,600 | 43,100

The accompanying notes are part of these statements.
""",
    """
## Consolidated Balance Sheets

(In thousands of dollars)

|^ September 30 | 2025 | 2024
| Cash and cash equivalents | 75,100 | 89,100
| Accounts receivable, net | 138,400 | 128,100
| Inventories | 117,200 | 109,300
| Prepaid expenses and other | 18,600 | 17,900
|= Total current assets | 349,300 | 344,400
| Property, plant and equipment, net | 290,400 | 262,300
| Operating lease assets | 31,700 | 29,800
| Goodwill | 174,900 | 162,600
| Intangible assets, net | 68,300 | 66,200
| Other assets | 18,400 | 21,700
|= Total assets | 933,000 | 887,000
| Accounts payable | 92,300 | 86,500
| Accrued liabilities | 61,400 | 58,200
| Current portion of long-term debt | 20,000 | 20,000
| Current lease liabilities | 7,400 | 6,900
|= Total current liabilities | 181,100 | 171,600
| Long-term debt | 205,000 | 225,000
| Lease liabilities | 25,100 | 23,600
| Deferred income taxes | 24,300 | 26,400
| Other liabilities | 19,600 | 20,100
|= Total liabilities | 455,100 | 466,700
| Shareholders' equity | 477,900 | 420,300
|= Total liabilities and shareholders' equity | 933,000 | 887,000

The accompanying notes are part of these statements.
""",
    """
## Consolidated Statements of Cash Flows

(In thousands of dollars)

|^ Fiscal year ended September 30 | 2025 | 2024 | 2023
| Net income | 79,800 | 70,400 | 55,500
| Depreciation and amortization | 36,900 | 34,200 | 31,800
| Share-based compensation | 11,400 | 10,100 | 9,300
| Deferred income taxes | (2,100) | 900 | (2,100)
| Accounts receivable | (9,600) | (7,300) | (11,200)
| Inventories | (7,900) | 3,100 | (14,500)
| Accounts payable | 5,800 | 2,400 | 7,900
| Other | 7,000 | (1,600) | 1,400
|= Net cash from operating activities | 121,300 | 112,200 | 78,100
| Purchases of property, plant and equipment | (58,700) | (46,300) | (39,900)
| Acquisitions, net of cash | (22,500) | - | (18,000)
| Other | 1,200 | 600 | 400
|= Net cash used in investing activities | (80,000) | (45,700) | (57,500)
| Proceeds from borrowings | - | - | 25,000
| Repayment of debt | (20,000) | (30,000) | (10,000)
| Repurchase of shares | (18,000) | (15,000) | (9,000)
| Dividends paid | (16,600) | (14,700) | (12,800)
|= Net cash used in financing activities | (54,600) | (59,700) | (6,800)
| Effect of exchange rates | (700) | (300) | 500
|= Change in cash | (14,000) | 6,500 | 14,300
| Cash at beginning of year | 89,100 | 82,600 | 68,300
|= Cash at end of year | 75,100 | 89,100 | 82,600

The accompanying notes are part of these statements.
""",
    """
## Consolidated Statements of Shareholders' Equity

(In thousands of dollars)

|^ Changes | Capital | Retained | Translation | Total
|= Balance, September 30, 2023 | 128,000 | 251,400 | (8,400) | 371,000
| Net income | - | 70,400 | - | 70,400
| Share-based compensation | 10,100 | - | - | 10,100
| Repurchase of shares | (15,000) | - | - | (15,000)
| Dividends | - | (14,700) | - | (14,700)
| Currency translation | - | - | (1,500) | (1,500)
|= Balance, September 30, 2024 | 123,100 | 307,100 | (9,900) | 420,300
| Net income | - | 79,800 | - | 79,800
| Share-based compensation | 11,400 | - | - | 11,400
| Repurchase of shares | (18,000) | - | - | (18,000)
| Dividends | - | (16,600) | - | (16,600)
| Currency translation | - | - | 1,000 | 1,000
|= Balance, September 30, 2025 | 116,500 | 370,300 | (8,900) | 477,900

The company bought back 412,000 of its own shares in fiscal 2025 under a program of $60 million that the
Board approved in 2023; $27 million of it remained at the end of the year.
""",
    """
## Notes to Consolidated Financial Statements

### Note 1. Accounting Policies

The statements include the company and all subsidiaries that it controls. Transactions among them are
eliminated. The fiscal year ends on September 30. Cash equivalents are deposits and bills with an
original term of three months or less. Buildings are depreciated over 20 to 40 years and machinery over
5 to 15 years, in equal yearly amounts. Research and development is expensed as incurred; the cost of
software for sale is capitalized from the point at which it is technically feasible.

### Note 2. Revenue

Equipment is recognized when control passes to the customer, usually on shipment. Pumping stations are
recognized over time by the share of cost incurred. Service contracts and subscriptions are recognized
evenly over their term. Amounts are in thousands of dollars.

|^ Recognized | 2025 | 2024
| At a point in time | 561,900 | 540,200
| Over time: pumping stations | 184,300 | 169,800
| Over time: service and subscriptions | 84,300 | 72,300
|= Net sales | 830,500 | 782,300

Contract liabilities, mostly advance payments for pumping stations, were $22.7 million at the end of
fiscal 2025. Unsatisfied obligations under contracts of more than one year were $236 million, of which
we expect to recognize about two thirds in fiscal 2026.
""",
    """
### Note 3. Inventories

Inventories are stated at the lower of cost, first in first out, and net realizable value. Amounts are
in thousands of dollars.

|^ September 30 | 2025 | 2024
| Raw materials | 47,300 | 44,900
| Work in process | 21,500 | 20,100
| Finished goods | 48,400 | 44,300
|= Total | 117,200 | 109,300

The allowance for slow-moving items was $6.4 million, against $5.9 million a year earlier.

### Note 4. Property, Plant and Equipment

Amounts are in thousands of dollars.

|^ September 30 | 2025 | 2024
| Land | 18,900 | 18,900
| Buildings | 142,600 | 133,400
| Machinery and equipment | 318,200 | 297,900
| Construction in progress | 41,700 | 22,300
|= Total at cost | 521,400 | 472,500
| Accumulated depreciation | (231,000) | (210,200)
|= Net | 290,400 | 262,300

Depreciation expense was $31.4 million in fiscal 2025. Interest of $0.9 million was capitalized on the
casting line during its construction. Machinery with a carrying amount of $1.1 million was scrapped when
the old casting lines at Millrace were shut down.
""",
    """
### Note 5. Acquisition, Goodwill and Intangible Assets

On January 6, 2025 we acquired all shares of Brightwell Metering for $22.5 million in cash. The price
was allocated to goodwill of $12.3 million, technology and customer relationships of $7.6 million,
equipment of $1.9 million and other net assets of $0.7 million. The goodwill stands for the skills of
the workforce and is not deductible for taxes. Amortization of intangible assets was $5.5 million. No
impairment was found in the annual test on July 1.

### Note 6. Debt

Amounts are in thousands of dollars.

|^ September 30 | 2025 | 2024
| Term loan | 125,000 | 145,000
| Senior notes, 4.85 percent, due 2031 | 100,000 | 100,000
|= Total debt | 225,000 | 245,000
| Less current portion | (20,000) | (20,000)
|= Long-term debt | 205,000 | 225,000

The term loan matures on June 30, 2029 and is repaid in quarterly installments of $5.0 million, with the
balance due at maturity. It bears interest at the overnight rate plus 1.40 percent; the average rate in
fiscal 2025 was 6.1 percent. The revolving credit line expires on the same day. The company complied
with all covenants throughout the year.
""",
    """
### Note 7. Income Taxes

Amounts are in thousands of dollars.

|^ Fiscal year | 2025 | 2024
| Tax at the statutory rate of 21 percent | 21,756 | 19,320
| State taxes, net | 2,980 | 2,610
| Research credits | (1,640) | (1,390)
| Other | 704 | 1,060
|= Income taxes | 23,800 | 21,600

The effective tax rate was 23.0 percent in fiscal 2025 and 23.5 percent in fiscal 2024. Unrecognized tax
benefits were $2.8 million. Returns for fiscal 2022 and later remain open to examination.

### Note 8. Share-Based Compensation

Under the 2019 plan the Board may grant restricted stock units, performance units and options for up to
4.5 million shares, of which 1.7 million remained available. Expense was $11.4 million, and $14.9
million is still to be recognized over a weighted period of 1.8 years. The units below are in
thousands; the value is the average on the day of the grant.

|^ Restricted stock units | Number | Value
| Outstanding, September 30, 2024 | 812 | $31.40
| Granted | 366 | $38.75
| Vested | (341) | $29.85
| Forfeited | (28) | $33.10
|= Outstanding, September 30, 2025 | 809 | $35.32
""",
    """
### Note 9. Leases

The company leases the Quillford works, service centers and vehicles. Lease cost was $9.8 million. The
weighted remaining term is 5.2 years and the weighted discount rate 5.4 percent.

### Note 10. Segment Information

Segment operating income excludes corporate costs and restructuring. Amounts are in thousands of
dollars.

|^ Operating income | 2025 | 2024 | 2023
| Municipal Water | 70,800 | 62,400 | 53,000
| Industrial Process | 38,200 | 39,900 | 36,500
| Metering and Service | 33,600 | 25,700 | 20,300
| Corporate and restructuring | (26,500) | (20,400) | (22,400)
|= Total | 116,100 | 107,600 | 87,400

### Note 11. Commitments

Firm orders for machinery were $7.4 million. Guarantees to customers for advance payments and
performance were $38 million; none has ever been called.

### Note 12. Subsequent Events

On October 28, 2025 the Board declared a quarterly dividend of $0.11 per share, an increase of one cent,
payable on December 12 to holders of record on November 28. On November 3, 2025 the company agreed to
sell a vacant site at Millrace for $2.6 million.
""",
)


def write_sample_report(path: Path) -> Path:
    """Write the sample report to ``path`` (its folder is made) and return the path.

    The same bytes are written every time. Raises OSError where the file cannot be written.
    """
    import pymupdf  # imported here: it takes most of a second and only this function needs it

    document = pymupdf.open()
    for number, markup in enumerate(_PAGES, start=1):
        page = document.new_page(width=_WIDTH, height=_HEIGHT)
        writer = _PageWriter(page)
        if number > 1:
            writer.frame(page_label(number))
        for kind, argument in _blocks(markup):
            writer.write(kind, argument)
    document.set_page_labels([
        {"startpage": 0, "prefix": "", "style": "r", "firstpagenum": 1},
        {"startpage": FRONT_MATTER, "prefix": "", "style": "D", "firstpagenum": 1},
    ])  # fmt: skip
    title = f"{COMPANY} 2025 Annual Report"
    document.set_metadata({"title": title, "author": COMPANY, "creationDate": _DATE, "modDate": _DATE})
    data: bytes = document.tobytes(garbage=3, deflate=True, no_new_id=True)
    document.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def page_label(number: int) -> str:
    """The label printed on a physical page: "i" to "iv", then "1" on."""
    return _ROMAN[number - 1] if number <= FRONT_MATTER else str(number - FRONT_MATTER)


def _blocks(markup: str) -> Iterator[tuple[str, str]]:
    """The blocks of a page: (sign, text); lines of a paragraph are joined."""
    paragraph: list[str] = []
    for line in [*markup.strip().split("\n"), ""]:
        sign, _, text = line.partition(" ")
        if (line and not sign.strip("#-|^=>")) or sign.startswith("!"):
            yield sign, text
        elif line:
            paragraph.append(line)
        elif paragraph:
            yield "", " ".join(paragraph)
            paragraph = []
        else:
            yield "gap", ""


class _PageWriter:
    """Writes the blocks of one page from top to bottom."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._y = _TOP

    def frame(self, label: str) -> None:
        """The running head and the printed page label."""
        self._text(_LEFT, 46, COMPANY, 8.5, "tiit")
        self._right(_RIGHT, 46, "2025 Annual Report", 8.5, "tiit")
        self._right(_WIDTH / 2 + self._length(label, 9, "tiro") / 2, 760, label, 9, "tiro")

    def write(self, sign: str, text: str) -> None:
        if sign.startswith("#"):
            self._heading(text, len(sign))
        elif sign.startswith("|"):
            self._row(sign, [cell.strip() for cell in text.split("|")])
        elif sign.startswith(">"):
            self._contents_line(text, len(sign) - 1)
        elif sign.startswith("!"):
            self._cover_line(text, float(sign[1:]))
        elif sign == "-":
            self._paragraph(text, indent=14)
        elif sign == "gap":
            self._y += 6
        else:
            self._paragraph(text)

    def _heading(self, text: str, level: int) -> None:
        size, before = {1: (20.0, 14.0), 2: (15.0, 10.0), 3: (12.0, 6.0)}[level]
        self._y += size + before
        self._text(_LEFT, self._y, text, size, "hebo")
        self._y += 2

    def _paragraph(self, text: str, indent: float = 0) -> None:
        size, leading = 11.5, 15.5
        lines = textwrap.wrap(text, 94 if not indent else 91)
        self._y += leading
        if indent:
            self._text(_LEFT, self._y, "-", size, "tiro")
        self._page.insert_text(
            (_LEFT + indent, self._y), lines, fontsize=size, fontname="tiro", lineheight=leading / size
        )
        self._y += leading * (len(lines) - 1) + 6

    def _row(self, sign: str, cells: list[str]) -> None:
        """A row: its label at the left margin, its figures right-aligned in even columns."""
        head, total = sign == "|^", sign == "|="
        font = "hebo" if head or total else "helv"
        columns = len(cells) - 1
        step = 88.0 if columns < 4 else 268.0 / columns
        self._y += 17
        if total:
            self._page.draw_line((_RIGHT - step * columns + 12, self._y - 11), (_RIGHT, self._y - 11), width=0.4)
        self._text(_LEFT, self._y, cells[0], 9.5, font)
        for i, cell in enumerate(cells[1:], start=1):
            self._right(_RIGHT - step * (columns - i), self._y, cell, 9.5, font)
        if head:
            self._page.draw_line((_LEFT, self._y + 4), (_RIGHT, self._y + 4), width=0.8)
            self._y += 3

    def _contents_line(self, text: str, depth: int) -> None:
        title, label = (part.strip() for part in text.split("|"))
        x = _LEFT + 18 * depth
        self._y += 19
        space = _RIGHT - x - self._length(title + "  ", 10.5, "tiro") - self._length("  iii", 10.5, "tiro")
        dots = "." * int(space / self._length(".", 10.5, "tiro"))
        self._text(x, self._y, f"{title} {dots}", 10.5, "tiro")
        self._right(_RIGHT, self._y, label, 10.5, "tiro")

    def _cover_line(self, text: str, size: float) -> None:
        self._y += size + 26
        font = "hebo" if size > 15 else "helv"
        self._right(_WIDTH / 2 + self._length(text, size, font) / 2, self._y + 80, text, size, font)

    def _text(self, x: float, y: float, text: str, size: float, font: str) -> None:
        self._page.insert_text((x, y), text, fontsize=size, fontname=font)

    def _right(self, x: float, y: float, text: str, size: float, font: str) -> None:
        self._text(x - self._length(text, size, font), y, text, size, font)

    @staticmethod
    def _length(text: str, size: float, font: str) -> float:
        import pymupdf

        return float(pymupdf.get_text_length(text, fontname=font, fontsize=size))


def main(arguments: list[str]) -> int:
    """Write the report to the one path given. Returns the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m hybrid_pageindex.sample PATH\n")
        return 2
    try:
        path = write_sample_report(Path(arguments[0]))
    except OSError as error:
        sys.stderr.write(f"{arguments[0]}: cannot be written ({error.strerror}).\n")
        return 1
    sys.stdout.write(f"{path}: {len(_PAGES)} pages\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
