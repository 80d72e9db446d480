#!/usr/bin/env python3
"""Statements of index notation beside NumPy, opt_einsum, JAX, Numba and PyTorch: the same arrays, in turns.

Processes and rounds are those of `arrays.py`: results are compared before they are timed. See README.md.
"""

import contextlib
import importlib.util
import json
import sys
import tempfile
from math import exp, log
from pathlib import Path

import arrays
import common
from arrays import FILES, OURS, System
from common import best_ratio, shown, shown_ratio

PEERS = {
    "NumPy": "index_numpy",
    "opt_einsum": "index_opt_einsum",
    "JAX": "index_jax",
    "Numba": "index_numba",
    "PyTorch": "index_torch",
}


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


def measured(bench, program):
    """Nanoseconds a call of each system."""
    import index_cases
    import numpy as np

    values = program.inputs(np.random.default_rng(20))
    inputs = common.save_inputs(bench, values)
    exact = np.asarray(index_cases.reference(program, values))
    loading = lambda name, case, variant: load(bench, name, program, inputs, case, variant)
    ready, errors = common.checked(bench, bench.systems, loading, [exact], program.tolerance)
    for name, why in errors.items():
        if name == OURS:
            raise SystemExit(f"{program.name}: {why}")
        print(f"    {program.name}: {name} is left out: {why}", file=sys.stderr)
    remarks = next(answer for name, _, answer in ready if name == OURS).get("remarks", [])
    times = common.medians(bench, ready)
    return {"name": program.name, "text": program.text.strip(), "is_product": program.is_product, "times": times, "remarks": remarks}


def markdown(data):
    head = [OURS, *(name for name in PEERS if any(name in row["times"] for row in data["rows"]))]
    lines = [f"| | {' | '.join(head)} | best peer to Rewright |", "|---" * (len(head) + 2) + "|"]
    for row in data["rows"]:
        cells = [shown(row["times"][name]) if name in row["times"] else "" for name in head]
        lines.append(f"| {row['name']} | {' | '.join(cells)} | {shown_ratio(best_ratio(row['times']))} |")
    ratios = [log(best_ratio(row['times'])) for row in data["rows"] if not row["is_product"]]
    mean = exp(sum(ratios) / len(ratios)) if ratios else float("nan")
    threads = "one thread" if data["threads"] == 1 else f"{data['threads']} threads"
    about = f"{data['machine']}; {threads}, medians of {data['rounds']} rounds in turns."
    return f"{about}\n\n" + "\n".join(lines) + f"\n\nGeometric mean without products of matrices: {mean:.2f}\n"


def options():
    parser = common.parser(__doc__.splitlines()[0], "index-table")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--programs", nargs="+", help="parts of their names; all if not given")
    parser.add_argument("--threads", type=int, default=1, help="the threads of each system; from 2 on, times are those of the clock")
    return parser.parse_args()


def main():
    args = options()
    common.enter(args, __file__)
    if importlib.util.find_spec("torch") is None:
        args.peers = [name for name in args.peers if name != "PyTorch"]
    import index_cases

    if args.threads == 1:
        common.stay_on_one_processor(args)
    programs = [p for p in index_cases.PROGRAMS if args.programs is None or any(part in p.name for part in args.programs)]
    data = {"machine": arrays.machine(), "threads": args.threads, "rounds": args.rounds, "rows": []}
    with tempfile.TemporaryDirectory(prefix="peers") as folder, contextlib.closing(Bench(args, folder)) as bench:
        for program in programs:
            row = measured(bench, program)
            data["rows"].append(row)
            times = "  ".join(f"{name} {shown(ns)}" for name, ns in row["times"].items())
            print(f"{row['name']}: {times}  ratio {best_ratio(row['times']) if len(row['times']) > 1 else 0:.2f}", flush=True)
            args.out.with_suffix(".json").write_text(json.dumps(data, indent=1))
    args.out.with_suffix(".md").write_text(markdown(data))
    print(markdown(data))


if __name__ == "__main__":
    main()
