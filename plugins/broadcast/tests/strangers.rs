//! Styles of another crate: kernels read their components, their rules may refuse functions, and they
//! meet styles of yet other crates.

use rewright::ir::expr::{Affine, BodyRef, IndexExpr, SymExpr, Test};
use rewright::ir::style::Arguments;
use rewright::ir::{Component, Style, StyleDef, Styled, eval, origin, parse_module};
use rewright::lowering::exec::{Arg, Backend, Executable, Options};
use rewright::rewrites::Event;
use rewright::rewrites::Pipeline;
use rewright::{Array, DType, Datum, Dim, Limits, Module, Name, Scalar, Type, register_interface, register_style};
use rewright_broadcast::interfaces::*;

// --- T96: a one-hot vector ------------------------------------------------------------------------

static HOT: StyleDef = StyleDef {
    name: "hot",
    doc: "a vector of which one element is one",
    components: |ty| match ty.dims() {
        [_] => Ok(vec![Component::new("at", DType::I64, [])]),
        _ => Err("a vector is wanted".into()),
    },
    check: |_| Ok(()),
    element: |array, at| {
        Scalar::Bool(array.components()[0].get(&[]) == Some(Scalar::I64(at[0] as i64))).cast(array.dtype())
    },
    take: |_, array| {
        let at = array.iter().position(|element| element.truthy()).map_or(-1, |at| at as i64);
        Array::full(Scalar::I64(at), &[]).map(|at| vec![at]).ok_or_else(|| "it is too large".into())
    },
};
register_style!(HOT);
register_interface!(style "hot", Broadcasting, &Broadcasting::zeros("sparse"));
register_interface!(style "hot", Element, &Element(|cell, leaf, at| {
    let (index, hot) = (cell.index(&at[0])?, cell.read_by(leaf.components[0], Vec::new()));
    let is_there = cell.core("eq", &[index, hot], DType::Bool)?;
    Ok(cell.body.cast(is_there, DType::Bool, leaf.ty.dtype(), Default::default()))
}));

// --- T97: a symmetric Toeplitz matrix -------------------------------------------------------------

static TOEPLITZ: StyleDef = StyleDef {
    name: "toeplitz",
    doc: "a symmetric matrix of one number along each diagonal",
    components: |ty| match ty.dims() {
        [rows, columns] if rows == columns => Ok(vec![Component::new("along", ty.dtype(), [*rows])]),
        _ => Err("a square matrix is wanted".into()),
    },
    check: |_| Ok(()),
    element: |array, at| {
        array.components()[0].get(&[at[0].abs_diff(at[1])]).unwrap_or(Scalar::Bool(false).cast(array.dtype()))
    },
    take: |_, array| {
        let n = array.shape().first().copied().unwrap_or(0);
        let along = Array::from_fn(array.dtype(), &[n], |j| array.get(&[0, j]).unwrap_or(Scalar::Bool(false)));
        along.map(|along| vec![along]).ok_or_else(|| "it is too large".into())
    },
};
register_style!(TOEPLITZ);
register_interface!(style "toeplitz", Broadcasting, &Broadcasting {
    into: "toeplitz", keeps: Keeps::Anything, zeros: "dense", rule: |_| Ok(Answer::Join),
});
register_interface!(style "toeplitz", Element, &Element(toeplitz));
register_interface!(style "toeplitz", Stored, &Stored(|ty| {
    let n = SymExpr::of_dim(ty.dims()[0]).ok_or("its extent is not known")?;
    Ok(vec![Places { extents: vec![n], at: vec![Affine::constant(0), Affine::axis(0)], guard: Vec::new() }])
}));

fn toeplitz(cell: &mut Cell<'_>, leaf: &Leaf, at: &[Affine]) -> Result<BodyRef, String> {
    let (down, right) = (minus(&at[0], &at[1])?, minus(&at[1], &at[0])?);
    let read = |cell: &mut Cell<'_>, form| Ok(cell.read(leaf.components[0], &[IndexExpr::Affine(form)]));
    let dtype = leaf.ty.dtype();
    cell.when(&down.clone(), Test::NotPositive, dtype, |cell| read(cell, right), |cell| read(cell, down))
}

// --- T98: numbers with a unit ---------------------------------------------------------------------

static UNIT: StyleDef = StyleDef {
    name: "unit",
    doc: "numbers of a unit",
    components: |ty| match Style::of(ty)?.arguments() {
        "metre" | "second" => Ok(vec![Component::new("numbers", ty.dtype(), ty.dims())]),
        other => Err(format!("`{other}` is no unit")),
    },
    check: |_| Ok(()),
    element: |array, at| array.components()[0].get(at).unwrap_or(Scalar::Bool(false).cast(array.dtype())),
    take: |_, array| Ok(vec![array.clone()]),
};
register_style!(UNIT);
register_interface!(style "unit", Arguments, &Arguments("the name of a unit"));
register_interface!(style "unit", Broadcasting, &Broadcasting {
    into: "unit", keeps: Keeps::Anything, zeros: "dense", rule: units,
});
register_interface!(style "unit", Element, &Element(|cell, leaf, at| Ok(cell.read_inside(leaf.components[0], at))));
register_interface!(style "unit", Stored, &Stored(|ty| {
    let extents: Option<Vec<SymExpr>> = ty.dims().iter().map(|&dim| SymExpr::of_dim(dim)).collect();
    let at = (0..ty.rank() as u32).map(Affine::axis).collect();
    Ok(vec![Places { extents: extents.ok_or("its extents are not known")?, at, guard: Vec::new() }])
}));

/// Sums need equal units, products with plain numbers keep the unit, and other functions have no rule.
fn units(applying: &Applying<'_>) -> Result<Answer, String> {
    let names: Vec<&str> = applying.styles.iter().map(|style| style.arguments()).collect();
    let op = applying.op.map_or("a function", |op| op.name);
    match (op, &names[..]) {
        ("add" | "sub", [a, b]) if a == b => Ok(Answer::Style(applying.styles[0])),
        ("add" | "sub", [a, b]) => {
            let name = |unit: &&str| if unit.is_empty() { "numbers".to_string() } else { format!("{unit}s") };
            Err(format!("can't {op} {} and {}", name(a), name(b)))
        }
        ("mul" | "div", [unit, ""]) if !unit.is_empty() => Ok(Answer::Style(applying.styles[0])),
        ("mul", ["", _]) => Ok(Answer::Style(applying.styles[1])),
        _ => Ok(Answer::Dense(format!("`{op}` has no unit"))),
    }
}

// -------------------------------------------------------------------------------------------------

fn array(shape: &[usize], elements: &[f64]) -> Array {
    Array::from_fn(DType::F64, shape, |i| Scalar::F64(elements[i])).unwrap()
}
fn styled(name: &str, shape: &[usize], components: Vec<Array>) -> Datum {
    Styled::new(Style::named(Name::new(name)).unwrap(), DType::F64, shape, components).unwrap().into()
}
fn parse(text: &str) -> Result<Module, String> {
    parse_module(text, "test").map_err(|errors| errors.render(false))
}

/// The results, equal for the reference evaluator and every code generator; the rewritten text; and the
/// remarks.
fn run(text: &str, args: &[Datum]) -> (Vec<Datum>, String, String) {
    let module = parse(text).unwrap_or_else(|why| panic!("{why}"));
    let wanted = eval::evaluate(&module, "f", args.to_vec(), Limits::default()).unwrap().results;
    let (mut rewritten, mut remarks) = (module.clone(), String::new());
    let mut observer = |event: &Event<'_>| {
        if let Event::Remark(remark) = event {
            remarks += &format!("{remark}\n");
        }
    };
    Pipeline::parse("default").unwrap().run(&mut rewritten, &Default::default(), &mut observer).unwrap();
    let args: Vec<Arg<'_>> = args.iter().map(Arg::from).collect();
    for backend in Backend::available() {
        let f = Executable::compile(&rewritten, Name::new("f"), Options { backend, ..Options::default() }).unwrap();
        let found: Vec<Datum> = f.call(&args).unwrap().iter().cloned().collect();
        assert_eq!(found, wanted, "{backend:?}");
    }
    (wanted, rewritten.to_string(), remarks)
}

/// T96: kernels read it without a buffer, and its product is sparse.
#[test]
fn a_one_hot_vector_is_read_by_kernels() {
    let text = "func @f(%h: f64[n; hot], %x: f64[n]) -> f64[n], f64[n; sparse] {
entry:
  %0 = broadcasted %h, %x, op=\"add\"
  %1 = materialize %0
  %2 = broadcasted %h, 5.0, op=\"mul\"
  %3 = materialize %2
  ret %1, %3
}";
    let hot = styled("hot", &[3], vec![Array::full(Scalar::I64(1), &[]).unwrap()]);
    let (results, rewritten, _) = run(text, &[hot, array(&[3], &[10.0, 20.0, 30.0]).into()]);
    assert_eq!(results[0], array(&[3], &[10.0, 21.0, 30.0]).into());
    assert_eq!(results[1].to_array(), array(&[3], &[0.0, 5.0, 0.0]));
    assert!(!rewritten.contains("broadcasted"), "{rewritten}");
}

/// T97: a function of a Toeplitz matrix computes one vector. Beside a dense matrix, the kernel reads it
/// at the absolute difference of the indices.
#[test]
fn a_toeplitz_matrix_stays_one_vector() {
    let text = "func @f(%t: f64[n, n; toeplitz], %x: f64[n, n]) -> f64[n, n; toeplitz], f64[n, n] {
entry:
  %0 = broadcasted %t, op=\"exp\"
  %1 = materialize %0
  %2 = broadcasted %0, %x, op=\"add\"
  %3 = materialize %2
  ret %1, %3
}";
    let along = array(&[3], &[0.0, 1.0, 2.0]);
    let args = [styled("toeplitz", &[3, 3], vec![along]), array(&[3, 3], &[0.5; 9]).into()];
    let (results, rewritten, _) = run(text, &args);
    assert_eq!(results[0].as_styled().unwrap().components()[0].len(), 3);
    assert!(rewritten.contains("[i: n] (x = %0[i]) {\n    t0 = exp x\n"), "{rewritten}");
    let back = parse(&rewritten).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(back.to_string(), rewritten);
}

/// T98, J29: the error is the style's own message. Its rule sees the types of all operands, and decides
/// the style of the result.
#[test]
fn units_are_not_mixed() {
    let text = |op: &str, b: &str, result: &str| {
        format!(
            "func @f(%a: f64[n; unit(metre)], %b: {b}) -> f64[n{result}] {{\nentry:\n  %0 = broadcasted %a, %b, op=\"{op}\"\n  \
             %1 = materialize %0\n  ret %1\n}}"
        )
    };
    let metres = styled("unit(metre)", &[2], vec![array(&[2], &[1.0, 2.0])]);
    let (results, ..) = run(&text("add", "f64[n; unit(metre)]", "; unit(metre)"), &[metres.clone(), metres.clone()]);
    assert_eq!(results[0].to_string(), "f64[2; unit(metre)] { numbers: [2. 4.] }");
    let (results, ..) = run(&text("mul", "f64", "; unit(metre)"), &[metres, Scalar::F64(3.0).into()]);
    assert_eq!(results[0].to_array(), array(&[2], &[3.0, 6.0]));
    let error = parse(&text("add", "f64[n; unit(second)]", "")).unwrap_err();
    assert!(error.contains("can't add metres and seconds"), "{error}");
    let error = parse("func @f(%a: f64[n; unit(parsec)]) {\nentry:\n  ret\n}").unwrap_err();
    assert!(error.contains("`parsec` is no unit"), "{error}");
    for wrong in ["unit(metre", "unit(%a)", "unit((metre)", "nuit(metre)"] {
        assert!(parse(&text("add", &format!("f64[n; {wrong}]"), "")).is_err(), "{wrong}");
    }
    // Spaces in a type are insignificant.
    let spaced = parse(&text("add", "f64[n; unit( metre )]", "; unit(metre)"));
    assert!(spaced.is_ok_and(|module| module.to_string().contains("%b: f64[n; unit(metre)]")));
}

/// T99, J8: two styles without a common join give a dense result, and a remark says so.
#[test]
fn strangers_make_dense_arrays() {
    let text = "func @f(%t: f64[n, n; toeplitz], %d: f64[n, n; diagonal]) -> f64[n, n] {
entry:
  %0 = broadcasted %t, %d, op=\"add\"
  %1 = materialize %0
  ret %1
}";
    let args = [
        styled("toeplitz", &[2, 2], vec![array(&[2], &[1.0, 2.0])]),
        styled("diagonal", &[2, 2], vec![array(&[2], &[10.0, 20.0])]),
    ];
    let (results, _, remarks) = run(text, &args);
    assert_eq!(results[0], array(&[2, 2], &[11.0, 2.0, 2.0, 21.0]).into());
    assert!(remarks.contains("no rule gives the style of `toeplitz` with `diagonal`"), "{remarks}");
}

/// T100, J7: contradictory joins of one pair are an error that names both places. Equal joins are not.
#[test]
fn contradictions_are_errors_of_the_registration() {
    let join = |styles, to| Join { styles, to, origin: origin!() };
    let lattice = Lattice::build([join(["hot", "unit"], "hot"), join(["unit", "hot"], "unit")]);
    let [error] = lattice.errors() else { panic!("{:?}", lattice.errors()) };
    assert!(error.starts_with("`hot` and `unit` are joined to `hot` by rewright-broadcast"), "{error}");
    assert_eq!(error.matches("strangers.rs:").count(), 2, "{error}");
    let lattice = Lattice::build([join(["hot", "unit"], "hot"), join(["unit", "hot"], "hot")]);
    assert_eq!(lattice.errors(), [""; 0]);
}

#[test]
fn extents_are_of_types() {
    let ty = Type::array(DType::F64, [Dim::from("n"), Dim::from("m")]).with_style(Some(Name::new("toeplitz")));
    assert!((TOEPLITZ.components)(&ty).is_err());
}
