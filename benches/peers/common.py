"""Functions that `index.py` and `loops.py` share: checks of results, medians, options, and times as text."""

import argparse
import os
import statistics
import sys
from pathlib import Path

import arrays
from arrays import FILES, OURS

sys.path.insert(0, str(FILES))


def save_inputs(bench, values):
    """Writes arrays to files; returns their paths."""
    import numpy as np

    inputs = {name: str(bench.folder / f"{name}.npy") for name in values}
    for name, value in values.items():
        np.save(inputs[name], value)
    return inputs


def is_close(bench, name, case, exact, tolerance):
    """Raises an error if a result is off by more than the tolerance, relative to its greatest element."""
    import numpy as np

    paths = [str(bench.folder / f"result{i}.npy") for i in range(len(exact))]
    answer = bench.systems[name].ask("save", case=case, to=paths)
    if "error" in answer:
        raise ValueError(answer["error"])
    for path, expected in zip(paths, exact):
        found = np.load(path)
        if found.shape != expected.shape:
            raise ValueError(f"the result is {found.shape}, not {expected.shape}")
        worst = float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
        if not worst <= tolerance:
            raise ValueError(f"the result is off by {worst:.1e} of the greatest element, more than {tolerance:.1e}")


def checked(bench, systems, load, exact, tolerance):
    """Loads all variants of systems. Returns (system, case, answer) of close results, and errors."""
    ready, errors = [], {}
    for name in systems:
        for variant in range(arrays.MOST_VARIANTS):
            case = f"{name}{variant}"
            answer = load(name, case, variant)
            if answer.get("missing"):
                break
            try:
                if "error" in answer:
                    raise ValueError(answer["error"])
                is_close(bench, name, case, exact, tolerance)
            except ValueError as why:
                errors[name] = str(why)
                break
            ready.append((name, case, answer))
            if answer.get("variants", 1) == variant + 1:
                break
    return ready, errors


def medians(bench, ready):
    """Measures in turns, and drops the cases. Returns nanoseconds a call of the fastest variant of each system."""
    found = {}
    for (name, case), times in arrays.measure(bench, ready).items():
        median = statistics.median(times)
        found[name] = min(median, found.get(name, median))
        bench.systems[name].ask("drop", case=case)
    return found


def shown(ns):
    for unit, factor in (("ns", 1), ("µs", 1e3), ("ms", 1e6)):
        if ns < 999.5 * factor or unit == "ms":
            return f"{ns / factor:.3g} {unit}"


def best_ratio(times):
    """The time of the best peer divided by the time of Rewright. Rewright is faster if it is above 1."""
    return min(ns for name, ns in times.items() if name != OURS) / times[OURS]


def shown_ratio(ratio):
    return f"{ratio:.2f}" if ratio >= 1 else f"**{ratio:.2f}**"


def parser(about, out):
    """The options of all scripts of this kind."""
    target = os.environ.get("CARGO_TARGET_DIR", str(arrays.ROOT / "target"))
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--passdump", default=f"{target}/release/passdump")
    parser.add_argument("--environment", type=Path, default=Path(target) / "peers", help="the virtual environment, made if it is not there")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--round", type=float, default=2.0, help="milliseconds that the calls of one system take in a round, at least two calls")
    parser.add_argument("--cpu", type=int, help="the processor to stay on, for one thread; the last one if not given")
    parser.add_argument("--out", type=Path, default=Path(target) / out, help="where to write .md and .json")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser


def enter(args, script):
    """Runs the script again in the virtual environment, if it does not run there."""
    if not os.access(args.passdump, os.X_OK):
        sys.exit(f"{args.passdump} is not there; build it with `cargo build --release -p rewright-passdump`")
    if not args.inside:
        python = arrays.make_environment(args.environment)
        os.execv(python, [str(python), script, "--inside", *sys.argv[1:]])


def stay_on_one_processor(args):
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {args.cpu if args.cpu is not None else max(os.sched_getaffinity(0))})
