//! The dtypes that ops accept and yield are those of NumPy, for all operand dtypes and for literals.

use super::differences::DTYPE_DIFFERENCES;
use super::table::{dtype, op, text};
use rewright_ir::{Attrs, DType, Eval, Literal, LiteralCx, Op};

/// A literal of each kind, in the tables' order.
const LITERALS: [(&str, Literal); 4] = [
    ("bool", Literal::Bool(true)),
    ("int", Literal::Int(1)),
    ("float", Literal::Float(1.5)),
    ("complex", Literal::Complex(0.0, 1.0)),
];

/// The dtypes of an op's results in the format of the tables: `f64/i32` for two, `-` if the op refuses the
/// operands.
fn results(op: Op, ins: &[DType]) -> String {
    let Eval::Elementwise { resolve, .. } = op.eval else { panic!("`{op}` is not elementwise") };
    let found = resolve(ins, &Attrs::new());
    found.map_or("-".into(), |l| l.outs.iter().map(|d| d.name()).collect::<Vec<_>>().join("/"))
}

/// A line's words before and after its arrow.
fn split(line: &str) -> (Vec<&str>, Vec<&str>) {
    let (left, right) = line.split_once(" -> ").unwrap_or_else(|| panic!("no arrow in {line}"));
    (left.split(' ').collect(), right.split(' ').collect())
}

#[test]
fn dtypes_promote_as_in_numpy() {
    let text = text("promotion.txt");
    for (at, line) in text.lines().enumerate() {
        let words: Vec<_> = line.split(' ').collect();
        let [a, b, expected] = words[..] else { panic!("{line}") };
        let a = dtype(a);
        // Pairs of dtypes come first.
        let literal = LITERALS.iter().find(|(name, _)| at >= 13 * 13 && *name == b);
        let b = literal.map_or_else(|| dtype(b), |(_, l)| l.dtype_beside(Some(a)));
        assert_eq!(a.promote(b), dtype(expected), "{line}");
    }
    assert_eq!(text.lines().count(), 13 * 13 + 13 * 4);
}

#[test]
fn loops_are_those_of_numpy() {
    let text = text("loops.txt");
    let mut wrong = Vec::new();
    for line in text.lines() {
        let (left, expected) = split(line);
        let (name, first) = left.split_first().expect("an op");
        for (last, expected) in DType::ALL.iter().zip(expected) {
            let ins: Vec<_> = first.iter().map(|d| dtype(d)).chain([*last]).collect();
            let got = results(op(name), &ins);
            if got != expected {
                wrong.push(format!("{name} of {ins:?} gives {got}, NumPy {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn literals_are_weak_as_in_numpy() {
    let text = text("literals.txt");
    let (mut wrong, mut on_purpose) = (Vec::new(), 0);
    for line in text.lines() {
        let (left, expected) = split(line);
        let (op, beside) = (op(left[0]), dtype(left[1]));
        let places = [1, 0].into_iter().flat_map(|operand| LITERALS.map(|l| (operand, l)));
        for ((operand, (kind, literal)), expected) in places.zip(expected) {
            let mut dtypes = [Some(beside); 2];
            dtypes[operand] = None;
            let mut ins = [beside; 2];
            ins[operand] = (op.literal)(&LiteralCx { literal, operand, dtypes: &dtypes, attrs: &Attrs::new() });
            let got = results(op, &ins);
            let names = if operand == 0 { ["literal", beside.name()] } else { [beside.name(), "literal"] };
            let known =
                DTYPE_DIFFERENCES.iter().any(|(name, ins, _)| op.name == *name && kind == "int" && *ins == names);
            if got != expected && known {
                on_purpose += 1;
            } else if got != expected {
                wrong.push(format!(
                    "{op} of {beside} with a literal {kind} as operand {operand} gives {got}, NumPy {expected}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(on_purpose, DTYPE_DIFFERENCES.len(), "a listed difference does not show");
}
