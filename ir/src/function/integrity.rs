//! Checks that the redundant parts of a function agree: links, positions, definitions and use counts.

use super::storage::Def;
use super::{Block, Function, Inst, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use slotmap::SecondaryMap;

impl Function {
    /// Checks the invariants that the primitives of this module keep, in linear time. The verifier checks
    /// the invariants of programs.
    ///
    /// - The instructions of a block are linked in both directions, know their block, and have strictly
    ///   rising positions.
    /// - Parameters and results know their definitions.
    /// - The use count of a value is the number of operand slots that hold it, and its users include all
    ///   instructions that use it.
    ///
    /// # Errors
    /// A description of the first violation.
    pub fn check_integrity(&self) -> Result<(), String> {
        let mut linked = 0;
        for (number, block) in self.blocks().enumerate() {
            if !self.has_block(block) {
                return Err(format!("block {number} is in the layout, but removed"));
            }
            self.check_links(block, &mut linked).map_err(|why| format!("block {number}: {why}"))?;
            self.check_definitions(block).map_err(|why| format!("block {number}: {why}"))?;
        }
        if linked != self.linked_insts {
            return Err(format!("{linked} instructions are linked, {} are counted", self.linked_insts));
        }
        self.check_uses()
    }

    /// Checks the list of a block's instructions, and adds their number to `linked`.
    fn check_links(&self, block: Block, linked: &mut usize) -> Result<(), String> {
        let entry = &self.blocks[block];
        let (mut before, mut next): (Option<Inst>, _) = (None, entry.first);
        while let Some(inst) = next {
            let Some(node) = self.insts.get(inst).map(|entry| &entry.node) else {
                return Err("a removed instruction is linked".to_string());
            };
            let op = self.inst(inst).op;
            if node.block != Some(block) {
                return Err(format!("`{op}` is linked, but its block is another one"));
            }
            if node.prev != before {
                return Err(format!("the instruction before `{op}` does not link to it"));
            }
            if before.is_some_and(|before| self.insts[before].node.position >= node.position) {
                return Err(format!("the position of `{op}` is not above that of the instruction before"));
            }
            *linked += 1;
            // A cycle would have no end.
            if *linked > self.linked_insts {
                return Err(format!("more instructions are linked than the {} that are counted", self.linked_insts));
            }
            (before, next) = (Some(inst), node.next);
        }
        if entry.last == before { Ok(()) } else { Err("the last instruction is not the end of the list".to_string()) }
    }

    /// Checks that the parameters of a block and the results of its instructions know their definitions.
    fn check_definitions(&self, block: Block) -> Result<(), String> {
        let def = |value: Value| self.values.get(value).map(|entry| entry.def);
        for (n, &param) in self.block_params(block).iter().enumerate() {
            if !matches!(def(param), Some(Def::Param(home, at)) if home == block && at as usize == n) {
                return Err(format!("parameter {n} has another definition"));
            }
        }
        for inst in self.insts(block) {
            for (n, &result) in self.inst(inst).results.iter().enumerate() {
                if !matches!(def(result), Some(Def::Result(home, at)) if home == inst && at as usize == n) {
                    return Err(format!("result {n} of `{}` has another definition", self.inst(inst).op));
                }
            }
        }
        Ok(())
    }

    fn check_uses(&self) -> Result<(), String> {
        let mut counts: SecondaryMap<Value, u32> = SecondaryMap::new();
        let mut wide: FxHashMap<(Inst, Value), u32> = FxHashMap::default();
        let users = self.values.iter().flat_map(|(value, entry)| entry.users.iter().map(move |&user| (user, value)));
        let users: FxHashSet<(Inst, Value)> = users.collect();
        for inst in self.blocks().flat_map(|block| self.insts(block)) {
            let data = self.inst(inst);
            for value in data.uses().filter(|&value| self.has_value(value)) {
                if let Some(count) = counts.entry(value) {
                    *count.or_default() += 1;
                }
                if data.is_wide() {
                    *wide.entry((inst, value)).or_default() += 1;
                }
                if !users.contains(&(inst, value)) {
                    return Err(format!("{} does not know its user `{}`", self.value_label(value), data.op));
                }
            }
        }
        for (value, entry) in &self.values {
            let count = counts.get(value).copied().unwrap_or(0);
            if count != entry.uses {
                let label = self.value_label(value);
                return Err(format!("{label} has {count} uses, {} are counted", entry.uses));
            }
        }
        let known = self.wide_uses.iter().filter(|((_, value), _)| self.has_value(*value));
        match known.count() == wide.len() && wide.iter().all(|(key, count)| self.wide_uses.get(key) == Some(count)) {
            true => Ok(()),
            false => Err("the uses of an instruction with many operands are not those that are counted".to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{FuncBuilder, Function, Type};

    /// A change that violates an invariant.
    type Damage = fn(&mut Function);

    fn function() -> Function {
        let mut b = FuncBuilder::new("f", &[("x", Type::scalar(crate::DType::F64))], vec![]);
        let square = b.op("mul", [b.param(0), b.param(0)]).expect("numbers");
        b.op("neg", [square]).expect("a number");
        b.finish()
    }

    #[test]
    fn violations_are_found() {
        let errors: [(Damage, &str); 5] = [
            (|f| f.linked_insts += 1, "2 instructions are linked, 3 are counted"),
            (|f| f.values.values_mut().for_each(|v| v.uses = 7), "uses, 7 are counted"),
            (|f| f.values.values_mut().for_each(|v| v.users.clear()), "%x does not know its user `mul`"),
            (|f| f.insts.values_mut().for_each(|i| i.node.position = 1), "the position of `neg`"),
            (|f| f.insts.values_mut().for_each(|i| i.node.prev = None), "before `neg` does not link to it"),
        ];
        assert_eq!(function().check_integrity(), Ok(()));
        for (damage, message) in errors {
            let mut func = function();
            damage(&mut func);
            let why = func.check_integrity().expect_err(message);
            assert!(why.contains(message), "{why}");
        }
    }
}
