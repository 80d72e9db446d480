//! Applies view and constructor ops of functions to lazy expressions.

use crate::expr::LazyExpr;
use crate::input::{Input, Matrix};
use rewright::{Attrs, DType, Dim, EvalError, Function, InstData, Scalar};

/// The extents that symbols stand for.
pub type Extents<'a> = &'a dyn Fn(Dim) -> Option<u64>;

/// True if a view is an index map for all extents.
pub fn is_map(func: &Function, view: &InstData) -> bool {
    let (&[operand], &[result]) = (&view.args[..], &view.results[..]) else { return false };
    let long = |value| func.ty(value).dims().iter().filter(|dim| **dim != Dim::Const(1));
    match view.op.name {
        "transpose" | "broadcast_in_dim" | "expand_dims" | "squeeze" | "slice" | "flip" | "diagonal" => {
            func.ty(operand).is_array()
        }
        "reshape" => long(operand).chain(long(result)).all(|dim| *dim != Dim::Any) && long(operand).eq(long(result)),
        _ => false,
    }
}

/// Applies a view op to an expression.
pub fn view(expr: &LazyExpr, op: &'static str, attrs: &Attrs, extents: Extents<'_>) -> Result<LazyExpr, EvalError> {
    let places = |name: &str, rank: usize| -> Result<Option<Vec<usize>>, EvalError> {
        attrs.ints(name).map(|list| list.iter().map(|&axis| place(axis, rank)).collect()).transpose()
    };
    let rank = expr.rank();
    let axes = |rank: usize| Ok::<_, EvalError>(places("axes", rank)?.unwrap_or_else(|| (0..rank).collect()));
    let one = |name: &str, default: i64| place(attrs.int(name).unwrap_or(default), rank);
    let found = || match op {
        "transpose" => expr.transposed(&places("perm", rank)?.unwrap_or_else(|| (0..rank).rev().collect())),
        "broadcast_in_dim" => {
            let dims = attrs.dims("dims").unwrap_or(&[]);
            let last = dims.len().saturating_sub(rank);
            let axes = places("axes", dims.len())?.unwrap_or_else(|| (last..dims.len()).collect());
            let own = |axis: usize| axes.iter().position(|to| *to == axis).and_then(|from| expr.axes().get(from));
            let extent = |(axis, &dim): (usize, &Dim)| match dim {
                Dim::Any => own(axis).map(|axis| axis.extent).ok_or_else(|| unknown(dim)),
                dim => extents(dim).ok_or_else(|| unknown(dim)),
            };
            let dims = dims.iter().enumerate().map(extent).collect::<Result<Vec<u64>, _>>()?;
            expr.broadcast(&dims, &axes)
        }
        "expand_dims" => expr.expanded(&axes(rank + attrs.ints("axes").map_or(0, <[i64]>::len))?),
        "squeeze" => {
            let ones = || (0..rank).filter(|&axis| expr.axes()[axis].extent == 1).collect();
            expr.squeezed(&places("axes", rank)?.unwrap_or_else(ones))
        }
        "reshape" => expr.reshaped(&known(attrs.dims("dims").unwrap_or(&[]), extents)?),
        "slice" => expr.sliced(attrs.slices("at").unwrap_or(&[])),
        "flip" => expr.flipped(&axes(rank)?),
        "diagonal" => expr.diagonal(attrs.int("offset").unwrap_or(0), one("axis1", 0)?, one("axis2", 1)?),
        _ => Err(EvalError::unsupported("it is no index map")),
    };
    found().map_err(|e| EvalError { op: Some(op), ..e })
}

/// The lazy expression of a constructor; an error for unknown ones.
pub fn constructed(
    op: &'static str,
    attrs: &Attrs,
    dtype: DType,
    value: Option<Scalar>,
    extents: Extents<'_>,
) -> Result<LazyExpr, EvalError> {
    let shape = known(attrs.dims("dims").unwrap_or(&[]), extents)?;
    let matrix = || match shape[..] {
        [rows, columns] => Ok(Matrix { dtype, shape: [rows, columns], offset: attrs.int("offset").unwrap_or(0) }),
        _ => Err(EvalError::shape("it makes matrices")),
    };
    match op {
        "full" => {
            let value = value.ok_or_else(|| EvalError::value("it wants a scalar"))?;
            Ok(LazyExpr::full(value.cast(dtype), &shape))
        }
        "iota" => {
            let axis = place(attrs.int("axis").unwrap_or(0), shape.len())?;
            LazyExpr::iota(dtype, shape[axis]).broadcast(&shape, &[axis])
        }
        "eye" => Ok(LazyExpr::of(Input::Eye(matrix()?))),
        "tri" => Ok(LazyExpr::of(Input::Tri(matrix()?))),
        "delta" => Ok(LazyExpr::of(Input::Delta { dtype, shape })),
        _ => Err(EvalError::unsupported("it is no constructor")),
    }
}

/// The constructors that [`constructed`] knows.
pub const CONSTRUCTORS: &[&str] = &["full", "iota", "eye", "tri", "delta"];

fn known(dims: &[Dim], extents: Extents<'_>) -> Result<Vec<u64>, EvalError> {
    dims.iter().map(|&dim| extents(dim).ok_or_else(|| unknown(dim))).collect()
}

fn unknown(dim: Dim) -> EvalError {
    EvalError::shape(format!("the extent `{dim}` is not known"))
}

fn place(axis: i64, rank: usize) -> Result<usize, EvalError> {
    let from_start = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    let found = from_start.and_then(|axis| usize::try_from(axis).ok()).filter(|&axis| axis < rank);
    found.ok_or_else(|| EvalError::shape(format!("there is no axis {axis} at rank {rank}")))
}
