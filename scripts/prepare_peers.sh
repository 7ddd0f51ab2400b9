#!/bin/sh
# Install what benchmarks/peers compares with, apart, so that nothing of it can come into .venv.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

lock=benchmarks/peers/requirements.lock
find_index
[ -x .venv/peers/bin/python ] || .venv/bin/uv venv --quiet --python .venv/bin/python .venv/peers
.venv/bin/uv pip sync --quiet --python .venv/peers/bin/python "$lock"
