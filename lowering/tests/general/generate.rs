//! Random expressions as IR text, and arguments for them.

use fastrand::Rng;
use rewright_ir::{Array, DType, Datum, Scalar};
use std::fmt::Write;

/// The most elements of an array.
const MOST_ELEMENTS: usize = 1 << 16;

/// A function of one expression, and arguments for it.
pub struct Generated {
    pub text: String,
    pub args: Vec<Datum>,
}

struct Param {
    name: String,
    dtype: DType,
    /// `None` for a scalar.
    shape: Option<Vec<usize>>,
}

#[derive(Clone)]
struct Axis {
    name: String,
    lo: i64,
    hi: i64,
    reduce: bool,
    /// Whether the scan along it is exclusive; `None` if it is no scan axis.
    scan: Option<bool>,
}

struct Generator {
    rng: Rng,
    params: Vec<Param>,
    args: Vec<Datum>,
    /// Extents that are written as the symbol `n<extent>`.
    symbols: Vec<usize>,
    /// Whether the outermost expression has a scan axis.
    scans: bool,
}

/// The most points of the outermost expression.
const MOST_POINTS: i64 = 4000;

const DTYPES: [DType; 13] = DType::ALL;
const BINARY: [&str; 14] = [
    "add", "sub", "mul", "div", "minimum", "maximum", "floordiv", "mod", "lt", "eq", "fmax", "atan2", "bitand", "power",
];
const UNARY: [&str; 10] = ["neg", "abs", "square", "not", "floor", "exp", "cos", "isnan", "sqrt", "conj"];

/// The expression of a seed.
pub fn expression(seed: u64) -> Generated {
    let (params, args, symbols) = (Vec::new(), Vec::new(), Vec::new());
    let mut g = Generator { rng: Rng::with_seed(seed), params, args, symbols, scans: false };
    let mut axes: Vec<Axis> = Vec::new();
    let (parallel, reduce) = (g.rng.usize(0..4), [0, 0, 1, 1, 2][g.rng.usize(0..5)]);
    for number in 0..parallel + reduce {
        let axis = g.axis(["i", "j", "k", "l", "m"][number], number >= parallel);
        axes.insert(g.rng.usize(0..=axes.len()), axis);
    }
    let mut kept: Vec<&mut Axis> = axes.iter_mut().filter(|axis| !axis.reduce).collect();
    if !kept.is_empty() && g.one_in(3) {
        let at = g.rng.usize(0..kept.len());
        kept[at].scan = Some(g.one_in(3));
        g.scans = true;
    }
    // The reference evaluator is slow.
    while axes.iter().map(|axis| (axis.hi - axis.lo).max(1)).product::<i64>() > MOST_POINTS {
        let longest = axes.iter_mut().max_by_key(|axis| axis.hi - axis.lo);
        longest.into_iter().for_each(|axis| axis.hi = axis.lo + (axis.hi - axis.lo) / 2);
    }
    let body = g.expr(&axes, 0);
    let mut text = String::from("func @f(");
    let params: Vec<String> =
        g.params.iter().map(|p| format!("%{}: {}", p.name, g.ty(p.dtype, p.shape.as_deref()))).collect();
    let _ = write!(text, "{}) -> {} {{\nentry:\n", params.join(", "), body.types.join(", "));
    let results: Vec<String> = (0..body.types.len()).map(|n| format!("%r{n}")).collect();
    let _ = write!(text, "  {} = arrayexpr {}\n  ret {}\n}}\n", results.join(", "), body.text, results.join(", "));
    Generated { text, args: g.args }
}

/// The shapes of results.
type Shapes = Vec<Vec<usize>>;

struct ExprText {
    text: String,
    types: Vec<String>,
}

impl Generator {
    fn one_in(&mut self, n: usize) -> bool {
        self.rng.usize(0..n) == 0
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.rng.usize(0..list.len())]
    }

    fn dtype(&mut self) -> DType {
        if self.one_in(2) { DType::F64 } else { DTYPES[self.rng.usize(0..DTYPES.len())] }
    }

    fn extent(&mut self) -> usize {
        match self.rng.usize(0..20) {
            0 => 0,
            1 => 40 + self.rng.usize(0..60),
            _ => 1 + self.rng.usize(0..6),
        }
    }

    fn axis(&mut self, name: &str, reduce: bool) -> Axis {
        let mut hi = self.extent() as i64;
        if reduce && self.one_in(12) {
            hi = self.rng.i64(500..1300);
        }
        let lo = if self.one_in(5) { self.rng.i64(-2..3) } else { 0 };
        Axis { name: name.to_string(), lo, hi, reduce, scan: None }
    }

    /// An extent as text: a symbol that a parameter binds, or a number.
    fn dim(&mut self, extent: usize) -> String {
        if self.symbols.contains(&extent) && self.one_in(2) { format!("n{extent}") } else { extent.to_string() }
    }

    fn ty(&self, dtype: DType, shape: Option<&[usize]>) -> String {
        let Some(shape) = shape else { return dtype.to_string() };
        let dims: Vec<String> =
            shape.iter().map(|n| if self.symbols.contains(n) { format!("n{n}") } else { n.to_string() }).collect();
        format!("{dtype}[{}]", dims.join(", "))
    }

    fn scalar(&mut self, dtype: DType) -> Scalar {
        let special = [0.0, -0.0, 1.0, -1.0, 0.5, f64::NAN, f64::INFINITY, 3.0, 1e9, -7.25];
        let part = |rng: &mut Rng| match rng.usize(0..6) {
            0 => special[rng.usize(0..special.len())],
            _ => (rng.f64() - 0.5) * 10.0,
        };
        let (re, im) = (part(&mut self.rng), part(&mut self.rng));
        match dtype.is_complex() {
            true => Scalar::C128(num_complex::Complex::new(re, im)).cast(dtype),
            false => Scalar::F64(re).cast(dtype),
        }
    }

    /// A new array parameter.
    fn array(&mut self, dtype: DType, mut shape: Vec<usize>, positions: Option<usize>) -> usize {
        // Reads beyond the end of a smaller array are errors.
        while shape.iter().product::<usize>() > MOST_ELEMENTS
            && let Some(longest) = shape.iter_mut().max()
        {
            *longest /= 2;
        }
        let len: usize = shape.iter().product();
        let elements: Vec<Scalar> = (0..len)
            .map(|_| match positions {
                Some(n) => {
                    let least = if dtype.is_unsigned() { 0 } else { -(n as i64) };
                    let wild = self.one_in(60);
                    let x = if n == 0 || wild { self.rng.i64(-9..200) } else { self.rng.i64(least..n as i64) };
                    Scalar::I64(x).cast(dtype)
                }
                None => self.scalar(dtype),
            })
            .collect();
        if self.one_in(2) {
            self.symbols.extend(shape.first().copied());
        }
        self.args.push(Datum::Array(Array::from_fn(dtype, &shape, |n| elements[n]).expect("elements of the dtype")));
        let name = format!("a{}", self.params.len());
        self.params.push(Param { name, dtype, shape: Some(shape) });
        self.params.len() - 1
    }

    /// An affine form of axes, and its range.
    fn affine(&mut self, axes: &[Axis], terms: usize) -> (String, i64, i64) {
        let (mut text, mut lo, mut hi) = (String::new(), 0, 0);
        let mut used: Vec<usize> = Vec::new();
        for _ in 0..terms {
            if axes.is_empty() {
                break;
            }
            let n = self.rng.usize(0..axes.len());
            if used.contains(&n) {
                continue;
            }
            used.push(n);
            let factor = [1, 1, 1, -1, 2, -3][self.rng.usize(0..6)];
            let (a, b) = (axes[n].lo * factor, (axes[n].hi - 1) * factor);
            (lo, hi) = (lo + a.min(b), hi + a.max(b));
            let sign = if factor < 0 {
                "-"
            } else if text.is_empty() {
                ""
            } else {
                "+"
            };
            let _ = match i64::abs(factor) {
                1 => write!(text, " {sign} {}", axes[n].name),
                more => write!(text, " {sign} {more}*{}", axes[n].name),
            };
        }
        let constant = if text.is_empty() || self.one_in(3) { self.rng.i64(-2..4) } else { 0 };
        if text.is_empty() || constant != 0 {
            let sign = if constant < 0 {
                "-"
            } else if text.is_empty() {
                ""
            } else {
                "+"
            };
            let _ = write!(text, " {sign} {}", constant.abs());
        }
        let text = text.trim().replace("  ", " ").replace("- ", "-").replace("-", "- ");
        let text = if let Some(rest) = text.strip_prefix("- ") { format!("-{rest}") } else { text };
        (text, lo + constant, hi + constant)
    }

    /// A position with its access mode, and the extent of its dim.
    fn position(&mut self, axes: &[Axis], dtype: DType) -> (String, usize) {
        let some = |hi: i64| usize::try_from(hi.clamp(0, 3000)).unwrap_or(0);
        match self.rng.usize(0..16) {
            0..=5 if !axes.is_empty() => {
                let axis = axes[self.rng.usize(0..axes.len())].clone();
                let more = if self.one_in(8) { self.rng.usize(0..3) } else { 0 };
                (axis.name, some(axis.hi) + more)
            }
            6 if !axes.is_empty() => {
                let axis = axes[self.rng.usize(0..axes.len())].clone();
                let extent = if self.one_in(2) || axis.lo != 0 { 1 } else { some(axis.hi) };
                (format!("bcast({})", axis.name), extent)
            }
            7 => {
                let n = self.extent();
                let rank = self.rng.usize(0..2).min(axes.len());
                let (mut at, mut shape) = (Vec::new(), Vec::new());
                for _ in 0..rank {
                    let axis = axes[self.rng.usize(0..axes.len())].clone();
                    at.push(axis.name);
                    shape.push(some(axis.hi));
                }
                let kind = [DType::I64, DType::I32, DType::U8, DType::I8, DType::U64][self.rng.usize(0..5)];
                let is_scalar = rank == 0 && self.one_in(2);
                let p = self.array(kind, shape, Some(n));
                if is_scalar && let Some(Datum::Array(element)) = self.args.pop() {
                    self.args.push(Datum::Scalar(element.get(&[]).expect("its only element")));
                    self.params[p].shape = None;
                }
                let at = if rank == 0 { String::new() } else { format!("[{}]", at.join(", ")) };
                let word = if self.one_in(3) { "gather_from_start" } else { "gather" };
                let gather = format!("{word}(%{}{at})", self.params[p].name);
                let gather = if self.one_in(4) { format!("{gather} + {}", self.rng.usize(1..3)) } else { gather };
                let mode = self.pick(&["", "", "wrap", "clamp", "check"]);
                (if mode.is_empty() { gather } else { format!("{mode}({gather})") }, n)
            }
            8 => {
                let (form, lo, hi) = self.affine(axes, 2);
                let n = self.rng.i64(1..5);
                match self.one_in(2) {
                    true => (format!("({form}) // {n}"), if lo < 0 { self.extent() } else { some(hi / n + 1) }),
                    false => (format!("({form}) % {n}"), n as usize),
                }
            }
            kind => {
                let (form, lo, hi) = self.affine(axes, 1 + self.rng.clone().usize(0..3));
                let fits = if lo < 0 { self.extent() } else { some(hi + 1) };
                match kind {
                    9 => (format!("wrap({form})"), self.extent()),
                    10 => (format!("clamp({form})"), self.extent()),
                    11 | 12 => {
                        let pad = self.scalar(dtype);
                        (format!("pad({form}, {})", literal(pad)), self.extent())
                    }
                    13 => (format!("check({form})"), fits),
                    _ => (form, fits),
                }
            }
        }
    }

    /// The text of an expression along these axes, without the word `arrayexpr`. `outer` is the number of
    /// axes of the enclosing expressions, which come first.
    fn expr(&mut self, axes: &[Axis], outer: usize) -> ExprText {
        let own = &axes[outer..];
        let mut operands: Vec<(String, DType, bool)> = Vec::new();
        let mut listed: Vec<String> = Vec::new();
        let count = 1 + self.rng.usize(0..3);
        for number in 0..count {
            let name = format!("x{outer}{number}");
            if self.one_in(8) {
                let dtype = self.dtype();
                let value = self.scalar(dtype);
                self.args.push(Datum::Scalar(value));
                let param = format!("s{}", self.params.len());
                listed.push(format!("{name} = %{param}"));
                self.params.push(Param { name: param, dtype, shape: None });
                operands.push((name, dtype, true));
                continue;
            }
            let dtype = self.dtype();
            let rank = self.rng.usize(0..4).min(axes.len() + 1);
            let free = self.one_in(3);
            let parallel: Vec<Axis> = axes.iter().filter(|axis| free || !axis.reduce).cloned().collect();
            let from: &[Axis] = if free || parallel.is_empty() { axes } else { &parallel };
            let positions: Vec<(String, usize)> = (0..rank).map(|_| self.position(from, dtype)).collect();
            let at: Vec<&str> = positions.iter().map(|(text, _)| &text[..]).collect();
            let a = self.array(dtype, positions.iter().map(|(_, extent)| *extent).collect(), None);
            listed.push(format!("{name} = %{}[{}]", self.params[a].name, at.join(", ")));
            operands.push((name, dtype, !own.iter().any(|axis| axis.reduce && at.join(" ").contains(&axis.name))));
        }
        let reduces = own.iter().any(|axis| axis.reduce || axis.scan.is_some());
        let mut values: Vec<String> = operands.iter().map(|(name, ..)| name.clone()).collect();
        values.extend(axes.iter().map(|axis| axis.name.clone()));
        let mut body = String::new();
        self.body(&mut body, "t", &mut values, axes, outer);
        let yields = if outer > 0 { 1 } else { 1 + self.rng.usize(0..2) };
        let chosen: Vec<String> = (0..yields)
            .map(|n| {
                if n == 0 { values[values.len() - 1].clone() } else { values[self.rng.usize(0..values.len())].clone() }
            })
            .collect();
        let (mut reductions, mut accumulators) = (String::new(), Vec::new());
        let mut yielded: Vec<String> = Vec::new();
        if reduces {
            for value in &chosen {
                let accs = self.reduction(&mut reductions, outer, accumulators.len());
                yielded.push(value.clone());
                if accs.len() == 2 {
                    let is_dot = accs[0] == accs[1] && self.one_in(2);
                    let position =
                        own.iter().find(|axis| axis.reduce || axis.scan.is_some()).map(|axis| axis.name.clone());
                    yielded.push(position.filter(|_| !is_dot).unwrap_or_else(|| value.clone()));
                }
                accumulators.extend(accs);
            }
        } else {
            yielded = chosen;
        }
        let mut finish = String::new();
        let mut results = if reduces { accumulators.len() } else { yielded.len() };
        if reduces && self.one_in(3) {
            let names: Vec<String> = (0..accumulators.len()).map(|n| format!("s{n}")).collect();
            let mut seen = names.clone();
            seen.extend(operands.iter().filter(|(_, _, fixed)| *fixed).map(|(name, ..)| name.clone()));
            seen.extend(axes.iter().filter(|axis| !axis.reduce).map(|axis| axis.name.clone()));
            let mut text = String::new();
            self.body(&mut text, "u", &mut seen, &[], 99);
            results = 1;
            let _ = write!(finish, " finish ({}) {{\n{text}    yield {}\n  }}", names.join(", "), seen[seen.len() - 1]);
        }
        let axes_text: Vec<String> = own
            .iter()
            .map(|axis| {
                let hi = if axis.hi >= 0 { self.dim(axis.hi as usize) } else { axis.hi.to_string() };
                let kind = match (axis.reduce, axis.scan) {
                    (true, _) => "reduce ",
                    (false, Some(false)) => "scan ",
                    (false, Some(true)) => "scan exclusive ",
                    (false, None) => "",
                };
                if axis.lo == 0 {
                    format!("{}: {kind}{hi}", axis.name)
                } else {
                    format!("{}: {kind}{}..{hi}", axis.name, axis.lo)
                }
            })
            .collect();
        let guard = if self.one_in(3) { self.guard(axes) } else { String::new() };
        let (into, types, shapes) = self.outs(own, results, outer > 0, !guard.is_empty());
        // Reductions that start from an array have a mark for it.
        for (number, &dtype) in accumulators.iter().enumerate() {
            let mark = format!("[@{number}]");
            if reductions.contains(&mark) {
                let shape = shapes[number.min(shapes.len() - 1)].clone();
                let old = self.array(dtype, shape, None);
                reductions = reductions.replace(&mark, &format!("[%{}]", self.params[old].name));
            }
        }
        let text = format!(
            "[{}]{guard} ({}) {{\n{body}    yield {}\n  }}{reductions}{finish}{into} : {}",
            axes_text.join(", "),
            listed.join(", "),
            yielded.join(", "),
            types.join(", ")
        );
        ExprText { text, types }
    }

    fn guard(&mut self, axes: &[Axis]) -> String {
        let mut conditions = Vec::new();
        for _ in 0..1 + self.rng.usize(0..2) {
            let (a, ..) = self.affine(axes, 2);
            let (b, ..) = self.affine(axes, 1);
            conditions.push(match self.rng.usize(0..6) {
                0 => format!("{a} == {b}"),
                1 => format!("({a}) % {} == 0", self.rng.usize(1..4)),
                2 => format!("{a} >= {b}"),
                _ => format!("{a} <= {b} + {}", self.rng.usize(0..4)),
            });
        }
        format!(" where {}", conditions.join(" and "))
    }

    /// Appends instructions; the last of `values` is then a result.
    fn body(&mut self, text: &mut String, prefix: &str, values: &mut Vec<String>, axes: &[Axis], outer: usize) {
        for number in 0..self.rng.usize(0..4) {
            let name = format!("{prefix}{number}");
            let value = |g: &mut Self| match g.one_in(8) {
                true => ["2.0", "-1", "0.5", "true"][g.rng.usize(0..4)].to_string(),
                false => values[values.len() - 1 - g.rng.usize(0..values.len().min(4))].clone(),
            };
            let line = match self.rng.usize(0..10) {
                0 => format!("{} {}", self.pick(&UNARY), value(self)),
                1 => format!("cast {}, to={}", value(self), self.dtype()),
                2 => format!("where {}, {}, {}", value(self), value(self), value(self)),
                3 if outer == 0 && axes.len() < 5 => {
                    let mut inner = axes.to_vec();
                    let mut axis = self.axis("q", true);
                    axis.hi = axis.hi.min(6);
                    inner.push(axis);
                    let nested = self.expr(&inner, axes.len());
                    format!("arrayexpr {}", nested.text)
                }
                _ => format!("{} {}, {}", self.pick(&BINARY), value(self), value(self)),
            };
            let _ = writeln!(text, "    {name} = {line}");
            values.push(name);
        }
    }

    /// Appends a reduction, of which the first accumulator has this number; gives the dtypes of its
    /// accumulators. An array that it starts from is `@` and the number.
    fn reduction(&mut self, text: &mut String, outer: usize, first: usize) -> Vec<DType> {
        let dtype = self.dtype();
        let init = |g: &mut Self, dtype| match g.rng.usize(0..5) {
            0 => " init first".to_string(),
            1 => format!(" init {}", literal(g.scalar(dtype))),
            2 if outer == 0 && !g.scans => format!(" init [@{first}]"),
            _ => String::new(),
        };
        if self.one_in(5) {
            let op = self.pick(&["maximum", "minimum", "add", "mul"]);
            let assoc = self.pick(&["assoc comm", "assoc nocomm", "noassoc nocomm"]);
            let start = init(self, dtype);
            let _ = write!(
                text,
                " reduce ({dtype}) region (a{outer}, b{outer}) {{\n    t0 = {op} a{outer}, b{outer}\n    t1 = cast t0, to={dtype}\n    yield t1\n  }} {assoc} noidem{start}"
            );
            if start.is_empty() && self.one_in(2) {
                let _ = write!(text, " identity {}", literal(Scalar::zero(dtype)));
            }
            return vec![dtype];
        }
        if self.one_in(6) {
            let _ = write!(text, " reduce ({} {dtype}, i64)", self.pick(&["argmin", "argmax"]));
            return vec![dtype, DType::I64];
        }
        if self.one_in(6) {
            let _ = write!(text, " reduce (dot {dtype}, {dtype})");
            if self.one_in(3) {
                let _ = write!(text, " init [{}, {}]", literal(self.scalar(dtype)), literal(Scalar::one(dtype)));
            }
            return vec![dtype, dtype];
        }
        let monoid = self.pick(&["sum", "sum", "sum", "prod", "min", "max", "any", "all"]);
        let _ = write!(text, " reduce ({monoid} {dtype}){}", init(self, dtype));
        vec![dtype]
    }

    /// The places of results, and their types.
    fn outs(&mut self, axes: &[Axis], results: usize, nested: bool, guarded: bool) -> (String, Vec<String>, Shapes) {
        let dtypes: Vec<DType> = (0..results).map(|_| self.dtype()).collect();
        if nested {
            let fill: Vec<String> = dtypes.iter().map(|&d| format!("[] fill {}", literal(self.scalar(d)))).collect();
            let into = if guarded { format!(" into ({})", fill.join(", ")) } else { String::new() };
            return (into, dtypes.iter().map(|d| d.to_string()).collect(), vec![Vec::new(); dtypes.len()]);
        }
        let parallel: Vec<Axis> = axes.iter().filter(|axis| !axis.reduce).cloned().collect();
        let (mut into, mut types, mut shapes) = (Vec::new(), Vec::new(), Shapes::new());
        for dtype in dtypes {
            let mut shape = Vec::new();
            let (mut at, mut dims): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
            let odd = self.one_in(3);
            let mut order = parallel.clone();
            self.rng.shuffle(&mut order);
            for axis in &order {
                let extent = usize::try_from(axis.hi).unwrap_or(0);
                if odd && self.one_in(3) {
                    let n = self.extent().max(1);
                    match self.rng.usize(0..4) {
                        3 if axis.lo == 0 && extent > 0 => {
                            at.push(format!("{} - {}", extent - 1, axis.name));
                            dims.push(extent.to_string());
                            shape.push(extent);
                        }
                        0 => {
                            let p = self.array(DType::I64, vec![extent], Some(n));
                            let word = if self.one_in(3) { "gather_from_start" } else { "gather" };
                            at.push(format!("{word}(%{}[{}])", self.params[p].name, axis.name));
                            dims.push(n.to_string());
                            shape.push(n);
                        }
                        1 => {
                            at.push(format!("{} + 1", axis.name));
                            dims.push((extent + 1).to_string());
                            shape.push(extent + 1);
                        }
                        _ => {
                            at.push(format!("{} // 2", axis.name));
                            dims.push((extent / 2 + 1).to_string());
                            shape.push(extent / 2 + 1);
                        }
                    }
                } else if !(odd && self.one_in(6)) {
                    at.push(axis.name.clone());
                    dims.push(self.dim(extent));
                    shape.push(extent);
                }
            }
            let mut out = format!("[{}]", at.join(", "));
            if odd || guarded || self.one_in(4) || parallel.iter().any(|axis| axis.lo != 0) {
                if !self.one_in(8) {
                    let _ = write!(out, " fill {}", literal(self.scalar(dtype)));
                }
                if odd {
                    out += self.pick(&["", " last", " combine sum", " combine max", " combine prod", " combine any"]);
                }
            }
            into.push(out);
            types.push(format!("{dtype}[{}]", dims.join(", ")));
            shapes.push(shape);
        }
        (format!(" into ({})", into.join(", ")), types, shapes)
    }
}

/// A number with its dtype.
fn literal(scalar: Scalar) -> String {
    format!("{scalar}:{}", scalar.dtype())
}
