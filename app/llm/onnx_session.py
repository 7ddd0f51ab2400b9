"""Inference sessions of onnxruntime with its reporting switched off. The only module to import it.

Since 1.29 its official builds report their use over the network, from the moment of their import,
unless the environment forbids it by then.
"""

import os
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

# A message to the library, not configuration of ours: putenv, as nothing is read.
os.putenv("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime as ort  # type: ignore[import-untyped]  # ships no types

_ERROR = 3
ort.set_default_logger_severity(_ERROR)
# For the builds that ask the system, not the environment (Windows).
ort.disable_telemetry_events()


def open_session(graph: bytes, weights: Mapping[str, NDArray[np.float32]]) -> ort.InferenceSession:
    """Open a session that computes in the calling thread, over weights that stay where they are.

    The caller keeps `weights` for as long as the session.
    """
    options = ort.SessionOptions()
    options.log_severity_level = _ERROR
    # The embedder's threads are the parallelism; more beneath them would fight over the cores.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Both only ever grow when every batch has another shape.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    values = [ort.OrtValue.ortvalue_from_numpy(value) for value in weights.values()]
    options.add_external_initializers(list(weights), values)
    return ort.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
