"""Inference sessions of onnxruntime without its telemetry. The only module that imports it.

Since 1.29 its official builds send telemetry over the network from the moment of their import,
unless the environment forbids it by then.
"""

import os
from pathlib import Path

# A message to the library, not configuration of this service: putenv, as nothing is read.
os.putenv("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime as ort  # type: ignore[import-untyped]  # ships no types

# Errors are raised anyway.
_FATAL = 4
_FOLDER = "session.model_external_initializers_file_folder_path"
ort.set_default_logger_severity(_FATAL)
# For builds that ask the system, not the environment (Windows).
ort.disable_telemetry_events()


def open_session(graph: bytes | Path, folder: Path) -> ort.InferenceSession:
    """Open a session that computes in the calling thread.

    Args:
        graph: the graph itself, or its file.
        folder: the folder of the weight files that the graph names. They are mapped, not copied, as
            they would be if they were passed as values.
    """
    options = ort.SessionOptions()
    options.log_severity_level = _FATAL
    # The embedder's threads are the parallelism; more threads would compete for the cores.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Both only ever grow if every batch has another shape.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    options.add_session_config_entry(_FOLDER, str(folder))
    source = str(graph) if isinstance(graph, Path) else graph
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
