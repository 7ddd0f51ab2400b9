"""Descriptions of unexpected errors without their messages.

Messages of database and library errors quote values, and values are the text of memories.
"""

import traceback

_MAX_FRAMES = 12


def describe(error: BaseException) -> str:
    """Return the types of the error and its causes, and the innermost frames."""
    frames = traceback.extract_tb(error.__traceback__)[-_MAX_FRAMES:]
    places = " > ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames)
    names = [type(error).__name__]
    cause = error.__cause__ or error.__context__
    while cause is not None and len(names) < _MAX_FRAMES:
        names.append(type(cause).__name__)
        cause = cause.__cause__ or cause.__context__
    return f"{' from '.join(names)} at {places}"
