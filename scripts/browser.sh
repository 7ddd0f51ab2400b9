#!/bin/sh
# Run tests/browser, which have an environment of their own beside .venv.
set -eu

if ! chromium=$(.venv/bin/python tests/browser/chromium.py); then
    echo "$chromium"
    [ "${MEMORY_BANK_TEST_BROWSER:-}" != required ]
    exit
fi
sh scripts/prepare_apart.sh browser tests/browser/requirements.lock
exec .venv/browser/bin/python -m pytest -c tests/browser/pytest.ini --rootdir=. \
    -n auto --dist loadfile "$@"
