"""Functions in C, compiled for this processor."""

import ctypes
import functools
import subprocess
import tempfile
from pathlib import Path


@functools.cache
def load(file, *libraries):
    """The functions of a file, linked with these libraries. The compiled file is not needed once it is loaded."""
    source = Path(__file__).with_name(file)
    with tempfile.TemporaryDirectory() as folder:
        to = f"{folder}/functions.so"
        command = ["cc", "-O3", "-march=native", "-shared", "-fPIC", str(source), "-o", to, *libraries]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise NotImplementedError(f"`{file}` can't be compiled: {done.stderr.splitlines()[:1]}")
        return ctypes.CDLL(to)
