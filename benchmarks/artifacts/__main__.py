"""Artifacts of task memory: `python -m benchmarks.artifacts [--rounds N] [--text]`.

First, uploads and downloads of one artifact through a server of its own, and the extraction of
10,000 rows from a CSV file of the same size. Then a PDF, read by the process that the worker starts
for it. Then questions over namespaces of 10, 100 and 1,000 texts of 6,000 characters, asked in turn
by one caller in this process: of rare words, which one sentence of all has, and of these with
common ones, which nearly all pieces have. The built-in reader answers, or a model's server on the
loopback address, in a process of its own, that says the same at once, which leaves the service's
own share. The floor is a GET of the same namespace between the questions. At last, what a summary
without a model takes of the largest one, and for how long it ever keeps others waiting.
"""

import argparse

from app.process.serving import run
from benchmarks.artifacts import documents, queries, transfers
from benchmarks.artifacts.reader import reader_server
from benchmarks.surroundings import data_folder, unread_logs


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(prog="benchmarks.artifacts", description="Task memory.")
    parser.add_argument("--mebibytes", type=int, default=64, help="of the artifact that is sent")
    parser.add_argument("--rounds", type=int, default=3, help="of all that is measured")
    parser.add_argument("--text", action="store_true", help="send words, in place of random bytes")
    parser.add_argument("--questions", type=int, default=12, help="of each kind, in a round")
    parser.add_argument("--pages", type=int, default=300, help="of the PDF that is read")
    parts = ["transfers", "documents", "queries"]
    parser.add_argument("--only", choices=parts, help="and nothing else")
    asked = parser.parse_args()
    if asked.only in {None, "transfers"}:
        transfers.measure(asked.mebibytes, asked.rounds, is_text=asked.text)
    if asked.only in {None, "documents"}:
        documents.measure(asked.pages, asked.rounds)
    if asked.only in {None, "queries"}:
        with unread_logs(), reader_server() as url, data_folder() as folder:
            run(lambda: queries.measure(folder, url, asked.rounds, asked.questions))


if __name__ == "__main__":
    main()
