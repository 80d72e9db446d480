//! Keys of the kernel cache: the structure of an operation.

use super::operation::{Kind, Operation};
use super::reading::{Access, Element, Reading};
use super::space::Space;
use rewright::{Attr, Attrs, DType, Op, Scalar};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// The structure for which a kernel is compiled. It contains no extents and no values.
#[derive(Clone, PartialEq)]
pub struct Key {
    op: Op,
    words: SmallVec<[u16; 40]>,
    attrs: Attrs,
}

// Attributes hold floats, which compare by their bits.
impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.op.0).hash(state);
        self.words.hash(state);
        for (name, attr) in self.attrs.iter() {
            name.as_str().as_ptr().hash(state);
            match attr {
                Attr::Int(n) => n.hash(state),
                Attr::Ints(list) => list.hash(state),
                Attr::Slices(list) => list.hash(state),
                Attr::Dims(list) => list.hash(state),
                Attr::DType(dtype) => dtype.hash(state),
                // Equality still distinguishes them.
                _ => {}
            }
        }
    }
}

/// The end of a list.
const END: u16 = u16::MAX;

impl Key {
    /// The key of an operation.
    pub fn of(operation: &Operation<'_>, readings: &[Reading<'_>], space: &Space) -> Key {
        let mut key = Key { op: operation.op, words: SmallVec::new(), attrs: Attrs::new() };
        match &operation.kind {
            Kind::Given(attrs) => {
                key.words.push(0);
                key.attrs = (*attrs).clone();
            }
            Kind::Cast(to) => key.words.extend([1, *to as u16]),
            Kind::Reduction(axes) => {
                key.words.extend([2, u16::from(axes.keep)]);
                key.axes(axes.list.as_deref());
            }
            Kind::Mean(axes, dtype) => {
                key.words.extend([3, u16::from(axes.keep), *dtype as u16]);
                key.axes(axes.list.as_deref());
            }
            Kind::Product { contract, batch } => {
                key.words.extend([4, contract[0] as u16, contract[1] as u16, *batch as u16]);
            }
        }
        for (operand, reading) in readings.iter().enumerate() {
            key.reading(reading, space.axes(operand));
        }
        key.words.extend(space.unbound().map(|(number, _)| number));
        key
    }

    fn axes(&mut self, list: Option<&[i64]>) {
        self.words.push(u16::from(list.is_some()));
        list.unwrap_or(&[]).iter().for_each(|&axis| self.number(axis as u64));
        self.words.push(END);
    }

    fn reading(&mut self, reading: &Reading<'_>, axes: &[u16]) {
        let head = |tag: u16, dtype: DType| tag << 8 | dtype as u16;
        match &reading.access {
            Access::Scalar(scalar) => self.words.push(head(0, scalar.dtype())),
            Access::Constant(scalar) => {
                self.words.push(head(1, scalar.dtype()));
                self.bits(*scalar);
            }
            Access::Memory(_) => {
                self.words.push(head(2, reading.dtype));
                self.words.extend_from_slice(axes);
            }
            Access::Full(_) => {
                self.words.push(head(3, reading.dtype));
                self.words.extend_from_slice(axes);
            }
            Access::Line { element, steps, .. } => {
                let tag = match element {
                    Element::Number => 4,
                    Element::IsZero => 5,
                    Element::IsNotPositive => 6,
                };
                self.words.push(head(tag, reading.dtype));
                let axis = |(&number, &step): (&u16, &i64)| number << 2 | StepClass::of(step) as u16;
                self.words.extend(axes.iter().zip(steps).map(axis));
            }
        }
        self.words.push(END);
    }

    fn bits(&mut self, scalar: Scalar) {
        let (low, high) = scalar.bits();
        self.number(low);
        self.number(high);
    }

    fn number(&mut self, number: u64) {
        self.words.extend((0..4).map(|n| (number >> (16 * n)) as u16));
    }
}

/// The class of the step of a constructor along an axis. Only the last class is a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepClass {
    Still,
    Forward,
    Backward,
    Other,
}

impl StepClass {
    /// The class of a step.
    pub fn of(step: i64) -> StepClass {
        match step {
            0 => StepClass::Still,
            1 => StepClass::Forward,
            -1 => StepClass::Backward,
            _ => StepClass::Other,
        }
    }
}
