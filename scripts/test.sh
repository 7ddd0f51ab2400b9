#!/bin/sh
# Run the tests in several processes, each with its own Postgres; then those that must run alone,
# one after another, and the judges of the statements that all of them have sent. Arguments are
# options of pytest for both runs, and select no tests.
set -eu

statements=$(mktemp -d)
trap 'rm -rf "$statements"' EXIT
# The soak draws other faults by `make soak`: what CI finds should depend on the change alone.
export SEED="${SEED:-1}"
# One more than there are cores, since tests of processes and of faults spend much time waiting.
processes=$(.venv/bin/python -c 'import os; print((os.cpu_count() or 1) + 1)')
failed=0
.venv/bin/pytest -n "$processes" --dist loadfile --no-loadscope-reorder \
    --statements="$statements" -m "not alone" "$@" || failed=1
.venv/bin/pytest -n 1 --statements="$statements" -m alone "$@" || failed=1
.venv/bin/pytest --statements="$statements" tests/architecture/test_statements.py &
.venv/bin/pytest --statements="$statements" tests/architecture/test_conditions.py || failed=1
wait $! || failed=1
if [ -z "${MEMORY_BANK_TEST_CITUS_URL:-}" ]; then
    echo "tests/citus are skipped: MEMORY_BANK_TEST_CITUS_URL names no Citus coordinator"
fi
exit $failed
