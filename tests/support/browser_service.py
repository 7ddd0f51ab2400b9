"""The service that tests/browser looks at, with its Postgres and a scripted model: a program.

It prints where it serves, then obeys a line of JSON at a time, answers each by a line, and ends
with its input. So those tests need nothing of the service's own environment. With the argument
`rules`, no model writes the memories.

    {"rows": 60000, "engine": "2"}                           inserts memories
    {"failures": 210, "engine": "2"}                         inserts failed generations
    {"answers": [{"facts": []}, 500]}                        orders what the model says next
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from app.adapters.postgres.home import FOLDER, SOCKETS
from app.adapters.postgres.server import url_of
from tests.support.live import KEY, live_server
from tests.support.model_server import ModelServer, model_server, status

_ROWS = """
insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                      memory_type, create_time, update_time, language, cues)
select %(engine)s, 'm' || n, 1, jsonb_build_object('user_id', (n %% 1000)::text),
       sha256(convert_to('{"user_id":"' || n %% 1000 || '"}', 'UTF8')),
       'Fact number ' || n, '[]', '{}', 'NATURAL_LANGUAGE_COLLECTION', now(), now(), 'english', '{}'
from generate_series(0, %(rows)s - 1) as n
"""

_FAILURES = """
insert into operations (engine_id, operation_id, engine_name, kind, state, request, error, details,
                        create_time, update_time, due_time, remove_time, scopes)
select %(engine)s::text::bigint, (200000000000000000 + n)::text,
       'projects/default/locations/local/reasoningEngines/' || %(engine)s::text,
       'generation.generate', 'FAILED',
       jsonb_build_object(
           'scope', jsonb_build_object('user_id', n::text), 'directMemoriesSource',
           jsonb_build_object('directMemories', jsonb_build_array(
               jsonb_build_object('fact', 'I like tea number ' || n)))),
       '{"code": 14, "message": "Away.", "details": [{"reason": "MODEL_UNAVAILABLE"}]}',
       '{"@type": "type.googleapis.com/Test", "author": "openai:scripted"}',
       now() - interval '1 minute', now() - interval '1 minute', now(), now() + interval '1 day',
       jsonb_build_object('user_id', jsonb_build_array(n::text))
from generate_series(1, %(failures)s) as n
"""


def main() -> None:
    """Serve until the input ends."""
    with _folder() as folder, model_server() as model:
        variables = {
            "MEMORY_BANK_WORKER_RETRY_BASE_SECONDS": "0.01",
            "MEMORY_BANK_LOG_LEVEL": "WARNING",
        }
        if sys.argv[1:] != ["rules"]:
            variables["MEMORY_BANK_MODEL"] = "openai:scripted"
            variables["MEMORY_BANK_MODEL_BASE_URL"] = model.url
        with live_server(folder, **variables) as server:
            _say({"url": server.url, "key": KEY})
            for line in sys.stdin:
                _obey(json.loads(line), url_of(folder / FOLDER / SOCKETS), model)
                _say({})


def _say(answer: dict[str, str]) -> None:
    print(json.dumps(answer), flush=True)


@contextmanager
def _folder() -> Iterator[Path]:
    # Short, since a Unix socket's path may have about 100 characters.
    folder = Path(tempfile.mkdtemp(prefix="omb-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _obey(command: dict[str, Any], url: str, model: ModelServer) -> None:
    if "rows" in command:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(b"set session_replication_role = replica")
            connection.execute(_ROWS.encode(), command)
            connection.execute(b"vacuum (analyze) memories")
    elif "failures" in command:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_FAILURES.encode(), command)
    else:
        model.reset()
        model.will(*(status(one) if isinstance(one, int) else one for one in command["answers"]))


if __name__ == "__main__":
    main()
