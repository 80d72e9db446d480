//! Lazy arrays: a lazy expression with the array that it reads, and its elements once they are forced.

use crate::expr::{Axis, LazyExpr};
use crate::input::Input;
use crate::strided::Strided;
use rewright::exec::{Arg, Results};
use rewright::ndarray::{self as nd, ArrayViewD};
use rewright::{Array, DType, Datum, Element, EvalError, Limits, Scalar, View, with_array};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use smallvec::SmallVec;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// An array that is a lazy expression until its elements are needed. It computes them once and keeps
/// them.
///
/// Clones share one holder, so elements that one clone forces are there for all, on every thread. A view
/// is a new holder over the same array or constructor.
///
/// ```
/// use rewright_lazy::{LazyArray, LazyExpr};
/// let eye: LazyExpr = "eye(f64, 1000000, 1000000)".parse()?;
/// let eye = LazyArray::constant(eye)?;
/// assert_eq!(eye.get(&[7, 7]), Some(1.0.into()));
/// let corner = eye.view(|e| e.sliced(&[rewright::SliceSpec { start: None, stop: Some(2), step: 1 }; 2]))?;
/// assert_eq!(corner.force()?.to_string(), "[[1. 0.]\n [0. 1.]]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Operators and functions of lazy arrays are computed at once: see [`eager`](crate::eager). A failed
/// operation gives an array that carries the [`error`](LazyArray::error).
#[derive(Clone)]
pub struct LazyArray(Arc<Holder>);

struct Holder {
    /// The expression. For a whole array it is built on demand.
    expr: OnceLock<LazyExpr>,
    source: Source,
    /// The index map is the identity: the elements are those of the array, in order.
    is_whole: bool,
    /// The strided layout of the elements; `None` if there is none that saves memory.
    strided: OnceLock<Option<Box<Strided>>>,
    /// The elements in row-major order; `None` if there is no memory for them.
    forced: OnceLock<Option<Array>>,
}

/// The data that the expression reads.
enum Source {
    /// Nothing: it is a constructor.
    Constructor,
    /// An array, the `var` of the expression.
    Array(Array),
    /// The result of a kernel. The kernel reuses its buffer after the last owner drops it.
    Computed(Results),
    /// The source of another holder: this one is a view.
    Shared(LazyArray),
    /// An operation failed.
    Failed(Arc<EvalError>),
}

impl LazyArray {
    /// The array itself, with the identity map.
    pub fn of(array: Array) -> LazyArray {
        LazyArray::whole(Source::Array(array))
    }

    /// The only result of a kernel.
    pub(crate) fn computed(results: Results) -> LazyArray {
        match results.first() {
            Some(Datum::Scalar(scalar)) => LazyArray::scalar(*scalar),
            Some(Datum::Array(_)) => LazyArray::whole(Source::Computed(results)),
            _ => LazyArray::failed(EvalError::value("a dense result is wanted")),
        }
    }

    /// A scalar, as an array of rank 0.
    pub fn scalar(value: Scalar) -> LazyArray {
        LazyArray::holding(LazyExpr::full(value, &[]), Source::Constructor)
    }

    /// The result of an operation that failed.
    pub(crate) fn failed(error: EvalError) -> LazyArray {
        LazyArray::whole(Source::Failed(Arc::new(error)))
    }

    fn whole(source: Source) -> LazyArray {
        let (strided, forced) = (OnceLock::new(), OnceLock::new());
        LazyArray(Arc::new(Holder { expr: OnceLock::new(), source, is_whole: true, strided, forced }))
    }

    /// The array of a constructor expression; an error if the expression reads an array.
    pub fn constant(expr: LazyExpr) -> Result<LazyArray, EvalError> {
        match expr.input() {
            Input::Var { .. } => Err(EvalError::value(format!("`{expr}` reads an array: which one must be said"))),
            _ => Ok(LazyArray::holding(expr, Source::Constructor)),
        }
    }

    /// An expression that reads an array.
    pub fn new(expr: LazyExpr, array: Array) -> Result<LazyArray, EvalError> {
        let reads = LazyArray::of(array.clone());
        match expr.input() == reads.expr().input() {
            true => Ok(LazyArray::holding(expr, Source::Array(array))),
            false => Err(EvalError::shape(format!("`{expr}` can't read an array that is `{}`", reads.expr()))),
        }
    }

    /// The source of a view of this array.
    fn shared(&self) -> Source {
        match &self.0.source {
            Source::Constructor => Source::Constructor,
            Source::Shared(other) => Source::Shared(other.clone()),
            Source::Array(_) | Source::Computed(_) | Source::Failed(_) => Source::Shared(self.clone()),
        }
    }

    fn holding(expr: LazyExpr, source: Source) -> LazyArray {
        let is_whole = !expr.is_constant() && expr.is_trivial();
        let (expr, strided, forced) = (OnceLock::from(expr), OnceLock::new(), OnceLock::new());
        LazyArray(Arc::new(Holder { expr, source, is_whole, strided, forced }))
    }

    /// The expression. That of a failed operation is an array of no elements.
    pub fn expr(&self) -> &LazyExpr {
        self.0.expr.get_or_init(|| match self.data() {
            Some(array) => {
                let shape: SmallVec<[u64; 4]> = array.shape().iter().map(|&extent| extent as u64).collect();
                LazyExpr::var(array.dtype(), &shape)
            }
            None => LazyExpr::var(DType::Bool, &[0]),
        })
    }
    /// The array that `var` in the expression stands for.
    pub fn data(&self) -> Option<&Array> {
        match &self.0.source {
            Source::Array(array) => Some(array),
            Source::Computed(results) => results.first().and_then(Datum::as_array),
            Source::Shared(other) => other.data(),
            Source::Constructor | Source::Failed(_) => None,
        }
    }
    /// The array, if the index map is the identity or the elements are forced.
    pub(crate) fn as_whole(&self) -> Option<&Array> {
        if let Some(Some(array)) = self.0.forced.get() {
            return Some(array);
        }
        self.data().filter(|_| self.0.is_whole)
    }
    /// A kernel's result that is in row-major order. It is not cached in `forced`, so its buffer can
    /// return to the kernel.
    fn as_computed(&self) -> Option<&Array> {
        let is_computed = self.0.is_whole && matches!(self.0.source, Source::Computed(_));
        self.data().filter(|array| is_computed && is_row_major(array))
    }
    /// The error of the operation that should have computed the array.
    pub fn error(&self) -> Option<&EvalError> {
        if let Source::Failed(error) = &self.0.source { Some(error) } else { None }
    }
    /// The array, or the [`error`](LazyArray::error) that it carries.
    pub fn checked(self) -> Result<LazyArray, EvalError> {
        match self.error() {
            Some(error) => Err(error.clone()),
            None => Ok(self),
        }
    }
    /// The element type.
    pub fn dtype(&self) -> DType {
        self.data().map_or_else(|| self.expr().dtype(), Array::dtype)
    }
    /// The extents.
    pub fn shape(&self) -> Vec<u64> {
        self.extents().into_vec()
    }
    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.as_whole().map_or_else(|| self.expr().rank(), Array::rank)
    }
    /// The extents, without an allocation.
    pub(crate) fn extents(&self) -> SmallVec<[u64; 4]> {
        match self.as_whole() {
            Some(array) => array.shape().iter().map(|&extent| extent as u64).collect(),
            None => self.expr().axes().iter().map(|axis| axis.extent).collect(),
        }
    }
    /// True once all elements are computed.
    pub fn is_forced(&self) -> bool {
        self.0.forced.get().is_some() || self.as_computed().is_some()
    }

    /// The element at `index`; `None` out of bounds. It forces nothing.
    pub fn get(&self, index: &[u64]) -> Option<Scalar> {
        match self.data() {
            None => self.expr().element(index),
            Some(array) => {
                let at = self.expr().position(index)?;
                let at: Vec<usize> = at.iter().map(|&p| usize::try_from(p).ok()).collect::<Option<_>>()?;
                array.get(&at)
            }
        }
    }

    /// A view: `x.view(|e| e.transposed(&[1, 0]))`. It reads the same array or constructor. Its cost
    /// depends on the rank only.
    pub fn view(&self, f: impl FnOnce(&LazyExpr) -> Result<LazyExpr, EvalError>) -> Result<LazyArray, EvalError> {
        if let Some(error) = self.error() {
            return Err(error.clone());
        }
        let expr = f(self.expr())?;
        match expr.input() == self.expr().input() {
            true => Ok(LazyArray::holding(expr, self.shared())),
            false => Err(EvalError::value(format!("`{expr}` is no view of `{}`", self.expr()))),
        }
    }

    /// All elements, in row-major order. The first call computes them, within the default limits of
    /// calls; an error beyond these.
    pub fn force(&self) -> Result<&Array, EvalError> {
        if let Some(error) = self.error() {
            return Err(error.clone());
        }
        if let Some(array) = self.as_computed() {
            return Ok(array);
        }
        let shape = self.addressable()?;
        Limits::default().len(&shape)?;
        let forced = self.0.forced.get_or_init(|| match (self.data(), self.strided()) {
            // The array itself, if it is already in row-major order.
            (Some(array), _) if self.expr().is_trivial() && is_row_major(array) => Some(array.clone()),
            (data, Some(strided)) => Some(strided.view(data)?.to_array()),
            (_, None) => self.one_by_one(&shape),
        });
        forced.as_ref().ok_or_else(|| EvalError::limit(format!("there is no memory for `{}`", self.expr())))
    }

    /// The argument for a compiled function: a strided view of the array that it reads, or of a table of
    /// the constructor. The first call makes the table, within the limits of [`force`](LazyArray::force).
    /// Forced elements are passed as they are. So functions accept lazy arrays without a compilation for
    /// them.
    pub fn arg(&self) -> Result<Arg<'_>, EvalError> {
        if let Some(array) = self.as_whole() {
            return Ok(Arg::Array(array));
        }
        if let Some(error) = self.error() {
            return Err(error.clone());
        }
        match self.strided().and_then(|strided| strided.view(self.data())) {
            Some(view) => Ok(Arg::View(view)),
            None => self.force().map(Arg::Array),
        }
    }

    /// The argument without the axes of extent 1. An array with new axes of extent 1 is passed as it is.
    pub(crate) fn long_arg(&self) -> Result<Arg<'_>, EvalError> {
        if let Some(array) = self.data().filter(|array| self.error().is_none() && is_long_map(self.expr(), array)) {
            return Ok(Arg::Array(array));
        }
        if let Some(array) = self.as_whole() {
            return Ok(Arg::View(with_array!(array, |a| long_axes(a.view()))));
        }
        match self.strided().and_then(|strided| strided.long_view(self.data())) {
            Some(view) => Ok(Arg::View(view)),
            None => self.force().map(|array| Arg::View(with_array!(array, |a| long_axes(a.view())))),
        }
    }

    /// The bytes of its table and its forced elements, without the array that it reads.
    pub fn bytes(&self) -> usize {
        let size = |array: &Array| array.len() * array.dtype().size();
        let table = self.0.strided.get().and_then(Option::as_deref).and_then(Strided::table);
        let forced = self.0.forced.get().and_then(Option::as_ref);
        table.map_or(0, size) + forced.map_or(0, size)
    }

    fn addressable(&self) -> Result<Vec<usize>, EvalError> {
        let shape = self.shape();
        let extents = shape.iter().map(|&extent| usize::try_from(extent)).collect::<Result<Vec<_>, _>>();
        extents.map_err(|_| EvalError::limit(format!("no array has so large extents as {shape:?}")))
    }

    fn strided(&self) -> Option<&Strided> {
        self.0.strided.get_or_init(|| Strided::of(self.expr(), self.data()).map(Box::new)).as_deref()
    }

    /// Computes the elements one by one.
    fn one_by_one(&self, shape: &[usize]) -> Option<Array> {
        let mut index = vec![0u64; shape.len()];
        let zero = Scalar::zero(self.dtype());
        Array::from_fn(self.dtype(), shape, |_| {
            let element = self.get(&index).unwrap_or(zero);
            for (at, &extent) in index.iter_mut().zip(shape).rev() {
                *at += 1;
                if *at < extent as u64 {
                    break;
                }
                *at = 0;
            }
            element
        })
    }
}

/// True if the index map only inserts axes of extent 1.
fn is_long_map(expr: &LazyExpr, array: &Array) -> bool {
    let mut long = expr.axes().iter().filter(|axis| axis.extent != 1);
    let goes_along = |(n, &extent): (usize, &usize)| {
        let is_unit = |axis: &Axis| axis.steps.iter().enumerate().all(|(k, &step)| step == i128::from(k == n));
        long.next().is_some_and(|axis| axis.extent == extent as u64 && is_unit(axis))
    };
    let fits = array.shape().iter().enumerate().all(goes_along);
    fits && long.next().is_none() && expr.start().iter().all(|&at| at == 0)
}

/// A view without the axes of extent 1.
fn long_axes<T: Element>(mut view: ArrayViewD<'_, T>) -> View<'_> {
    for axis in (0..view.ndim()).rev() {
        if view.shape()[axis] == 1 {
            view = view.index_axis_move(nd::Axis(axis), 0);
        }
    }
    T::wrap_view(view)
}

fn is_row_major(array: &Array) -> bool {
    with_array!(array, |a| a.is_standard_layout())
}

impl From<Array> for LazyArray {
    fn from(array: Array) -> LazyArray {
        LazyArray::of(array)
    }
}

impl fmt::Debug for LazyArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error() {
            Some(error) => write!(f, "failed: {error}"),
            None => write!(f, "{}{}", self.expr(), if self.is_forced() { " (forced)" } else { "" }),
        }
    }
}

/// The serialized form: the expression and its input array.
#[derive(Serialize, Deserialize)]
#[serde(rename = "LazyArray", deny_unknown_fields)]
struct Data {
    expr: LazyExpr,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Array>,
}

impl Serialize for LazyArray {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.error() {
            Some(error) => Err(serde::ser::Error::custom(error)),
            None => Data { expr: self.expr().clone(), data: self.data().cloned() }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for LazyArray {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Data { expr, data } = Data::deserialize(deserializer)?;
        let array = match data {
            Some(array) => LazyArray::new(expr, array),
            None => LazyArray::constant(expr),
        };
        array.map_err(D::Error::custom)
    }
}
