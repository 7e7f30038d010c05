"""A library goes; what was asked and answered about it stays, and names its sources as gone."""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, select, union

from hybrid_core.store.conversations.tables import citations, conversation_libraries, messages


def forget_library(connection: Connection, library: str) -> None:
    """Take a library out of the scope of conversations that are about others, too.

    One about this library alone keeps it: without any it would be about all of them.
    """
    known = conversation_libraries.c
    others = select(known.conversation).where(known.library != library)
    connection.execute(delete(conversation_libraries).where(known.library == library, known.conversation.in_(others)))


def conversations_about(connection: Connection, library: str) -> int:
    """Count the conversations about a library, or with an answer that cites it."""
    known = conversation_libraries.c
    citing = (
        select(messages.c.conversation)
        .join(citations, citations.c.message == messages.c.id)
        .where(citations.c.library == library)
    )
    both = union(select(known.conversation).where(known.library == library), citing).subquery()
    return connection.scalar(select(func.count()).select_from(both)) or 0
