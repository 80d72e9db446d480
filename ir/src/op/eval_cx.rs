//! The context in which an op is evaluated by its reference semantics.

use super::callees::Callees;
use super::floats::Watch;
use super::limits::Limits;
use super::memory::{Memory, reserve};
use crate::attr::Attrs;
use crate::dtype::DType;
use crate::error::EvalError;
use crate::name::Name;
use crate::scalar::Scalar;
use crate::types::{Dim, Type};
use crate::value::{Array, Element, Elements};
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// The context of an op's array evaluation, besides its operands.
pub struct EvalCx<'a> {
    /// The attributes.
    pub attrs: &'a Attrs,
    /// The types that the results have in the IR.
    pub results: &'a [Type],
    /// The extents that the function's symbols are bound to.
    pub symbols: &'a FxHashMap<Name, u64>,
    /// The functions of the module around.
    pub callees: Option<&'a dyn Callees>,
    /// The resource limits.
    pub limits: Limits,
    /// The remaining steps.
    pub steps: &'a Cell<u64>,
    /// The recorder of the expressions' floats.
    pub watch: Watch<'a>,
    /// The source of memory for results; the global allocator if there is none.
    pub memory: Option<&'a dyn Memory>,
}

impl EvalCx<'_> {
    /// Consumes steps; an error if none are left.
    pub fn spend(&self, steps: u64) -> Result<(), EvalError> {
        match self.steps.get().checked_sub(steps) {
            Some(left) => {
                self.steps.set(left);
                Ok(())
            }
            None => Err(EvalError::limit(format!("more than {} steps", self.limits.steps))),
        }
    }

    /// The number of elements of a shape; an error if it exceeds the limit. Call it before any allocation.
    pub fn len(&self, shape: &[usize]) -> Result<usize, EvalError> {
        self.limits.len(shape)
    }

    /// The number of elements of an array to allocate; an error if it exceeds the limits on elements or
    /// bytes.
    pub fn room(&self, dtype: DType, shape: &[usize]) -> Result<usize, EvalError> {
        let len = self.len(shape)?;
        match (len as u64).saturating_mul(dtype.size() as u64) <= self.limits.bytes {
            true => Ok(len),
            false => {
                let limit = self.limits.bytes;
                Err(EvalError::limit(format!("an array of {dtype} of shape {shape:?} has more than {limit} bytes")))
            }
        }
    }

    /// An array of `shape`, in row-major order, with the elements that `f` gives for each flat index.
    pub fn build(
        &self,
        dtype: DType,
        shape: &[usize],
        mut f: impl FnMut(usize) -> Result<Scalar, EvalError>,
    ) -> Result<Array, EvalError> {
        let len = self.len(shape)?;
        self.spend(len as u64)?;
        let mut elements = Elements::with_capacity(dtype, len)?;
        for i in 0..len {
            elements.push(f(i)?)?;
        }
        elements.into_array(shape)
    }

    /// The extent of a dim.
    pub fn extent(&self, dim: Dim) -> Result<u64, EvalError> {
        match dim {
            Dim::Const(n) => Ok(n),
            Dim::Sym(name) => self.symbols.get(&name).copied().ok_or_else(|| {
                EvalError::shape(format!("symbol `{name}` is bound by no parameter, so its extent is not known"))
            }),
            Dim::Any => Err(EvalError::shape("the extent of `?` is not known here")),
        }
    }

    /// The extents of dims.
    pub fn shape(&self, dims: &[Dim]) -> Result<Vec<usize>, EvalError> {
        let extent = |&dim: &Dim| {
            let n = self.extent(dim)?;
            usize::try_from(n).map_err(|_| EvalError::limit(format!("extent {n} is more than memory can hold")))
        };
        dims.iter().map(extent).collect()
    }

    /// A list without elements that has room for `len`, in memory that is given.
    pub fn reserve<T: Element>(&self, len: usize) -> Result<Vec<T>, EvalError> {
        reserve(self.memory, len)
    }
}
