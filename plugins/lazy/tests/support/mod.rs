//! Inputs and views that tests draw, with what they mean by the core's ops.

#![allow(dead_code, reason = "each test uses some of it")]

use proptest::prelude::*;
use rewright::{Array, Attr, Attrs, DType, Datum, Dim, Limits, Scalar, SliceSpec, evaluate_op, registry};
use rewright_lazy::{Input, LazyExpr, Matrix};

/// The elements of an expression's input, by the reference meaning of the core's ops.
pub fn reference(input: &Input) -> Array {
    let ints = |shape: &[u64]| Attr::Dims(shape.iter().map(|&n| Dim::Const(n)).collect());
    let dtype = Attr::DType(input.dtype());
    let matrix = |m: &Matrix| {
        Attrs::new().with("dims", ints(&m.shape)).with("offset", Attr::Int(m.offset)).with("dtype", dtype.clone())
    };
    match input {
        Input::Iota { extent, .. } => {
            eval("iota", None, Attrs::new().with("dims", ints(&[*extent])).with("dtype", dtype))
        }
        Input::Eye(m) => eval("eye", None, matrix(m)),
        Input::Tri(m) => eval("tri", None, matrix(m)),
        Input::Full(value) => Array::full(*value, &[]).unwrap(),
        Input::Var { dtype, shape } | Input::Delta { dtype, shape } => {
            let shape: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
            Array::from_fn(*dtype, &shape, |flat| {
                let mut rest = flat;
                let mut index: Vec<usize> = shape
                    .iter()
                    .rev()
                    .map(|n| {
                        let at = rest % n;
                        rest /= n;
                        at
                    })
                    .collect();
                index.reverse();
                let equal = index.iter().all(|at| *at == index[0]);
                if input.is_constant() {
                    Scalar::Bool(equal).cast(*dtype)
                } else {
                    Scalar::I64(flat as i64 * 3 + 1).cast(*dtype)
                }
            })
            .unwrap()
        }
    }
}

pub fn eval(op: &str, array: Option<&Array>, attrs: Attrs) -> Array {
    let args: Vec<Datum> = array.into_iter().cloned().map(Datum::Array).collect();
    let results = evaluate_op(registry().op(op).unwrap(), &attrs, &args, &[], Limits::default());
    results.unwrap_or_else(|e| panic!("{op} {attrs:?}: {e}"))[0].to_array()
}

/// A view of an expression: as one of its own, and as an op.
pub struct View {
    pub expr: LazyExpr,
    pub op: &'static str,
    pub attrs: Attrs,
}

impl View {
    /// One whose numbers are taken from a few bytes; none if there is none such of the expression.
    pub fn drawn(expr: &LazyExpr, op: u8, seed: [u8; 4]) -> Option<View> {
        let (rank, shape) = (expr.rank(), expr.shape());
        let [a, b, c, d] = seed.map(usize::from);
        let list = |axes: &[usize]| Attr::Ints(axes.iter().map(|&axis| axis as i64).collect());
        let dims = |shape: &[u64]| Attr::Dims(shape.iter().map(|&n| Dim::Const(n)).collect());
        let with = |name: &'static str, attr: Attr| Attrs::new().with(name, attr);
        let mut perm: Vec<usize> = (0..rank).collect();
        let (lazy, op, attrs) = match op % 9 {
            0 if rank > 0 => {
                perm.rotate_left(a % rank);
                perm.swap(b % rank, c % rank);
                (expr.transposed(&perm), "transpose", with("perm", list(&perm)))
            }
            1 => {
                // A new axis somewhere, and those of extent 1 stretched.
                let mut to: Vec<u64> = shape.iter().map(|&n| if n == 1 { b as u64 % 3 } else { n }).collect();
                to.insert(a % (rank + 1), c as u64 % 4);
                let axes: Vec<usize> = (0..=rank).filter(|axis| *axis != a % (rank + 1)).collect();
                (expr.broadcast(&to, &axes), "broadcast_in_dim", with("dims", dims(&to)).with("axes", list(&axes)))
            }
            2 => {
                // An axis of extent 1 more, and all that there were less.
                let mut to: Vec<u64> = shape.iter().copied().filter(|&n| n != 1 || d % 2 == 0).collect();
                to.insert(a % (to.len() + 1), 1);
                (expr.reshaped(&to), "reshape", with("dims", dims(&to)))
            }
            3 if rank > 0 => {
                let bound = |x: usize| (!x.is_multiple_of(3)).then_some(x as i64 % 9 - 4);
                let spec = SliceSpec { start: bound(b), stop: bound(c), step: [1, 2, 3, -1, -2][d % 5] };
                let mut at = vec![SliceSpec::FULL; a % rank];
                at.push(spec);
                (expr.sliced(&at), "slice", with("at", Attr::Slices(at.into())))
            }
            4 if rank > 0 => (expr.flipped(&[a % rank]), "flip", with("axes", list(&[a % rank]))),
            5 => (expr.expanded(&[a % (rank + 1)]), "expand_dims", with("axes", list(&[a % (rank + 1)]))),
            6 if shape.contains(&1) => {
                let axis = shape.iter().position(|&n| n == 1).unwrap();
                (expr.squeezed(&[axis]), "squeeze", with("axes", list(&[axis])))
            }
            7 if rank > 1 => {
                let (rows, columns) = (a % rank, (a + 1 + b % (rank - 1)) % rank);
                let offset = c as i64 % 5 - 2;
                let attrs = with("offset", Attr::Int(offset)).with("axis1", Attr::Int(rows as i64));
                (expr.diagonal(offset, rows, columns), "diagonal", attrs.with("axis2", Attr::Int(columns as i64)))
            }
            8 if rank > 0 => {
                perm.swap(a % rank, b % rank);
                (expr.swapped(a % rank, b % rank), "transpose", with("perm", list(&perm)))
            }
            _ => return None,
        };
        let expr = lazy.unwrap_or_else(|e| panic!("{op} {attrs:?}: {e}"));
        Some(View { expr, op, attrs })
    }

    /// What the op makes of an array.
    pub fn of(&self, array: &Array) -> Array {
        eval(self.op, Some(array), self.attrs.clone())
    }
}

pub fn input() -> impl Strategy<Value = Input> {
    let dtype = prop::sample::select(DType::ALL.to_vec());
    let shape = prop::collection::vec(0u64..5, 0..4);
    let matrix = (dtype.clone(), [0u64..5, 0u64..5], -4i64..5).prop_map(|(dtype, shape, offset)| Matrix {
        dtype,
        shape,
        offset,
    });
    prop_oneof![
        3 => (dtype.clone(), shape.clone()).prop_map(|(dtype, shape)| Input::Var { dtype, shape }),
        2 => (dtype.clone(), 0u64..6).prop_map(|(dtype, extent)| Input::Iota { dtype, extent }),
        1 => dtype.clone().prop_map(|dtype| Input::Full(Scalar::I64(3).cast(dtype))),
        2 => matrix.clone().prop_map(Input::Eye),
        2 => matrix.prop_map(Input::Tri),
        2 => (dtype, shape).prop_map(|(dtype, shape)| Input::Delta { dtype, shape }),
    ]
}
