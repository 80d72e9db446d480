#!/usr/bin/env python3
"""Rewright's storage styles beside dense arrays on the same code generator, NumPy, SciPy and C: the same computations, in turns.

As in `arrays.py`, whose processes and rounds these are, results are compared before anything is measured. See README.md.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

import arrays
from arrays import FILES, OURS, System

sys.path.insert(0, str(FILES))
PEERS = "peers"
# How often it is asked what memory could do.
ROOFLINES = 5
# What a call of ours may use.
LIMIT = 1 << 40


class Bench:
    """Rewright's process and the one of its peers, and where their arrays are."""

    def __init__(self, args, folder):
        self.args, self.folder = args, Path(folder)
        variables = arrays.environment(args.threads)
        commands = {OURS: [args.passdump, "bench", "--serve"], PEERS: [sys.executable, FILES / "peer.py", "styles"]}
        self.systems = {name: System(name, command, variables) for name, command in commands.items()}

    def close(self):
        for system in self.systems.values():
            system.close()

    def ask(self, system, request, **what):
        answer = self.systems[system].ask(request, **what)
        if "error" in answer:
            raise SystemExit(f"{system}: {answer['error']}")
        return answer


def put_down(bench, row, number):
    """Inputs as files, each array once; what is of a style stays as it is."""
    import numpy as np
    from style_cases import Styled

    # With the arrays, so that no two have one id.
    written = {}

    def path(value):
        if isinstance(value, Styled):
            return value
        if id(value) not in written:
            written[id(value)] = (str(bench.folder / f"input{number}_{len(written)}.npy"), value)
            np.save(*written[id(value)])
        return written[id(value)][0]

    for way in row.ways:
        way.inputs = {name: path(value) for name, value in way.inputs.items()}


def program(bench, way):
    """The file of a program; arrays of styles are written into it."""
    from style_cases import PROGRAMS, Styled

    text = (PROGRAMS / way.program).read_text() if way.program.endswith(".ir") else way.program
    styled = ", ".join(f'"{name}": {value}' for name, value in way.inputs.items() if isinstance(value, Styled))
    path = bench.folder / ("program.ron" if styled else "program.ir")
    if styled:
        text = f'Fixture(about: "", pipeline: "default", input: r#"\n{text}"#, output: "", runs: [Run(args: {{{styled}}}, expect: [])])\n'
    path.write_text(text)
    return path


def load(bench, way, case, function):
    files = {name: path for name, path in way.inputs.items() if isinstance(path, str)}
    if way.system == PEERS:
        answer = bench.ask(PEERS, "load", case=case, workload=function, inputs=files, into=way.into)
        if answer.get("missing"):
            raise SystemExit(f"{PEERS}: there is no {function}")
        return answer
    args = {name: f"@{path}" for name, path in files.items()}
    where = {"file": str(program(bench, way)), "func": function, "args": args}
    return bench.ask(OURS, "load", case=case, into=way.into, threads=1, max_steps=LIMIT, max_bytes=LIMIT, **where)


def results(bench, way, case):
    """As they are compared."""
    import numpy as np

    paths = [str(bench.folder / f"result{i}.npy") for i in range(way.results)]
    bench.ask(way.system, "save", case=case, to=paths)
    found = [np.load(path) for path in paths]
    return way.shown(found) if way.shown else found


def compare(way, found, first, tolerance):
    """Ends everything unless results are those of the first way."""
    import numpy as np

    for one, other in zip(found, first, strict=True):
        if one.size != other.size:
            raise SystemExit(f"{way.name}: a result has {one.size} elements, not {other.size}")
        one = one.reshape(other.shape)
        if tolerance == 0:
            equal = np.array_equal(one, other)
        else:
            equal = np.max(np.abs(one - other)) <= tolerance * np.max(np.abs(other))
        if not equal:
            raise SystemExit(f"{way.name}: its results are others")


def measured(bench, rows):
    """What is known of rows that take turns: nanoseconds a call of each way, and more."""
    ready = []
    for number, row in enumerate(rows):
        put_down(bench, row, number)
        first = row.exact
        for way in row.ways:
            if way.checked:
                load(bench, way, "checked", way.checked)
                found = results(bench, way, "checked")
                bench.ask(way.system, "drop", case="checked")
            case = f"case{len(ready)}"
            facts = load(bench, way, case, way.function)
            if not way.checked:
                found = results(bench, way, case)
            first = first or found
            compare(way, found, first, row.tolerance)
            ready.append((way.system, case, facts))
            print(f"    {row.title}: {way.name} is ready", file=sys.stderr, flush=True)
    times = arrays.measure(bench, ready)
    made, left = [], iter(ready)
    for row in rows:
        ways = {}
        for way, (system, case, facts) in zip(row.ways, left):
            here = times[system, case]
            entry = {"median_ns": statistics.median(here), "min_ns": min(here), "rounds": len(here)}
            entry |= {key: facts[key] for key in ("bytes", "kernels", "remarks") if key in facts}
            if way.roofline:
                rooflines = [bench.ask(system, "roofline", case=case) for _ in range(ROOFLINES)]
                entry["roofline"] = sorted(rooflines, key=lambda one: one["memory_ns"])[ROOFLINES // 2]
            ways[way.name] = entry
            bench.ask(system, "drop", case=case)
        made.append({"title": row.title, "per": row.per, "ways": ways})
    return made


def shown_time(ns):
    for unit, factor in (("ns", 1), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)):
        if ns < 1000 * factor or unit == "s":
            return f"{ns / factor:.3g} {unit}" if ns < 999.5 * factor else f"{ns / factor:.0f} {unit}"


def shown_ratio(ratio):
    return f"{ratio:,.0f}" if ratio >= 99.5 else f"{ratio:.3g}"


def markdown_table(table):
    """A row for each row, a column for each way: its time, and that time to the first way's."""
    names = list(dict.fromkeys(name for row in table["rows"] for name in row["ways"]))
    has_roofline = any("roofline" in entry for row in table["rows"] for entry in row["ways"].values())
    head = ["", *names, *(["memory alone"] if has_roofline else [])]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in table["rows"]:
        first = next(iter(row["ways"].values()))["median_ns"]
        cells = []
        for name in names:
            entry = row["ways"].get(name)
            time = entry and shown_time(entry["median_ns"] / row["per"])
            cells.append("" if entry is None else time if entry["median_ns"] == first else f"{time} ({shown_ratio(entry['median_ns'] / first)})")
        if has_roofline:
            roof = next((entry["roofline"] for entry in row["ways"].values() if "roofline" in entry), None)
            cells.append(f"{shown_time(roof['memory_ns'] / row['per'])} ({shown_ratio(roof['memory_ns'] / first)})" if roof else "")
        lines.append(f"| {row['title']} | {' | '.join(cells)} |")
    return f"**{table['title']}**\n\n" + "\n".join(lines)


def markdown(data):
    head = f"{data['machine']}; one thread, the median of {data['rounds']} rounds in turns. In parentheses: the time to that of the first column."
    return "\n\n".join([head, *(markdown_table(table) for table in data["tables"])]) + "\n"


def options():
    target = os.environ.get("CARGO_TARGET_DIR", str(arrays.ROOT / "target"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passdump", default=f"{target}/release/passdump")
    parser.add_argument("--environment", type=Path, default=Path(target) / "peers", help="the virtual environment, made if it is not there")
    parser.add_argument("--tables", nargs="+", help="bits, structured, sparse, sizes, maps, operands, ranges, elements; all if not given")
    parser.add_argument("--bools", type=int, nargs="+", default=[1_000, 1_000_000, 1_000_000_000], help="how many; a thousand million want 12 GB")
    parser.add_argument("--side", type=int, default=10_000, help="of structured matrices; 10,000 want 5 GB")
    parser.add_argument("--stored", type=int, default=1_000_000, help="elements of sparse matrices")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--round", type=float, default=2.0, help="milliseconds that the calls of one way take in a round, at least one call")
    parser.add_argument("--cpu", type=int, help="the processor to stay on; the last one if not given")
    parser.add_argument("--out", type=Path, default=Path(target) / "styles-table", help="where to write .md and .json")
    parser.add_argument("--update", action="store_true", help="keep what --out has of other tables")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    args = options()
    if not os.access(args.passdump, os.X_OK):
        sys.exit(f"{args.passdump} is not there; build it with `cargo build --release -p rewright-passdump`")
    if not args.inside:
        python = arrays.make_environment(args.environment)
        os.execv(python, [str(python), __file__, "--inside", *sys.argv[1:]])
    args.threads = 1
    import numpy as np
    import style_cases

    args.out.parent.mkdir(parents=True, exist_ok=True)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {args.cpu if args.cpu is not None else max(os.sched_getaffinity(0))})
    data = {"machine": arrays.machine(), "rounds": args.rounds, "tables": []}
    if args.update and args.out.with_suffix(".json").exists():
        data = json.loads(args.out.with_suffix(".json").read_text())
    with tempfile.TemporaryDirectory(prefix="styles") as folder, contextlib.closing(Bench(args, folder)) as bench:
        for table in style_cases.tables(args):
            if args.tables and table.name not in args.tables:
                continue
            made = {"name": table.name, "title": table.title, "rows": []}
            rows = table.rows(np.random.default_rng(20))
            for group in [list(rows)] if table.together else ([row] for row in rows):
                made["rows"] += measured(bench, group)
            print(markdown_table(made) + "\n", flush=True)
            names = [old["name"] for old in data["tables"]]
            if table.name in names:
                data["tables"][names.index(table.name)] = made
            else:
                data["tables"].append(made)
            args.out.with_suffix(".json").write_text(json.dumps(data, indent=1))
    args.out.with_suffix(".md").write_text(markdown(data))


if __name__ == "__main__":
    main()
