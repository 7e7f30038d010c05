"""List the licences of all packages that the product requires: ``python scripts/licences.py [--problems]``.

It reads the packages that are installed for the Python that runs it. With ``--problems`` it lists only problems. It
exits with 1 if a licence is incompatible with AGPL-3.0-or-later. It also does if a package states no licence and is not
in ``REVIEWED``.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = "hybrid-pageindex"
EXTRAS = ("anthropic", "bge-m3", "celery", "eval", "export", "ocr", "onnx", "openai", "postgres", "qdrant", "s3",
          "sentence-transformers", "tasks", "traces")  # fmt: skip
COMPATIBLE = frozenset(
    "0BSD AGPL-3.0 AGPL-3.0-ONLY AGPL-3.0-OR-LATER APACHE-2.0 BSD BSD-2-CLAUSE BSD-3-CLAUSE BSL-1.0 CC0-1.0 "
    "CNRI-PYTHON GPL-3.0 GPL-3.0-ONLY GPL-3.0-OR-LATER GPL-2.0-OR-LATER HPND ISC LGPL-2.1-OR-LATER LGPL-3.0 "
    "LGPL-3.0-ONLY LGPL-3.0-OR-LATER MIT MIT-0 MIT-CMU MPL-2.0 NCSA PSF-2.0 PYTHON-2.0 UNLICENSE ZLIB".split()
)
"""Licences whose code may be combined with code under AGPL-3.0-or-later."""
NAMES = {
    "MIT License": "MIT", "BSD License": "BSD", "Apache Software License": "Apache-2.0", "Apache2.0": "Apache-2.0",
    "3-Clause BSD License": "BSD-3-Clause", "ISC License (ISCL)": "ISC", "The Unlicense (Unlicense)": "Unlicense",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0", "Python Software Foundation License": "PSF-2.0",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0", "Apache License 2.0": "Apache-2.0",
    "GNU Lesser General Public License v3 or later (LGPLv3+)": "LGPL-3.0-or-later", "Apache 2.0": "Apache-2.0",
    "Dual Licensed - GNU AFFERO GPL 3.0 or Artifex Commercial License": "AGPL-3.0",
    "Apache License, Version 2.0": "Apache-2.0",
}  # fmt: skip
"""SPDX identifiers of licences that packages write otherwise."""
REVIEWED = {
    "pymupdf-layout": "AGPL-3.0",  # an empty package, which PyMuPDF needs for its upgrades
    "pymupdf4llm": "AGPL-3.0",  # an empty package, too
}
"""Licences of packages that state none."""


def main() -> int:
    installed, absent = required(PROJECT, EXTRAS)
    wrong = 0
    for name, package in sorted(installed.items()):
        licence = licence_of(package)
        fits = compatible(licence)
        wrong += not fits
        if fits and "--problems" in sys.argv[1:]:
            continue
        sys.stdout.write(f"{name} {package.version}: {licence or 'no licence'}{'' if fits else ' - NOT COMPATIBLE'}\n")
    sys.stdout.write(f"{len(installed)} packages, {wrong} with a licence that does not fit or is not known.\n")
    if absent:
        sys.stdout.write(f"Not installed, so not checked: {', '.join(sorted(absent))}.\n")
    return int(bool(wrong))


def required(project: str, extras: tuple[str, ...]) -> tuple[dict[str, Distribution], set[str]]:
    """Return the installed packages that a project and some of its extras require.

    Also return the names of required packages that are not installed.
    """
    installed: dict[str, Distribution] = {}
    absent: set[str] = set()
    waiting = [(project, extra) for extra in ("", *extras)]
    seen = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        try:
            package = distribution(name)
        except PackageNotFoundError:
            absent.add(name)
            continue
        if name != project:
            installed[name] = package
        for line in package.requires or ():
            requirement = Requirement(line)
            if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
                continue
            needs = canonicalize_name(requirement.name)
            new = {(needs, of) for of in ("", *requirement.extras)} - seen
            seen |= new
            waiting += new
    return installed, absent


def licence_of(package: Distribution) -> str:
    """Return the licence that a package states, as an SPDX expression if possible."""
    data = package.metadata
    if name := REVIEWED.get(canonicalize_name(data["Name"])):
        return name
    if expression := data.get("License-Expression"):
        return str(expression)
    written = (data.get("License") or "").strip().partition("\n")[0]
    if written and compatible(NAMES.get(written, written)):
        return NAMES.get(written, written)
    classifiers = [
        line.rpartition(" :: ")[2] for line in data.get_all("Classifier") or () if line.startswith("License")
    ]
    stated = [NAMES.get(name, name) for name in classifiers if name not in ("OSI Approved", "DFSG approved")]
    return " AND ".join(stated) or written


def compatible(expression: str) -> bool:
    """Return whether an SPDX expression allows use under a compatible licence.

    Every part of an AND must be compatible, but only one part of an OR.
    """
    inner = re.search(r"\(([^()]*)\)", expression)
    if inner:
        value = "MIT" if compatible(inner[1]) else "NONE"
        return compatible(f"{expression[: inner.start()]}{value}{expression[inner.end() :]}")
    return any(all(map(_fits, re.split(r"\s+AND\s+", part))) for part in re.split(r"\s+OR\s+", expression))


def _fits(licence: str) -> bool:
    return re.split(r"\s+WITH\s+", licence.strip())[0].upper() in COMPATIBLE


if __name__ == "__main__":
    sys.exit(main())
