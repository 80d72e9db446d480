//! Lazy arrays as operands of programs other than eager operations: [`ArrayLike`].

use super::reading::{Access, Element, line};
use super::{apply::extents_only, build};
use crate::array::LazyArray;
use rewright::exec::Arg;
use rewright::{
    AnyArray, Array, ArrayLike, DType, Datum, Deferred, Dim, EvalError, FuncBuilder, Passed, Scalar, Type, TypeError,
    Value,
};
use smallvec::SmallVec;
use std::fmt::Write;
use std::sync::Arc;

impl ArrayLike for LazyArray {
    fn to_any(&self) -> AnyArray {
        match self.as_whole().filter(|_| self.data().is_some()) {
            _ if self.error().is_some() => AnyArray::Deferred(Arc::new(self.clone())),
            Some(array) => AnyArray::Value(Datum::Array(array.clone())),
            None => match self.get(&[]) {
                Some(scalar) => AnyArray::Value(Datum::Scalar(scalar)),
                None => AnyArray::Deferred(Arc::new(self.clone())),
            },
        }
    }
}

/// A view has one parameter, a strided array. A constructor has its scalars and a bool array that carries
/// the extents.
impl Deferred for LazyArray {
    fn ty(&self) -> Result<Type, EvalError> {
        match self.error() {
            Some(error) => Err(error.clone()),
            None => Ok(Type::array(self.dtype(), self.dims())),
        }
    }

    fn structure(&self) -> String {
        let mut words = "lazy".to_string();
        let written = match self.access() {
            None => write!(words, " view"),
            Some(Access::Line { element, steps, .. }) => {
                let name = match element {
                    Element::Number => "number",
                    Element::IsZero => "is-zero",
                    Element::IsNotPositive => "is-not-positive",
                };
                write!(words, " {name} {}", self.dtype()).and_then(|()| {
                    steps.iter().try_for_each(|&step| write!(words, " {:?}", super::key::StepClass::of(step)))
                })
            }
            Some(_) => write!(words, " full"),
        };
        debug_assert!(written.is_ok());
        words
    }

    fn params(&self) -> Vec<Type> {
        let extents = || Type::array(DType::Bool, self.dims());
        match self.access() {
            None => vec![Type::array(self.dtype(), self.dims())],
            Some(access) => std::iter::once(extents()).chain(build::params(&access, self.dtype(), &[])).collect(),
        }
    }

    fn values(&self) -> Result<Vec<Passed<'_>>, EvalError> {
        let Some(access) = self.access() else {
            return Ok(vec![match self.arg()? {
                Arg::Array(array) => Passed::Array(array),
                Arg::View(view) => Passed::View(view),
                Arg::Scalar(scalar) => Passed::Scalar(scalar),
                Arg::Styled(_) => return Err(EvalError::unsupported("a lazy array has no storage style")),
            }]);
        };
        let extents = self.extents();
        let extents =
            extents.iter().map(|&extent| usize::try_from(extent)).collect::<Result<SmallVec<[usize; 4]>, _>>();
        let extents =
            extents.map_err(|_| EvalError::limit(format!("no array has so large extents as {:?}", self.shape())))?;
        let mut all = vec![Passed::View(extents_only(&extents)?)];
        access.scalars(|scalar| all.push(Passed::Scalar(scalar)));
        Ok(all)
    }

    fn build(&self, build: &mut FuncBuilder<'_>, params: &[Value]) -> Result<Value, TypeError> {
        let (Some(access), Some((&first, numbers))) = (self.access(), params.split_first()) else {
            return params.first().copied().ok_or_else(|| TypeError::new("a lazy array has a parameter"));
        };
        let dims = build.func().ty(first).dims().to_vec();
        build::computed(build, &access, self.dtype(), &dims, &mut numbers.iter().copied())
    }

    fn elements(&self) -> Result<Array, EvalError> {
        self.force().cloned()
    }
}

impl LazyArray {
    /// The formula of a constructor's elements; `None` for an array in memory.
    fn access(&self) -> Option<Access<'_>> {
        if self.data().is_some() || self.error().is_some() { None } else { line(self) }
    }

    fn dims(&self) -> Vec<Dim> {
        self.extents().iter().map(|&extent| Dim::Const(extent)).collect()
    }
}

impl Access<'_> {
    /// The scalars that a call passes.
    pub fn scalars(&self, mut pass: impl FnMut(Scalar)) {
        match self {
            Access::Constant(_) | Access::Memory(_) => {}
            Access::Scalar(scalar) | Access::Full(scalar) => pass(*scalar),
            Access::Line { first, steps, .. } => {
                pass(Scalar::I64(*first));
                let others =
                    steps.iter().filter(|step| super::key::StepClass::of(**step) == super::key::StepClass::Other);
                others.for_each(|&step| pass(Scalar::I64(step)));
            }
        }
    }
}
