#!/usr/bin/env python3
"""Statements of index notation beside NumPy, opt_einsum, JAX and Numba: the same arrays, in turns.

Processes and rounds are those of `arrays.py`: results are compared before they are timed. See README.md.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
from math import exp, log
from pathlib import Path

import arrays
from arrays import FILES, OURS, System

sys.path.insert(0, str(FILES))
PEERS = {"NumPy": "index_numpy", "opt_einsum": "index_opt_einsum", "JAX": "index_jax", "Numba": "index_numba"}


class Bench:
    """A process for each system, and where their arrays are."""

    def __init__(self, args, folder):
        self.args, self.folder = args, Path(folder)
        variables = arrays.environment(args.threads)
        self.systems = {OURS: System(OURS, [args.passdump, "bench", "--serve"], variables)}
        for name in args.peers:
            self.systems[name] = System(name, [sys.executable, FILES / "peer.py", PEERS[name]], variables)

    def close(self):
        for system in self.systems.values():
            system.close()


def load(bench, name, program, inputs, case, variant):
    """Makes a case ready; the answer says how it went."""
    system = bench.systems[name]
    if name == OURS:
        file = bench.folder / "program.idx"
        file.write_text(program.text)
        args = {array: f"@{path}" for array, path in inputs.items()}
        return system.ask("load", case=case, file=str(file), args=args, into=True, threads=bench.args.threads, max_steps=1 << 60, max_bytes=1 << 40)
    workload = program.einsum or f"by hand: {program.function}"
    return system.ask("load", case=case, workload=workload, inputs=inputs, into=True, variant=variant)


def is_close(bench, name, case, exact, tolerance):
    """Raises an error if the result is off by more than the tolerance, relative to the greatest element."""
    import numpy as np

    path = bench.folder / "result.npy"
    answer = bench.systems[name].ask("save", case=case, to=[str(path)])
    if "error" in answer:
        raise ValueError(answer["error"])
    found = np.load(path)
    if found.shape != exact.shape:
        raise ValueError(f"the result is {found.shape}, not {exact.shape}")
    worst = float(np.max(np.abs(found - exact)) / np.max(np.abs(exact)))
    if not worst <= tolerance:
        raise ValueError(f"the result is off by {worst:.1e} of the greatest element, more than {tolerance:.1e}")


def measured(bench, program):
    """Nanoseconds a call of each system."""
    import index_cases
    import numpy as np

    values = program.inputs(np.random.default_rng(20))
    inputs = {name: str(bench.folder / f"{name}.npy") for name in values}
    for name, value in values.items():
        np.save(inputs[name], value)
    exact = np.asarray(index_cases.reference(program, values))
    ready = []
    for name in bench.systems:
        for variant in range(arrays.MOST_VARIANTS):
            answer = load(bench, name, program, inputs, f"case{variant}", variant)
            if answer.get("missing"):
                break
            try:
                if "error" in answer:
                    raise ValueError(answer["error"])
                is_close(bench, name, f"case{variant}", exact, program.tolerance)
            except ValueError as why:
                if name == OURS:
                    raise SystemExit(f"{program.name}: {why}")
                print(f"    {program.name}: {name} is left out: {why}", file=sys.stderr)
                break
            ready.append((name, f"case{variant}", answer))
            if answer.get("variants", 1) == variant + 1:
                break
    times = arrays.measure(bench, ready)
    found = {}
    for (name, case), here in times.items():
        median = statistics.median(here)
        if name not in found or median < found[name]:
            found[name] = median
        bench.systems[name].ask("drop", case=case)
    remarks = next(answer for name, _, answer in ready if name == OURS).get("remarks", [])
    return {"name": program.name, "text": program.text.strip(), "is_product": program.is_product, "times": found, "remarks": remarks}


def shown(ns):
    for unit, factor in (("ns", 1), ("µs", 1e3), ("ms", 1e6)):
        if ns < 999.5 * factor or unit == "ms":
            return f"{ns / factor:.3g} {unit}"


def best_ratio(row):
    """The time of the best peer, to ours: above 1 we are faster."""
    others = [ns for name, ns in row["times"].items() if name != OURS]
    return min(others) / row["times"][OURS]


def markdown(data):
    head = [OURS, *PEERS]
    lines = [f"| | {' | '.join(head)} | best peer to Rewright |", "|---" * (len(head) + 2) + "|"]
    for row in data["rows"]:
        cells = [shown(row["times"][name]) if name in row["times"] else "" for name in head]
        ratio = best_ratio(row)
        ratio = f"{ratio:.2f}" if ratio >= 1 else f"**{ratio:.2f}**"
        lines.append(f"| {row['name']} | {' | '.join(cells)} | {ratio} |")
    ratios = [log(best_ratio(row)) for row in data["rows"] if not row["is_product"]]
    mean = exp(sum(ratios) / len(ratios)) if ratios else float("nan")
    threads = "one thread" if data["threads"] == 1 else f"{data['threads']} threads"
    about = f"{data['machine']}; {threads}, medians of {data['rounds']} rounds in turns."
    return f"{about}\n\n" + "\n".join(lines) + f"\n\nGeometric mean without products of matrices: {mean:.2f}\n"


def options():
    target = os.environ.get("CARGO_TARGET_DIR", str(arrays.ROOT / "target"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passdump", default=f"{target}/release/passdump")
    parser.add_argument("--environment", type=Path, default=Path(target) / "peers", help="the virtual environment, made if it is not there")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--programs", nargs="+", help="parts of their names; all if not given")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--round", type=float, default=2.0, help="milliseconds that the calls of one system take in a round, at least two calls")
    parser.add_argument("--threads", type=int, default=1, help="the threads of each system; from 2 on, times are those of the clock")
    parser.add_argument("--cpu", type=int, help="the processor to stay on, for one thread; the last one if not given")
    parser.add_argument("--out", type=Path, default=Path(target) / "index-table", help="where to write .md and .json")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    args = options()
    if not args.inside:
        python = arrays.make_environment(args.environment)
        os.execv(python, [str(python), __file__, "--inside", *sys.argv[1:]])
    import index_cases

    if hasattr(os, "sched_setaffinity") and args.threads == 1:
        os.sched_setaffinity(0, {args.cpu if args.cpu is not None else max(os.sched_getaffinity(0))})
    programs = [p for p in index_cases.PROGRAMS if args.programs is None or any(part in p.name for part in args.programs)]
    data = {"machine": arrays.machine(), "threads": args.threads, "rounds": args.rounds, "rows": []}
    with tempfile.TemporaryDirectory(prefix="peers") as folder, contextlib.closing(Bench(args, folder)) as bench:
        for program in programs:
            row = measured(bench, program)
            data["rows"].append(row)
            times = "  ".join(f"{name} {shown(ns)}" for name, ns in row["times"].items())
            print(f"{row['name']}: {times}  ratio {best_ratio(row) if len(row['times']) > 1 else 0:.2f}", flush=True)
            args.out.with_suffix(".json").write_text(json.dumps(data, indent=1))
    args.out.with_suffix(".md").write_text(markdown(data))
    print(markdown(data))


if __name__ == "__main__":
    main()
