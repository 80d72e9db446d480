//! `docs/ops.md`: the ops, their dtypes, and their differences from NumPy. Written from the registry and the
//! lists in this folder if the environment variable `REWRIGHT_BLESS` is set; checked otherwise.

use super::bounds::{Unit, bound};
use super::differences::{DIFFERENCES, DTYPE_DIFFERENCES, GENERAL};
use super::names::{ABSENT, NO_UFUNC, numpy_names};
use super::{arity, elementwise, tuples};
use rewright_ir::math::vector::ERRORS;
use rewright_ir::{Attr, Attrs, DType, Eval, Loop, Op};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

/// Dtypes that ops treat alike.
const FAMILIES: &[(&str, &[DType])] = &[
    ("signed", &[DType::I8, DType::I16, DType::I32, DType::I64]),
    ("unsigned", &[DType::U8, DType::U16, DType::U32, DType::U64]),
    ("float", &[DType::F32, DType::F64]),
    ("complex", &[DType::C64, DType::C128]),
];

const INTRODUCTION: &str = "\
# Elementwise ops

<!-- Written by: REWRIGHT_BLESS=1 cargo test -p rewright-ir --test all oracle_elementwise -->

You know the name of an op, and want its dtypes, its accuracy or its name in NumPy. Operands broadcast as in
NumPy.

- *Loops*: the dtypes at which an op computes. It uses the first loop, from the narrowest dtype up, to which
  all operands can be cast safely. The dtype of the result stands behind an arrow if it is another one. `int`
  is i8 to i64 and u8 to u64, `float` is f32 and f64, `complex` is c64 and c128.
- *ulp*: the greatest error that the tests accept, in units in the last place of the correctly rounded value.
  It holds for real operands and, in the next column, for each part of complex ones. The unit is that of the
  greatest operand in case of `(of x)`, where sums of negative operands cancel, and that of the greater part
  in case of `(of z)`.
- *NumPy*: the ufunc, or an expression with the same result.

An op without an error is exact or correctly rounded, with these exceptions, which round more than once:

- `deg2rad`, `rad2deg`: a product with a rounded constant.
- `integer_power`: repeated squares.
- Complex `mul`, `div`, `square`, `reciprocal`: sums of products, which may cancel.

Errors of some complex functions are greater in places:

- `power`: where `b log a` of `a^b` is more than 1,000 in magnitude, the error grows in proportion. Powers of
  whole numbers with exponents up to 15 are exact. Real powers to -1, 1/2, 1 and 2 are rounded once.
- `exp2` of `x + iy`: a part that is less than `|y|` times 2^-54 of the modulus is off by up to `|y|` times
  2^-104 of the modulus. Beyond `|y|` of 1e15 the direction is arbitrary.
- `expm1` of `x + iy`: a real part that is less than 2^-40 of `e^x` is off by up to 2^-73 of that. Beyond
  `|y|` of 1e6, where `e^x cos y` and 1 cancel, it is off by up to 2^-52.

Functions that kernels compute for whole vectors return one of the two numbers next to the exact value. The
table of errors below has bounds in units in the last place. They are a little more than the greatest errors
found by a search against values of 100 bits ([Test](testing.md)), and not proved. Where `lgamma` of a
negative number is less than 1/4, its unit is that of 1/4.
";

/// Columns of a line of prose.
const COLUMNS: usize = 108;

/// An item of a list, broken into lines.
fn item(text: &str) -> String {
    let mut lines = vec!["-".to_string()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("a line");
        match line.chars().count() + 1 + word.chars().count() > COLUMNS {
            true => lines.push(format!("  {word}")),
            false => *line = format!("{line} {word}"),
        }
    }
    lines.join("\n")
}

/// A loop's result dtypes relative to that of its operands, unless all loops have the same.
fn relation(at: DType, outs: &[DType], constant: bool) -> String {
    let name = |out: &DType| match *out {
        out if constant => out.name(),
        out if out == at => "same",
        out if out == at.real() => "its real dtype",
        out if out == at.to_complex() => "its complex dtype",
        out => out.name(),
    };
    let names: Vec<_> = outs.iter().map(name).collect();
    if names == ["same"] { String::new() } else { format!(" → {}", names.join(", ")) }
}

/// The loops of an op, by operand dtypes.
fn loops(op: Op) -> BTreeMap<Vec<DType>, Loop> {
    let Eval::Elementwise { resolve, .. } = op.eval else { unreachable!("elementwise") };
    let attrs = Attrs::new().with("to", Attr::DType(DType::F64)).with("n", Attr::Int(3));
    let found = tuples(arity(op)).into_iter().filter_map(|t| resolve(&t, &attrs).ok());
    found.map(|l| (l.ins.to_vec(), l)).collect()
}

/// The loops column: families whose members all behave alike.
fn dtypes(op: Op) -> String {
    if op.name == "cast" {
        return "any → `to`".into();
    }
    let loops = loops(op);
    let constant =
        loops.len() > 1 && loops.values().collect::<Vec<_>>().windows(2).all(|two| two[0].outs == two[1].outs);
    // The dtype of the last operand represents all, if the others have the same dtype or are a condition.
    let main = |ins: &[DType]| {
        let at = *ins.last().expect("an operand");
        let skip = if op.name == "where" { 1 } else { 0 };
        ins[skip..].iter().all(|&d| d == at).then_some(at)
    };
    let uniform: BTreeMap<DType, String> =
        loops.iter().filter_map(|(ins, l)| main(ins).map(|at| (at, relation(at, &l.outs, constant)))).collect();
    let mut entries: Vec<(String, String)> = Vec::new();
    let mut done = BTreeSet::<DType>::new();
    for at in DType::ALL {
        let Some(relation) = uniform.get(&at).filter(|_| !done.contains(&at)) else { continue };
        let family = FAMILIES.iter().find(|(_, members)| members.contains(&at));
        let whole = family.filter(|(_, members)| members.iter().all(|d| uniform.get(d) == Some(relation)));
        let name = whole.map_or(at.name(), |(name, _)| name);
        done.extend(whole.map_or(&[][..], |(_, members)| members));
        entries.push((name.to_string(), relation.clone()));
    }
    for (ins, l) in loops.iter().filter(|(ins, _)| main(ins).is_none()) {
        let names: Vec<_> = ins.iter().map(|d| d.name()).collect();
        entries.push((format!("({})", names.join(", ")), relation(ins[0], &l.outs, constant)));
    }
    joined(entries)
}

/// Groups names with the same results: `bool, int, float → bool`.
fn joined(entries: Vec<(String, String)>) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (name, relation) in entries {
        match groups.iter_mut().find(|(r, _)| *r == relation) {
            Some((_, names)) => names.push(name),
            None => groups.push((relation, vec![name])),
        }
    }
    let text = |(relation, names): &(String, Vec<String>)| {
        names.join(", ").replace("signed, unsigned", "int").replace("unint", "unsigned") + relation
    };
    groups.iter().map(text).collect::<Vec<_>>().join("; ")
}

fn error(op: Op) -> String {
    let column = |complex: bool| match bound(op, complex) {
        (0, _) => String::new(),
        (most, Unit::Part) => most.to_string(),
        (most, Unit::Operand) => format!("{most} (of x)"),
        (most, Unit::Modulus) => format!("{most} (of z)"),
    };
    format!("{} | {}", column(false), column(true))
}

fn page() -> Result<String, std::fmt::Error> {
    let mut page = INTRODUCTION.to_string();
    writeln!(
        page,
        "\n| op | operands | meaning | loops | ulp | ulp, complex | NumPy |\n|---|---|---|---|---|---|---|"
    )?;
    for op in elementwise() {
        let numpy = match numpy_names(op.name) {
            Some(names) => names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "),
            None => NO_UFUNC.iter().find(|(name, _)| *name == op.name).map_or("", |(_, same)| same).to_string(),
        };
        writeln!(page, "| `{op}` | {} | {} | {} | {} | {numpy} |", arity(op), op.doc, dtypes(op), error(op))?;
    }
    writeln!(page, "\n## Errors of functions on vectors\n\n| op | f64 | f32 |\n|---|---|---|")?;
    for (name, double, single) in ERRORS {
        writeln!(page, "| `{name}` | {double} | {single} |")?;
    }
    writeln!(page, "\n## Differences from NumPy\n")?;
    for text in GENERAL {
        writeln!(page, "{}", item(text))?;
    }
    for difference in DIFFERENCES {
        let ops: Vec<_> = difference.ops.iter().map(|op| format!("`{op}`")).collect();
        writeln!(page, "{}", item(&format!("{}: {}", ops.join(", "), difference.why)))?;
    }
    for (op, _, why) in DTYPE_DIFFERENCES {
        writeln!(page, "{}", item(&format!("`{op}`: {why}")))?;
    }
    writeln!(page, "\n## NumPy's ufuncs that are no elementwise op\n")?;
    for (name, why) in ABSENT {
        writeln!(page, "{}", item(&format!("`{name}`: {why}")))?;
    }
    Ok(page)
}

#[test]
fn the_page_of_ops_is_up_to_date() -> Result<(), Box<dyn std::error::Error>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/ops.md");
    let page = page()?;
    if std::env::var_os("REWRIGHT_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().ok_or("a folder")?)?;
        std::fs::write(&path, &page)?;
    }
    let found = std::fs::read_to_string(&path)?;
    pretty_assertions::assert_eq!(found, page, "docs/ops.md is out of date: its first lines say how to write it");
    Ok(())
}
