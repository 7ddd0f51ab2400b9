"""A PDF of many pages: how long its process reads it, and in how much memory."""

import time
from statistics import median

from app.kernel.tuning import Tuning
from benchmarks.artifacts.bank import Texts
from tests.support.pdfs import of_pages, read

_LINES, _CHARS = 50, 90
_MIB = 1024**2


def measure(pages: int, rounds: int) -> None:
    """Measure, and tell."""
    texts = Texts()
    lines = texts.text(pages * _LINES * _CHARS)
    cut = [lines[at : at + _CHARS] for at in range(0, len(lines), _CHARS)]
    pdf = of_pages(*("\n".join(cut[at : at + _LINES]) for at in range(0, len(cut), _LINES)))
    seconds, cpu, memory = [], [], 0
    for _ in range(rounds):
        began = time.perf_counter()
        ended = read(pdf, Tuning().task_pdf_cpu_seconds)
        seconds.append(time.perf_counter() - began)
        assert ended.status == 0, ended
        cpu.append(ended.cpu_seconds)
        memory = max(memory, ended.memory)
    print(
        f"PDF       {pages:5} pages {len(pdf) / _MIB:6.1f} MiB  {median(seconds):6.2f} s"
        f"  ({median(cpu):.2f} s of CPU)  memory of its process {memory / _MIB:5.1f} MiB at most"
    )
