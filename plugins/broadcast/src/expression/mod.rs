//! Lazy expressions in Rust: nests of `broadcasted`, written with operators.
//!
//! ```
//! use rewright::{Array, DType, Scalar};
//! use rewright_broadcast::expression::{Assign, Broadcast};
//! let x = Array::from_fn(DType::F32, &[3], |i| Scalar::F32(i as f32)).ok_or("too large")?;
//! let mut y = (2.0 * (x.lazy() + 1.0)).materialize()?.to_array();
//! assert_eq!(y.to_string(), "[2. 4. 6.]");
//! y.assign(2.0 * (x.lazy() + &y))?;
//! assert_eq!((y.dtype(), y.to_string().as_str()), (DType::F32, "[ 4. 10. 16.]"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nothing is computed before [`Expr::materialize`] or [`Assign::assign`]. The whole expression is then one
//! program, which is compiled once for all expressions of its kind. A kind is the functions and how they
//! are connected, the literals, and the types of the values. It does not contain extents, but only which
//! extents are equal, and which are 1.
//!
//! `&x + 1.0` does not compile: Rust's orphan rule lets only the crate that defines `Array` implement `Add`
//! for it. One operand has to be an [`Expr`], which [`Broadcast::lazy`] makes. The other may be an array or
//! a number, on either side; numbers on the left are `f64`, `i64` or `bool`.
//!
//! Numbers are weak, as in NumPy 2: an `f32` array and `2.0` give `f32`. Numbers are part of the program.
//! If a number differs from call to call, use a [`Scalar`](rewright::Scalar), which is a value like arrays,
//! and has a dtype.

mod compiled;
mod data;
mod destination;
mod error;
mod flatten;
mod function;
mod inspect;
mod module;
mod operators;
mod program;
mod typed;

pub use compiled::compiled_programs;
pub use destination::Assign;
pub use error::Error;
pub use flatten::Flat;
pub use function::ScalarFunction;

use compiled::Compiled;
use function::Function;
use program::{Goal, Program};
use rewright::ir::builder::find_op;
use rewright::{AnyArray, ArrayLike, DType, Datum, Deferred, Literal, Module, Name};
use std::fmt;
use std::sync::Arc;

/// A lazy function of arrays. Clones are the same expression, which is computed once however often it
/// occurs.
#[derive(Clone)]
pub struct Expr(Arc<Node>);

enum Node {
    Value(Datum),
    Literal(Literal),
    Deferred(Arc<dyn Deferred>),
    Applied { function: Function, args: Vec<Expr> },
}

impl Expr {
    /// Applies an elementwise op, given by its name, to values, numbers and other expressions.
    ///
    /// # Errors
    ///
    /// There is no such op, or it is not elementwise.
    pub fn apply(op: &str, args: impl IntoIterator<Item = impl Into<Expr>>) -> Result<Expr, Error> {
        let op = find_op(op).map_err(|error| Error::of_type(op, error))?;
        if !op.is_elementwise() {
            return Err(Error::NotElementwise { op: op.name });
        }
        Ok(Expr::applied(Function::Op(op.name), args.into_iter().map(Into::into).collect()))
    }

    /// Applies a function of scalars to each element.
    pub fn call(function: &ScalarFunction, args: impl IntoIterator<Item = impl Into<Expr>>) -> Expr {
        Expr::applied(Function::Scalars(function.clone()), args.into_iter().map(Into::into).collect())
    }

    /// Casts each element to another dtype, as the op `cast` does.
    pub fn cast(&self, to: DType) -> Expr {
        Expr::applied(Function::Cast(to), vec![self.clone()])
    }

    /// Computes all elements, and stores them in the style that type inference proves. If all operands are
    /// scalars, the result is a scalar.
    ///
    /// # Errors
    ///
    /// Shapes or dtypes don't fit, which is found before anything is computed; or the program fails, for
    /// example by a negative power of an integer.
    pub fn materialize(&self) -> Result<Datum, Error> {
        self.compute(None)
    }

    /// Computes all elements in a given style, `"dense"` or another one that can have them.
    ///
    /// # Errors
    ///
    /// Those of [`materialize`](Expr::materialize), or the style can't have the elements.
    pub fn materialize_as(&self, style: &str) -> Result<Datum, Error> {
        self.compute(Some(Name::new(style)))
    }

    /// The program of [`materialize`](Expr::materialize) before any rewrite. Its function is the last one.
    ///
    /// # Errors
    ///
    /// Shapes or dtypes don't fit.
    pub fn to_module(&self) -> Result<Module, Error> {
        let (program, _) = Program::of(self, Goal::Value(None))?;
        Ok(module::module(&program)?.0)
    }

    fn compute(&self, style: Option<Name>) -> Result<Datum, Error> {
        self.reach(Goal::Value(style))
    }

    fn reach(&self, goal: Goal<&Datum>) -> Result<Datum, Error> {
        let (program, values) = Program::of(self, goal)?;
        Compiled::of(program)?.value(&values)
    }

    fn applied(function: Function, args: Vec<Expr>) -> Expr {
        Expr(Arc::new(Node::Applied { function, args }))
    }
}

/// Drops operands iteratively: recursion over a deep expression would overflow the stack.
impl Drop for Node {
    fn drop(&mut self) {
        let Node::Applied { args, .. } = self else { return };
        let mut rest = std::mem::take(args);
        while let Some(expr) = rest.pop() {
            if let Some(mut node) = Arc::into_inner(expr.0)
                && let Node::Applied { args, .. } = &mut node
            {
                rest.append(args);
            }
        }
    }
}

/// Shows only the outermost function, since an expression may have any size.
impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Node::Value(datum) => write!(f, "{}", datum.ty()),
            Node::Literal(literal) => write!(f, "{literal}"),
            Node::Deferred(deferred) => f.write_str(&deferred.structure()),
            Node::Applied { function, args } => write!(f, "{function} of {}", args.len()),
        }
    }
}

/// The values from which lazy expressions are built.
pub trait Broadcast {
    /// The value as an expression. Arrays share their buffers.
    fn lazy(&self) -> Expr;
}

impl<T: Clone> Broadcast for T
where
    Expr: From<T>,
{
    fn lazy(&self) -> Expr {
        self.clone().into()
    }
}

impl From<&Expr> for Expr {
    fn from(expr: &Expr) -> Expr {
        expr.clone()
    }
}

/// Converts arrays, scalars and numbers, references to these, and operands of other crates. Numbers are
/// literals; an `f32` has a dtype.
impl<T: ArrayLike> From<T> for Expr {
    fn from(operand: T) -> Expr {
        Expr(Arc::new(match operand.to_any() {
            AnyArray::Value(datum) => Node::Value(datum),
            AnyArray::Number(literal) => Node::Literal(literal),
            AnyArray::Deferred(deferred) => Node::Deferred(deferred),
        }))
    }
}
