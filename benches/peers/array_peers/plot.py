"""What was measured, as a plot: a panel a workload, time an element over the number of elements, a line a system."""

from html import escape
from math import ceil, floor, log10

from report import threads

OURS = "Rewright"
SYSTEMS = [OURS, "NumPy", "numexpr", "Numba", "JAX", "Dr.Jit"]
WIDTH, HEIGHT, GAP, LEFT, TOP, COLUMNS = 250, 190, 26, 46, 96, 4

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .title { font-size: 17px; font-weight: 600; } .name { font-size: 13px; font-weight: 600; } .tick { font-size: 10px; fill: #6e7781; }
  .grid { stroke: #d8dee4; stroke-width: 1; } .frame { fill: none; stroke: #afb8c1; }
  .roof { fill: none; stroke: #6e7781; stroke-width: 1.4; stroke-dasharray: 2 4; }
  .line { fill: none; stroke-width: 1.6; stroke-linejoin: round; } .s0 { stroke-width: 3.2; }
  .s0 { stroke: #cf222e; } .s1 { stroke: #0969da; } .s2 { stroke: #8250df; } .s3 { stroke: #1a7f37; } .s4 { stroke: #bc4c00; } .s5 { stroke: #57606a; }
  .d0 { fill: #cf222e; } .d1 { fill: #0969da; } .d2 { fill: #8250df; } .d3 { fill: #1a7f37; } .d4 { fill: #bc4c00; } .d5 { fill: #57606a; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .tick { fill: #9198a1; } .grid { stroke: #2d333b; } .roof { stroke: #9198a1; } .frame { stroke: #545d68; }
    .s0 { stroke: #ff6b6b; } .s1 { stroke: #58a6ff; } .s2 { stroke: #bc8cff; } .s3 { stroke: #3fb950; } .s4 { stroke: #f0883e; } .s5 { stroke: #adbac7; }
    .d0 { fill: #ff6b6b; } .d1 { fill: #58a6ff; } .d2 { fill: #bc8cff; } .d3 { fill: #3fb950; } .d4 { fill: #f0883e; } .d5 { fill: #adbac7; }
  }
"""


def short(value):
    return f"{value:g}" if 1e-3 <= value < 1e4 else f"1e{round(log10(value))}"


def panel(title, rows, x0, y0):
    """One workload: `rows` are its cells."""
    xs = [log10(row["n"]) for row in rows]
    times = {name: [(log10(r["n"]), log10(r["systems"][name]["median_ns"] / r["elements"])) for r in rows if name in r["systems"]] for name in SYSTEMS}
    roof = [(log10(r["n"]), log10(r["roofline"]["bound_ns"] / r["elements"])) for r in rows if (r.get("roofline") or {}).get("bound_ns")]
    # Nothing is to be seen between the lines of systems that take a microsecond a call: calls of small arrays are cut off above.
    ys = [y for line in [*times.values(), roof] for _, y in line]
    low, high = min(ys) - 0.1, min(max(ys) + 0.1, log10(2e3))
    left, right = min(xs), max(xs) if max(xs) > min(xs) else min(xs) + 1
    at = lambda x, y: (x0 + (x - left) / (right - left) * WIDTH, y0 + (high - min(y, high)) / (high - low) * HEIGHT)
    out = [f'<text class="name" x="{x0}" y="{y0 - 8}">{escape(title)}</text>']
    for decade in range(ceil(low), floor(high) + 1):
        _, y = at(left, decade)
        out.append(f'<line class="grid" x1="{x0}" x2="{x0 + WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text class="tick" x="{x0 - 5}" y="{y + 3:.1f}" text-anchor="end">{short(10.0 ** decade)}</text>')
    for n in sorted({row["n"] for row in rows}):
        x, _ = at(log10(n), low)
        label = {8: "8", 1_000: "10³", 30_000: "3·10⁴", 1_000_000: "10⁶", 10_000_000: "10⁷"}.get(n, str(n))
        out.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{y0}" y2="{y0 + HEIGHT}"/>')
        out.append(f'<text class="tick" x="{x:.1f}" y="{y0 + HEIGHT + 13}" text-anchor="middle">{label}</text>')
    out.append(f'<rect class="frame" x="{x0}" y="{y0}" width="{WIDTH}" height="{HEIGHT}"/>')
    if roof:
        out.append(f'<polyline class="roof" points="{" ".join("%.1f,%.1f" % at(x, y) for x, y in roof)}"/>')
    for number, name in reversed(list(enumerate(SYSTEMS))):
        if not times[name]:
            continue
        places = [at(x, y) for x, y in times[name]]
        out.append(f'<polyline class="line s{number}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>')
        radius = 3.4 if number == 0 else 2.2
        out.extend(f'<circle class="d{number}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>' for x, y in places)
    return out


def svg(data):
    """Of f64, and of bytes where there is nothing else."""
    panels = {}
    for row in data["cells"]:
        if row["dtype"] in ("f64", "u8"):
            title = row["title"] + {"into": "", "new": ", allocated"}[row["mode"]]
            panels.setdefault(title, []).append(row)
    lines = ceil(len(panels) / COLUMNS)
    width = LEFT + COLUMNS * (WIDTH + GAP + LEFT) - GAP
    height = TOP + lines * (HEIGHT + GAP + 34)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">', f"<style>{STYLE}</style>"]
    out.append(f'<text class="title" x="{LEFT}" y="26">Nanoseconds an element over the number of elements, f64, {threads(data)}; lower is faster</text>')
    x = LEFT
    for number, name in enumerate(SYSTEMS):
        out.append(f'<line class="line s{number}" x1="{x}" x2="{x + 24}" y1="50" y2="50"/><circle class="d{number}" cx="{x + 12}" cy="50" r="3"/>')
        out.append(f'<text x="{x + 30}" y="54">{escape(name)}</text>')
        x += 58 + 8 * len(name)
    out.append(f'<line class="roof" x1="{x}" x2="{x + 24}" y1="50" y2="50"/><text x="{x + 30}" y="54">roofline</text>')
    for i, (title, rows) in enumerate(panels.items()):
        column, row = i % COLUMNS, i // COLUMNS
        out.extend(panel(title, rows, LEFT + column * (WIDTH + GAP + LEFT), TOP + row * (HEIGHT + GAP + 34)))
    return "\n".join([*out, "</svg>"]) + "\n"
