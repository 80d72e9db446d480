//! Numbers of values: values with the same number always hold the same where both are defined.

use super::super::cse::{Key, VersionedValue};
use crate::prelude::*;
use rewright_ir::{InstData, ValueDef};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Rounds with changes after which block parameters count as different from each other.
const ROUNDS: usize = 12;

/// The number of stored-to values that are told apart. If there are more, some share a slot and thereby
/// their stores.
const SLOTS: usize = 16;

/// For each value the first one of its congruence class; none for values that equal no other.
pub struct Numbers(FxHashMap<Value, Value>);

impl Numbers {
    pub fn of(cx: &MatchCx<'_>) -> Numbers {
        let mut numbering = Numbering::new(cx);
        for _ in 0..ROUNDS {
            if !numbering.round(true) {
                return Numbers(numbering.number);
            }
        }
        let mut numbering = Numbering::new(cx);
        numbering.round(false);
        Numbers(numbering.number)
    }

    pub fn get(&self, value: Value) -> Value {
        self.0.get(&value).copied().unwrap_or(value)
    }
}

/// An event that changes the content of values that are stored to.
#[derive(PartialEq, Eq, Hash)]
enum ContentEvent {
    /// An instruction that stores.
    Write(Inst),
    /// Paths with different contents meet at a block.
    Meet(Block, usize),
}

/// The current content of the values of each slot.
type Contents = SmallVec<[u64; SLOTS]>;

/// A block parameter, as the operands that the branches to its block pass for it.
type Phi = (Block, SmallVec<[VersionedValue; 2]>);

struct Numbering<'a> {
    cx: MatchCx<'a>,
    number: FxHashMap<Value, Value>,
    /// The branches to each block from reachable blocks.
    branches: FxHashMap<Block, Vec<(Block, &'a InstData, usize)>>,
    /// The slots of the values that are stored to.
    slots: FxHashMap<Value, usize>,
    events: FxHashMap<ContentEvent, u64>,
    /// The contents at the ends of blocks.
    ends: FxHashMap<Block, Contents>,
}

impl<'a> Numbering<'a> {
    fn new(cx: &MatchCx<'a>) -> Self {
        let func = cx.func();
        let mut branches: FxHashMap<Block, Vec<(Block, &InstData, usize)>> = FxHashMap::default();
        let mut slots: FxHashMap<Value, usize> = FxHashMap::default();
        for &block in cx.dominators().reverse_postorder() {
            for inst in func.insts(block) {
                for value in cx.effects(inst).writes {
                    let next = slots.len();
                    slots.entry(value).or_insert(next);
                }
            }
            let Some(end) = func.terminator(block).map(|end| func.inst(end)) else { continue };
            for (way, target) in end.targets.iter().enumerate() {
                branches.entry(target.block).or_default().push((block, end, way));
            }
        }
        slots.values_mut().for_each(|slot| *slot %= SLOTS);
        Numbering {
            cx: *cx,
            number: FxHashMap::default(),
            branches,
            slots,
            events: FxHashMap::default(),
            ends: FxHashMap::default(),
        }
    }

    /// Numbers all values once. True if a number has changed.
    fn round(&mut self, optimistic: bool) -> bool {
        let func = self.cx.func();
        let mut changed = false;
        let mut table: FxHashMap<Key<'a>, Inst> = FxHashMap::default();
        let mut phis: FxHashMap<Phi, Value> = FxHashMap::default();
        for &block in self.cx.dominators().reverse_postorder() {
            let mut contents = self.contents_at(block, optimistic);
            for (index, &param) in func.block_params(block).iter().enumerate() {
                let first = match optimistic && func.entry() != Some(block) && !self.cx.is_written(param) {
                    true => *phis.entry(self.phi(block, index)).or_insert(param),
                    false => param,
                };
                changed |= self.number.insert(param, first) != Some(first);
            }
            for inst in func.insts(block) {
                changed |= self.inst(inst, &mut contents, &mut table);
            }
            changed |= self.ends.insert(block, contents.clone()).is_none_or(|before| before != contents);
        }
        changed
    }

    fn inst(&mut self, inst: Inst, contents: &mut Contents, table: &mut FxHashMap<Key<'a>, Inst>) -> bool {
        let data = self.cx.func().inst(inst);
        if !data.op.effects.is_empty() {
            for value in self.cx.effects(inst).writes {
                let event = self.event(ContentEvent::Write(inst));
                self.slots.get(&value).into_iter().for_each(|&slot| contents[slot] = event);
            }
        }
        // A result that is stored to has its own number.
        let shared = self.cx.is_pure(inst) && !data.results.iter().any(|&r| self.cx.is_written(r));
        let first = match shared {
            true => {
                let operands = data.args.iter().map(|&v| self.operand(v, contents)).collect();
                *table.entry(Key::of(data, operands)).or_insert(inst)
            }
            false => inst,
        };
        let firsts = &self.cx.func().inst(first).results;
        let mut changed = false;
        for (&result, &first) in data.results.iter().zip(firsts) {
            changed |= self.number.insert(result, first) != Some(first);
        }
        changed
    }

    fn event(&mut self, event: ContentEvent) -> u64 {
        let next = self.events.len() as u64 + 2;
        *self.events.entry(event).or_insert(next)
    }

    /// The number of an operand, with the content of its slot. A value without a number equals anything.
    fn operand(&self, value: Value, contents: &[u64]) -> VersionedValue {
        let number = match self.cx.func().def(value) {
            ValueDef::Const(_) => value,
            _ => self.number.get(&value).copied().unwrap_or_default(),
        };
        (number, self.slots.get(&value).map_or(0, |&slot| contents[slot]))
    }

    fn phi(&self, block: Block, index: usize) -> Phi {
        let args = self.branches.get(&block).into_iter().flatten().map(|(from, end, way)| {
            let arg = end.targets[*way].args[index];
            match self.ends.get(from) {
                Some(contents) => self.operand(arg, contents),
                // A branch that has not been visited passes a value without a number.
                None => VersionedValue::default(),
            }
        });
        (block, args.collect())
    }

    /// The contents at the start of a block: those on which all paths agree, or new ones.
    fn contents_at(&mut self, block: Block, optimistic: bool) -> Contents {
        if self.cx.func().entry() == Some(block) {
            return SmallVec::from_elem(1, self.slots.len().min(SLOTS));
        }
        let agreed = self.agreed(block, optimistic);
        let new = |(slot, agreed): (usize, Option<u64>)| {
            agreed.unwrap_or_else(|| self.event(ContentEvent::Meet(block, slot)))
        };
        agreed.into_iter().enumerate().map(new).collect()
    }

    /// For each slot, the content on which all paths to a block agree.
    fn agreed(&self, block: Block, optimistic: bool) -> SmallVec<[Option<u64>; SLOTS]> {
        let ways = self.branches.get(&block).map_or(&[][..], Vec::as_slice);
        let known: SmallVec<[&Contents; 4]> = ways.iter().filter_map(|(from, ..)| self.ends.get(from)).collect();
        let all = optimistic || known.len() == ways.len();
        let agreed = |slot: usize| {
            let (first, rest) = known.split_first()?;
            (all && rest.iter().all(|c| c[slot] == first[slot])).then(|| first[slot])
        };
        (0..self.slots.len().min(SLOTS)).map(agreed).collect()
    }
}
