//! Reads `tests/oracle/arrays.txt`; `arrays.py`, which wrote it, documents the format.

use rewright_ir::*;

/// The 64 bits from which the n-th random element is made.
fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn random(dtype: DType, seed: u64, i: u64) -> Scalar {
    let number = |i: u64| {
        let z = mix(seed << 32 | i);
        (z, ((z >> 40) as f64 - f64::from(1 << 23)) * 2f64.powi((z & 15) as i32 - 24))
    };
    match dtype.kind() {
        Kind::Bool => Scalar::Bool(number(i).0 & 1 == 1),
        Kind::Int => Scalar::from_bits(dtype, (number(i).0 & (u64::MAX >> (64 - 8 * dtype.size())), 0)),
        Kind::Float => Scalar::F64(number(i).1).cast(dtype),
        Kind::Complex => Scalar::C128(Complex64::new(number(2 * i).1, number(2 * i + 1).1)).cast(dtype),
    }
}

/// The scalar with these bits, given in hexadecimal.
fn element(dtype: DType, text: &str) -> Scalar {
    let part = |t: &str| match (t, dtype) {
        ("nan", DType::F32 | DType::C64) => u64::from(f32::NAN.to_bits()),
        ("nan", _) => f64::NAN.to_bits(),
        _ => u64::from_str_radix(t, 16).unwrap(),
    };
    let (a, b) = text.split_once(':').unwrap_or((text, "0"));
    Scalar::from_bits(dtype, (part(a), part(b)))
}

fn datum(text: &str) -> Datum {
    let (ty, elements) = text.split_once([' ', '[']).unwrap();
    let dtype: DType = ty.parse().unwrap();
    if let Some(elements) = elements.strip_prefix("= ") {
        return Datum::Scalar(element(dtype, elements));
    }
    let (dims, elements) = elements.split_once(']').unwrap();
    let shape: Vec<usize> = dims.split(", ").filter(|d| !d.is_empty()).map(|d| d.parse().unwrap()).collect();
    let array = match elements.trim().split_once(' ').unwrap_or((elements.trim(), "")) {
        ("random", seed) => {
            let seed = seed.parse().unwrap();
            Array::from_fn(dtype, &shape, |i| random(dtype, seed, i as u64))
        }
        ("=", listed) => {
            let listed: Vec<Scalar> = listed.split(' ').filter(|w| !w.is_empty()).map(|w| element(dtype, w)).collect();
            Array::from_fn(dtype, &shape, |i| listed[i])
        }
        other => panic!("no elements: {other:?}"),
    };
    Datum::Array(array.unwrap())
}

/// The same value with elements in column-major order.
pub fn column_major(datum: &Datum) -> Datum {
    let Datum::Array(array) = datum else { return datum.clone() };
    let reversed: Vec<usize> = (0..array.rank()).rev().collect();
    let transposed = array.permuted(&reversed);
    let copied: Vec<Scalar> = transposed.iter().collect();
    let copy = Array::from_fn(array.dtype(), transposed.shape(), |i| copied[i]).unwrap();
    Datum::Array(copy.permuted(&reversed))
}

/// An instruction and its result.
pub struct Case<'a> {
    /// The op's name.
    pub op: &'a str,
    /// The text of the instruction, with operands `%0`, `%1`, ...
    pub inst: &'a str,
    /// The operands.
    pub args: Vec<Datum>,
    /// The result; `None` if NumPy raises an error.
    pub expected: Option<Datum>,
}

/// All cases.
pub fn cases() -> Vec<Case<'static>> {
    let mut lines = include_str!("../../../tests/oracle/arrays.txt").lines().peekable();
    let mut cases = Vec::new();
    while let Some(inst) = lines.next() {
        let mut args = Vec::new();
        while let Some(line) = lines.next_if(|l| l.starts_with('<')) {
            args.push(datum(&line[2..]));
        }
        let result = lines.next().and_then(|l| l.strip_prefix("> ")).unwrap();
        let expected = (result != "error").then(|| datum(result));
        cases.push(Case { op: inst.split(' ').next().unwrap(), inst, args, expected });
    }
    cases
}

/// The information in the dims of parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known {
    /// The extents.
    Constants,
    /// Equality of extents: those other than 0 and 1 are symbols.
    Symbols,
    /// None.
    Nothing,
}

impl Known {
    pub fn ty(self, datum: &Datum) -> Type {
        let dim = |&n: &usize| match self {
            Known::Symbols if n > 1 => Dim::from(format!("n{n}").as_str()),
            Known::Nothing => Dim::Any,
            _ => Dim::Const(n as u64),
        };
        match datum {
            Datum::Scalar(s) => Type::scalar(s.dtype()),
            _ => Type::array(datum.dtype(), datum.shape().iter().map(dim).collect::<Vec<_>>()),
        }
    }
}

impl Case<'_> {
    /// A function with this instruction; `Err` if types are invalid.
    pub fn function(&self, known: Known) -> Result<Module, String> {
        let params: Vec<String> =
            self.args.iter().enumerate().map(|(i, a)| format!("%p{i}: {}", known.ty(a))).collect();
        let (result, value) = match &self.expected {
            Some(expected) => (format!(" -> {}", Known::Nothing.ty(expected)), " %r"),
            None => (String::new(), ""),
        };
        let (params, inst) = (params.join(", "), self.inst.replace('%', "%p"));
        let text = format!("func @f({params}){result} {{\nentry:\n  %r = {inst}\n  ret{value}\n}}\n");
        parse_module(&text, "case").map_err(|e| e.render(false).to_string())
    }
}

impl Case<'_> {
    /// True if `found` is NumPy's result: equal except for the payloads of NaNs. Sums of floats, which have
    /// an order of their own, may differ by as much as two orders can.
    pub fn is_result(&self, found: &Datum) -> bool {
        let Some(expected) = &self.expected else { return false };
        let dtype = found.ty().dtype();
        let real = dtype.real();
        if !matches!(self.op, "sum" | "dot_general") || !real.is_float() {
            return same(found, expected);
        }
        let epsilon = if real == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let greatest = |arg: &Datum| {
            let parts = |s: Scalar| [s.to_c128().re, s.to_c128().im];
            let array = arg.to_array();
            let finite = array.iter().flat_map(parts).filter(|part| part.is_finite()).map(f64::abs);
            finite.fold(0.0, f64::max)
        };
        let elements = |of: &Datum| of.to_array().len().max(1) as f64;
        // The number of terms of one element. For `b m k` and `b n k` elements it is `k`; the formula gives
        // at most `k` times the root of `b`. A product of complex numbers adds two terms to each part.
        let read: f64 = self.args.iter().map(elements).product();
        let terms = match self.op {
            "sum" => read / elements(found),
            _ => (read / elements(found)).sqrt() * if dtype.is_complex() { 2.0 } else { 1.0 },
        };
        let bound = 2.0 * epsilon * terms * terms * self.args.iter().map(greatest).product::<f64>();
        let near = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= bound;
        let both = |a: Scalar, b: Scalar| {
            let (a, b) = (a.to_c128(), b.to_c128());
            near(a.re, b.re) && near(a.im, b.im)
        };
        found.ty() == expected.ty() && found.to_array().iter().zip(expected.to_array().iter()).all(|(a, b)| both(a, b))
    }
}

/// Equal except for the payloads of NaNs.
fn same(a: &Datum, b: &Datum) -> bool {
    let canonical = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
    let equal = |a: Scalar, b: Scalar| match a.dtype().kind() {
        Kind::Float => canonical(a.to_f64()) == canonical(b.to_f64()),
        Kind::Complex => {
            let (a, b) = (a.to_c128(), b.to_c128());
            (canonical(a.re), canonical(a.im)) == (canonical(b.re), canonical(b.im))
        }
        _ => a == b,
    };
    a.ty() == b.ty() && a.to_array().iter().zip(b.to_array().iter()).all(|(a, b)| equal(a, b))
}
