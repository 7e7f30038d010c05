"""MkDocs: links to files of the repository that lie outside ``docs`` lead to where it is published."""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"\]\((\.\.?/[^)\s#]*)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    folder = posixpath.dirname(page.file.src_uri)

    def replace(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", folder, match[1]))
        return match[0] if path.startswith("docs/") else f"]({config.repo_url}/blob/main/{path}"

    return _LINK.sub(replace, markdown)
