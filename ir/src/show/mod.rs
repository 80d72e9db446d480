//! `Display` of values, exactly as NumPy's `print` shows them with default options. Columns have one width
//! and at most eight digits, and use scientific notation if magnitudes require it. Arrays of more than a
//! thousand elements show only the corners.

mod float;

use crate::scalar::Scalar;
use crate::value::{Array, Datum};
use float::{Column, scalar_float};
use std::fmt;

/// Arrays with more elements are summarized.
const THRESHOLD: usize = 1000;
/// The number of positions shown at each end of a summarized axis.
const EDGE: usize = 3;
/// The width of a line.
const LINE: usize = 75;

/// The number of elements that are shown for an array of this shape.
pub(crate) fn shown_len(shape: &[usize]) -> usize {
    let summary = is_summarized(shape);
    shape.iter().map(|&n| if summary && n > 2 * EDGE { 2 * EDGE } else { n }).fold(1, usize::saturating_mul)
}

fn is_summarized(shape: &[usize]) -> bool {
    shape.iter().try_fold(1usize, |len, &n| len.checked_mul(n)).is_none_or(|len| len > THRESHOLD)
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Datum::Scalar(s) => f.write_str(&scalar_text(*s)),
            Datum::Array(a) => write!(f, "{a}"),
            Datum::Styled(s) => write!(f, "{s}"),
        }
    }
}

impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rank() == 0 {
            return self.iter().next().map_or(Ok(()), |s| f.write_str(&scalar_text(s)));
        }
        if self.is_empty() {
            return f.write_str("[]");
        }
        let summary = is_summarized(self.shape());
        let mut shown = Vec::new();
        corners(self, summary, &mut Vec::new(), &mut |s| shown.push(s));
        let rows = Rows { array: self, summary, format: Format::new(&shown) };
        f.write_str(&rows.block(&mut Vec::new(), " ", LINE))
    }
}

fn scalar_text(s: Scalar) -> String {
    match s {
        Scalar::Bool(true) => "True".to_string(),
        Scalar::Bool(false) => "False".to_string(),
        Scalar::F32(x) => scalar_float(x, true),
        Scalar::F64(x) => scalar_float(x, true),
        Scalar::C64(z) => scalar_complex(&scalar_float(z.re, false), &scalar_float(z.im, false)),
        Scalar::C128(z) => scalar_complex(&scalar_float(z.re, false), &scalar_float(z.im, false)),
        int => int.to_string(),
    }
}

fn scalar_complex(re: &str, im: &str) -> String {
    let sign = if im.starts_with('-') { "" } else { "+" };
    if re == "0" { format!("{im}j") } else { format!("({re}{sign}{im}j)") }
}

/// The shown positions of an axis, and the position of the dots.
fn positions(extent: usize, summary: bool) -> (impl Iterator<Item = usize>, Option<usize>) {
    let cut = summary && extent > 2 * EDGE;
    let (head, tail) = if cut { (EDGE, extent - EDGE) } else { (0, 0) };
    ((0..head).chain(tail..extent), cut.then_some(EDGE))
}

fn corners(array: &Array, summary: bool, index: &mut Vec<usize>, each: &mut impl FnMut(Scalar)) {
    let Some(&extent) = array.shape().get(index.len()) else {
        return array.get(index).into_iter().for_each(each);
    };
    for i in positions(extent, summary).0 {
        index.push(i);
        corners(array, summary, index, each);
        index.pop();
    }
}

/// The format of all elements, with a common width.
enum Format {
    Bool,
    Int(usize),
    Float(Column),
    Complex(Column, Column),
}

impl Format {
    fn new(shown: &[Scalar]) -> Self {
        match shown.first() {
            None | Some(Scalar::Bool(_)) => Format::Bool,
            Some(Scalar::F32(_)) => Format::Float(Column::new(floats(shown, |s| part32(s, false)), false)),
            Some(Scalar::F64(_)) => Format::Float(Column::new(floats(shown, |s| part64(s, false)), false)),
            Some(Scalar::C64(_)) => Format::Complex(
                Column::new(floats(shown, |s| part32(s, false)), false),
                Column::new(floats(shown, |s| part32(s, true)), true),
            ),
            Some(Scalar::C128(_)) => Format::Complex(
                Column::new(floats(shown, |s| part64(s, false)), false),
                Column::new(floats(shown, |s| part64(s, true)), true),
            ),
            Some(_) => Format::Int(shown.iter().map(|s| s.to_string().len()).max().unwrap_or(0)),
        }
    }

    fn write(&self, s: Scalar) -> String {
        match (self, s) {
            (Format::Int(width), _) => format!("{:>width$}", s.to_string()),
            (Format::Float(column), Scalar::F32(x)) => column.write(x),
            (Format::Float(column), _) => column.write(s.to_f64()),
            (Format::Complex(re, im), Scalar::C64(z)) => complex(re.write(z.re), &im.write(z.im)),
            (Format::Complex(re, im), _) => complex(re.write(s.to_c128().re), &im.write(s.to_c128().im)),
            (Format::Bool, _) => (if s.truthy() { " True" } else { "False" }).to_string(),
        }
    }
}

fn floats<T>(shown: &[Scalar], part: impl Fn(Scalar) -> T) -> Vec<T> {
    shown.iter().map(|&s| part(s)).collect()
}
fn part32(s: Scalar, imaginary: bool) -> f32 {
    match s {
        Scalar::F32(x) => x,
        Scalar::C64(z) if imaginary => z.im,
        Scalar::C64(z) => z.re,
        _ => 0.0,
    }
}
fn part64(s: Scalar, imaginary: bool) -> f64 {
    if imaginary { s.to_c128().im } else { s.to_f64() }
}

/// Places the `j` before the blanks that pad the imaginary part.
fn complex(re: String, im: &str) -> String {
    let digits = im.trim_end();
    format!("{re}{digits}j{}", &im[digits.len()..])
}

/// Lays out brackets and lines.
struct Rows<'a> {
    array: &'a Array,
    summary: bool,
    format: Format,
}

impl Rows<'_> {
    /// The part of the array at a leading index. `indent` is the prefix of lines after the first.
    fn block(&self, index: &mut Vec<usize>, indent: &str, width: usize) -> String {
        let axis = index.len();
        let left = self.array.rank() - axis;
        let inner = format!("{indent} ");
        let (shown, dots) = positions(self.array.shape()[axis], self.summary);
        let mut text = String::new();
        let mut line = indent.to_string();
        for (n, i) in shown.enumerate() {
            index.push(i);
            if left == 1 {
                if dots == Some(n) {
                    extend(&mut text, &mut line, "...", width - 1, indent);
                    line.push(' ');
                }
                let word = self.array.get(index).map(|s| self.format.write(s)).unwrap_or_default();
                extend(&mut text, &mut line, &word, width - 1, indent);
                line.push(' ');
            } else {
                let gap = "\n".repeat(left - 1);
                if n > 0 {
                    text.push_str(&gap);
                }
                if dots == Some(n) {
                    text.push_str(&format!("{indent}...{gap}"));
                }
                text.push_str(indent);
                text.push_str(&self.block(index, &inner, width - 1));
            }
            index.pop();
        }
        if left == 1 {
            line.pop();
            text.push_str(&line);
        }
        format!("[{}]", &text[indent.len()..])
    }
}

/// Appends a word to a line; breaks the line first if the word doesn't fit.
fn extend(text: &mut String, line: &mut String, word: &str, width: usize, indent: &str) {
    if line.len() + word.len() > width && line.len() > indent.len() {
        text.push_str(line.trim_end());
        text.push('\n');
        *line = indent.to_string();
    }
    line.push_str(word);
}
