"""The table of what models took."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Table

from hybrid_core.store.tables import STAYS, metadata
from hybrid_core.store.text import CleanString as String

model_usage = Table(
    "model_usage", metadata,
    Column("day", String, primary_key=True),  # of UTC, YYYY-MM-DD
    Column("model", String, primary_key=True),
    Column("library", String, primary_key=True),  # its id, "" for none or several
    Column("who", String, primary_key=True),  # a caller's name, "" for who works at this machine
    Column("calls", BigInteger, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("unpriced", BigInteger, nullable=False),  # those tokens whose price was not known
    Column("cost", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    info={STAYS: True},  # a limit is not to be had anew by clearing the home
)  # fmt: skip
