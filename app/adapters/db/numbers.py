"""Many vectors in one parameter, as a single sequence of numbers.

As text, parsing them would take Postgres longer than the rest of the insertion of a memory.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.adapt import Dumper
from psycopg.pq import Format
from sqlalchemy import BindParameter, Cast, ColumnElement, bindparam, cast
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import BinaryExpression, Slice
from sqlalchemy.types import UserDefinedType
from typing_extensions import override

from app.adapters.db.columns import EMBEDDING

_REAL_OID = 700
_REALS_OID = 1021
_REAL_BYTES = 4
_ELEMENT = np.dtype([("size", ">i4"), ("value", ">f4")])


class Numbers:
    """An array of `real`, from vectors of any lengths."""

    def __init__(self, vectors: Sequence[NDArray[np.float32]]) -> None:
        self.values = np.concatenate(vectors)


class _Dumper(Dumper):
    """The binary form of an array: dimensions, nulls, type; length and first index; elements.

    Source: array_recv in Postgres.
    """

    format = Format.BINARY
    oid = _REALS_OID

    @override
    def dump(self, obj: Numbers) -> bytes:
        elements = np.empty(obj.values.size, _ELEMENT)
        elements["size"] = _REAL_BYTES
        elements["value"] = obj.values
        return struct.pack(">iiiii", 1, 0, _REAL_OID, obj.values.size, 1) + elements.tobytes()


psycopg.adapters.register_dumper(Numbers, _Dumper)


_Slice: Callable[..., ColumnElement[Any]] = Slice  # its authors give it no types


class _Reals(UserDefinedType[Numbers]):
    """A type that SQLAlchemy passes to the driver without a cast, which would hide its elements."""

    cache_ok = True

    @override
    def get_col_spec(self, **_: Any) -> str:
        """Return the SQL type's name."""
        return "real[]"


def part(parameter: str, first: ColumnElement[int], last: ColumnElement[int]) -> Cast[Any]:
    """Return the vector between two 1-based positions of a `Numbers` parameter."""
    numbers: BindParameter[Numbers] = bindparam(parameter, type_=_Reals())
    slice_: BinaryExpression[Any] = BinaryExpression(
        numbers, _Slice(first, last, None), operators.getitem, type_=_Reals()
    )
    return cast(slice_, EMBEDDING)
