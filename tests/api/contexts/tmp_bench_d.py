import time, json
import psycopg
from tests.api.contexts.test_context_tail import _session, _SUMMARIES, _SUMMARY, _blocks
from tests.support.sessions import create_session
from tests.support.contexts import context

async def test_time(client, database_url, sent):
    await create_session(client, "empty")
    out = {}
    for asked in ({"policy": {"strategy": "window"}, "tokenLimit": 4000}, {"policy": {"strategy": "fully_abstracted"}, "tokenLimit": 4000}, {"policy": {"strategy": "every_n"}, "tokenLimit": 4000}, {"policy": {"strategy": "agent_summary"}, "tokenLimit": 4000}):
        key = (await context(client, "/sessions/empty", **asked))["policyKey"]
        for count in (100, 1000, 10_000):
            s = asked["policy"]["strategy"]
            with psycopg.connect(database_url) as c:
                c.execute("delete from sessions where session_id = %s", (f"s{count}",))
            path = await _session(client, database_url, count, key, _SUMMARIES if s == "every_n" else _SUMMARY)
            for _ in range(20): await context(client, path, **asked)
            del sent[:]
            await context(client, path, **asked)
            blocks = _blocks(database_url, sent)
            times = []
            for _ in range(150):
                t = time.perf_counter(); await context(client, path, **asked); times.append(time.perf_counter() - t)
            times.sort()
            out[f"{s} {count}"] = (round(times[75]*1000,1), round(times[142]*1000,1), blocks)
    for one in out.items(): print("RESULT", *one)
