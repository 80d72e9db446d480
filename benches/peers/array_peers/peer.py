"""One peer in a process of its own: answers the same requests as `passdump bench --serve`, a line of JSON each."""

import importlib
import json
import sys
import time

import memory
import numpy as np


class Peer:
    def __init__(self, name):
        self.by = importlib.import_module(f"by_{name}")
        self.cases = {}

    def load(self, case, workload, inputs, into, variant=0):
        """Makes a case ready: reads its inputs, compiles, calls it once."""
        make = getattr(self.by, workload, None)
        if make is None:
            return {"missing": True}
        values = {name: memory.load(path) for name, path in inputs.items()}
        variants = getattr(self.by, "VARIANTS", 1)
        if variant >= variants:
            return {"missing": True}
        self.by.VARIANT = variant
        start = time.perf_counter_ns()
        try:
            call, results, *prepare = make(into=into, **values)
            call()
        except NotImplementedError as why:
            return {"missing": True, "why": str(why)}
        self.cases[case] = (call, results, prepare[0] if prepare else None)
        return {"first_call_ns": time.perf_counter_ns() - start, "variants": variants}

    def run(self, case, count):
        call, _, prepare = self.cases[case]
        if prepare:
            prepare()
        # A call through `ctypes` takes a microsecond: libraries repeat calls themselves.
        repeat = getattr(call, "repeat", None)
        loop = range(count)
        processor, start = time.process_time_ns(), time.perf_counter_ns()
        if repeat:
            repeat(count)
        else:
            for _ in loop:
                call()
        elapsed, processor = time.perf_counter_ns() - start, time.process_time_ns() - processor
        return {"count": count, "elapsed_ns": elapsed, "processor_ns": processor}

    def save(self, case, to):
        call, results, prepare = self.cases[case]
        if prepare:
            prepare()
        values = results(call())
        for path, value in zip(to, values, strict=True):
            np.save(path, np.asarray(value))
        return {}

    def drop(self, case):
        del self.cases[case]
        return {}

    def compile(self, workload, count, inputs):
        """How long compiling takes, of the processor, nothing being kept from one time to the next."""
        times = getattr(self.by, "compile_times", None)
        if times is None:
            return {"missing": True}
        values = {name: memory.load(path) for name, path in inputs.items()}
        return {"ns": times(workload, count, values)}


def main():
    peer = Peer(sys.argv[1])
    for line in sys.stdin:
        ((name, what),) = json.loads(line).items()
        try:
            answer = getattr(peer, name)(**what)
        except Exception as why:
            answer = {"error": f"{type(why).__name__}: {why}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
