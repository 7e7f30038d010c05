"""Prompts of Open WebUI and LibreChat, as their sources have them (shortened), told from questions by structure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hybrid_pageindex.http.prompts import errand_reply, find_question

ASKED = "When was the mill sold?"
HISTORY = f"### Chat History:\n<chat_history>\nUSER: {ASKED}\nASSISTANT: In 1987.\n</chat_history>"
RAG = """### Task:
Respond to the user query using the provided context, incorporating inline citations in the format [id] **only when the <source> tag includes an explicit id attribute** (e.g., <source id="1">).

### Guidelines:
- If you don't know the answer, clearly state that.
- Do not use XML tags in your response.

### Example of Citation:
If the user asks about a specific topic and the information is found in a source with a provided id attribute, the response should include the citation like in the following example:
* "According to the study, the proposed method increases efficiency by 20% [1]."

### Output:
Provide a clear and direct response to the user's query, including inline citations in the format [id] only when the <source> tag with id attribute is present in the context.

<context>
<source id="1" name="api.md">{context}</source>
</context>
"""  # noqa: E501
NEXT = f"{RAG}\n{ASKED}"  # version 0.6.13 and later
OLDER = f"{RAG}\n<user_query>\n{ASKED}\n</user_query>\n"
CONTEXTS = [
    "The mill stands by the river.",
    '### Output:\nJSON format: { "title": "x" }\nReturn JSON.',
    'Respond only in JSON. {"tags": ["a"]} <context> nested </context> and more',
    "<chat_history>\nUSER: other\n</chat_history>",
    "x" * 20_000,
]


@pytest.mark.parametrize("context", CONTEXTS, ids=range(len(CONTEXTS)))
@pytest.mark.parametrize("template", [NEXT, OLDER], ids=["appended", "user_query"])
def test_a_question_with_files_is_found_whatever_they_hold(template: str, context: str) -> None:
    prompt = template.replace("{context}", context)
    assert errand_reply([prompt], [], None) is None
    assert find_question(prompt) == ASKED


@pytest.mark.parametrize(
    "question",
    [ASKED, "Return the JSON keys of the config file", "What is the task of the mill?", "Which title has the report?",
     "Write a title deed summary", "### Heading\nWhat is JSON?", "Available tools of the smith?"],
)  # fmt: skip
def test_a_plain_question_is_no_errand(question: str) -> None:
    assert errand_reply([question], [], None) is None and find_question(question) == question


def test_a_mixture_of_answers_asks_its_question() -> None:
    prompt = (
        f'You have been provided with a set of responses from various models to the latest user query: "{ASKED}"\n\n'
        "Your task is to synthesize these responses into a single, high-quality response. Responses from models: A, B"
    )
    assert errand_reply([prompt], [], None) is None and find_question(prompt) == ASKED


TITLE = f"""### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Guidelines:
- The title should clearly represent the main theme or subject of the conversation.
- Your entire response must consist solely of the JSON object, without any introductory or concluding text.
### Output:
JSON format: {{ "title": "your concise title here" }}
### Examples:
- {{ "title": "📉 Stock Market Trends" }},
{HISTORY}"""
TAGS = f"""### Task:
Generate 1-3 broad tags categorizing the main themes of the chat history, along with 1-3 more specific subtopic tags.
### Output:
JSON format: {{ "tags": ["tag1", "tag2", "tag3"] }}

{HISTORY}"""
FOLLOW_UPS = f"""### Task:
Suggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next in this conversation.
### Guidelines:
- Response must be a JSON object, without any introductory text.
### Output:
JSON format: {{ "follow_ups": ["Question 1?", "Question 2?", "Question 3?"] }}
{HISTORY}"""
QUERIES = f"""### Task:
Analyze the chat history to determine the necessity of generating search queries, in the given language.

### Guidelines:
- Respond **EXCLUSIVELY** with a JSON object. Any form of extra commentary is strictly prohibited.

### Output:
Strictly return in JSON format:
{{
  "queries": ["query1", "query2"]
}}

{HISTORY}"""
AUTOCOMPLETE = """### Task:
You are an autocompletion system. Continue the text in `<text>` based on the **completion type** in `<type>`.

### **Output Rules**:
- Respond only in JSON format: `{ "text": "<your_completion>" }`.

### Context:
<chat_history>
USER: hello
</chat_history>
<type>search query</type>
<text>When was</text>
#### Output:
"""
IMAGE = f"""### Task:
Generate a detailed prompt for am image generation task based on the given language and context.

### Output:
Strictly return in JSON format:
{{
    "prompt": "Your detailed description here."
}}

{HISTORY}"""
EMOJI = """Your task is to reflect the speaker's likely facial expression through a fitting emoji. Interpret emotions.

Message: ```When was the mill sold?```"""
TOOLS = """Available Tools: [{"name": "clock"}]

Your task is to choose and return the correct tool(s) from the list of available tools based on the query.

The format for the JSON response is strictly:
{
  "tool_calls": [
    {"name": "toolName1", "parameters": {"key1": "value1"}}
  ]
}"""
LIBRECHAT = f"""Provide a concise, 5-word-or-less title for the conversation, using its same language.

Conversation:
User: {ASKED}
AI: In 1987."""
LANGUAGE = f"""Analyze this conversation and provide:
1. The detected language of the conversation
2. A concise title in the detected language (5 words or less, no punctuation or quotation)

User: {ASKED}
AI: In 1987."""


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        (TITLE, {"title": "When was the mill sold"}),
        (TAGS, {"tags": []}),
        (FOLLOW_UPS, {"follow_ups": []}),
        (QUERIES, {"queries": []}),
        (AUTOCOMPLETE, {"text": ""}),
        (IMAGE, {"prompt": ""}),
        (EMOJI, ""),
        (LIBRECHAT, "When was the mill sold"),
        (LANGUAGE, "When was the mill sold"),
    ],
    ids=["title", "tags", "follow-ups", "queries", "autocomplete", "image", "emoji", "librechat", "language"],
)
def test_errands_of_programs_are_replied_by_rule(prompt: str, reply: Any) -> None:
    text = errand_reply([prompt], [], None)
    assert text is not None and (text if isinstance(reply, str) else json.loads(text)) == reply


def test_tools_that_a_program_offers_are_not_chosen() -> None:
    assert errand_reply([f"Query: {ASKED}"], [TOOLS], None) == '{"tool_calls": []}'
    assert errand_reply([ASKED], ["You are a librarian. Available tools: none."], None) is None
