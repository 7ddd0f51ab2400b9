"""PDFs made by code: pages of text, and files that are encrypted, damaged or hostile."""

import io
import json
import subprocess
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from pypdf import PdfReader, PdfWriter

from app.adapters.documents import pdf_process
from app.kernel.tuning import Tuning

PDF = "application/pdf"
_HEAD = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
_PAGES = 2
_FONT = 3
_RESOURCES = b"/Resources << /Font << /F1 3 0 R >> >>"
HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def written(*objects: bytes, trailer: bytes = b"") -> bytes:
    """Return a file of objects, numbered from 1; the first one is the catalogue."""
    file, places = bytearray(_HEAD), []
    for number, content in enumerate(objects, 1):
        places.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    xref = len(file)
    file += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    file += b"".join(b"%010d 00000 n \n" % place for place in places)
    file += b"trailer << /Size %d /Root 1 0 R %s >>\n" % (len(objects) + 1, trailer)
    return bytes(file + b"startxref\n%d\n%%%%EOF\n" % xref)


def stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries, content)


def deflated(content: bytes, times: int = 1) -> bytes:
    """Return a stream that is compressed so often."""
    for _ in range(times):
        content = zlib.compress(content)
    return stream(content, b"/Filter [%s]" % (b"/FlateDecode " * times))


def shown(*lines: str) -> bytes:
    """Return the content of a page with these lines."""
    signs = str.maketrans({"\\": r"\\", "(": r"\(", ")": r"\)"})
    texts = (b"(%s) Tj T*" % line.translate(signs).encode("cp1252") for line in lines)
    return b"BT /F1 10 Tf 12 TL 50 780 Td " + b" ".join(texts) + b" ET"


def of_contents(
    *contents: bytes,
    font: bytes = HELVETICA,
    resources: bytes = _RESOURCES,
    more: Sequence[bytes] = (),
) -> bytes:
    """Return a file with one page for each content stream; `more` are its last objects."""
    first = _FONT + 1
    kids = b" ".join(b"%d 0 R" % (first + 2 * n) for n in range(len(contents)))
    objects = [
        b"<< /Type /Catalog /Pages %d 0 R >>" % _PAGES,
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(contents)),
        font,
    ]
    for number, content in enumerate(contents):
        objects += [_page(first + 2 * number + 1, resources), content]
    return written(*objects, *more)


def _page(content: int, resources: bytes) -> bytes:
    return b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] %s /Contents %d 0 R >>" % (
        resources,
        content,
    )


def of_pages(*pages: str) -> bytes:
    """Return a file with these pages of text."""
    return of_contents(*(stream(shown(*page.split("\n"))) for page in pages))


def encrypted(pdf: bytes, password: str, algorithm: str = "AES-256") -> bytes:
    """Return a file that needs a password; without one, it only forbids its owner's rights."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf)))
    writer.encrypt(password, owner_password="owner", algorithm=algorithm)
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def scanned() -> bytes:
    """Return a file whose only page is a picture."""
    image = stream(
        bytes(64),
        b"/Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray"
        b" /BitsPerComponent 8",
    )
    picture = stream(b"q 612 0 0 792 0 0 cm /Im1 Do Q")
    return of_contents(
        picture, resources=b"/Resources << /XObject << /Im1 6 0 R >> >>", more=[image]
    )


# A process of its own: the kernel counts the memory of the one that starts another as that one's.
_MEASURE = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdin=sys.stdin.buffer, capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, used.ru_maxrss * 1024, used.ru_utime + used.ru_stime]))
"""


@dataclass(frozen=True)
class Ended:
    status: int
    memory: int
    cpu_seconds: float


def read(pdf: bytes, cpu_seconds: int) -> Ended:
    """Read a file as the service does; tell how its process ended, and what it took in bytes."""
    limits = map(str, (Tuning().task_pdf_memory_bytes, cpu_seconds))
    command = [sys.executable, "-c", _MEASURE, sys.executable, "-I", pdf_process.__file__, *limits]
    done = subprocess.run(command, input=pdf, capture_output=True, check=True)
    return Ended(*json.loads(done.stdout))
