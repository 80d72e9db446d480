//! Rewrites with a bug each. None is in the default pipeline.

use rewright::plugin::*;

/// Matches an instruction one of whose operands is an op, and does something wrong.
struct Wrong {
    operand: &'static str,
    apply: fn(Inst, Inst, &mut Rewriter<'_>) -> Result<(), RewriteError>,
}

impl RootRewrite for Wrong {
    type Match = (Inst, Inst);
    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let operands = 0..cx.func().inst(root).args.len();
        let inner = operands.filter_map(|i| cx.operand_op(root, i, self.operand)).next();
        inner.map(|inner| (root, inner)).ok_or(NoMatch::quiet())
    }
    fn apply(&self, (root, inner): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        (self.apply)(root, inner, rw)
    }
}

macro_rules! seeds {
    ($($def:ident $name:literal $root:literal of $operand:literal $apply:expr;)+) => {$(
        static $def: RewriteDef =
            RewriteDef::root($name, "has a bug", &Wrong { operand: $operand, apply: $apply }).roots(&[$root]).opt_in();
    )+
    register_rewrite!($($def),+);};
}

seeds! {
    // A difference of a product becomes a sum.
    MISCOMPILE "seed-miscompile" "sub" of "mul" |root, _, rw| {
        let args = rw.func().inst(root).args.clone();
        rw.replace_with(root, "add", args, Attrs::new()).map(drop)
    };
    // Wrong for negative zero alone.
    ZERO "seed-zero" "abs" of "neg" |root, inner, rw| {
        let x = rw.func().inst(inner).args[0];
        let zero = rw.constant(0.0f64);
        let negative = rw.op("lt", [x, zero])?;
        let turned = rw.op("neg", [x])?;
        rw.replace_with(root, "where", [negative, turned, x], Attrs::new()).map(drop)
    };
    // Right in itself, but the op that it makes has a wrong lowering.
    TO_TWICE "seed-to-twice" "add" of "neg" |root, inner, rw| {
        let x = rw.func().inst(inner).results[0];
        rw.replace_with(root, "seed.twice", [x], Attrs::new()).map(drop)
    };
    PANIC "seed-panic" "exp" of "neg" |root, _, rw| {
        rw.op("sin", [rw.func().inst(root).args[0]])?;
        panic!("no exponents today")
    };
    INVALID "seed-invalid" "floor" of "ceil" |root, inner, rw| {
        // The definition comes after its use.
        rw.move_before(root, inner)
    };
    FOR_EVER "seed-for-ever" "tan" of "sinh" |root, _, rw| {
        let x = rw.func().inst(root).args[0];
        let y = rw.op("neg", [x])?;
        rw.set_use(root, 0, y)?;
        let z = rw.op("sinh", [y])?;
        rw.set_use(root, 0, z)
    };
    PING "seed-ping" "minimum" of "sqrt" |root, _, rw| {
        let args = rw.func().inst(root).args.clone();
        rw.replace_with(root, "maximum", args, Attrs::new()).map(drop)
    };
    PONG "seed-pong" "maximum" of "sqrt" |root, _, rw| {
        let args = rw.func().inst(root).args.clone();
        rw.replace_with(root, "minimum", args, Attrs::new()).map(drop)
    };
}

static TWICE: OpDef = OpDef::elementwise("seed.twice", "doubles", 1, resolve, meaning);
register_op!(TWICE);

fn resolve(_: &[DType], _: &Attrs) -> Result<Loop, String> {
    Ok(Loop::uniform(1, DType::F64, DType::F64))
}

fn meaning(args: &[Scalar], _: &Attrs) -> Result<Scalars, EvalError> {
    Ok(Scalars::from_slice(&[Scalar::F64(2.0 * args[0].to_f64())]))
}

/// A rounding to f32 on the way.
fn wrong(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let sum = cx.k.binary(Binary::Add, args[0].re, args[0].re);
    let narrow = cx.k.convert(sum, DType::F32);
    Some(Elems::from_elem(Elem::real(DType::F64, cx.k.convert(narrow, DType::F64)), 1))
}
register_interface!("seed.twice", LowerScalar, &LowerScalar(wrong));
