"""What a piece of code is for: commands, configuration, plain text, a drawing; by its language, else by its lines."""

from __future__ import annotations

import re

from hybrid_core.types.documents import LineRole

_SHELLS = frozenset("bash sh shell zsh fish console terminal shell-session powershell ps1 pwsh bat cmd dos".split())
_CONFIGS = frozenset("yaml yml toml ini cfg conf json jsonc json5 properties env dotenv hcl nginx".split())
_PROSE = frozenset("text txt plain plaintext output log none".split())
_FIGURES = frozenset("mermaid plantuml puml dot graphviz".split())

_MOST = 0.8  # share of the lines that must look alike
_PROMPT = re.compile(r"\s*(?:[$%#>]|\[?[\w.-]+@[\w.-]+[:~ \w/]*\]?[$#]|PS [A-Z]:\\[^>]*>)\s+[A-Za-z./]")
_PROGRAMS = frozenset(
    "apk apt apt-get ansible ansible-playbook aws az brew cargo cat cd chmod chown conda cp crontab curl df dig "
    "dnf docker docker-compose du echo etcdctl export find firewall-cmd gcloud git grep gunzip gzip helm "
    "hostnamectl ip iptables journalctl jq kill kubectl less ln ls make mkdir mount mv mysql mysqldump nc netstat "
    "nginx node npm npx openssl pg_dump pg_restore ping pip pip3 pkill podman ps psql python python3 rabbitmqctl "
    "redis-cli redis-server rm rpm rsync scp sed service sftp source ss ssh sudo supervisorctl sysctl systemctl "
    "tail tar tee telnet terraform top touch ufw umount unzip useradd usermod vault vi vim wget yarn yum".split()
)
_SETTING = re.compile(
    r"\s*(?:-\s+)?[\"']?[A-Za-z_][\w. -]*[\"']?\s*(?:=|:(?!:))\s*[^({;]*[,{\[]?\s*|\s*\[[\w. -]+\]\s*"
)
_BRACKETS = re.compile(r"\s*[\]\[{}(),]*\s*")


def code_role(language: str, text: str = "") -> LineRole:
    """``language`` as a fence or a class names it, "" where nothing does: then its lines tell."""
    language = language.strip("{}.").lower()
    if language in _SHELLS:
        return "command"
    if language in _CONFIGS:
        return "config"
    if language in _FIGURES:
        return "image"
    if language in _PROSE:
        return "plain"
    return "code" if language else _told_by_lines(text)


def _told_by_lines(text: str) -> LineRole:
    lines = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith(("#", "//"))]
    said = [line for line in lines if not _BRACKETS.fullmatch(line)]
    commands = sum(map(_is_command, lines))
    if commands and (commands >= _MOST * len(lines) or _PROMPT.match(lines[0])):
        return "command"
    settings = sum(_SETTING.fullmatch(line) is not None for line in said)
    return "config" if settings >= 2 and settings >= _MOST * len(said) else "code"


def _is_command(line: str) -> bool:
    words = line.split(maxsplit=2)
    return bool(_PROMPT.match(line)) or (words[0] in _PROGRAMS and not (len(words) > 1 and words[1] in "=:"))
