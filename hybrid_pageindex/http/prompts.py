"""Tell users' questions from prompts that chat programs send by themselves, by the structure of their templates.

Open WebUI requests titles, tags, follow-ups, queries, tools and emoji in separate calls, and wraps a question in the
attached files. LibreChat requests titles. A template is recognised by its beginning and by what it requests. The
enclosed documents and conversations do not matter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hybrid_pageindex.conversations.memory import title_of

_TASK_HEAD = re.compile(r"\s*#{2,4}\s*\**Task\b", re.IGNORECASE)
_ENCLOSED = re.compile(
    r"^<(?:context|chat_history|sources?|messages)\b[^>]*>.*", re.DOTALL | re.IGNORECASE | re.MULTILINE
)
_JSON_REPLY = re.compile(
    r"#{2,4}\s*\**Output\b[^\n]*\n[^#]{0,300}?\bJSON\b"  # ### Output: JSON format: { "title": … }
    r"|\b(?:respond|return|reply|answer)\b[^\n]{0,60}\bJSON\b",
    re.IGNORECASE,
)
_USER_QUERY = re.compile(r"<(user_query|query|question)>\s*(.*?)\s*</\1>\s*$", re.DOTALL | re.IGNORECASE)
_CONTEXT_END = re.compile(r"</(?:context|sources?)>", re.IGNORECASE)
_MIXTURE = re.compile(
    r"\s*You have been provided with a set of responses from various models to the latest user query:\s*\"(.*?)\"\s*\n",
    re.DOTALL,
)
_TITLE_HEADS = re.compile(
    r"\s*(?:Provide a concise, 5-word-or-less title|Analyze this conversation and provide:"
    r"|(?:Please )?(?:generate|write|create|give)\b[^.\n]{0,60}\btitle\b[^.\n]{0,60}\bconversation\b)",
    re.IGNORECASE,
)
_EMOJI_HEAD = re.compile(r"\s*Your task is to [^\n]{0,120}\bemoji\b.*?\bMessage:\s*```", re.DOTALL | re.IGNORECASE)
_TOOLS_HEAD = re.compile(r"\s*Available Tools:.*\"tool_calls\"", re.DOTALL)
_JSON_FIELD = re.compile(r'\{\s*"(\w+)"\s*:')
_USER_LINE = re.compile(r"^\s*(?:user|human)\s*:\s*(.+)$", re.IGNORECASE | re.MULTILINE)
_HISTORY = re.compile(r"(?:<chat_history>|Conversation:|### Context:)(.*)", re.DOTALL)
_FIELD_OF_TASK = {
    "title_generation": "title", "tags_generation": "tags", "follow_up_generation": "follow_ups",
    "query_generation": "queries", "autocomplete_generation": "text", "image_prompt_generation": "prompt",
    "function_calling": "tool_calls",
}  # fmt: skip
_EMPTY_TEXTS = frozenset({"text", "emoji", "prompt"})


def find_question(text: str) -> str:
    """Return the question inside a chat program's template with context. Return any other text unchanged."""
    if mixture := _MIXTURE.match(text):
        return mixture[1].strip()
    if not _TASK_HEAD.match(text):
        return text.strip()
    if query := _USER_QUERY.search(text):
        return query[2].strip()
    ends = list(_CONTEXT_END.finditer(text))
    return (text[ends[-1].end() :].strip() if ends else "") or text.strip()


def errand_reply(users: Sequence[str], systems: Sequence[str], metadata: Mapping[str, Any] | None) -> str | None:
    """Return a fixed reply to a request that a chat program makes by itself, such as a title.

    Return None for a user's question. ``users`` and ``systems`` are the texts of messages with these roles, in order.
    """
    text = users[-1] if users else ""
    if any(_TOOLS_HEAD.match(system) for system in systems) and len(users) == 1:
        return json.dumps({"tool_calls": []})
    task = str((metadata or {}).get("task", ""))
    task = "" if task not in _FIELD_OF_TASK and "title" not in task and "emoji" not in task else task
    if not task and not (len(users) == 1 and _is_errand(text)):
        return None
    if "emoji" in task or _EMOJI_HEAD.match(text):
        return ""
    template = _template(text)
    name = next(iter(_JSON_FIELD.findall(template)), "") or _FIELD_OF_TASK.get(task, "")
    title = _title(text)
    if not name:
        return title
    if name == "title":
        return json.dumps({name: title}, ensure_ascii=False)
    return json.dumps({name: "" if name in _EMPTY_TEXTS else []})


def _is_errand(text: str) -> bool:
    if _TITLE_HEADS.match(text) or _EMOJI_HEAD.match(text):
        return True
    return bool(_TASK_HEAD.match(text) and _JSON_REPLY.search(_template(text)))


def _template(text: str) -> str:
    """Return the text of a template without the context that it encloses."""
    return _ENCLOSED.sub("", text)


def _title(text: str) -> str:
    about = _HISTORY.search(text)
    first = _USER_LINE.search(about[1] if about else text)
    return title_of(first[1] if first else (about[1] if about else "").strip().split("\n")[0]) or "Conversation"
