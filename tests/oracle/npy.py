#!/usr/bin/env python3
"""Writes npy/*.npy: files of every element type, byte order and layout. Run it in this folder; it needs numpy."""

import os

import numpy as np
from numpy.lib import format

NAMES = "bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 c64 c128".split()
DTYPES = {n: np.dtype(c) for n, c in zip(NAMES, "?bhilBHILfdFD")}
os.makedirs("npy", exist_ok=True)


def elements(dtype, n):
    i = np.arange(n)
    match dtype.kind:
        case "b":
            return (i % 2 == 1).astype(dtype)
        case "i":
            return (i * 5 - 30).astype(dtype)
        case "u":
            return (i * 5).astype(dtype)
        case "f":
            return (i / 4 - 1).astype(dtype)
        case _:
            return (i / 4 - 1 + 1j * i).astype(dtype)


for name, dtype in DTYPES.items():
    x = elements(dtype, 24).reshape(2, 3, 4)
    for order, mark in (("little", "<"), ("big", ">")):
        ordered = x.astype(dtype.newbyteorder(mark))
        np.save(f"npy/{name}-{order}-c.npy", ordered)
        np.save(f"npy/{name}-{order}-f.npy", np.asfortranarray(ordered))

f64 = DTYPES["f64"]
np.save("npy/rank0.npy", elements(f64, 1).reshape(()))
np.save("npy/rank1.npy", elements(f64, 3))
np.save("npy/empty.npy", elements(f64, 0).reshape(0, 5))
for version in (2, 3):
    with open(f"npy/version{version}.npy", "wb") as file:
        format.write_array(file, elements(f64, 3), version=(version, 0))
