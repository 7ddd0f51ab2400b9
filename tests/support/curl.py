"""The options of curl that the documents use, where it may not be installed.

`python -m tests.support.curl` takes its place. An option that is not here is refused.
"""

import sys
import urllib.error
import urllib.parse
import urllib.request
from argparse import ArgumentParser
from pathlib import Path


def main() -> None:
    parser = ArgumentParser("curl", allow_abbrev=False)
    parser.add_argument("-s", action="store_true")
    parser.add_argument("-G", action="store_true")
    parser.add_argument("-H", action="append", default=[])
    parser.add_argument("-X")
    parser.add_argument("-d")
    parser.add_argument("-T", type=Path)
    parser.add_argument("--data-urlencode", action="append", default=[])
    parser.add_argument("url")
    given = parser.parse_args()
    query = urllib.parse.urlencode(dict(text.split("=", 1) for text in given.data_urlencode))
    data = given.T.read_bytes() if given.T else given.d.encode() if given.d else None
    request = urllib.request.Request(
        f"{given.url}?{query}" if query else given.url,
        data,
        dict(header.split(": ", 1) for header in given.H),
        method=given.X or ("PUT" if given.T else "POST" if given.d else "GET"),
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            sys.stdout.write(answer.read().decode() + "\n")
    except urllib.error.HTTPError as error:  # as curl without --fail
        sys.stdout.write(error.read().decode() + "\n")


if __name__ == "__main__":
    main()
