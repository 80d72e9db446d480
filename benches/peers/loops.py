#!/usr/bin/env python3
"""Products, scans, scatters, gathers and stencils beside NumPy, faer, gemm, JAX, Numba and C, in turns.

Processes and rounds are those of `arrays.py`: results are compared before they are timed. See README.md.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import arrays
import common
from arrays import FILES, HERE, OURS, System
from common import best_ratio, shown, shown_ratio

# A part of the remark for a step without a kernel.
BY_REFERENCE = "by its reference meaning"


def columns(table, args):
    """The columns of a table: (title, name of the system, threads)."""
    return [
        (name if count == table.threads[0] else f"{name}, {count} threads", name, count)
        for name in (OURS, *(peer for peer in table.peers if peer in args.peers))
        for count in table.threads
    ]


class Bench:
    """A process for each system and number of threads; peers of one module share a process."""

    def __init__(self, args, folder, table, peers):
        self.folder, self.columns = Path(folder), columns(table, args)
        several = {"threads": max(table.threads)}
        if several["threads"] > 1:
            # Threads of some peers take milliseconds to spread over the processors.
            several["round"] = max(args.round, 10.0)
        self.args = type(args)(**vars(args) | several)
        processes, self.systems = {}, {}
        for title, name, threads in self.columns:
            command = [args.passdump, "bench", "--serve"]
            if name != OURS:
                command = [sys.executable, FILES / "peer.py", peers[name].module]
            key = (*command, threads)
            if key not in processes:
                stay(args, threads)
                processes[key] = System(name, command, arrays.environment(threads) | table.variables)
            self.systems[title] = processes[key]

    def close(self):
        for system in set(self.systems.values()):
            system.close()


ALL_PROCESSORS = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None


def stay(args, threads):
    """Sets the processors of processes that start from now on: one for a thread, else all."""
    if ALL_PROCESSORS:
        os.sched_setaffinity(0, ALL_PROCESSORS)
    if threads == 1:
        common.stay_on_one_processor(args)


def load(bench, column, case, inputs, label, variant, peers):
    """Makes a case ready. The answer has an error, or says how it went."""
    title, name, threads = column
    system = bench.systems[title]
    if name == OURS:
        args = {array: f"@{path}" for array, path in inputs.items()}
        limits = {"threads": threads, "max_steps": 1 << 60, "max_bytes": 1 << 40}
        function = {"func": case.function} if case.function else {}
        return system.ask("load", case=label, file=str(case.path), args=args, into=True, **function, **limits)
    workload = case.workload + peers[name].ending
    return system.ask("load", case=label, workload=workload, inputs=inputs, into=True, variant=variant)


def measured(bench, case, peers):
    """A row: nanoseconds a call of each system, the errors, and the remarks on Rewright's steps."""
    import numpy as np

    values = case.inputs(np.random.default_rng(20))
    inputs = common.save_inputs(bench, values)
    of_title = {column[0]: column for column in bench.columns}
    loading = lambda title, label, variant: load(bench, of_title[title], case, inputs, label, variant, peers)
    ready, errors = common.checked(bench, of_title, loading, case.exact(**values), case.tolerance)
    for title, why in errors.items():
        print(f"    {case.name}: {title} is left out: {why}", file=sys.stderr)
    remarks = next((answer.get("remarks", []) for title, _, answer in ready if title == OURS), [])
    return {"name": case.name, "times": common.medians(bench, ready), "errors": errors, "remarks": remarks}


def ratio(table, row):
    """The last column: of the best peer to Rewright, or of one thread to several."""
    times = row["times"]
    if len(table["threads"]) > 1:
        several = f"{OURS}, {table['threads'][-1]} threads"
        return f"{times[OURS] / times[several]:.2f}" if {OURS, several} <= set(times) else ""
    return shown_ratio(best_ratio(times)) if OURS in times and len(times) > 1 else ""


def cell(title, row):
    """A time, with a mark where the reference evaluator runs a step of Rewright's."""
    if title not in row["times"]:
        return ""
    marked = title.startswith(OURS) and any(BY_REFERENCE in remark for remark in row["remarks"])
    return shown(row["times"][title]) + (" †" if marked else "")


def markdown(data):
    text = [f"{data['machine']}; one thread, medians of {data['rounds']} rounds in turns."]
    for table in data["tables"]:
        last = "best peer to Rewright" if len(table["threads"]) == 1 else "speedup of Rewright"
        lines = [f"| | {' | '.join(table['columns'])} | {last} |", "|---" * (len(table["columns"]) + 2) + "|"]
        for row in table["rows"]:
            cells = [cell(title, row) for title in table["columns"]]
            lines.append(f"| {row['name']} | {' | '.join(cells)} | {ratio(table, row)} |")
        text += [f"**{table['title']}**", "\n".join(lines)]
    if any("†" in part for part in text):
        text.append("† The reference evaluator runs a step of the program.")
    return "\n\n".join(text) + "\n"


def build_crates(args):
    """Builds the library of Rust crates. Returns its path, or nothing if it can't be built."""
    target = args.environment.parent / "gemm_peers"
    variables = os.environ | {"RUSTFLAGS": "-C target-cpu=native", "CARGO_TARGET_DIR": str(target)}
    try:
        done = subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=HERE / "gemm_peers", env=variables, stderr=subprocess.PIPE, text=True)
    except OSError as why:
        print(f"faer and gemm are left out: {why}", file=sys.stderr)
        return None
    if done.returncode:
        print(f"faer and gemm are left out: {done.stderr[-2000:]}", file=sys.stderr)
        return None
    name = {"darwin": "libgemm_peers.dylib", "win32": "gemm_peers.dll"}.get(sys.platform, "libgemm_peers.so")
    return str(target.resolve() / "release" / name)


def options(tables, peers):
    parser = common.parser(__doc__.splitlines()[0], "loops-table")
    parser.add_argument("--peers", nargs="*", default=list(peers), choices=list(peers))
    parser.add_argument("--tables", nargs="+", default=tables, choices=tables, help="all if not given")
    parser.add_argument("--cases", nargs="+", help="parts of their names; all if not given")
    parser.add_argument("--quick", action="store_true", help="without the largest cases, few rounds")
    parser.add_argument("--update", action="store_true", help="keep the other tables of --out")
    return parser.parse_args()


# The names of tables and peers, for `--help` in a Python without NumPy.
TABLES = [
    *("products_f64", "products_f32", "layouts", "avx2", "chains", "vectors", "scans", "scatters", "gathers"),
    *("convolutions", "loops", "threads"),
]
PEERS = ["NumPy", "add.at", "bincount", "faer", "gemm", "JAX", "Numba", "C"]


def main():
    args = options(TABLES, PEERS)
    common.enter(args, __file__)
    import loop_cases

    assert [table.name for table in loop_cases.TABLES] == TABLES and list(loop_cases.PEERS) == PEERS
    if args.quick:
        args.rounds = min(args.rounds, 3)
    if {"faer", "gemm"} & set(args.peers):
        if library := build_crates(args):
            os.environ["PEER_GEMM"] = library
    data = {"machine": arrays.machine(), "rounds": args.rounds, "tables": []}
    if args.update and args.out.with_suffix(".json").exists():
        data = json.loads(args.out.with_suffix(".json").read_text())
    for table in (table for table in loop_cases.TABLES if table.name in args.tables):
        rows = []
        made = {"name": table.name, "title": table.title, "threads": table.threads, "rows": rows}
        with tempfile.TemporaryDirectory(prefix="peers") as folder, contextlib.closing(Bench(args, folder, table, loop_cases.PEERS)) as bench:
            made["columns"] = [column[0] for column in bench.columns]
            for case in table.cases:
                if args.quick and case.is_large or args.cases and not any(part in case.name for part in args.cases):
                    continue
                rows.append(row := measured(bench, case, loop_cases.PEERS))
                times = "  ".join(f"{name} {shown(ns)}" for name, ns in row["times"].items())
                print(f"{table.name}, {case.name}: {times}  ratio {ratio(made, row)}", flush=True)
        # In the place of an older one, or at the end.
        data["tables"] = [old for old in data["tables"] if old["name"] != table.name] + [made]
        data["tables"].sort(key=lambda table: TABLES.index(table["name"]))
        args.out.with_suffix(".json").write_text(json.dumps(data, indent=1))
        args.out.with_suffix(".md").write_text(markdown(data))
    print(markdown(data))


if __name__ == "__main__":
    main()
