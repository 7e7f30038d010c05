"""Detection of shell commands among prose and tables that begin with the same signs, such as "$ in millions"."""

from __future__ import annotations

import re

PROGRAMS = frozenset(
    "apk apt apt-get ansible ansible-playbook aws az brew cargo cat cd chmod chown conda cp crontab curl df dig "
    "dnf docker docker-compose du echo etcdctl export find firewall-cmd gcloud git grep gunzip gzip helm "
    "hostnamectl ip iptables journalctl jq kill kubectl less ln ls make mkdir mount mv mysql mysqldump nc netstat "
    "nginx node npm npx openssl pg_dump pg_restore ping pip pip3 pkill podman ps psql python python3 rabbitmqctl "
    "redis-cli redis-server rm rpm rsync scp sed service sftp source ss ssh sudo supervisorctl sysctl systemctl "
    "tail tar tee telnet terraform top touch ufw umount unzip useradd usermod vault vi vim wget yarn yum".split()
)
_WORDS_TOO = frozenset("brew cargo cat echo export find helm kill less make mount node ping service source tail top "
                       "touch vault yarn".split())  # fmt: skip
"""Programs whose names are also words of the language."""
_CLOSED = frozenset(
    "a amount amounts an and as at by change changes decrease each except excluding excludes for from in including "
    "increase is million millions billion billions of on or other per than the thousand thousands to total value with "
    "were was are".split()
)
"""Words that follow a currency sign or a share and never name a program."""
_HOST_PROMPT = re.compile(r"\s*(?:\[?[\w.-]+@[\w.-]+[:~ \w/]*\]?[$#]|PS [A-Z]:\\[^>]*>)\s+[A-Za-z./]")
_SIGN_PROMPT = re.compile(r"\s*[$%#>]\s+(?P<program>~?[A-Za-z./][\w./+-]*)(?P<rest>\s.*|$)", re.DOTALL)
_ARGUMENTS = re.compile(
    r"\s(?:--?[A-Za-z][\w-]*(?=[\s=]|$)|[~.]{0,2}/[\w.]|[\w./-]+\.[a-z]{1,5}(?=\s|$)|\w+=\S|[a-z+]+://|[\w.-]+@[\w.-]+)"
    r"|\s[|<>]{1,2}\s*[\w./~]|&&"
)
_FIGURES = re.compile(r"\s{2,}[\d($€£—–-]|\s\d[\d,]*\.?\d*\s+\d[\d,]*\.?\d*\s*$")


def is_command(line: str, *, listing: bool = False) -> bool:
    """Return whether a line is a shell command after a prompt, such as "$ ls -l".

    A prompt of one sign, such as $, may also be the sign of a currency or a share. So a program, a path or an option
    has to follow. In a ``listing``, a text that is marked as code, anything but a word of prose may follow.
    """
    if _HOST_PROMPT.match(line):
        return True
    match = _SIGN_PROMPT.match(line)
    if match is None or _FIGURES.search(match["rest"]):
        return False
    program, words = match["program"], match["rest"].split(maxsplit=1)
    if program.startswith(("./", "/", "~/", "../")) and len(program) > 2:
        return True
    if program in PROGRAMS - _WORDS_TOO:
        return True
    if not program[0].isupper() and _ARGUMENTS.search(match["rest"]):
        return True
    return listing and not _CLOSED & {program.lower(), *(word.lower() for word in words[:1])}
