//! T62, J23: for each pair of structured matrix styles, the elementwise sum and product have the style of
//! the table and the elements that dense operands give.

use rewright::ir::{Styled, eval, parse_module};
use rewright::lowering::exec::{Arg, Executable, Options};
use rewright::rewrites::{NoObserver, Pipeline};
use rewright::{Array, DType, Datum, Limits, Module, Name, Scalar};
use rewright_broadcast as _;
use std::fmt::Write;

/// The abbreviation and the name of each style.
const STYLES: [(&str, &str); 13] = [
    ("D", "diagonal"),
    ("BU", "upper_bidiagonal"),
    ("BL", "lower_bidiagonal"),
    ("T", "tridiagonal"),
    ("ST", "sym_tridiagonal"),
    ("U", "upper"),
    ("L", "lower"),
    ("UU", "unit_upper"),
    ("UL", "unit_lower"),
    ("UH", "upper_hessenberg"),
    ("S", "symmetric"),
    ("H", "hermitian"),
    ("-", ""),
];

/// The style of the elementwise sum, and of the product: rows and columns in the order of [`STYLES`].
const TABLE: &str = "
 D |  D BU BL  T ST  U  L  U  L UH  S  H  -
BU | BU BU  T  T  T  U  -  U  - UH  -  -  -
BL | BL  T BL  T  T UH  L UH  L UH  -  -  -
 T |  T  T  T  T  T UH  - UH  - UH  -  -  -
ST | ST  T  T  T ST UH  - UH  - UH  S  H  -
 U |  U  U UH UH UH  U  -  U  - UH  -  -  -
 L |  L  -  L  -  -  -  L  -  L  -  -  -  -
UU |  U  U UH UH UH  U  -  U  - UH  -  -  -
UL |  L  -  L  -  -  -  L  -  L  -  -  -  -
UH | UH UH UH UH UH UH  - UH  - UH  -  -  -
 S |  S  -  -  -  S  -  -  -  -  -  S  H  -
 H |  H  -  -  -  H  -  -  -  -  -  H  H  -
 - |  -  -  -  -  -  -  -  -  -  -  -  -  -
";

fn matrix(style: &str, salt: usize) -> Datum {
    let n = 4;
    let element = |flat: usize| Scalar::F64(((flat * 7 + salt * 5) % 11) as f64 - 5.0);
    let array = Array::from_fn(DType::F64, &[n, n], element).unwrap();
    if style.is_empty() { array.into() } else { Styled::of(style_named(style), &array).unwrap().into() }
}

fn style_named(name: &str) -> rewright::ir::Style {
    rewright::ir::Style::named(Name::new(name)).unwrap()
}

fn program(a: &str, b: &str, op: &str) -> (Module, String) {
    let of = |style: &str| if style.is_empty() { String::new() } else { format!("; {style}") };
    let text = |result: &str| {
        format!(
            "func @f(%a: f64[n, n{}], %b: f64[n, n{}]){result} {{\nentry:\n  %0 = broadcasted %a, %b, op=\"{op}\"\n  %1 = materialize %0\n  ret{}\n}}",
            of(a),
            of(b),
            if result.is_empty() { "" } else { " %1" }
        )
    };
    let untyped = parse_module(&text(""), "pair").unwrap();
    let func = untyped.get(Name::new("f")).unwrap();
    let mut made = func.blocks().flat_map(|block| func.insts(block)).filter_map(|inst| func.inst(inst).results.first());
    let ty = func.ty(*made.next_back().unwrap()).clone();
    let style = ty.style().map_or(String::new(), |style| style.to_string());
    (parse_module(&text(&format!(" -> {ty}")), "pair").unwrap(), style)
}

/// The table of result styles of an op. Compares all elements with dense results on the way.
fn table(op: &str) -> String {
    let mut table = String::new();
    for (letter, a) in STYLES {
        let _ = write!(table, "{letter:>2} |");
        for (_, b) in STYLES {
            let (mut module, style) = program(a, b, op);
            let letter = STYLES.iter().find(|(_, name)| *name == style).map_or("?", |(letter, _)| letter);
            let _ = write!(table, " {letter:>2}");
            let args = [matrix(a, 0), matrix(b, 1)];
            let (dense, _) = program("", "", op);
            let copies = args.iter().map(|arg| arg.to_array().into()).collect();
            let wanted = eval::evaluate(&dense, "f", copies, Limits::default()).unwrap().results[0].to_array();
            Pipeline::parse("default").unwrap().run(&mut module, &Default::default(), &mut NoObserver).unwrap();
            let f = Executable::compile(&module, Name::new("f"), Options::default()).unwrap();
            let found = f.call(&args.iter().map(Arg::from).collect::<Vec<_>>()).unwrap().iter().next().unwrap().clone();
            let same = found.to_array().iter().zip(wanted.iter()).all(|(a, b)| a.to_f64() == b.to_f64());
            assert!(same, "{op} of `{a}` and `{b}`: {found} is not {wanted}");
        }
        table.push('\n');
    }
    table
}

#[test]
fn sums_are_of_the_style_that_holds_both() {
    let found = table("add");
    assert_eq!(found.trim_end(), TABLE.trim_matches('\n'), "\n{found}");
}

#[test]
fn products_are_too() {
    let found = table("mul");
    assert_eq!(found.trim_end(), TABLE.trim_matches('\n'), "\n{found}");
}
