"""Vectors as columns, and as parameters in the driver's binary form, which is much faster."""

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector.sqlalchemy import HALFVEC
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format
from sqlalchemy import BindParameter, Cast, ColumnElement, Text, bindparam, cast
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import BinaryExpression, Slice
from sqlalchemy.types import UserDefinedType
from typing_extensions import override

_HEADER = struct.Struct(">HH")
_REAL_OID = 700
_REALS_OID = 1021
_REAL_BYTES = 4
_ELEMENT = np.dtype([("size", ">i4"), ("value", ">f4")])
_Slice: Callable[..., ColumnElement[Any]] = Slice  # its authors give it no types
EMBEDDING = HALFVEC()
"""A vector as `halfvec`: half the space of floats, with the same recall.

It has no fixed length, since engines may use different models.
"""
IN_BYTE_ORDER = Text(collation="C")
"""Text that is ordered by its bytes, independent of the database's collation."""


class HalfVector:
    """A vector for a parameter that the statement casts to `halfvec`."""

    def __init__(self, values: NDArray[np.float32]) -> None:
        self.content = _HEADER.pack(len(values), 0) + values.astype(">f2").tobytes()


class _HalfVectorDumper(Dumper):
    # Without a type OID: the cast around the parameter determines the type.
    format = Format.BINARY

    @override
    def dump(self, obj: HalfVector) -> Buffer:
        return obj.content


psycopg.adapters.register_dumper(HalfVector, _HalfVectorDumper)


def read_half_vector(sent: bytes) -> NDArray[np.float32]:
    """Return the values of a vector from the output of `halfvec_send`."""
    return np.frombuffer(sent, ">f2", offset=_HEADER.size).astype(np.float32)


class Numbers:
    """Many vectors of any lengths in one parameter, an array of `real`."""

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


class _Reals(UserDefinedType[Numbers]):
    """A type that SQLAlchemy passes to the driver without a cast, which would hide its elements."""

    cache_ok = True

    @override
    def get_col_spec(self, **_: Any) -> str:
        return "real[]"


def part(parameter: str, first: ColumnElement[int], last: ColumnElement[int]) -> Cast[Any]:
    """Return the vector between two 1-based positions of a `Numbers` parameter."""
    numbers: BindParameter[Numbers] = bindparam(parameter, type_=_Reals())
    slice_: BinaryExpression[Any] = BinaryExpression(
        numbers, _Slice(first, last, None), operators.getitem, type_=_Reals()
    )
    return cast(slice_, EMBEDDING)
