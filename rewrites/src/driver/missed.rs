//! Reasons of rewrites for not matching, as long as they hold.

use super::plan::Id;
use super::turn::Place;
use crate::rewrite::NoMatch;
use rewright_ir::{Function, Loc};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The last reason of each rewrite at each place, if it gave one.
#[derive(Default)]
pub(super) struct MissedMatches {
    found: FxHashMap<Place, SmallVec<[MissedMatch; 1]>>,
    next: u64,
}

struct MissedMatch {
    id: Id,
    order: u64,
    why: NoMatch,
}

impl MissedMatches {
    /// Records that a rewrite did not match at a place, with its reason if it gave one.
    pub fn note(&mut self, id: Id, place: Place, reason: Option<NoMatch>) {
        self.forget(place, |other| other == id);
        if let Some(why) = reason.filter(|why| !why.reasons().is_empty()) {
            self.next += 1;
            self.found.entry(place).or_default().push(MissedMatch { id, order: self.next, why });
        }
    }

    /// Forgets the reasons of some rewrites at a place, which will be tried again.
    pub fn forget(&mut self, place: Place, which: impl Fn(Id) -> bool) {
        if !self.found.is_empty()
            && let Some(list) = self.found.get_mut(&place)
        {
            list.retain(|missed| !which(missed.id));
        }
    }

    /// The reasons at existing places, without duplicates, by source location and then in the order in which
    /// they were given.
    pub fn finish(self, func: &Function) -> Vec<(Id, Loc, String)> {
        let still = |place: Place| match place {
            Place::Inst(inst) => func.is_linked(inst),
            Place::Block(block) => func.has_block(block),
        };
        let places = self.found.into_iter().filter(|(place, _)| still(*place));
        let mut list: Vec<(Place, MissedMatch)> =
            places.flat_map(|(place, list)| list.into_iter().map(move |missed| (place, missed))).collect();
        list.sort_by_key(|(_, missed)| missed.order);
        let mut all: Vec<(Id, Loc, String)> = Vec::new();
        for (place, MissedMatch { id, why, .. }) in list {
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
