"""What was measured, as Markdown tables."""

from math import exp, log

OURS = "Rewright"
# Not a peer: what one computation takes if somebody writes it for this machine.
HAND = "by hand"
SYSTEMS = [OURS, "NumPy", "numexpr", "Numba", "JAX", "Dr.Jit", HAND]
MODES = {"into": "", "new": ", result allocated"}


def ratio(row, ours="median_ns"):
    """The best peer's time to ours, and which peer that is; above 1 we are faster."""
    others = {name: entry["median_ns"] for name, entry in row["systems"].items() if name not in (OURS, HAND)}
    if not others:
        return None, None
    best = min(others, key=others.get)
    return others[best] / row["systems"][OURS][ours], best


def shown(row):
    """The same, with a mark where results may differ in what liberties say."""
    if row is None or (found := ratio(row)[0]) is None:
        return ""
    return (f"{found:.2f}" if found >= 1 else f"**{found:.2f}**") + ("†" if "liberties" in row["systems"][OURS] else "")


def geometric_mean(ratios):
    ratios = list(ratios)
    return exp(sum(map(log, ratios)) / len(ratios)) if ratios else float("nan")


def number(n):
    return {1_000: "1e3", 30_000: "3e4", 1_000_000: "1e6", 10_000_000: "1e7"}.get(n, str(n))


def time(ns, row):
    """Of small arrays a call, of large ones an element."""
    value = ns if row["n"] <= 1_000 else ns / row["elements"]
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(rows):
    lines = ["| | n | " + " | ".join(SYSTEMS) + " | best peer to Rewright | of the roofline |", "|---" * (len(SYSTEMS) + 4) + "|"]
    for row in rows:
        entries = row["systems"]
        times = [time(entries[name]["median_ns"], row) if name in entries else "" for name in SYSTEMS]
        best = shown(row) and f"{shown(row)} ({ratio(row)[1]})"
        roof = row.get("roofline")
        share = f"{100 * roof['bound_ns'] / entries[OURS]['median_ns']:.0f}% ({roof['bound_by']})" if roof else ""
        lines.append(f"| {row['title']}{MODES[row['mode']]} | {number(row['n'])} | {' | '.join(times)} | {best} | {share} |")
    return "\n".join(lines)


def ratios(data):
    """The best peer's time to ours, all of it at a glance."""
    sizes = sorted({row["n"] for row in data["cells"]})
    found = {}
    for row in data["cells"]:
        found.setdefault((row["title"] + MODES[row["mode"]]), {})[row["dtype"], row["n"]] = row
    columns = [(dtype, n) for dtype in ("f64", "f32") for n in sizes if any((dtype, n) in row for row in found.values())]
    lines = ["| | " + " | ".join(f"{dtype}, {number(n)}" for dtype, n in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for title, row in found.items():
        # Bytes stand in the first columns.
        cells = [shown(row.get((dtype, n), row.get(("u8", n)) if dtype == "f64" else None)) for dtype, n in columns]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def marked(data):
    """The cells with a peer in which our time is that with liberties."""
    return [row for row in data["cells"] if "liberties" in row["systems"][OURS] and ratio(row)[0] is not None]


def as_written(data):
    """What the marked cells are without liberties."""
    rows = marked(data)
    if not rows:
        return ""
    name = lambda row: f"{row['title']}{MODES[row['mode']]}, {row['dtype']}, {number(row['n'])}"
    cells = [f"{name(row)}: {ratio(row, 'as_written_ns')[0]:.2f}" for row in rows]
    granted = " or ".join(sorted({f"`{row['systems'][OURS]['liberties']}`" for row in rows}))
    return f"\n\n† With {granted} granted, and faster for it; as written, bit for bit: {'; '.join(cells)}."


def to_hand(data):
    """Our time to that of code by hand."""
    rows = [row for row in data["cells"] if HAND in row["systems"]]
    lines = ["| | n | f64 | f32 |", "|---|---|---|---|"]
    found = {}
    for row in rows:
        ours, theirs = (row["systems"][name]["median_ns"] for name in (OURS, HAND))
        found.setdefault((row["title"] + MODES[row["mode"]], row["n"]), {})[row["dtype"]] = ours / theirs
    for (title, n), of in found.items():
        lines.append(f"| {title} | {number(n)} | " + " | ".join(f"{of[d]:.2f}" if d in of else "" for d in ("f64", "f32")) + " |")
    return "\n".join(lines)


def threads(data):
    count = data.get("threads", 1)
    return "one thread" if count == 1 else f"{count} threads"


def markdown(data):
    parts = [f"{data['machine']}; {threads(data)}, the median of {data['rounds']} rounds in turns.", summary(data)]
    parts.append("The time of the best peer to that of Rewright; where it is in bold, a peer is faster:\n\n" + ratios(data) + as_written(data))
    if any(HAND in row["systems"] for row in data["cells"]):
        parts.append("Rewright's time to that of code by hand:\n\n" + to_hand(data))
    for dtype in ("f64", "f32", "u8"):
        for small in (True, False):
            rows = [r for r in data["cells"] if r["dtype"] == dtype and (r["n"] <= 1_000) == small]
            if rows:
                parts.append(f"**{dtype}, nanoseconds {'a call' if small else 'an element'}**\n\n{table(rows)}")
    if data.get("compile"):
        entries = data["compile"]
        names = [name for name in SYSTEMS if name in entries]
        head = "| compiling Black-Scholes, ms | " + " | ".join(names) + " |\n" + "|---" * (len(names) + 1) + "|\n"
        parts.append(head + "| f64 | " + " | ".join(f"{entries[name]['median_ms']:.3g}" for name in names) + " |")
    return "\n\n".join(parts) + "\n"


def summary(data):
    ratios = [r for r, _ in map(ratio, data["cells"]) if r is not None]
    lost = sum(r < 1 for r in ratios)
    text = f"Of {len(ratios)} cells Rewright is the fastest in {len(ratios) - lost}, and not in {lost}"
    liberties = f", {len(marked(data))} of them with liberties (†)" if marked(data) else ""
    return text + f"{liberties}. The geometric mean of the best peer's time to Rewright's is {geometric_mean(ratios):.2f}."


def losses(data):
    """The cells in which a peer is faster, the worst first."""
    rows = [(r, name, row) for row in data["cells"] for r, name in [ratio(row)] if r is not None and r < 1]
    lines = ["| ratio | best peer | workload | dtype | n | Rewright ns/element | its |", "|---|---|---|---|---|---|---|"]
    for r, name, row in sorted(rows, key=lambda entry: entry[0]):
        ours, theirs = (row["systems"][s]["median_ns"] / row["elements"] for s in (OURS, name))
        lines.append(f"| {r:.2f} | {name} | {row['title']}{MODES[row['mode']]} | {row['dtype']} | {number(row['n'])} | {ours:.3g} | {theirs:.3g} |")
    return "\n".join(lines)
