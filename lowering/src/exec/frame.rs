//! Frames: the slots of one activation of a function. They are kept and used again, so that a call allocates none.

use super::buffers::Buffers;
use super::out::{OutPlace, ViewMut};
use super::plan::{DimCheck, FuncPlan};
use super::replay::Again;
use super::value::Held;
use rewright_ir::{Name, Value};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, MutexGuard};

/// The slots and symbols of one activation.
#[derive(Debug, Default)]
pub struct Frame {
    /// One a slot of the plan.
    pub slots: Vec<Held>,
    /// What each symbol is bound to, and by which value.
    pub symbols: Vec<Option<(u64, Option<Value>)>>,
    /// What the function returned.
    pub results: Vec<Held>,
    /// For each parameter, whether it was stored to.
    pub stored: Vec<bool>,
    /// For each result, where the caller wants it; empty if the caller wants new arrays.
    pub into: Vec<OutPlace>,
    /// Memory for the elements of arrays; the machine's while it runs.
    pub buffers: Buffers,
    /// How the latest calls looked, and what calls like them do.
    pub again: Again,
}

// SAFETY: the pointers that keep this from being `Send` are those of lent elements and of results' places, which `clear` drops
// before a frame goes back to its pool; nothing else moves frames between threads.
unsafe impl Send for Frame {}

impl Frame {
    /// One in which nothing but the constants is defined.
    pub fn new(plan: &FuncPlan) -> Frame {
        let mut slots = Vec::new();
        slots.resize_with(plan.slots as usize, Held::default);
        for &(slot, scalar) in &plan.constants {
            slots[slot.0 as usize] = Held::Scalar(scalar);
        }
        Frame {
            slots,
            symbols: vec![None; plan.symbols.len()],
            results: Vec::with_capacity(plan.results.len()),
            stored: vec![false; plan.params.len()],
            into: Vec::with_capacity(plan.results.len()),
            buffers: Buffers::default(),
            again: Again::default(),
        }
    }

    /// Empties it; the memory of arrays goes to `buffers`.
    pub fn clear(&mut self, buffers: &mut Buffers) {
        for slot in &mut self.slots {
            if slot.is_array() {
                std::mem::take(slot).recycle(buffers);
            }
        }
        self.symbols.fill(None);
        self.results.drain(..).for_each(|held| held.recycle(buffers));
        self.stored.fill(false);
        self.into.clear();
    }

    /// Gives back memory that is kept for later calls.
    pub fn trim(&mut self) {
        self.again = Again::default();
    }

    /// Takes places for results. Kernels write there if no argument and no other result has elements there.
    pub fn aim(&mut self, outs: &[ViewMut<'_>], plan: &FuncPlan) {
        self.into.extend(outs.iter().map(|out| out.place().clone()));
        for i in 0..self.into.len() {
            let place = &self.into[i];
            let args_apart = plan.params.iter().all(|p| place.is_apart(&self.slots[p.slot.0 as usize]));
            let others_apart = (0..self.into.len()).all(|j| i == j || place.is_apart_from(&self.into[j]));
            self.into[i].direct = args_apart && others_apart;
        }
    }

    /// Checks extents, and binds the symbols that are not bound yet to them: all of them, so that errors can tell each.
    pub fn admits(&mut self, dims: &[DimCheck], shape: &[usize], origin: Option<Value>) -> bool {
        let mut fit = dims.len() == shape.len();
        if fit {
            for (dim, &extent) in dims.iter().zip(shape) {
                fit &= match *dim {
                    DimCheck::Any => true,
                    DimCheck::Const(n) => n == extent as u64,
                    DimCheck::Symbol(s) => {
                        self.symbols[s as usize].get_or_insert((extent as u64, origin)).0 == extent as u64
                    }
                };
            }
        }
        fit
    }

    /// The bound symbols by name.
    pub fn symbols_by_name(&self, plan: &FuncPlan) -> FxHashMap<Name, u64> {
        let bound = plan.symbols.iter().zip(&self.symbols);
        bound.filter_map(|(&name, found)| Some((name, (*found)?.0))).collect()
    }
}

/// Every call takes a frame from its pool and gives it back, so it is not moved itself.
pub type Boxed = Box<Frame>;

/// The frames of one function that are not in use.
#[derive(Debug, Default)]
pub struct Pool(Mutex<Vec<Boxed>>);

impl Pool {
    /// A frame in which nothing but the constants is defined.
    pub fn take(&self, plan: &FuncPlan) -> Boxed {
        let kept = self.frames().pop();
        kept.unwrap_or_else(|| Box::new(Frame::new(plan)))
    }

    /// Takes a cleared frame back.
    pub fn give_back(&self, frame: Boxed) {
        self.frames().push(frame);
    }

    /// The frames that are not in use.
    pub fn frames(&self) -> MutexGuard<'_, Vec<Boxed>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}
