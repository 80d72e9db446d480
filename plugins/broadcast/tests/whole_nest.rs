//! Styles with a rule over the whole nest (`WholeNest`), which allocate results from facts that they find
//! in it. The fixtures beside this file use these styles.

use rewright::ir::expr::{Affine, SymExpr};
use rewright::ir::style::Destination;
use rewright::ir::{Component, Style, StyleDef, Styled, parse_module};
use rewright::{Array, DType, Datum, Dim, Name, Scalar, Type, register_interface, register_style};
use rewright_broadcast::expression::{Assign, Broadcast, Expr};
use rewright_broadcast::interfaces::*;

// --- J29: an array and a character, which the first operand that has one gives to the result ------

static ARRAY_AND_CHAR: StyleDef = StyleDef {
    name: "array_and_char",
    doc: "an array and a character",
    components: |ty| Ok(vec![Component::new("data", ty.dtype(), ty.dims()), Component::new("char", DType::U32, [])]),
    check: |array| match array.component("char").and_then(|char| char.get(&[])) {
        Some(Scalar::U32(code)) if char::from_u32(code).is_none() => Err(format!("{code} is no character")),
        _ => Ok(()),
    },
    element: |array, at| array.components()[0].get(at).unwrap_or(Scalar::zero(array.dtype())),
    take: |_, array| {
        let blank = Array::full(Scalar::U32(' '.into()), &[]).ok_or("it is too large")?;
        Ok(vec![array.clone(), blank])
    },
};
register_style!(ARRAY_AND_CHAR);

// This style wins beside dense arrays, for every function.
register_interface!(style "array_and_char", Broadcasting, &Broadcasting {
    into: "array_and_char", keeps: Keeps::Anything, zeros: "dense", rule: wins,
});
register_interface!(style "array_and_char", Element, &Element(|cell, leaf, at| Ok(cell.read_inside(leaf.components[0], at))));
register_interface!(style "array_and_char", Stored, &Stored(everywhere));
// A store replaces the elements only: the destination keeps its own character.
register_interface!(style "array_and_char", Destination, &Destination(|old, elements| {
    Styled::new(old.style(), elements.dtype(), elements.shape(), [elements.clone(), old.components()[1].clone()])
}));
register_interface!(style "array_and_char", WholeNest, &WholeNest::allocating(&["char"], find_char));

fn wins(applying: &Applying<'_>) -> Result<Answer, String> {
    let own = applying.styles.iter().find(|style| style.def().name == ARRAY_AND_CHAR.name);
    Ok(own.map_or(Answer::Join, |style| Answer::Style(*style)))
}

fn find_char(allocating: &Allocating<'_>) -> Result<Vec<Array>, String> {
    match allocating.operands.first() {
        Some(found) => Ok(found.clone()),
        None => Array::full(Scalar::U32('?'.into()), &[]).map(|none| vec![none]).ok_or_else(|| "no memory".into()),
    }
}

fn everywhere(ty: &Type) -> Result<Vec<Places>, String> {
    let extents: Option<Vec<SymExpr>> = ty.dims().iter().map(|&dim: &Dim| SymExpr::of_dim(dim)).collect();
    let at = (0..ty.rank() as u32).map(Affine::axis).collect();
    Ok(vec![Places { extents: extents.ok_or("its extents are not known")?, at, guard: Vec::new() }])
}

// --- Counts: nonnegative numbers; the style opts out where a nest may make negative ones ---------

static COUNTS: StyleDef = StyleDef {
    name: "counts",
    doc: "numbers that are not negative",
    components: |ty| match ty.dtype().is_complex() {
        false => Ok(vec![Component::new("numbers", ty.dtype(), ty.dims())]),
        true => Err("complex numbers count nothing".into()),
    },
    check: |array| match array.components()[0].iter().find(|number| number.to_f64() < 0.0) {
        Some(number) => Err(format!("{number} is negative")),
        None => Ok(()),
    },
    element: |array, at| array.components()[0].get(at).unwrap_or(Scalar::zero(array.dtype())),
    take: |_, array| Ok(vec![array.clone()]),
};
register_style!(COUNTS);
register_interface!(style "counts", Broadcasting, &Broadcasting {
    into: "counts", keeps: Keeps::Anything, zeros: "dense", rule: |applying| {
        let own = applying.styles.iter().find(|style| style.def().name == "counts");
        Ok(own.map_or(Answer::Join, |style| Answer::Style(*style)))
    },
});
register_interface!(style "counts", Element, &Element(|cell, leaf, at| Ok(cell.read_inside(leaf.components[0], at))));
register_interface!(style "counts", Stored, &Stored(everywhere));
register_interface!(style "counts", WholeNest, &WholeNest::deciding(only_grows));

/// Opts out by function, by operand and by constant; refuses complex numbers.
fn only_grows(deciding: &Deciding<'_>) -> Result<Decision, String> {
    const KNOWN: [&str; 4] = ["add", "mul", "maximum", "exp"];
    let nest = deciding.nest;
    if nest.operands().any(|operand| operand.dtype.is_complex()) {
        return Err("counts and complex numbers have no order together".into());
    }
    if let Some(op) = nest.ops().find(|op| !KNOWN.contains(op)) {
        return Ok(Decision::Dense(format!("`{op}` may make negative numbers of counts")));
    }
    if let Some(function) = nest.callees().next() {
        return Ok(Decision::Dense(format!("`@{function}` may make negative numbers of counts")));
    }
    if let Some(number) = nest.constants().find(|number| number.to_f64() < 0.0) {
        return Ok(Decision::Dense(format!("{number} is negative")));
    }
    let others = nest.operands().find(|operand| operand.style.def().name != "counts");
    match others {
        Some(_) => Ok(Decision::Dense("an operand may be negative".into())),
        None => Ok(Decision::Keep),
    }
}

// -------------------------------------------------------------------------------------------------

#[test]
fn fixtures_hold() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/whole_nest");
    rewright_passdump::fixture::assert_all(folder);
}

fn array(shape: &[usize], elements: &[f64]) -> Array {
    Array::from_fn(DType::F64, shape, |i| Scalar::F64(elements[i])).unwrap()
}
fn with_char(data: Array, char: char) -> Styled {
    let char = Array::full(Scalar::U32(char.into()), &[]).unwrap();
    let (dtype, shape) = (data.dtype(), data.shape().to_vec());
    Styled::new(&ARRAY_AND_CHAR, dtype, &shape, [data, char]).unwrap()
}
fn char_of(datum: &Datum) -> Option<char> {
    let Some(Scalar::U32(code)) = datum.as_styled()?.component("char")?.get(&[]) else { return None };
    char::from_u32(code)
}

/// J29: the example of the manual in Rust: `a .+ 1`, `a .+ [5, 10]`, and a char found deep in the nest.
#[test]
fn a_char_is_found_in_the_argument_tree() {
    let a = with_char(array(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), 'x');
    let column = array(&[2, 1], &[5.0, 10.0]);
    let sum = (a.lazy() + 1.0).materialize().unwrap();
    assert_eq!((char_of(&sum), sum.to_array()), (Some('x'), array(&[2, 2], &[2.0, 3.0, 4.0, 5.0])));
    let sum = (a.lazy() + &column).materialize().unwrap();
    assert_eq!((char_of(&sum), sum.to_array()), (Some('x'), array(&[2, 2], &[6.0, 7.0, 13.0, 14.0])));
    // The first char in order of operands wins, at any depth. A stretched operand counts, too.
    let row = with_char(array(&[2], &[1.0, -1.0]), 'y');
    let deep = (column.lazy() * 2.0 - (column.lazy().exp() + row.lazy()) / (a.lazy() + 1)).sin();
    assert_eq!(char_of(&deep.materialize().unwrap()), Some('y'));
    // All dtypes, extents of 0, and rank 0 too.
    for dtype in [DType::Bool, DType::I8, DType::U64, DType::F32, DType::C64, DType::C128] {
        for shape in [&[][..], &[0], &[2, 0, 1], &[1, 1]] {
            let data = Array::from_fn(dtype, shape, |_| Scalar::one(dtype)).unwrap();
            let a = with_char(data, 'z');
            let same = Expr::apply("eq", [a.lazy(), a.lazy()]).unwrap().materialize().unwrap();
            assert_eq!((char_of(&same), same.shape(), same.dtype()), (Some('z'), shape, DType::Bool));
        }
    }
    // If a caller requests the style and no operand has a char, `allocate` chooses one.
    let asked = (column.lazy() + 1.0).materialize_as("array_and_char").unwrap();
    assert_eq!(char_of(&asked), Some('?'));
    // A store to a dense array stores the elements only.
    let mut dense = array(&[2, 2], &[0.0; 4]);
    dense.assign(a.lazy() * 2.0).unwrap();
    assert_eq!(dense, array(&[2, 2], &[2.0, 4.0, 6.0, 8.0]));
}

/// J6: `y .= expr` where `y` is of the style. The style's own `Destination` takes the elements, and an
/// error leaves `y` unchanged.
#[test]
fn a_destination_of_the_style_keeps_its_char() {
    let (a, column) = (with_char(array(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), 'x'), array(&[2, 1], &[5.0, 10.0]));
    let mut y = Datum::from(with_char(array(&[2, 2], &[0.0; 4]), 'y'));
    y.assign(a.lazy() + 1.0).unwrap();
    assert_eq!((char_of(&y), y.to_array()), (Some('y'), array(&[2, 2], &[2.0, 3.0, 4.0, 5.0])));
    // The array itself, a stretched dense array, another array of the style, and a number of another
    // dtype.
    y.assign(y.lazy() * 2.0).unwrap();
    assert_eq!((char_of(&y), y.to_array()), (Some('y'), array(&[2, 2], &[4.0, 6.0, 8.0, 10.0])));
    y.assign(&column).unwrap();
    assert_eq!((char_of(&y), y.to_array()), (Some('y'), array(&[2, 2], &[5.0, 5.0, 10.0, 10.0])));
    y.assign(&a).unwrap();
    assert_eq!((char_of(&y), y.to_array()), (Some('y'), array(&[2, 2], &[1.0, 2.0, 3.0, 4.0])));
    y.assign(7).unwrap();
    assert_eq!((char_of(&y), y.to_array()), (Some('y'), array(&[2, 2], &[7.0; 4])));
    let before = y.clone();
    assert!(y.assign(array(&[3], &[1.0, 2.0, 3.0]).lazy() + 1.0).is_err());
    assert_eq!(y, before);
    let mut empty = Datum::from(with_char(array(&[0, 2], &[]), 'e'));
    empty.assign(a.lazy().reduce("sum").unwrap().lazy() * 2.0).unwrap();
    assert_eq!((char_of(&empty), empty.shape()), (Some('e'), &[0, 2][..]));
}

/// A style whose `Destination` changes the type of the destination gets an error.
#[test]
fn a_destination_keeps_its_type() {
    let shy = Styled::new(&SHY, DType::F64, &[2], [array(&[2], &[1.0, 2.0])]).unwrap();
    let mut y = Datum::from(shy);
    let error = y.assign(array(&[2], &[3.0, 4.0]).lazy() * 2.0).unwrap_err().to_string();
    assert!(error.contains("a store to f64[2; shy] leaves f64[0; shy]: its style is to keep its type"), "{error}");
    assert_eq!(y.to_array(), array(&[2], &[1.0, 2.0]));
}

static SHY: StyleDef = StyleDef {
    name: "shy",
    doc: "an array that goes away when it is stored to",
    components: |ty| Ok(vec![Component::new("elements", ty.dtype(), ty.dims())]),
    check: |_| Ok(()),
    element: |array, at| array.components()[0].get(at).unwrap_or(Scalar::zero(array.dtype())),
    take: |_, array| Ok(vec![array.clone()]),
};
register_style!(SHY);
register_interface!(style "shy", Destination, &Destination(|old, _| {
    Styled::new(old.style(), old.dtype(), &[0], [array(&[0], &[])])
}));

/// J29: a style opts out by function, by operand and by constant, anywhere in the nest.
#[test]
fn a_style_opts_out_by_function() {
    let style = Style::named(Name::new("counts")).unwrap();
    let counts = Styled::of(style, &array(&[2], &[1.0, 2.0])).unwrap();
    let style_of = |expr: &Expr| expr.materialize().unwrap().ty().style().map(|style| style.to_string());
    let sum = counts.lazy() * 2.0 + &counts;
    assert_eq!(style_of(&sum).as_deref(), Some("counts"));
    assert_eq!(style_of(&(sum.exp() * 3)).as_deref(), Some("counts"));
    assert_eq!(style_of(&((&sum - 1.0) * 2.0)), None);
    assert_eq!(style_of(&(&sum * -1.0)), None);
    assert_eq!(style_of(&(&sum + array(&[2], &[1.0, 1.0]).lazy().exp())), None);
    let complex = Array::full(Scalar::one(DType::C128), &[2]).unwrap();
    let error = (&sum + &complex).materialize().unwrap_err().to_string();
    assert!(error.contains("counts and complex numbers have no order together"), "{error}");
    // A requested style is tried, and its result is checked.
    let negative = (&sum * -1.0).materialize_as("counts").unwrap_err().to_string();
    assert!(negative.contains("is negative"), "{negative}");
}

/// The summary is part of lazy types, is a set, and survives printing and parsing. Dense parts of a nest
/// have one, too.
#[test]
fn lazy_types_have_a_summary_of_the_nest() {
    let text =
        "func @g(%a: f64) -> f64 {\nentry:\n  ret %a\n}\n\nfunc @f(%x: f64[n], %c: counts_of, %k: i32) -> f64[n] {
entry:
  %0 = broadcasted %x, op=\"exp\"
  %1 = broadcasted %0, %c, op=\"add\"
  %2 = broadcasted %1, -0.0, op=\"add\"
  %3 = broadcasted @g(%2)
  %4 = broadcasted %3, %k, op=\"mul\"
  %5 = broadcasted %4, op=\"cast\", to=f32
  %6 = broadcasted %5, op=\"cast\", to=f64
  %7 = materialize %6
  ret %7
}";
    let module = parse_module(&text.replace("counts_of", "f64[n; counts]"), "test");
    let module = module.unwrap_or_else(|errors| panic!("{}", errors.render(false)));
    let func = module.get(Name::new("f")).unwrap();
    let inst = func.insts(func.entry().unwrap()).nth(6).unwrap();
    let ty = func.ty(func.inst(inst).results[0]);
    let wanted = "lazy(counts, nest(array f64 1 counts, array f64 1 dense, call g, number f64 -0.0, op add, op cast to f32, \
                  op cast to f64, op exp, op mul, scalar i32))";
    assert_eq!(ty.style().unwrap().to_string(), wanted);
    let nest = Lazy::of(ty).unwrap().summary().unwrap();
    assert_eq!(nest.ops().collect::<Vec<_>>(), ["add", "cast", "cast", "exp", "mul"]);
    assert!(nest.applies("exp") && !nest.applies("ex"));
    assert_eq!((nest.callees().collect::<Vec<_>>(), nest.constants().next()), (vec!["g"], Some(Scalar::F64(-0.0))));
    assert_eq!(nest.operands().map(|operand| operand.rank).collect::<Vec<_>>(), [Some(1), Some(1), None]);
    assert_eq!(Summary::read(&nest.written()), Ok(nest));
    for wrong in ["op", "array f64 x dense", "number f65 1", "number f64 one", "axis 1", "array f64 1 nowhere"] {
        assert!(Summary::read(wrong).unwrap_err().contains("says nothing of a nest"), "{wrong}");
    }
    // The summary of many constants keeps a bounded number of them and says that it is incomplete.
    let style = Style::named(Name::new("counts")).unwrap();
    let mut many = Styled::of(style, &array(&[2], &[1.0, 2.0])).unwrap().lazy();
    for n in 0..100 {
        many = many + f64::from(n);
    }
    let module = many.to_module().unwrap();
    let func = module.functions().next_back().unwrap();
    let last = func.insts(func.entry().unwrap()).nth(99).unwrap();
    let nest = Lazy::of(func.ty(func.inst(last).results[0])).unwrap().summary().unwrap();
    assert_eq!((nest.constants().count(), nest.has_more_constants()), (64, true));
}
