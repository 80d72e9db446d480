//! J28: serialization of lazy expressions. A round trip through `serde` keeps the arrays and the results
//! bit for bit.

use rewright::ir::{Style, Styled, parse_module};
use rewright::{
    AnyArray, Array, ArrayLike, Complex32, Complex64, DType, Datum, Deferred, EvalError, FuncBuilder, Name, Passed,
    Scalar, Type, TypeError, Value,
};
use rewright_broadcast::expression::{Broadcast, Expr, ScalarFunction};
use std::sync::Arc;

/// The expression after round trips through RON and JSON, which must agree.
fn again(expr: &Expr) -> Expr {
    let text = ron::to_string(expr).unwrap();
    let back: Expr = ron::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(ron::to_string(&back).unwrap(), text);
    let json = serde_json::to_string(expr).unwrap();
    let other: Expr = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(ron::to_string(&other).unwrap(), text);
    back
}

fn same_bits(a: &Datum, b: &Datum) -> bool {
    match (a, b) {
        (Datum::Scalar(a), Datum::Scalar(b)) => (a.dtype(), a.bits()) == (b.dtype(), b.bits()),
        (Datum::Array(a), Datum::Array(b)) => a.same_bits(b),
        (Datum::Styled(a), Datum::Styled(b)) => {
            let mut pairs = a.components().iter().zip(b.components());
            a.ty() == b.ty() && pairs.all(|(a, b)| a.same_bits(b))
        }
        _ => false,
    }
}

fn assert_same(expr: &Expr) {
    let (before, after) = (expr.materialize().unwrap(), again(expr).materialize().unwrap());
    assert!(same_bits(&before, &after), "{before} is {after}");
}

fn vector(scalars: &[Scalar]) -> Array {
    Array::from_fn(scalars[0].dtype(), &[scalars.len()], |n| scalars[n]).unwrap()
}

/// Extreme values of a dtype: limits of its range, signed zeros, infinities and NaNs.
fn extremes(dtype: DType) -> Vec<Scalar> {
    let f64s = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 5e-324, f64::MAX, 0.1];
    let nans = [0x7ff8_0000_0000_0000, 0x7ff8_0000_0000_1234, 0xfff8_0000_0000_0001, 0x7ff0_0000_0000_0001];
    let nan32s = [0x7fc0_0000, 0x7fc0_1234, 0xffc0_0001, 0x7f80_0001].map(f32::from_bits);
    let nans = nans.map(f64::from_bits);
    match dtype {
        DType::F64 => f64s.into_iter().chain(nans).map(Scalar::F64).collect(),
        DType::F32 => f64s.into_iter().map(|x| Scalar::F32(x as f32)).chain(nan32s.map(Scalar::F32)).collect(),
        DType::C128 => f64s.into_iter().zip(nans).map(|(x, y)| Scalar::C128(Complex64::new(x, y))).collect(),
        DType::C64 => nan32s.into_iter().map(|y| Scalar::C64(Complex32::new(-0.0, y))).collect(),
        _ => [0, 1, -1, i64::MAX, i64::MIN].map(|x| Scalar::I64(x).cast(dtype)).to_vec(),
    }
}

/// Every dtype keeps its bits as an array, a scalar and an operand, with extents 0 and 1, too.
#[test]
fn all_dtypes_keep_their_bits() {
    for dtype in DType::ALL {
        let numbers = extremes(dtype);
        let array = vector(&numbers);
        assert_same(&array.lazy());
        assert_same(&Expr::apply("where", [array.lazy().eq(&array), array.lazy(), array.lazy()]).unwrap());
        for number in numbers {
            assert_same(&number.lazy());
        }
        for shape in [&[0][..], &[2, 0, 3], &[1, 1], &[]] {
            let array = Array::from_fn(dtype, shape, |_| Scalar::one(dtype)).unwrap();
            assert_same(&array.lazy());
            assert_eq!(again(&array.lazy()).shape().unwrap(), shape);
        }
    }
}

/// A view serializes as its elements. A shared subexpression serializes once.
#[test]
fn shared_parts_are_written_once() {
    let x = Array::from_fn(DType::F64, &[2, 3], |n| Scalar::F64(n as f64)).unwrap();
    let turned = x.permuted(&[1, 0]);
    assert_same(&(turned.lazy() * 2.0));
    let mut doubled = x.lazy() + &x;
    for _ in 0..40 {
        doubled = &doubled + &doubled;
    }
    let text = ron::to_string(&doubled).unwrap();
    assert_eq!((text.matches("Array").count(), text.matches("Op").count()), (1, 41), "{text}");
    assert_same(&doubled);
    // Deep expressions do not overflow the stack.
    let mut deep = x.lazy();
    for _ in 0..100_000 {
        deep = -deep;
    }
    let back: Expr = ron::from_str(&ron::to_string(&deep).unwrap()).unwrap();
    assert_eq!(back.shape().unwrap(), [2, 3]);
}

/// A deferred array of another crate: its parameter reversed.
struct Reversed(Array);

impl Deferred for Reversed {
    fn ty(&self) -> Result<Type, EvalError> {
        Ok(self.0.ty())
    }
    fn structure(&self) -> String {
        "reversed".into()
    }
    fn params(&self) -> Vec<Type> {
        vec![self.0.ty()]
    }
    fn values(&self) -> Result<Vec<Passed<'_>>, EvalError> {
        Ok(vec![Passed::Array(&self.0)])
    }
    fn build(&self, build: &mut FuncBuilder<'_>, params: &[Value]) -> Result<Value, TypeError> {
        build.op("flip", [params[0]])
    }
    fn elements(&self) -> Result<Array, EvalError> {
        let at = |n: usize| self.0.get(&[self.0.len() - 1 - n]).ok_or_else(|| EvalError::index("no element"));
        let elements = (0..self.0.len()).map(at).collect::<Result<Vec<Scalar>, _>>()?;
        Ok(vector(&elements))
    }
}
impl ArrayLike for Reversed {
    fn to_any(&self) -> AnyArray {
        AnyArray::Deferred(Arc::new(Reversed(self.0.clone())))
    }
}

/// A deferred operand serializes as the array of its elements.
#[test]
fn deferred_operands_are_written_as_arrays() {
    let x = vector(&[Scalar::F32(1.0), Scalar::F32(2.0)]);
    let expr = Expr::from(Reversed(x.clone())) * &x;
    assert_same(&expr);
    assert_eq!(expr.materialize().unwrap().to_string(), "[2. 2.]");
    assert_eq!(ron::to_string(&expr).unwrap().matches("Array(\"[2.0, 1.0]:f32\")").count(), 1);
}

/// Literals stay weakly typed and keep their bits. Scalars with a dtype keep it.
#[test]
fn literals_keep_their_kind() {
    let x = Array::full(Scalar::F32(2.0), &[2]).unwrap();
    let sum = x.lazy() * 0.1 + 3_i64 + true;
    assert_eq!(again(&sum).materialize().unwrap().dtype(), DType::F32);
    assert_same(&sum);
    assert_same(&(x.lazy() + Complex64::new(f64::NAN, -0.0)));
    assert_same(&(x.lazy() + 0.5_f32));
    assert_same(&(x.lazy() * f64::NEG_INFINITY));
    assert_same(&Expr::from(f64::from_bits(0x7ff8_0000_0000_0042)));
}

/// Styled operands keep their style, so results keep their structure.
#[test]
fn styled_operands_keep_their_style() {
    let square = Array::from_fn(DType::C64, &[3, 3], |n| Scalar::I64(n as i64).cast(DType::C64)).unwrap();
    for name in ["diagonal", "tridiagonal", "upper", "unit_lower", "csc", "symmetric", "hermitian"] {
        let styled = Styled::of(Style::named(Name::new(name)).unwrap(), &square).unwrap();
        assert_same(&styled.lazy());
        assert_same(&(styled.lazy() * 2.0));
    }
    let bits = Styled::of(Style::named(Name::new("bits")).unwrap(), &Array::full(Scalar::Bool(true), &[70]).unwrap());
    assert_same(&!bits.unwrap().lazy());
}

#[test]
fn functions_and_casts_are_written() {
    let text = "func @twice(%a: f64) -> f64 {\nentry:\n  %0 = add %a, %a\n  ret %0\n}";
    let function = parse_module(text, "f").unwrap().functions().next().unwrap().clone();
    let twice = ScalarFunction::new(function).unwrap();
    let x = vector(&[Scalar::F64(1.5), Scalar::F64(-2.5)]);
    let expr = Expr::call(&twice, [Expr::call(&twice, [x.lazy()])]).cast(DType::I16);
    assert_same(&expr);
    assert_eq!(ron::to_string(&expr).unwrap().matches("twice").count(), 1);
}

/// Errors name the part, its faulty field, and the valid choices.
#[test]
fn wrong_data_is_refused() {
    let cases = [
        (r#"(parts: [])"#, "at least one part"),
        (r#"(parts: [Op("add", [0, 1])])"#, "part 0 of the expression: operand 0 is none of the 0 parts before it"),
        (r#"(parts: [Int("1"), Op("sine", [0])])"#, "part 1 of the expression: "),
        (r#"(parts: [Int("1"), Op("sinn", [0])])"#, "unknown op `sinn`; did you mean"),
        (r#"(parts: [Int("1"), Op("sum", [0])])"#, "`sum` is no elementwise op"),
        (r#"(parts: [Int("1"), Op("add", [])])"#, "`add` is applied to nothing"),
        (r#"(parts: [Int("1"), Call(0, [0])])"#, "function 0 is none of the 0 functions"),
        (r#"(parts: [Int("1.5")])"#, "`1.5` is no integer"),
        (r#"(parts: [Float("1:i32")])"#, "a weak float is written as an f64, not as i32"),
        (r#"(parts: [Scalar("1.5:f63")])"#, "f63"),
        (r#"(parts: [Array("[[1, 2], [3]]:i64")])"#, "2"),
        (r#"(parts: [Styled("f64[2; diagnal]", [])])"#, "did you mean `diagonal`"),
        (r#"(parts: [Styled("f64[2, 2; diagonal]", [])])"#, "has a component `diag`, which is missing"),
        (r#"(parts: [Styled("f64[2, 2; diagonal]", [("diag", "[1, 2]:f64"), ("x", "[1]:f64")])])"#, "no component `x`"),
        (r#"(parts: [Styled("f64[2, 2; diagonal]", [("diag", "[1, 2]:f64"), ("diag", "[1]:f64")])])"#, "given twice"),
        (r#"(parts: [Styled("f64[2, 2; diagonal]", [("diag", "[1, 2, 3]:f64")])])"#, "diag"),
        (
            r#"(parts: [Styled("f64[n, n; diagonal]", [("diag", "[1, 2]:f64")])])"#,
            "the extents of an array are numbers",
        ),
        (r#"(parts: [Styled("f64[2]", [("elements", "[1, 2]:f64")])])"#, "of no storage style"),
        (r#"(parts: [Styled("f64[2, 3; diagonal]", [("diag", "[1, 2]:f64")])])"#, "part 0"),
        (r#"(parts: [Int("1"), Cast(f65, 0)])"#, "f65"),
        (r#"(parts: [Int("1")], more: [])"#, "more"),
    ];
    for (text, wanted) in cases {
        let error = match ron::from_str::<Expr>(text) {
            Ok(expr) => panic!("{text} is {expr:?}"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(wanted), "{text}: {error}");
    }
    let wrong = "func @g(%a: f64[n]) -> f64 {\nentry:\n  %0 = sum %a\n  ret %0\n}";
    let module = parse_module(wrong, "g").unwrap();
    let function = ron::to_string(module.functions().next().unwrap()).unwrap();
    let error = ron::from_str::<Expr>(&format!("(functions: [{function}], parts: [Int(\"1\")])"));
    let error = error.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("function 0 of the expression") && error.contains("function of scalars"), "{error}");
}
