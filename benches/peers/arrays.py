#!/usr/bin/env python3
"""Rewright beside NumPy, numexpr, Numba, JAX, Dr.Jit and C by hand: the same computations on the same arrays, in turns.

Every system is a process of its own that answers the same requests, Rewright's being `passdump bench --serve`. Results are compared before
anything is measured. See README.md.
"""

import argparse
import contextlib
import glob
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FILES = HERE / "array_peers"
PEERS = {"NumPy": "numpy", "numexpr": "numexpr", "Numba": "numba", "JAX": "jax", "Dr.Jit": "drjit", "by hand": "hand"}
OURS = "Rewright"
# So many ways of a system count at most, of which the fastest is its time.
MOST_VARIANTS = 4
# Nanoseconds of a call from which on caches make no difference to it.
WARM = 50e6
# Nanoseconds of a round of all systems, from which on fewer rounds will do.
SLOW = 5e8


def newest_llvm():
    """The system's LLVM with the highest version, for Dr.Jit."""
    found = {}
    for folder in ("/usr/lib/*", "/usr/lib", "/usr/lib64", "/usr/lib/llvm-*/lib", "/opt/homebrew/opt/llvm/lib"):
        for path in glob.glob(f"{folder}/libLLVM*"):
            if version := re.search(r"libLLVM[-.a-z]*(\d+)", path):
                found[int(version[1])] = path
    return found[max(found)] if found else None


def make_environment(folder):
    """A virtual environment with the peers, unless there is one."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making {folder} with {', '.join(PEERS)}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", FILES / "requirements.txt"], check=True)
    return python


def environment(threads):
    """The variables of all processes."""
    all_of = ("NUMBA_NUM_THREADS", "NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
    variables = dict(os.environ, **dict.fromkeys([*all_of, "PEER_THREADS"], str(threads)))
    # OpenBLAS selects the kernels for this processor, whatever the user's environment prescribes.
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        variables.pop(name, None)
    # Large blocks ask for huge pages, in all processes alike: NumPy's do in any case.
    variables["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
    return variables


class System:
    """A process that answers requests, and stands still otherwise: threads of some systems look for more work for a while, and would keep a
    processor from the next one's."""

    def __init__(self, name, command, environment):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def ask(self, request, **what):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(json.dumps({request: what}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended, with {self.process.wait()}, while asked for {request} {what}")
        self.process.send_signal(signal.SIGSTOP)
        return json.loads(line)

    def close(self):
        """Ends the process, whatever it does at the moment."""
        self.process.kill()
        self.process.wait()


class Bench:
    """All systems, and where arrays are that they share."""

    def __init__(self, args, folder):
        self.args, self.folder = args, Path(folder)
        variables = environment(args.threads)
        if "DRJIT_LIBLLVM_PATH" not in variables and (llvm := newest_llvm()):
            variables["DRJIT_LIBLLVM_PATH"] = llvm
        self.systems = {OURS: System(OURS, [args.passdump, "bench", "--serve"], variables)}
        for name in args.peers:
            command = [sys.executable, FILES / "peer.py", PEERS[name]]
            self.systems[name] = System(name, command, variables)

    def close(self):
        for system in self.systems.values():
            system.close()


def load(bench, system, workload, mode, dtype, inputs, variant):
    """Makes a case ready; the answer says how it went."""
    into = mode == "into"
    if system.name == OURS:
        args = {name: f"@{path}" for name, path in inputs.items()}
        scalars = {name: path for name, path in inputs.items() if not path.endswith(".npy")}
        how = {}
        if variant == 1:
            if workload.fast_math is None:
                return {"missing": True}
            how = dict(zip(("pipeline", "liberties"), workload.fast_math, strict=True))
        answer = system.ask("load", case=f"case{variant}", file=str(workload.program), func=dtype, args=args | scalars, into=into, **how)
        return answer | {"variants": 1 if workload.fast_math is None else 2}
    return system.ask("load", case=f"case{variant}", workload=workload.name, inputs=inputs, into=into, variant=variant)


def compare(bench, system, case, results, tolerance):
    """An error unless results are as near to the exact ones, as a part of the greatest magnitude, as they must be."""
    import numpy as np

    paths = [str(bench.folder / f"result{i}.npy") for i in range(len(results))]
    answer = system.ask("save", case=case, to=paths)
    if "error" in answer:
        raise ValueError(answer["error"])
    worst = 0.0
    for path, exact in zip(paths, results):
        found, exact = np.load(path).astype(np.float64), np.asarray(exact, dtype=np.float64)
        if found.size != exact.size:
            raise ValueError(f"a result has {found.size} elements, not {exact.size}")
        scale = np.max(np.abs(exact)) or 1.0
        worst = max(worst, float(np.max(np.abs(found.reshape(exact.shape) - exact)) / scale))
    if not worst <= tolerance:
        raise ValueError(f"a result is off by {worst:.1e} of the greatest, more than {tolerance:.1e}")


def contenders(bench, workload, mode, dtype, inputs, results):
    """The cases to measure: (system's name, case); those whose results were looked at."""
    found = []
    for name, system in bench.systems.items():
        for variant in range(MOST_VARIANTS):
            answer = load(bench, system, workload, mode, dtype, inputs, variant)
            if "error" in answer:
                if name == OURS:
                    raise SystemExit(f"{name}: {answer['error']}")
                print(f"    {name}: {answer['error']}", file=sys.stderr)
                break
            if answer.get("missing"):
                break
            case = f"case{variant}"
            try:
                compare(bench, system, case, results, workload.tolerance[dtype])
                found.append((name, case, answer))
            except ValueError as why:
                if name == OURS:
                    raise SystemExit(f"{name}: {why}")
                print(f"    {name} is left out: {why}", file=sys.stderr)
                system.ask("drop", case=case)
            if answer.get("variants", 1) == variant + 1:
                break
    return found


def measure(bench, found):
    """Rounds of calls, in turns; nanoseconds a call by system and case."""
    args = bench.args
    # Threads that somebody else's work keeps waiting count for nobody, unless there are several of one system.
    clock = "processor_ns" if args.threads == 1 else "elapsed_ns"
    counts, times, times_of = {}, {}, {}
    for name, case, _ in found:
        count = 1
        while (took := bench.systems[name].ask("run", case=case, count=count)[clock]) < args.round * 2e5 and count < 1 << 16:
            count *= 4
        times_of[name, case] = took / count
        counts[name, case] = max(2, round(args.round * 1e6 / max(took / count, 1)))
        times[name, case] = []
    # What takes long is measured less often.
    slow = sum(counts[name, case] * times_of[name, case] for name, case, _ in found) > SLOW
    rounds = min(args.rounds, 5) if slow else args.rounds
    for turn in range(rounds):
        turned = found[turn % len(found):] + found[: turn % len(found)]
        for name, case, _ in turned:
            count = counts[name, case]
            if times_of[name, case] < WARM:
                # What the others left in the caches is not this one's: it takes several calls until each finds there what the one before it found.
                bench.systems[name].ask("run", case=case, count=count)
            answer = bench.systems[name].ask("run", case=case, count=count)
            if "error" in answer:
                raise SystemExit(f"{name}: {answer['error']}")
            times[name, case].append(answer[clock] / count)
    return times


def cell(bench, workload, mode, n, dtype):
    """One cell of the table."""
    import numpy as np
    import cases

    values = workload.inputs(n, dtype, np.random.default_rng(20))
    inputs = {}
    for name, value in values.items():
        inputs[name] = str(bench.folder / f"{name}.npy")
        np.save(inputs[name], value)
    results = cases.reference(workload.name, values)
    found = contenders(bench, workload, mode, dtype, inputs, results)
    times = measure(bench, found)
    systems = {}
    for name, case, answer in found:
        here = times[name, case]
        entry = {"median_ns": statistics.median(here), "min_ns": min(here), "rounds": len(here), "case": case}
        if name not in systems or entry["median_ns"] < systems[name]["median_ns"]:
            systems[name] = entry
    # That of one processor.
    ours = systems[OURS]["case"]
    roofline = bench.systems[OURS].ask("roofline", case=ours) if bench.args.threads == 1 else None
    if roofline and "error" in roofline:
        raise SystemExit(f"{OURS}: {roofline['error']}")
    facts = next(answer for name, case, answer in found if (name, case) == (OURS, ours))
    if ours != "case0":
        systems[OURS] |= {"liberties": workload.fast_math[1], "as_written_ns": statistics.median(times[OURS, "case0"])}
    about = {"workload": workload.name, "title": workload.title, "mode": mode, "n": n, "dtype": dtype}
    row = about | {"elements": cases.size(values), "bytes": facts["bytes"], "kernels": facts["kernels"], "remarks": facts["remarks"]}
    for name, case, _ in found:
        bench.systems[name].ask("drop", case=case)
    return row | {"roofline": roofline, "systems": systems}


def compiling(bench, count):
    """How long compiling Black-Scholes takes, in milliseconds by system."""
    import numpy as np
    import cases

    workload = next(w for w in cases.WORKLOADS if w.name == "black_scholes")
    values = workload.inputs(1000, "f64", np.random.default_rng(20))
    inputs = {name: str(bench.folder / f"{name}.npy") for name in values}
    for name, value in values.items():
        np.save(inputs[name], value)
    times = {name: [] for name in bench.systems}
    for _ in range(count):
        for name, system in bench.systems.items():
            if name == OURS:
                load(bench, system, workload, "into", "f64", inputs, 0)
                answer = system.ask("compile", case="case0", count=1)
                times[name].append(answer["optimize_ns"][0] + answer["lower_ns"][0])
            elif "ns" in (answer := system.ask("compile", workload=workload.name, count=1, inputs=inputs)):
                times[name].append(answer["ns"][0])
    return {name: {"median_ms": statistics.median(t) / 1e6, "min_ms": min(t) / 1e6} for name, t in times.items() if t}


def options():
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passdump", default=f"{target}/release/passdump")
    parser.add_argument("--environment", type=Path, default=Path(target) / "peers", help="the virtual environment, made if it is not there")
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--workloads", nargs="+", help="their names; all if not given")
    parser.add_argument("--sizes", type=int, nargs="+", help="8, 1e3, 3e4, 1e6 and 1e7 if not given")
    parser.add_argument("--dtypes", nargs="+", default=["f64", "f32", "u8"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--round", type=float, default=2.0, help="milliseconds that the calls of one system take in a round, at least one call")
    parser.add_argument("--threads", type=int, default=1, help="so many for each system, and times by the clock; one if not given, and times of the processor")
    parser.add_argument("--cpu", type=int, help="the processor to stay on, for one thread; the last one if not given")
    parser.add_argument("--quick", action="store_true", help="f64 only, three sizes, few rounds")
    parser.add_argument("--out", type=Path, default=Path(target) / "peers-table", help="where to write .md, .json and .svg")
    parser.add_argument("--update", action="store_true", help="keep what --out has of other cells")
    parser.add_argument("--from-json", type=Path, help="measure nothing: make table and plot of what was measured before")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def measured(args):
    """All cells, written down after each one."""
    import cases

    if args.quick:
        args.dtypes, args.rounds = [d for d in args.dtypes if d != "f32"], min(args.rounds, 7)
    sizes = args.sizes or ([8, 30_000, 1_000_000] if args.quick else cases.SIZES)
    wanted = [w for w in cases.WORKLOADS if args.workloads is None or w.name in args.workloads]
    with tempfile.TemporaryDirectory(prefix="peers") as folder, contextlib.closing(Bench(args, folder)) as bench:
        data = {"machine": machine(), "rounds": args.rounds, "threads": args.threads, "cells": []}
        if args.update and args.out.with_suffix(".json").exists():
            data = json.loads(args.out.with_suffix(".json").read_text())
        if args.threads == 1:
            data["compile"] = compiling(bench, 5)
        for workload in wanted:
            for dtype in (d for d in workload.dtypes if d in args.dtypes):
                for mode in workload.modes:
                    for n in sizes:
                        put(data["cells"], row := cell(bench, workload, mode, n, dtype))
                        print(line(row), flush=True)
                        args.out.with_suffix(".json").write_text(json.dumps(data, indent=1))
    return data


def put(cells, row):
    """In the place of what was measured of the same cell before, or at the end."""
    key = lambda row: tuple(row[k] for k in ("workload", "mode", "n", "dtype"))
    for i, old in enumerate(cells):
        if key(old) == key(row):
            cells[i] = row
            return
    cells.append(row)


def line(row):
    times = "  ".join(f"{name} {entry['median_ns'] / row['elements']:.3g}" for name, entry in row["systems"].items())
    return f"{row['workload']} {row['mode']} {row['dtype']} n={row['n']}: {times}"


def machine():
    try:
        names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        names = []
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} processors"


def main():
    args = options()
    if args.from_json is None and not os.access(args.passdump, os.X_OK):
        sys.exit(f"{args.passdump} is not there; build it with `cargo build --release -p rewright-passdump`")
    if not args.inside:
        python = make_environment(args.environment)
        os.execv(python, [str(python), __file__, "--inside", *sys.argv[1:]])
    sys.path.insert(0, str(FILES))
    import plot
    import report

    args.out.parent.mkdir(parents=True, exist_ok=True)
    if hasattr(os, "sched_setaffinity") and args.threads == 1:
        os.sched_setaffinity(0, {args.cpu if args.cpu is not None else max(os.sched_getaffinity(0))})
    data = measured(args) if args.from_json is None else json.loads(args.from_json.read_text())
    args.out.with_suffix(".md").write_text(report.markdown(data))
    args.out.with_suffix(".svg").write_text(plot.svg(data))
    print(report.summary(data))


if __name__ == "__main__":
    main()
