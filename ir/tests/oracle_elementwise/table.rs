//! Reads the tables under `tests/oracle`.

use rewright_ir::{Attr, Attrs, DType, Op, Scalar, Scalars, registry};
use std::path::PathBuf;

/// The text of a table.
pub fn text(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/oracle").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

pub fn dtype(name: &str) -> DType {
    name.parse().unwrap_or_else(|()| panic!("no dtype `{name}`"))
}

pub fn op(name: &str) -> Op {
    registry().op(name).unwrap_or_else(|| panic!("no op `{name}`"))
}

/// An op at operand dtypes, and its cases.
pub struct Block<'a> {
    pub op: Op,
    pub ins: Vec<DType>,
    pub outs: Vec<DType>,
    pub attrs: Attrs,
    pub header: &'a str,
    pub cases: Vec<&'a str>,
}

impl<'a> Block<'a> {
    fn parse(header: &'a str) -> Self {
        let (left, right) = header.split_once(" -> ").expect("a header has an arrow");
        let mut left = left.split(' ');
        let op = op(left.next().expect("an op"));
        let mut attrs = Attrs::new();
        let mut outs = Vec::new();
        for word in right.split(' ') {
            match word.split_once('=') {
                None => outs.push(dtype(word)),
                Some(("to", value)) => attrs = attrs.with("to", Attr::DType(dtype(value))),
                Some((name, value)) => attrs = attrs.with(name, Attr::Int(value.parse().expect("an integer"))),
            }
        }
        Block { op, ins: left.map(dtype).collect(), outs, attrs, header, cases: Vec::new() }
    }

    /// The operands of a case, and the results.
    pub fn scalars(&self, case: &str) -> (Scalars, Scalars) {
        let dtypes = self.ins.iter().chain(&self.outs);
        let all: Vec<_> = case.split(' ').zip(dtypes).map(|(word, &d)| scalar(word, d)).collect();
        assert_eq!(all.len(), self.ins.len() + self.outs.len(), "{case} in {}", self.header);
        let (args, results) = all.split_at(self.ins.len());
        (Scalars::from_slice(args), Scalars::from_slice(results))
    }
}

fn scalar(word: &str, dtype: DType) -> Scalar {
    let bits = |part: &str| match part {
        "nan" if dtype.real() == DType::F32 => f32::NAN.to_bits() as u64,
        "nan" => f64::NAN.to_bits(),
        hex => u64::from_str_radix(hex, 16).unwrap_or_else(|e| panic!("{hex}: {e}")),
    };
    let (re, im) = word.split_once(':').unwrap_or((word, "0"));
    Scalar::from_bits(dtype, (bits(re), bits(im)))
}

/// The blocks of `elementwise.txt`.
pub fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for line in text.lines() {
        if line.contains("->") {
            blocks.push(Block::parse(line));
        } else {
            blocks.last_mut().expect("the first line is a header").cases.push(line);
        }
    }
    blocks
}
