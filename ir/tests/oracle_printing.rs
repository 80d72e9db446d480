//! Compares `Display` of values with NumPy's output; `tests/oracle/printing.py` wrote the table.

use pretty_assertions::assert_eq;
use rewright_ir::{Array, DType, Datum, Scalar};

fn element(dtype: DType, text: &str) -> Scalar {
    let hex = |t: &str| u64::from_str_radix(t, 16).unwrap();
    let (a, b) = text.split_once(':').map_or((text, "0"), |pair| pair);
    Scalar::from_bits(dtype, (hex(a), hex(b)))
}

fn datum(header: &str) -> Datum {
    let mut words = header.split(' ');
    let dtype: DType = words.next().unwrap().parse().unwrap();
    let shape = words.next().unwrap();
    let elements: Vec<Scalar> = words.map(|w| element(dtype, w)).collect();
    if shape == "scalar" {
        return Datum::Scalar(elements[0]);
    }
    let extents = shape.trim_matches(['[', ']']).split(',').filter(|s| !s.is_empty());
    let shape: Vec<usize> = extents.map(|s| s.parse().unwrap()).collect();
    Datum::Array(Array::from_fn(dtype, &shape, |i| elements[i]).unwrap())
}

#[test]
fn values_print_as_numpy_prints_them() {
    let table = include_str!("../../tests/oracle/printing.txt");
    let mut lines = table.lines().peekable();
    let mut cases = 0;
    while let Some(header) = lines.next() {
        let mut expected = Vec::new();
        while let Some(line) = lines.next_if(|l| l.starts_with('|')) {
            expected.push(&line[1..]);
        }
        assert_eq!(datum(header).to_string(), expected.join("\n"), "case {cases}: {:.200}", header);
        cases += 1;
    }
    assert!(cases > 900, "{cases}");
}
