//! Lays out the values of arrays along the merged places of two lists, while these are merged.

use super::along::{Along, NONE, either};
use super::side_by_side::{Column, Piece, Sink, lengthen};
use rewright::ir::eval::{Memory, reserve};
use rewright::ndarray::{ArcArray, IxDyn};
use rewright::{Array, Element, with_array};
use std::borrow::Cow;
use std::hint::black_box;

/// The number of an array's value at each place of one of the two lists.
enum Numbers {
    /// The array has no values there.
    None,
    /// The number of the place itself.
    Same,
    /// The number that this list has for the place.
    Listed(Vec<u32>),
}

impl Numbers {
    fn of(along: Option<&Along>) -> Numbers {
        match along {
            None => Numbers::None,
            Some(Along::All) => Numbers::Same,
            Some(other) => Numbers::Listed(other.numbers().into_owned()),
        }
    }

    /// The number of the value at a place of the list, or `NONE`.
    #[inline]
    fn at(&self, place: u32) -> u32 {
        match self {
            Numbers::None => NONE,
            Numbers::Same => place,
            Numbers::Listed(numbers) => match numbers.len().checked_sub(1) {
                Some(last) => *either(place == NONE, &NONE, &numbers[(place as usize).min(last)]),
                None => NONE,
            },
        }
    }
}

/// The values of one array that are laid out so far.
pub struct Laying<'v> {
    from: [Numbers; 2],
    values: Box<dyn Values + 'v>,
    /// The numbers of the values of a block.
    numbers: Vec<u32>,
}

impl<'v> Laying<'v> {
    /// Starts empty, with room for `most` places. `from` maps the places of each list to the array's
    /// values.
    pub fn new(
        values: &'v Array,
        from: [Option<&Along>; 2],
        most: usize,
        memory: Option<&dyn Memory>,
    ) -> Result<Laying<'v>, String> {
        let values: Box<dyn Values + 'v> = with_array!(values, |values| {
            let laid = reserve(memory, most).map_err(|error| error.message)?;
            Box::new(Laid { values: in_order(values), laid })
        });
        Ok(Laying { from: from.map(Numbers::of), values, numbers: Vec::new() })
    }

    /// Lays out values along a block of places. The arguments are the numbers of these places in each list,
    /// or `NONE`.
    pub fn block(&mut self, [a, b]: [&[u32]; 2]) {
        match &self.from {
            [Numbers::Same, Numbers::None] => self.values.lay(a),
            [Numbers::None, Numbers::Same] => self.values.lay(b),
            [in_a, in_b] => {
                self.numbers.clear();
                self.numbers.extend(a.iter().map(|&place| in_a.at(place)));
                if !matches!(in_b, Numbers::None) {
                    let by_b = self.numbers.iter_mut().zip(b).filter(|(number, _)| **number == NONE);
                    by_b.for_each(|(number, &place)| *number = in_b.at(place));
                }
                self.values.lay(&self.numbers);
            }
        }
    }

    /// The values at all places.
    pub fn finish(self) -> Array {
        self.values.finish()
    }
}

/// The values of one array of each list, both of one dtype, laid out as places are found.
pub struct Pair<'v, T: Clone> {
    values: [Cow<'v, [T]>; 2],
    laid: [Vec<T>; 2],
    /// How many places there are.
    count: usize,
}

impl<'v, T: Element + Default> Pair<'v, T> {
    /// Starts empty, with room for `most` places.
    pub fn new(
        values: [&'v ArcArray<T, IxDyn>; 2],
        most: usize,
        memory: Option<&dyn Memory>,
    ) -> Result<Pair<'v, T>, String> {
        // One more: a place that only one list has may be written, and then overwritten.
        let laid = || reserve(memory, most + 1).map_err(|error| error.message);
        Ok(Pair { values: values.map(in_order), laid: [laid()?, laid()?], count: 0 })
    }

    /// The values of both arrays at all places.
    pub fn finish(self) -> [Array; 2] {
        self.laid.map(|mut laid| {
            laid.truncate(self.count);
            T::wrap(ArcArray::from(laid).into_dyn())
        })
    }
}

/// The values of a piece.
pub struct PairPiece<'p, T> {
    zero: T,
    a: &'p [T],
    b: &'p [T],
    laid_a: &'p mut [T],
    laid_b: &'p mut [T],
}

impl<'v, T: Element + Default> Sink for Pair<'v, T> {
    type Piece<'p>
        = PairPiece<'p, T>
    where
        'v: 'p;
    #[inline]
    fn piece(&mut self, most: usize, a: Column<'_>, b: Column<'_>) -> PairPiece<'_, T> {
        let from = self.count;
        self.laid.iter_mut().for_each(|laid| lengthen(laid, from + most));
        let [laid_a, laid_b] = &mut self.laid;
        PairPiece {
            // Hides the zero from the compiler, which would otherwise turn the selection into a branch.
            zero: black_box(T::default()),
            a: a.of(&self.values[0]),
            b: b.of(&self.values[1]),
            laid_a: &mut laid_a[from..][..most],
            laid_b: &mut laid_b[from..][..most],
        }
    }
    #[inline]
    fn end(&mut self, count: usize) {
        self.count += count;
    }
}

impl<T: Copy> Piece for PairPiece<'_, T> {
    #[inline]
    fn put(&mut self, count: usize, i: usize, j: usize, is_a: bool, is_b: bool) {
        self.laid_a[count] = *either(is_a, &self.a[i], &self.zero);
        self.laid_b[count] = *either(is_b, &self.b[j], &self.zero);
    }
    #[inline]
    fn put_a(&mut self, count: usize, i: usize) {
        (self.laid_a[count], self.laid_b[count]) = (self.a[i], self.zero);
    }
    #[inline]
    fn put_b(&mut self, count: usize, j: usize) {
        (self.laid_a[count], self.laid_b[count]) = (self.zero, self.b[j]);
    }
}

/// Values of any dtype, laid out.
trait Values {
    /// Appends the values with these numbers, and zero for `NONE`.
    fn lay(&mut self, numbers: &[u32]);
    fn finish(self: Box<Self>) -> Array;
}

struct Laid<'v, T: Clone> {
    values: Cow<'v, [T]>,
    laid: Vec<T>,
}

impl<T: Element + Default> Values for Laid<'_, T> {
    fn lay(&mut self, numbers: &[u32]) {
        append(&mut self.laid, &self.values, numbers);
    }
    fn finish(self: Box<Self>) -> Array {
        T::wrap(ArcArray::from(self.laid).into_dyn())
    }
}

/// Appends the values with these numbers, and zero for `NONE`.
pub fn append<T: Copy + Default>(laid: &mut Vec<T>, values: &[T], numbers: &[u32]) {
    // Hides the zero from the compiler, which would otherwise turn the selection into a branch.
    let zero = black_box(T::default());
    let last = values.len().saturating_sub(1);
    let values = if values.is_empty() { &[zero][..] } else { values };
    laid.extend(numbers.iter().map(|&at| *either(at == NONE, &zero, &values[(at as usize).min(last)])));
}

/// Elements in row-major order.
pub fn in_order<T: Copy>(array: &ArcArray<T, IxDyn>) -> Cow<'_, [T]> {
    match array.as_slice() {
        Some(slice) => Cow::Borrowed(slice),
        None => Cow::Owned(array.iter().copied().collect()),
    }
}
