"""Inference sessions of onnxruntime with its reporting switched off. The only module to import it.

Since 1.29 its official builds report their use over the network, from the moment of their import,
unless the environment forbids it by then.
"""

import os
from pathlib import Path

# A message to the library, not configuration of ours: putenv, as nothing is read.
os.putenv("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime as ort  # type: ignore[import-untyped]  # ships no types

# An error is raised anyway.
_FATAL = 4
_FOLDER = "session.model_external_initializers_file_folder_path"
ort.set_default_logger_severity(_FATAL)
# For the builds that ask the system, not the environment (Windows).
ort.disable_telemetry_events()


def open_session(graph: bytes | Path, folder: Path) -> ort.InferenceSession:
    """Open a session that computes in the calling thread.

    Args:
        graph: itself, or the file that has it.
        folder: where the files lie with the weights that the graph names. They are mapped, not
            copied, as they would be if they were handed over as values.
    """
    options = ort.SessionOptions()
    options.log_severity_level = _FATAL
    # The embedder's threads are the parallelism; more beneath them would fight over the cores.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Both only ever grow when every batch has another shape.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    options.add_session_config_entry(_FOLDER, str(folder))
    source = str(graph) if isinstance(graph, Path) else graph
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
