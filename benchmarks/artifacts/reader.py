"""A reader's model that answers at once, in a process of its own: `reader_server`."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from typing_extensions import override

ANSWER = "The passages say so."
_CONTENT = {"answer": ANSWER, "citations": [1]}


class _Handler(BaseHTTPRequestHandler):
    """Speaks as much of OpenAI's protocol as the service asks for, on connections that stay."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = json.dumps(_reply(asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    @override
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _reply(asked: dict[str, object]) -> dict[str, object]:
    message = {"role": "assistant", "content": json.dumps(_CONTENT)}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": asked["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


@contextmanager
def reader_server() -> Iterator[str]:
    """Serve during the block; give the address, as a reader's `base_url` takes it."""
    command = [sys.executable, "-m", "benchmarks.artifacts.reader"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


def main() -> None:
    """Serve on a free port, and say which."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        print(server.server_port, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
