# Shared by the scripts beside it: finds Python, makes .venv, installs the project. Sourced, never run.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
VENV="$ROOT/.venv"
SHOW_PACKAGES='/^Collecting / { sub(/[^A-Za-z0-9._-].*/, "", $2); print "  " $2; fflush() }
/^Installing collected/ { print "  unpacking"; fflush() }'
NEEDS_VENV="Install it (Debian or Ubuntu: sudo apt install python3-venv) and run this again."

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

new_enough() { # is $1 a Python that this project runs on?
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

can_make_venv() {
    "$1" -c 'import venv, ensurepip' >/dev/null 2>&1
}

find_python() { # prints a Python >= 3.11 that can make environments; PYTHON, where set, is the only candidate
    local candidate without="" cannot="cannot make virtual environments: its venv module is missing. $NEEDS_VENV"
    if [ -n "${PYTHON:-}" ]; then
        new_enough "$PYTHON" || fail "PYTHON=$PYTHON is not Python 3.11 or newer."
        can_make_venv "$PYTHON" || fail "$PYTHON $cannot"
        printf '%s\n' "$PYTHON"
        return
    fi
    for candidate in python3.13 python3.12 python3.11 python3 python; do
        if new_enough "$candidate"; then
            if can_make_venv "$candidate"; then
                printf '%s\n' "$candidate"
                return
            fi
            without="${without:-$candidate}"
        fi
    done
    [ -z "$without" ] || fail "$without $cannot"
    fail "Python 3.11 or newer was not found: install it (Debian or Ubuntu: sudo apt install python3 python3-venv)" \
        "or name it, as in PYTHON=/path/to/python3.12 $0."
}

make_venv() { # .venv, made where it is missing, unfinished, or of a Python that is gone
    local own="$VENV/bin/python"
    if new_enough "$own" && { "$own" -c 'import pip' || "$own" -m ensurepip; } >/dev/null 2>&1; then
        return
    fi
    local python
    python="$(find_python)"
    echo "Making a virtual environment in .venv with $("$python" --version)"
    "$python" -m venv --clear "$VENV" || fail "The virtual environment could not be made. $NEEDS_VENV"
}

install_project() { # $1: "" or the extra "dev". Does nothing when nothing changed since the last time
    local extra="$1" log="$VENV/install.log" mark state
    mark="$VENV/.installed-${extra:-base}"
    state="$(cksum <"$ROOT/pyproject.toml") $ROOT"
    if [ "$(cat "$mark" 2>/dev/null)" = "$state" ]; then
        return
    fi
    if [ -z "$extra" ] && [ "$(cat "$VENV/.installed-dev" 2>/dev/null)" = "$state" ]; then
        return
    fi
    echo "Installing hybrid-pageindex${extra:+ with its $extra tools} into .venv (downloads packages the first time)"
    if ! PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 \
        "$VENV/bin/python" -m pip install -e "$ROOT${extra:+[$extra]}" 2>&1 | tee "$log" | awk "$SHOW_PACKAGES"; then
        tail -n 15 "$log" >&2
        fail "The installation failed; all it said is in $log."
    fi
    printf '%s\n' "$state" >"$mark"
}
