//! Interfaces of styles that say at run time where their elements are, as sparse arrays do: a *pattern* of
//! places, and one value for each.
//!
//! Functions of such arrays that make zero of zeros are computed in three steps
//! ([`stored_elements`](crate::stored_elements)): the patterns of the operands are put together, each
//! operand's values are laid out along the places, with zeros where it stores none, and then one kernel
//! goes along all of them.

use crate::merge::in_order;
use crate::terms::Terms;
use rewright::ir::{Elements, EvalCx, EvalError, Style, Styled};
use rewright::ndarray::ArcArray;
use rewright::{Array, Datum, Dim, Element, Name, Scalar, Type, with_array};
use std::borrow::Cow;

/// Interface of a storage style: what is done with patterns. The last component holds the values, the
/// others say where they are.
pub struct Pattern {
    /// The places that all arrays of one of these terms have, and the values of all arrays there; all
    /// arrays have the same extents.
    pub united: fn(&EvalCx<'_>, &[&Styled], &Terms) -> Result<United, String>,
    /// For each axis, the positions of the values, in their order.
    pub places: fn(&Styled) -> Result<Vec<Positions>, String>,
    /// The components that say these places, of an array of these extents.
    pub at: fn(&[usize], &[Positions]) -> Result<Ordered, String>,
}

/// The positions of some places along one axis.
pub type Positions = Vec<i64>;

/// Interface of a storage style: the places of an array where it may have something else than zero, in any
/// order, each once.
pub struct Nonzeros(pub fn(&Styled) -> Vec<Positions>);

/// Interface of a storage style with a pattern: the style that says where an array of a type is zero when it
/// is broadcast to longer or more axes, if there is one. That style has a pattern, too.
pub struct Stretches(pub fn(&Type, &[Dim]) -> Option<&'static str>);

/// An array that is broadcast to a shape, in the style of such arrays: each stored value stands along all of
/// the axes that are stretched.
///
/// # Errors
///
/// The shape is not one that the array broadcasts to, or there is no memory for all places.
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
    // The copies of a value between two positions of an axis.
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

/// Places of some arrays together.
pub struct United {
    /// The components that say them.
    pub components: Vec<Array>,
    /// For each array its values at these places, zero where it has none.
    pub values: Vec<Array>,
}

/// Places in a style's own order.
pub struct Ordered {
    /// The components that say them.
    pub components: Vec<Array>,
    /// Which of the given places comes first, and so on; nothing if the order is that one.
    pub order: Option<Vec<usize>>,
}

/// The pattern of a style; the error says that it has none.
pub fn of(style: Style) -> Result<&'static Pattern, String> {
    style.def().interface::<Pattern>().ok_or_else(|| format!("`{style}` has no pattern of places"))
}

/// The elements of an operand in a style with a pattern. No element is looked at where the operand's own
/// style says where it is zero.
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

/// An array that may have something else than zero at these places.
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

/// True if all values that an array stores are numbers and not infinite.
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

/// True if all elements have a property: of some at a time, by vector instructions.
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

/// The array with those of its values that are not zero.
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

/// A dense array of copies of a number, with an array's values among them.
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
