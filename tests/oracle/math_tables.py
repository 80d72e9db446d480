#!/usr/bin/env python3
"""Writes ir/src/math/tables.rs: what exp, log and erfc are at the points near which they are computed.

Run it in this folder; it needs mpmath. Numbers that are multiplied by others have 29 bits at most, so that such a product is exact.
"""

from pathlib import Path

import mpmath as mp

mp.mp.prec = 250
OUT = Path(__file__).resolve().parents[2] / "ir" / "src" / "math" / "tables.rs"
HEAD = """\
//! Values of exp, log and erfc at fixed points. Written by `tests/oracle/math_tables.py`.

// Numbers are written in full, and some are near to well-known constants.
#![allow(clippy::excessive_precision, clippy::approx_constant)]
"""


def short(x, bits=29):
    """The nearest number of so many bits."""
    if x == 0:
        return mp.mpf(0)
    _, e = mp.frexp(x)
    return mp.ldexp(mp.nint(mp.ldexp(x, bits - e)), e - bits)


def on_grid(x, bits):
    """The nearest multiple of 2^-bits."""
    return mp.ldexp(mp.nint(mp.ldexp(x, bits)), -bits)


def parts(x, high):
    """High part and rest."""
    return [float(high), float(x - high)]


def exp_row(i):
    x = mp.mpf(2) ** (mp.mpf(i) / 128)
    return parts(x, short(x))


def log_row(i):
    """The reciprocal of 1 + i/128, or of half of that from sqrt(2) on; minus its logarithm."""
    point = (1 + mp.mpf(i) / 128) / (1 if i <= 53 else 2)
    reciprocal = on_grid(1 / point, 9)
    x = -mp.log(reciprocal)
    return [float(reciprocal)] + parts(x, on_grid(x, 42))


def erfc_row(i):
    """Of i/64: the complement of the error function, and minus its slope."""
    c = mp.mpf(i) / 64
    x, slope = mp.erfc(c), 2 / mp.sqrt(mp.pi) * mp.exp(-c * c)
    return parts(x, mp.mpf(float(x))) + parts(slope, short(slope))


def table(name, doc, row, count):
    rows = [row(i) for i in range(count)]
    yield f"\n/// {doc}\npub(super) static {name}: [[f64; {len(rows[0])}]; {count}] = ["
    yield from ("    [" + ", ".join(repr(x) for x in r) + "]," for r in rows)
    yield "];"


if __name__ == "__main__":
    lines = [HEAD.rstrip()]
    lines += table("EXP2", "2 to the power of i/128: 29 bits, and the rest.", exp_row, 128)
    doc = "For x near 1 + i/128, or near half of that from i = 54 on: 1/x of 9 bits; minus its logarithm, of 42 bits after the point, and the rest."
    lines += table("LOG", doc, log_row, 129)
    doc = "At x = i/64: erfc(x) in two parts; minus its derivative, 29 bits and the rest."
    lines += table("ERFC", doc, erfc_row, 385)
    OUT.write_text("\n".join(lines) + "\n")
