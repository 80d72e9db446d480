//! Interfaces of sparse styles. Their components hold a *pattern*, the places of the stored elements, and
//! one value for each place.
//!
//! A function of such arrays with a known result for zeros is computed in three steps
//! ([`stored_elements`](crate::stored_elements)). First, the operands' patterns are merged. Second, each
//! operand's values are laid out along the merged places, with zeros where nothing is stored. Third, one
//! kernel runs over all values.

use crate::merge::in_order;
use crate::terms::Terms;
use rewright::ir::{Elements, EvalCx, EvalError, Style, Styled};
use rewright::ndarray::ArcArray;
use rewright::{Array, Datum, Dim, Element, Name, Scalar, Type, with_array};
use std::borrow::Cow;

/// Interface of a sparse style: operations on patterns. The last component holds the values, the others
/// hold the places.
pub struct Pattern {
    /// Merges the patterns of arrays with the same extents: the places where all arrays of some term are
    /// stored, and each array's values there.
    pub united: fn(&EvalCx<'_>, &[&Styled], &Terms) -> Result<United, String>,
    /// For each axis, the positions of the stored values, in the order of the values.
    pub places: fn(&Styled) -> Result<Vec<Positions>, String>,
    /// Builds the components that hold places in an array of these extents.
    pub at: fn(&[usize], &[Positions]) -> Result<Ordered, String>,
}

/// The positions of some places along one axis.
pub type Positions = Vec<i64>;

/// Interface of a storage style: the places of an array's possible nonzeros, in any order, each once.
pub struct Nonzeros(pub fn(&Styled) -> Vec<Positions>);

/// Interface of a sparse style: the style of an array of this type after broadcasting to these dims, which
/// has a pattern, too; none if there is no such style.
pub struct Stretches(pub fn(&Type, &[Dim]) -> Option<&'static str>);

/// Broadcasts a sparse array to a shape: each stored value is repeated along the broadcast axes.
///
/// # Errors
///
/// The array does not broadcast to the shape, or memory is exhausted.
pub fn stretched(style: Style, array: &Styled, shape: &[usize]) -> Result<Styled, String> {
    let own = array.shape();
    let missing = shape.len().checked_sub(own.len());
    let missing = missing.filter(|&missing| own.iter().zip(&shape[missing..]).all(|(&n, &to)| n == to || n == 1));
    let missing = missing.ok_or_else(|| format!("extents of {own:?} don't broadcast to {shape:?}"))?;
    let places = (of(array.style())?.places)(array)?;
    let count = values(array)?.len();
    let repeats = |axis: usize| axis < missing || own[axis - missing] != shape[axis];
    let times =
        (0..shape.len()).filter(|&axis| repeats(axis)).try_fold(1_usize, |all, axis| all.checked_mul(shape[axis]));
    let total = times.and_then(|times| times.checked_mul(count)).ok_or(LARGE)?;
    let copies = total.checked_div(count).unwrap_or(0);
    let mut all: Vec<Positions> = Vec::with_capacity(shape.len());
    // The stride of the axis among the copies of a value, in row-major order.
    let mut between = copies;
    for (axis, &extent) in shape.iter().enumerate() {
        let mut positions = reserved(total)?;
        if repeats(axis) {
            between = between.checked_div(extent).unwrap_or(0);
            let at = |copy: usize| (copy / between % extent) as i64;
            (0..count).for_each(|_| positions.extend((0..copies).map(at)));
        } else {
            places[axis - missing].iter().for_each(|&at| positions.extend(std::iter::repeat_n(at, copies)));
        }
        all.push(positions);
    }
    let mut numbers: Vec<usize> = reserved(total)?;
    (0..count).for_each(|n| numbers.extend(std::iter::repeat_n(n, copies)));
    let Ordered { mut components, order } = (of(style)?.at)(shape, &all)?;
    if let Some(order) = order {
        numbers = order.iter().map(|&n| numbers[n]).collect();
    }
    let kept = values(array)?;
    components.push(with_array!(kept, |kept| {
        let kept = in_order(kept);
        list(numbers.iter().map(|&n| kept[n]).collect())
    }));
    Styled::new(style, array.dtype(), shape, components)
}

/// The merged places of several arrays.
pub struct United {
    /// The components that hold the places.
    pub components: Vec<Array>,
    /// For each array, its values at these places, zero where nothing is stored.
    pub values: Vec<Array>,
}

/// Places in a style's own order.
pub struct Ordered {
    /// The components that hold the places.
    pub components: Vec<Array>,
    /// The permutation that sorts the given places; none if they are sorted.
    pub order: Option<Vec<usize>>,
}

/// The pattern of a style; the error says that it has none.
pub fn of(style: Style) -> Result<&'static Pattern, String> {
    style.def().interface::<Pattern>().ok_or_else(|| format!("`{style}` has no pattern of places"))
}

/// Converts an operand to a sparse style. If the operand's own style declares its nonzeros, no other
/// element is read.
pub fn kept<'a>(cx: &EvalCx<'_>, style: Style, operand: &'a Datum) -> Result<Cow<'a, Styled>, EvalError> {
    let keep = |array: &Array| Styled::keep(style, array).map(Cow::Owned).map_err(EvalError::value);
    let all = || cx.spend(cx.room(operand.dtype(), operand.shape())? as u64);
    let Some(styled) = operand.as_styled() else { return all().and_then(|()| keep(&operand.to_array())) };
    if styled.style() == style {
        return Ok(Cow::Borrowed(styled));
    }
    match styled.style().def().interface::<Nonzeros>() {
        Some(nonzeros) => placed(style, styled, &(nonzeros.0)(styled)).map(Cow::Owned).map_err(EvalError::value),
        None => all().and_then(|()| keep(&styled.try_dense().map_err(EvalError::limit)?)),
    }
}

/// A sparse array of the elements at these places.
fn placed(style: Style, styled: &Styled, places: &[Positions]) -> Result<Styled, String> {
    let Ordered { mut components, order } = (of(style)?.at)(styled.shape(), places)?;
    let count = places.first().map_or(0, Vec::len);
    let value = |n: usize| {
        let n = order.as_ref().map_or(n, |order| order[n]);
        let at: Vec<usize> = places.iter().map(|along| along[n] as usize).collect();
        styled.get(&at).unwrap_or(Scalar::Bool(false).cast(styled.dtype()))
    };
    components.push(Array::from_fn(styled.dtype(), &[count], value).ok_or(LARGE)?);
    Styled::new(style, styled.dtype(), styled.shape(), components)
}

/// The values that an array stores.
pub fn values(array: &Styled) -> Result<&Array, String> {
    array.components().last().ok_or_else(|| format!("`{}` has no values", array.style()))
}

/// True if all stored values are finite.
pub fn is_finite(array: &Styled) -> bool {
    match values(array) {
        Ok(Array::F64(values)) => all(&in_order(values), |x| x.is_finite()),
        Ok(Array::F32(values)) => all(&in_order(values), |x| x.is_finite()),
        Ok(Array::C128(values)) => all(&in_order(values), |z| z.re.is_finite() & z.im.is_finite()),
        Ok(Array::C64(values)) => all(&in_order(values), |z| z.re.is_finite() & z.im.is_finite()),
        Ok(_) => true,
        Err(_) => false,
    }
}

/// True if all elements have a property. Each chunk is tested without branches, so that the loop is
/// vectorized.
fn all<T>(elements: &[T], has: impl Fn(&T) -> bool) -> bool {
    elements.chunks(256).all(|some| some.iter().fold(true, |all, element| all & has(element)))
}

/// The same array without stored zeros.
pub fn without_zeros(array: &Styled) -> Result<Styled, String> {
    let stored = values(array)?;
    with_array!(stored, |values| {
        let values = in_order(values);
        match all(&values, |value| !is_default(value)) {
            true => Ok(array.clone()),
            false => only_others(array, &values),
        }
    })
}

/// The array with its nonzero values only.
fn only_others<T: Element + Default + PartialEq>(array: &Styled, values: &[T]) -> Result<Styled, String> {
    let pattern = of(array.style())?;
    let mut places = (pattern.places)(array)?;
    for along in &mut places {
        let mut values = values.iter();
        along.retain(|_| values.next().is_some_and(|value| !is_default(value)));
    }
    let left: Vec<T> = values.iter().filter(|value| !is_default(*value)).copied().collect();
    let Ordered { mut components, order } = (pattern.at)(array.shape(), &places)?;
    let left = match order {
        Some(order) => order.iter().map(|&n| left[n]).collect(),
        None => left,
    };
    components.push(list(left));
    Styled::new(array.style(), array.dtype(), array.shape(), components)
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A dense array with the values that `array` stores, and `beside` at all other places.
pub fn spread(array: &Styled, beside: Scalar) -> Result<Array, String> {
    let places = (of(array.style())?.places)(array)?;
    let mut dense = Array::full(beside.cast(array.dtype()), array.shape()).ok_or(LARGE)?;
    let strides: Vec<usize> = (0..array.shape().len()).map(|axis| array.shape()[axis + 1..].iter().product()).collect();
    let stored = Elements::of(values(array)?);
    let flat = |n: usize| places.iter().zip(&strides).map(|(along, stride)| along[n] as usize * stride).sum::<usize>();
    with_array!(&mut dense, |dense| {
        let dense = dense.as_slice_mut().ok_or("an array that is new has its elements in order")?;
        put(dense, &stored, values(array)?.len(), flat)?;
    });
    Ok(dense)
}

fn put<T: Element>(
    dense: &mut [T],
    stored: &Elements<'_>,
    count: usize,
    flat: impl Fn(usize) -> usize,
) -> Result<(), String> {
    for n in 0..count {
        let value = T::from_scalar(stored.at(n)).ok_or("values of another dtype")?;
        *dense.get_mut(flat(n)).ok_or("a place that is outside")? = value;
    }
    Ok(())
}

/// A vector of these elements.
pub fn list<T: Element>(elements: Vec<T>) -> Array {
    T::wrap(ArcArray::from(elements).into_dyn())
}

/// An empty list with capacity `len`; the error says that memory is exhausted.
pub fn reserved<T>(len: usize) -> Result<Vec<T>, String> {
    let mut list = Vec::new();
    list.try_reserve_exact(len).map_err(|_| format!("there is no memory for {len} places"))?;
    Ok(list)
}

/// The style that an attribute names.
pub fn style(attrs: &rewright::Attrs) -> Result<Style, String> {
    Style::named(Name::new(attrs.str("style").unwrap_or("dense")))
}

const LARGE: &str = "it is too large";
