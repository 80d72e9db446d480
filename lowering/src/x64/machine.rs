//! The machine code of a kernel before registers are chosen: instructions over virtual registers, in straight lines.

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
    /// The narrowest register that holds so many bytes.
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

/// What kind of register a value needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A vector register.
    Vector(Width),
    /// An AVX-512 mask register.
    Mask,
}

/// Where a value can be had from, besides the instruction that computes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere.
    Computed,
    /// A constant: so far into the constant pool. `element` is the size of the element there that all lanes repeat, or 0 if all lanes are
    /// there.
    Pool { offset: u32, element: u8 },
    /// A value of a loop further outside: its place in the frame.
    Home(u32),
    /// What the segment is given: the n-th place of its [`Binding`](super::allocate::Binding).
    Input(u32),
}

/// What is known of a virtual register.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    pub class: Class,
    pub origin: Origin,
    /// Where in the frame to put it as soon as it is computed, for loops further inside.
    pub home: Option<u32>,
}

/// What an instruction's destination overwrites.
#[derive(Clone, Copy, Debug)]
pub enum Over {
    /// Nothing: it is a register by itself.
    Nothing,
    /// The first source.
    First,
    /// Any of the sources, for there is a form for each.
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
    /// After the last source: the row's elements in memory.
    pub row: Option<u32>,
    pub imm: Option<u8>,
    /// What the destination overwrites.
    pub over: Over,
    /// True if the last source may be in memory.
    pub folds: bool,
    /// True if all registers are taken at the width of the instruction, and not at that of their values.
    pub same_width: bool,
    /// Lanes that are not in this mask are zero, or, of instructions that choose by mask, the first source's.
    pub mask: Option<(V, bool)>,
}

/// What is the same in all lanes.
#[derive(Clone, Copy, Debug)]
pub enum Uniform {
    /// A parameter.
    Param(u32),
    /// A part of the current element of a row.
    Element(u32, Part),
    /// The counter of a loop.
    Counter(u32),
}

/// An instruction; some become several of the machine's.
#[derive(Clone, Debug)]
pub enum Inst {
    /// See there.
    Op(Op),
    /// The elements of a row at the points of the group; of a row of pairs one half of them, 0 or 1, each as many floats as there are lanes.
    Load { row: u32, half: usize, dst: V },
    /// Writes the elements of a row at the points of the group, or one half of them.
    Store { row: u32, half: usize, src: V },
    /// One element in all lanes.
    Broadcast { from: Uniform, size: usize, dst: V },
    /// The index of the group's first point along the innermost axis, in all lanes.
    First { dst: V },
    /// Calls a function for each lane, or for the first one if all are the same.
    Call(Call),
    /// Of each eight bytes the sum, in a lane of 8 bytes; of the last points of a row those that there are. `zero` is 0 in all lanes.
    SumBytes { src: V, zero: V, dst: V },
    /// Puts a value of lanes of so many bytes, or a mask, to the n-th place that the segment is told to. All lanes of size 0 are of points.
    Output { number: u32, src: V, size: usize },
}

/// A call of a [`Helper`](super::helpers::Helper).
#[derive(Clone, Debug)]
pub struct Call {
    /// Its address.
    pub helper: usize,
    /// What it is given besides operands.
    pub site: usize,
    pub args: SmallVec<[V; 2]>,
    /// Where the call is for some lanes only.
    pub unless: Option<Unless>,
    pub dst: V,
    /// Bytes of an element of the result.
    pub size: usize,
}

/// Of a call for some lanes: bits or lanes, those that are set being called for, and the result in the other ones.
#[derive(Clone, Copy, Debug)]
pub struct Unless {
    pub guard: V,
    pub otherwise: V,
}

impl Call {
    /// What it reads.
    pub fn uses(&self) -> SmallVec<[V; 4]> {
        let unless = self.unless.iter().flat_map(|unless| [unless.guard, unless.otherwise]);
        self.args.iter().copied().chain(unless).collect()
    }
}

/// Straight-line code: what one level of a kernel computes.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// The instructions, each with the number of the kernel's instruction that it belongs to.
    pub insts: Vec<(Inst, u32)>,
    /// The virtual registers.
    pub infos: Vec<Info>,
}

impl Segment {
    /// Another virtual register.
    pub fn fresh(&mut self, class: Class, origin: Origin) -> V {
        self.infos.push(Info { class, origin, home: None });
        V(self.infos.len() as u32 - 1)
    }
    /// What is known of a virtual register.
    pub fn info(&self, v: V) -> &Info {
        &self.infos[v.0 as usize]
    }
    /// True if some instruction calls out of the code.
    pub fn calls(&self) -> bool {
        self.insts.iter().any(|(inst, _)| matches!(inst, Inst::Call(_)))
    }
    /// True if some instruction leaves no register as it was.
    pub fn clobbers(&self) -> bool {
        self.insts.iter().any(|(inst, _)| matches!(inst, Inst::Call(Call { unless: None, .. })))
    }
}

impl Inst {
    /// What it reads.
    pub fn uses(&self) -> SmallVec<[V; 4]> {
        match self {
            Inst::Op(op) => op.srcs.iter().copied().chain(op.mask.map(|(mask, _)| mask)).collect(),
            Inst::Store { src, .. } | Inst::Output { src, .. } => SmallVec::from_slice(&[*src]),
            Inst::Call(call) => call.uses(),
            Inst::SumBytes { src, zero, .. } => SmallVec::from_slice(&[*src, *zero]),
            Inst::Load { .. } | Inst::Broadcast { .. } | Inst::First { .. } => SmallVec::new(),
        }
    }
    /// The same with other values.
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
    /// What it computes.
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
