//! Reasons for not matching, as far as they still hold.

use super::plan::Id;
use super::turn::Place;
use crate::rewrite::NoMatch;
use rewright_ir::{Function, Loc};
use rustc_hash::FxHashMap;

/// The last answer of each rewrite at each place, where it gave a reason.
#[derive(Default)]
pub(super) struct MissedMatches {
    found: FxHashMap<(Id, Place), (u64, NoMatch)>,
    next: u64,
}

impl MissedMatches {
    /// A rewrite was asked about a place; `reason` is why not, if it said.
    pub fn note(&mut self, id: Id, place: Place, reason: Option<NoMatch>) {
        match reason {
            Some(why) if !why.reasons().is_empty() => {
                self.next += 1;
                self.found.insert((id, place), (self.next, why));
            }
            _ if self.found.is_empty() => {}
            _ => {
                self.found.remove(&(id, place));
            }
        }
    }

    /// Rewrites are asked about a place again.
    pub fn forget(&mut self, ids: impl Iterator<Item = Id>, place: Place) {
        if !self.found.is_empty() {
            ids.for_each(|id| drop(self.found.remove(&(id, place))));
        }
    }

    /// The reasons at places that are still there, each once, by place in the source and then in the order in which they were given.
    pub fn finish(self, func: &Function) -> Vec<(Id, Loc, String)> {
        let still = |place: Place| match place {
            Place::Inst(inst) => func.is_linked(inst),
            Place::Block(block) => func.has_block(block),
        };
        let mut list: Vec<_> = self.found.into_iter().filter(|((_, place), _)| still(*place)).collect();
        list.sort_by_key(|(_, (order, _))| *order);
        let mut all: Vec<(Id, Loc, String)> = Vec::new();
        for ((id, place), (_, why)) in list {
            let here = place.loc(func);
            for reason in why.reasons() {
                let loc = if reason.loc.is_none() { here } else { reason.loc };
                all.push((id, loc, reason.message.clone()));
            }
        }
        all.sort_by_key(|(_, loc, _)| (loc.line, loc.col));
        let mut seen = rustc_hash::FxHashSet::default();
        all.retain(|said| seen.insert(said.clone()));
        all
    }
}
