"""Vectors in the driver's binary form; in text form, formatting numbers would take most time."""

import struct

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format
from typing_extensions import override

_HEADER = struct.Struct(">HH")


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
