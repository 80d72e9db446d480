#!/usr/bin/env python3
"""Rewright, MLIR and xDSL side by side: the same arithmetic, text to text, canonicalized, without what is computed twice or not used.

Programs are made here, the same in each system's own text. The systems take turns, so that whatever else the machine does hits all of them.
Times are of whole processes: starting, reading, verifying, rewriting, printing. See README.md.
"""

import argparse
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MLIR_OPS = {"add": "arith.addf", "mul": "arith.mulf", "sub": "arith.subf"}


def random_numbers(seed):
    """xorshift64: the same numbers on every machine."""
    x = seed
    while True:
        x ^= (x << 13) & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 7
        x ^= (x << 17) & 0xFFFFFFFFFFFFFFFF
        yield x


def program(count):
    """Lines (result, op, left, right): an eighth each does nothing, is computed twice, is not used, or has a constant."""
    numbers = random_numbers(0x2545F4914F6CDD1D)
    a, b = "%x", "%y"
    last = ("add", a, b)
    for i in range(count):
        r = next(numbers)
        op = ("add", "mul", "sub")[r % 3]
        kind = (r >> 32) % 8
        if kind == 0:
            last = (op, a, 2.5 + (r >> 8) % 7)
        elif kind == 1:
            last = ("mul", a, 1.0)
        elif kind != 2:
            last = (op, a, b)
        yield (i, *last)
        if kind != 3:
            a, b = f"%{i}", a
    yield (None, "ret", a, None)


def write_rewright(count, path):
    with open(path, "w") as out:
        out.write("func @f(%x: f64, %y: f64) -> f64 {\nentry:\n")
        for result, op, left, right in program(count):
            out.write(f"  ret {left}\n" if result is None else f"  %{result} = {op} {left}, {right}\n")
        out.write("}\n")


def write_mlir(count, path):
    constants = {1.0 + i / 2: f"%c{i}" for i in range(16)}
    with open(path, "w") as out:
        out.write("func.func @f(%x: f64, %y: f64) -> f64 {\n")
        for number, name in constants.items():
            out.write(f"  {name} = arith.constant {number} : f64\n")
        for result, op, left, right in program(count):
            if result is None:
                out.write(f"  func.return {left} : f64\n")
                continue
            right = constants.get(right, right)
            out.write(f"  %{result} = {MLIR_OPS[op]} {left}, {right} : f64\n")
        out.write("}\n")


def left(path):
    """Operations that are left. A constant is an operation only in MLIR's text, so they don't count."""
    ops = re.compile(r"= (add|mul|sub|arith\.addf|arith\.mulf|arith\.subf)\b")
    with open(path) as text:
        return sum(1 for line in text if ops.search(line))


def timed(command):
    """Elapsed and processor seconds of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    done = subprocess.run(command, stderr=subprocess.PIPE)
    elapsed = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed: {done.stderr.decode(errors='replace')[-2000:]}")
    return elapsed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def systems(args):
    """Name, command, input and the largest size, of those that are there."""
    found = []
    passdump = args.passdump
    if not os.access(passdump, os.X_OK):
        sys.exit(f"{passdump} is not there; build it with `cargo build --release -p rewright-passdump`")
    rewright = lambda rw, mlir, out: ["/bin/sh", "-c", 'exec "$0" run --pipeline "canonicalize, cse, dce" "$1" > "$2"', passdump, rw, out]
    found.append(("Rewright", rewright, args.most))
    if shutil.which(args.mlir_opt):
        mlir = lambda rw, mlir, out: [args.mlir_opt, "--mlir-disable-threading", "--canonicalize", "--cse", mlir, "-o", out]
        found.append(("mlir-opt", mlir, args.most))
    if shutil.which(args.xdsl_opt):
        xdsl = lambda rw, mlir, out: [args.xdsl_opt, "-p", "canonicalize,cse", mlir, "-o", out]
        found.append(("xDSL", xdsl, args.most_xdsl))
    return found


def main():
    root = Path(__file__).resolve().parents[2]
    target = os.environ.get("CARGO_TARGET_DIR", str(root / "target"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passdump", default=f"{target}/release/passdump")
    parser.add_argument("--mlir-opt", default="mlir-opt-19")
    parser.add_argument("--xdsl-opt", default="xdsl-opt")
    parser.add_argument("--runs", type=int, default=7, help="of each system at each size")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--most", type=int, default=1_000_000, help="the largest size for Rewright and MLIR")
    parser.add_argument("--most-xdsl", type=int, default=100_000, help="the largest size for xDSL")
    args = parser.parse_args()
    found = systems(args)
    print(f"{platform.machine()}, {os.cpu_count()} processors; median of {args.runs} runs, in turns")
    print(f"{'instructions':>12}  {'system':<9} {'processor':>11} {'elapsed':>11} {'ratio':>7} {'left':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for size in args.sizes:
            rw, mlir = f"{folder}/in.rw", f"{folder}/in.mlir"
            write_rewright(size, rw)
            write_mlir(size, mlir)
            here = [system for system in found if size <= system[2]]
            times = {name: [] for name, *_ in here}
            remain = {}
            for _ in range(args.runs):
                for name, command, _ in here:
                    out = f"{folder}/out"
                    times[name].append(timed(command(rw, mlir, out)))
                    remain[name] = left(out)
            first = statistics.median(cpu for _, cpu in times["Rewright"])
            for name, _, _ in here:
                elapsed, cpu = (statistics.median(column) for column in zip(*times[name]))
                print(f"{size:>12,}  {name:<9} {cpu * 1e3:>8.1f} ms {elapsed * 1e3:>8.1f} ms {cpu / first:>7.1f} {remain[name]:>8,}")
            if remain.get("mlir-opt", remain["Rewright"]) != remain["Rewright"]:
                sys.exit(f"Rewright and MLIR do not do the same: {remain} operations are left")


if __name__ == "__main__":
    main()
