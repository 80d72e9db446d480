//! The machine IR of a kernel before register allocation: straight-line instructions on virtual registers.

use super::codes::Form;
use super::multiply_add::MultiplyAdd;
use crate::kernel::Part;
use smallvec::SmallVec;

/// The width of a vector register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// 128 bits.
    X,
    /// 256 bits.
    Y,
    /// 512 bits.
    Z,
}

impl Width {
    /// The narrowest register that holds this number of bytes.
    pub fn of(bytes: usize) -> Width {
        match bytes {
            0..=16 => Width::X,
            17..=32 => Width::Y,
            _ => Width::Z,
        }
    }
    /// Bytes of a register.
    pub fn bytes(self) -> usize {
        16 << self as usize
    }
}

/// A virtual register of a [`Segment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct V(pub u32);

/// The register class of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A vector register.
    Vector(Width),
    /// An AVX-512 mask register.
    Mask,
}

/// The source of a value that no instruction of the segment computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// None: an instruction computes the value.
    Computed,
    /// A constant, by its offset in the constant pool. `element` is the size of the element there that is
    /// broadcast to all lanes, or 0 if all lanes are there.
    Pool { offset: u32, element: u8 },
    /// A value of an outer loop, by its frame offset.
    Home(u32),
    /// An input of the segment: the n-th one of its [`Binding`](super::binding::Binding).
    Input(u32),
}

/// The properties of a virtual register.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    pub class: Class,
    pub origin: Origin,
    /// The frame offset at which the value is stored as soon as it is computed, for inner loops.
    pub home: Option<u32>,
}

/// The operand that an instruction's destination overwrites.
#[derive(Clone, Copy, Debug)]
pub enum Over {
    /// None: the destination is a separate register.
    Nothing,
    /// The first source.
    First,
    /// Any of the sources; there is a form for each.
    Any(&'static MultiplyAdd),
}

/// A vector or mask instruction.
#[derive(Clone, Debug)]
pub struct Op {
    pub form: &'static Form,
    pub width: Width,
    pub dst: V,
    /// In the order of the instruction.
    pub srcs: SmallVec<[V; 3]>,
    /// A memory operand after the last source: the elements of this row.
    pub row: Option<u32>,
    pub imm: Option<u8>,
    /// The operand that the destination overwrites.
    pub over: Over,
    /// True if the last source may be a memory operand.
    pub folds: bool,
    /// True if all registers have the width of the instruction instead of the widths of their values.
    pub same_width: bool,
    /// The mask, and whether it zeroes the lanes outside of it. Otherwise these lanes keep the overwritten
    /// operand, or in blends take the first source.
    pub mask: Option<(V, bool)>,
}

/// A value that is equal in all lanes.
#[derive(Clone, Copy, Debug)]
pub enum Uniform {
    /// A parameter.
    Param(u32),
    /// A part of the current element of a row.
    Element(u32, Part),
    /// The counter of a loop.
    Counter(u32),
}

/// An instruction; some become several machine instructions.
#[derive(Clone, Debug)]
pub enum Inst {
    /// A vector or mask instruction.
    Op(Op),
    /// Loads the elements of a row at the points of the group: if they have several parts, the vector of this
    /// number in memory.
    Load { row: u32, nth: usize, dst: V },
    /// Stores the elements of a row at the points of the group, or one vector of them.
    Store { row: u32, nth: usize, src: V },
    /// Broadcasts one element to all lanes.
    Broadcast { from: Uniform, size: usize, dst: V },
    /// Broadcasts the index of the group's first point along the innermost axis.
    First { dst: V },
    /// Calls a function for each lane, or once if all lanes are equal.
    Call(Call),
    /// Sums each eight bytes to a lane of 8 bytes; in a masked group, those of the points that exist. `zero`
    /// is 0 in all lanes.
    SumBytes { src: V, zero: V, dst: V },
    /// Moves a value with lanes of `size` bytes, or a mask, to the n-th output of the segment. Size 0
    /// exempts the output from merging under the mask: none of its lanes belongs to a single point.
    Output { number: u32, src: V, size: usize },
}

/// A call of a [`Helper`](super::helpers::Helper).
#[derive(Clone, Debug)]
pub struct Call {
    /// The address of the helper.
    pub helper: usize,
    /// The argument that it is given besides operands.
    pub site: usize,
    pub args: SmallVec<[V; 2]>,
    /// The guard of a call for some lanes only.
    pub unless: Option<Unless>,
    pub dst: V,
    /// Bytes of an element of the result.
    pub size: usize,
}

/// The guard of a call for some lanes: bits or flags that are set in the lanes of the call, and the result
/// in the other lanes.
#[derive(Clone, Copy, Debug)]
pub struct Unless {
    pub guard: V,
    pub otherwise: V,
}

impl Call {
    /// The registers that the call reads.
    pub fn uses(&self) -> SmallVec<[V; 4]> {
        let unless = self.unless.iter().flat_map(|unless| [unless.guard, unless.otherwise]);
        self.args.iter().copied().chain(unless).collect()
    }
}

/// Straight-line code: the computation of one level of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// The instructions, each with the number of the kernel's instruction that it implements.
    pub insts: Vec<(Inst, u32)>,
    /// The virtual registers.
    pub infos: Vec<Info>,
}

impl Segment {
    /// Makes a virtual register.
    pub fn fresh(&mut self, class: Class, origin: Origin) -> V {
        self.infos.push(Info { class, origin, home: None });
        V(self.infos.len() as u32 - 1)
    }
    /// The properties of a virtual register.
    pub fn info(&self, v: V) -> &Info {
        &self.infos[v.0 as usize]
    }
    /// True if an instruction calls a function.
    pub fn calls(&self) -> bool {
        self.insts.iter().any(|(inst, _)| matches!(inst, Inst::Call(_)))
    }
    /// True if an instruction clobbers all registers.
    pub fn clobbers(&self) -> bool {
        self.insts.iter().any(|(inst, _)| matches!(inst, Inst::Call(Call { unless: None, .. })))
    }
}

impl Inst {
    /// The registers that the instruction reads.
    pub fn uses(&self) -> SmallVec<[V; 4]> {
        match self {
            Inst::Op(op) => op.srcs.iter().copied().chain(op.mask.map(|(mask, _)| mask)).collect(),
            Inst::Store { src, .. } | Inst::Output { src, .. } => SmallVec::from_slice(&[*src]),
            Inst::Call(call) => call.uses(),
            Inst::SumBytes { src, zero, .. } => SmallVec::from_slice(&[*src, *zero]),
            Inst::Load { .. } | Inst::Broadcast { .. } | Inst::First { .. } => SmallVec::new(),
        }
    }
    /// The instruction with renamed registers.
    pub fn renamed(&self, name: impl Fn(V) -> V) -> Inst {
        let mut inst = self.clone();
        match &mut inst {
            Inst::Op(op) => {
                op.srcs.iter_mut().for_each(|v| *v = name(*v));
                op.mask.iter_mut().for_each(|(v, _)| *v = name(*v));
                op.dst = name(op.dst);
            }
            Inst::Load { dst, .. } | Inst::Broadcast { dst, .. } | Inst::First { dst } => *dst = name(*dst),
            Inst::Store { src, .. } | Inst::Output { src, .. } => *src = name(*src),
            Inst::Call(call) => {
                call.args.iter_mut().for_each(|v| *v = name(*v));
                if let Some(unless) = &mut call.unless {
                    *unless = Unless { guard: name(unless.guard), otherwise: name(unless.otherwise) };
                }
                call.dst = name(call.dst);
            }
            Inst::SumBytes { src, zero, dst } => (*src, *zero, *dst) = (name(*src), name(*zero), name(*dst)),
        }
        inst
    }
    /// The register that the instruction defines.
    pub fn def(&self) -> Option<V> {
        match self {
            Inst::Op(op) => Some(op.dst),
            Inst::Load { dst, .. } | Inst::Broadcast { dst, .. } | Inst::First { dst } => Some(*dst),
            Inst::Call(call) => Some(call.dst),
            Inst::SumBytes { dst, .. } => Some(*dst),
            Inst::Store { .. } | Inst::Output { .. } => None,
        }
    }
}
