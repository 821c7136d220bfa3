# SPDX-License-Identifier: Apache-2.0
"""Touches memory and gives it back, as warm.h does."""
import ctypes
import mmap


def warm(size):
    area = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.madvise(mmap.MADV_HUGEPAGE)
    ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(area)), 1, size)
