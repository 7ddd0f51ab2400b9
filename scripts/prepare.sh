#!/bin/sh
# prepare.sh LOCK...: make .venv agree with the last lock, unless it agrees with one of them already.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

installed=.venv/installed.txt
trimmed=.venv/trimmed

state() { pwd; cat pyproject.toml "$1"; }

suits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# The commands in .venv name their folder, so those of a moved checkout do not run.
is_here() { [ ! -f "$installed" ] || [ "$(head -n 1 "$installed")" = "$(pwd)" ]; }

fail() { echo "$*" >&2; exit 1; }

find_python() {
    old=
    for candidate in ${PYTHON:-python3.14 python3.13 python3.12 python3.11 python3 python}; do
        suits "$candidate" || continue
        "$candidate" -c 'import ensurepip, venv' 2>/dev/null && return
        old=$candidate
    done
    [ -z "$old" ] || fail "$old lacks its venv module: install it" \
        "(on Debian and Ubuntu: apt install python3-venv), then try again."
    fail "There is no Python 3.11 or newer here (looked for ${PYTHON:-python3 on the PATH}):" \
        "install one, or name it: make PYTHON=/path/to/python3 ..."
}

for lock in "$@"; do
    if [ -x .venv/bin/memory-bank ] && [ -x .venv/bin/python ] &&
        state "$lock" | cmp -s - "$installed"; then exit 0; fi
done

echo "Setting up .venv from $lock ..." >&2
if ! suits .venv/bin/python || ! is_here || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    find_python
    rm -rf .venv
    "$candidate" -m venv .venv
fi
rm -f "$installed"

# Trimmed packages lack what other work needs; the mark outlasts an interruption.
again=
[ ! -e "$trimmed" ] || again=--reinstall
if ! [ -x .venv/bin/uv ]; then
    sed -n '/^uv==/,/[^\\]$/p' requirements.lock > .venv/uv.txt
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
        --requirement .venv/uv.txt
fi

find_index

python=.venv/bin/python
# shellcheck disable=SC2086 # one option, or none
.venv/bin/uv pip sync --quiet $again --python "$python" "$lock"
.venv/bin/uv pip install --quiet --python "$python" --no-deps --no-build-isolation --editable .
rm -f "$trimmed"
if [ "$lock" = requirements-run.lock ]; then
    : > "$trimmed"
    "$python" scripts/trim.py
    .venv/bin/uv pip uninstall --quiet --python "$python" uv
fi
state "$lock" > "$installed"
