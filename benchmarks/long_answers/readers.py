"""Readers that page through a whole list, all at once; they run in a process of their own."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx

MEMORIES = "/v1/reasoningEngines/1/memories"
TIMEOUT_SECONDS = 120


def read_all(url: str, secret: str, readers: int) -> Counter[str]:
    """Read the whole list as often as there are readers, at once; return what was answered."""
    with ThreadPoolExecutor(readers) as pool:
        return sum(pool.map(lambda _: _page_through(url, secret), range(readers)), Counter())


def _page_through(url: str, secret: str) -> Counter[str]:
    found: Counter[str] = Counter()
    token: str | None = ""
    headers = {"Authorization": f"Bearer {secret}"}
    with httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT_SECONDS) as client:
        while token is not None:
            params = {"pageSize": "970", **({"pageToken": token} if token else {})}
            answer = client.get(MEMORIES, params=params)
            found[str(answer.status_code)] += 1
            if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
                time.sleep(float(answer.headers["Retry-After"]))
                continue
            page = answer.raise_for_status().json()
            found["memories"] += len(page["memories"])
            token = page.get("nextPageToken")
    return found
