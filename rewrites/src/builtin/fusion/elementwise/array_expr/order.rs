//! Orders a block so that the members of each group are adjacent.

use super::plan::FusionPlan;
use rewright_ir::{Function, Inst, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// One unit of the block after fusion.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unit {
    /// An instruction that is not in a group.
    Inst(Inst),
    /// A group, by number.
    Group(usize),
}

/// Orders the units: each stands where its last instruction stood, or earlier if another unit needs it. Each
/// `del` stands after the last remaining use of its value, and is removed with its value.
pub fn order(func: &Function, plan: &FusionPlan) -> Vec<Unit> {
    let mut unit_of: FxHashMap<Inst, Unit> = FxHashMap::default();
    let mut last_of: Vec<Inst> = Vec::new();
    let mut gone: FxHashSet<Inst> = FxHashSet::default();
    for (number, group) in plan.groups.iter().enumerate() {
        unit_of.extend(group.members.iter().map(|m| (m.inst, Unit::Group(number))));
        last_of.extend(group.members.last().map(|m| m.inst));
        gone.extend(group.views.iter().copied());
    }
    let at: FxHashMap<Inst, u32> = plan.insts.iter().enumerate().map(|(at, &i)| (i, at as u32)).collect();
    let mut orderer = Orderer {
        func,
        plan,
        at,
        unit_of,
        gone,
        done: FxHashMap::default(),
        begun: FxHashSet::default(),
        order: Vec::new(),
    };
    let mut dels: Vec<(Inst, Value, usize)> = Vec::new();
    for (at, &inst) in plan.insts.iter().enumerate() {
        let unit = orderer.unit(inst);
        match (plan.effects.del(at as u32), unit) {
            (Some(value), _) => dels.push((inst, value, orderer.order.len())),
            _ if orderer.gone.contains(&inst) => {}
            (None, Unit::Group(number)) if last_of[number] != inst => {}
            _ => orderer.emit(unit),
        }
    }
    orderer.with_dels(dels)
}

struct Orderer<'a> {
    func: &'a Function,
    plan: &'a FusionPlan,
    at: FxHashMap<Inst, u32>,
    unit_of: FxHashMap<Inst, Unit>,
    gone: FxHashSet<Inst>,
    /// Emitted units, with their positions.
    done: FxHashMap<Unit, usize>,
    begun: FxHashSet<Unit>,
    order: Vec<Unit>,
}

impl Orderer<'_> {
    fn unit(&self, inst: Inst) -> Unit {
        self.unit_of.get(&inst).copied().unwrap_or(Unit::Inst(inst))
    }

    fn needs(&self, unit: Unit) -> Vec<Unit> {
        let mut found = Vec::new();
        let one;
        let insts: &mut dyn Iterator<Item = Inst> = match unit {
            Unit::Inst(inst) => {
                one = inst;
                &mut std::iter::once(one)
            }
            Unit::Group(number) => &mut self.plan.groups[number].members.iter().map(|m| m.inst),
        };
        for inst in insts {
            for value in self.func.inst(inst).uses() {
                self.definers(value, &mut found);
            }
            if let Some(&at) = self.at.get(&inst) {
                found.extend(self.plan.effects.after(at).iter().map(|&b| self.unit(self.plan.insts[b as usize])));
            }
        }
        found.retain(|u| *u != unit);
        found
    }

    /// The unit that defines a value in this block; for a view that is removed, the unit of the viewed value
    /// too.
    fn definers(&self, value: Value, found: &mut Vec<Unit>) {
        let mut value = value;
        while let Some(inst) = self.func.def_inst(value).filter(|i| self.at.contains_key(i)) {
            if !self.gone.contains(&inst) {
                found.push(self.unit(inst));
                return;
            }
            value = self.func.inst(inst).args[0];
        }
    }

    /// Emits a unit after all units that it depends on.
    fn emit(&mut self, unit: Unit) {
        let mut stack = vec![(unit, false)];
        while let Some((unit, ready)) = stack.pop() {
            if self.done.contains_key(&unit) {
                continue;
            }
            if ready {
                self.done.insert(unit, self.order.len());
                self.order.push(unit);
                continue;
            }
            // The plan's levels rule out cycles. If there were one, the order would be rejected, and the
            // search would still end.
            if !self.begun.insert(unit) {
                continue;
            }
            stack.push((unit, true));
            // Reversed, so that the first dependence is visited first.
            stack.extend(self.needs(unit).into_iter().rev().filter(|u| !self.done.contains_key(u)).map(|u| (u, false)));
        }
    }

    /// The order with each remaining `del` at its old position, or after the last user if that comes later.
    fn with_dels(self, dels: Vec<(Inst, Value, usize)>) -> Vec<Unit> {
        let mut at: Vec<Vec<Inst>> = vec![Vec::new(); self.order.len() + 1];
        for (del, value, old) in dels {
            if let Some(place) = self.place_of_del(del, value, old) {
                at[place].push(del);
            }
        }
        let units = self.order.iter().map(|&u| Some(u)).chain([None]);
        at.into_iter().zip(units).flat_map(|(dels, unit)| dels.into_iter().map(Unit::Inst).chain(unit)).collect()
    }

    /// The number of units before a `del`; `None` if its value no longer exists.
    fn place_of_del(&self, del: Inst, value: Value, old: usize) -> Option<usize> {
        let definer = self.func.def_inst(value);
        if definer.is_some_and(|i| self.gone.contains(&i)) {
            return None;
        }
        let own = definer.map(|i| self.unit(i));
        let users: Vec<Inst> = self.func.users(value).into_iter().filter(|&u| u != del).collect();
        if matches!(own, Some(Unit::Group(_))) {
            let outside = |u: &Inst| Some(self.unit(*u)) != own && !self.gone.contains(u);
            if !users.iter().any(outside) {
                return None;
            }
        }
        let needed = users.into_iter().map(|u| self.unit(u)).chain(own);
        Some(needed.filter_map(|u| Some(self.done.get(&u)? + 1)).fold(old, usize::max))
    }
}
