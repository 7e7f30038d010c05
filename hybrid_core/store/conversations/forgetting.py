"""A library goes, and what was said about it."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select

from hybrid_core.store.conversations.tables import conversation_libraries, conversations


def forget_library(connection: Connection, library: str) -> None:
    """Remove the conversations about this library alone; from the scope of others it is taken out."""
    known = conversation_libraries.c
    mine = select(known.conversation).where(known.library == library)
    others = select(known.conversation).where(known.library != library)
    alone = (conversations.c.id.in_(mine), conversations.c.id.not_in(others))
    connection.execute(delete(conversations).where(*alone))
    connection.execute(delete(conversation_libraries).where(known.library == library))
