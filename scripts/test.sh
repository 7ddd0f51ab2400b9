#!/bin/sh
# Run all tests in two halves at a time, each with its own Postgres: the API, and the rest. Both end
# with the judges of the statements that they have sent.
set -eu

judges="tests/architecture/test_statements.py tests/architecture/test_conditions.py"
api="tests/access tests/api tests/architecture"
others=$judges
for folder in tests/*/; do
    folder=${folder%/}
    case " $api tests/__pycache__ tests/data tests/support " in
    *" $folder "*) ;;
    *) others="$folder $others" ;;
    esac
done

said=$(mktemp)
# shellcheck disable=SC2086  # lists of words
.venv/bin/pytest -p no:cacheprovider $others >"$said" 2>&1 &
running=$!
trap 'kill $running; rm -f "$said"; exit 1' INT TERM
failed=0
# shellcheck disable=SC2086
.venv/bin/pytest $api || failed=1
wait $running || failed=1
cat "$said"
rm -f "$said"
exit $failed
