//! Reductions and products of matrices, regrouped.

use crate::register_condition;
use crate::rule;
use crate::rule::{ConditionDef, Known};
use rewright_ir::Dim;

static MATRIX: ConditionDef = ConditionDef {
    name: "matrix",
    doc: "an array of two axes",
    arity: 1,
    holds: |known: &[Known<'_>]| known[0].ty.rank() == 2,
    sample: |_| true,
    bits: None,
};
static NOT_EMPTY: ConditionDef = ConditionDef {
    name: "not_empty",
    doc: "an array of which it is known that it has elements",
    arity: 1,
    holds: |known: &[Known<'_>]| known[0].ty.dims().iter().all(|dim| matches!(dim, Dim::Const(n) if *n > 0)),
    sample: |_| true,
    bits: None,
};
static SAME_DTYPE: ConditionDef = ConditionDef {
    name: "same_dtype",
    doc: "two values of one dtype: ops that are not elementwise cast the one to that of the other",
    arity: 2,
    holds: |known: &[Known<'_>]| known[0].ty.dtype() == known[1].ty.dtype(),
    sample: |x| x[0].dtype() == x[1].dtype(),
    bits: None,
};
register_condition!(MATRIX, NOT_EMPTY, SAME_DTYPE);

rule! { "sum.neg": (sum (neg ?x:float) axes=@a keepdims=@k) <=> (neg (sum ?x axes=@a keepdims=@k)) liberties [no_signed_zeros] }
rule! { "sum.scaled": (sum (mul ?x:float ?c) axes=@a keepdims=@k) ~> (mul (sum ?x axes=@a keepdims=@k) ?c) if [scalar(?c)] liberties [reassociate, no_nan, no_inf, no_signed_zeros] }
rule! { "sum.divided": (sum (div ?x:float ?c) axes=@a keepdims=@k) ~> (div (sum ?x axes=@a keepdims=@k) ?c) if [scalar(?c), (or nonzero(?c) not_empty(?x))] liberties [reassociate, no_nan, no_inf, no_signed_zeros] }
rule! { "sum.add": (add (sum ?x:float axes=@a keepdims=@k) (sum ?y axes=@a keepdims=@k)) ~> (sum (add ?x ?y) axes=@a keepdims=@k) if [same_shape(?x, ?y)] liberties [reassociate, no_nan, no_inf] }
rule! { "matrix-chain": (dot_general (dot_general ?a:float ?b lhs_contract=[1] rhs_contract=[0]) ?c lhs_contract=[1] rhs_contract=[0]) <=> (dot_general ?a (dot_general ?b ?c lhs_contract=[1] rhs_contract=[0]) lhs_contract=[1] rhs_contract=[0]) if [matrix(?a), matrix(?b), same_dtype(?a, ?b), same_dtype(?b, ?c)] liberties [reassociate, no_nan, no_inf, no_signed_zeros] }
rule! { "softmax.stable": (div (exp ?x:float) (sum (exp ?x) axes=@a keepdims=true)) ~> (div (exp (sub ?x (max ?x axes=@a keepdims=true))) (sum (exp (sub ?x (max ?x axes=@a keepdims=true))) axes=@a keepdims=true)) if [not_empty(?x)] liberties [approximate, no_nan, no_inf] opt_in }
