//! Frames: the slots of one activation of a function. They are pooled, so that a call allocates none.

use super::buffers::Buffers;
use super::out::{OutPlace, ViewMut};
use super::plan::{DimCheck, FuncPlan};
use super::replay::ReplayCache;
use super::value::Held;
use rewright_ir::{Name, Value};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// The slots and symbols of one activation.
#[derive(Debug, Default)]
pub struct Frame {
    /// The values, by slot of the plan.
    pub slots: Vec<Held>,
    /// The extent that each symbol is bound to, and the value that bound it.
    pub symbols: Vec<Option<(u64, Option<Value>)>>,
    /// The results of the function.
    pub results: Vec<Held>,
    /// For each parameter, whether it was stored to.
    pub stored: Vec<bool>,
    /// For each result, the place that the caller gave; empty if the caller wants new arrays.
    pub into: Vec<OutPlace>,
    /// Memory for the elements of arrays. The machine owns it while it runs.
    pub buffers: Buffers,
    /// The replay cache: signatures of recent calls, and their recorded steps.
    pub replays: ReplayCache,
}

// SAFETY: the pointers that keep this from being `Send` are those of lent elements and of results' places.
// `clear` drops them before a frame goes back to its pool, and frames move between threads only through
// pools.
unsafe impl Send for Frame {}

impl Frame {
    /// A frame in which only the constants are defined.
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
            replays: ReplayCache::default(),
        }
    }

    /// Empties the frame. The memory of its arrays goes to `buffers`.
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

    /// Frees the memory that is kept for later calls.
    pub fn trim(&mut self) {
        self.replays = ReplayCache::default();
    }

    /// Sets the places of results. A place is direct, so that kernels write to it, if no argument and no
    /// other result aliases it.
    pub fn aim(&mut self, outs: &[ViewMut<'_>], plan: &FuncPlan) {
        self.into.extend(outs.iter().map(|out| out.place().clone()));
        for i in 0..self.into.len() {
            let place = &self.into[i];
            let args_apart = plan.params.iter().all(|p| place.is_apart(&self.slots[p.slot.0 as usize]));
            let others_apart = (0..self.into.len()).all(|j| i == j || place.is_apart_from(&self.into[j]));
            self.into[i].direct = args_apart && others_apart;
        }
    }

    /// Checks extents against the type, and binds unbound symbols. It binds all of them even after a
    /// mismatch, for the error message.
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

/// A boxed frame: each call takes a frame from its pool and gives it back, and moves only the pointer.
pub type Boxed = Box<Frame>;

/// The unused frames of one function.
#[derive(Debug, Default)]
pub struct Pool {
    /// The frame of calls from one thread. A replayed call uses it in its place: to take it and give it back
    /// would lock twice. No thread waits for it.
    first: Mutex<Option<Boxed>>,
    others: Mutex<Vec<Boxed>>,
}

impl Pool {
    /// A frame in which only the constants are defined.
    pub fn take(&self, plan: &FuncPlan) -> Boxed {
        let first = self.first().and_then(|mut first| first.take());
        let kept = first.or_else(|| self.others().pop());
        kept.unwrap_or_else(|| Box::new(Frame::new(plan)))
    }

    /// Returns a cleared frame to the pool.
    pub fn give_back(&self, frame: Boxed) {
        match self.first() {
            Some(mut first) if first.is_none() => *first = Some(frame),
            _ => self.others().push(frame),
        }
    }

    /// Calls `f` with an unused frame, if there is one.
    #[inline]
    pub fn with_used<T>(&self, f: impl FnOnce(&mut Frame) -> T) -> Option<T> {
        if let Some(mut first) = self.first()
            && let Some(frame) = &mut *first
        {
            return Some(f(frame));
        }
        let mut frame = self.others().pop()?;
        let result = f(&mut frame);
        self.give_back(frame);
        Some(result)
    }

    /// Calls `f` with each unused frame.
    pub fn each(&self, mut f: impl FnMut(&mut Frame)) {
        self.first().iter_mut().filter_map(|first| first.as_mut()).for_each(|frame| f(frame));
        self.others().iter_mut().for_each(|frame| f(frame));
    }

    /// The first frame, if no call uses it. A call that panicked loses it.
    #[inline]
    fn first(&self) -> Option<MutexGuard<'_, Option<Boxed>>> {
        match self.first.try_lock() {
            Ok(first) => Some(first),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(broken)) => {
                let mut first = broken.into_inner();
                *first = None;
                self.first.clear_poison();
                Some(first)
            }
        }
    }

    fn others(&self) -> MutexGuard<'_, Vec<Boxed>> {
        self.others.lock().unwrap_or_else(|e| e.into_inner())
    }
}
