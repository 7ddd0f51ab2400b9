#!/bin/sh
# prepare_apart.sh NAME LOCK: install a lock into .venv/NAME, so that nothing of it can come into .venv.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

find_index
[ -x ".venv/$1/bin/python" ] || .venv/bin/uv venv --quiet --python .venv/bin/python ".venv/$1"
.venv/bin/uv pip sync --quiet --python ".venv/$1/bin/python" "$2"
