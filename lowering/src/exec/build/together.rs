//! Steps of two instructions: a kernel, and the only use of its result, which stores it, packs its bools, or
//! replaces a part of an array by it.

use super::FuncPlanner;
use crate::bools::PacksBools;
use crate::exec::plan::*;
use crate::exec::{Instead, LowerError};
use rewright_ir::ops::{dim, effects, update};
use rewright_ir::{Block, Dim, Eval, Inst, InstData, Traits, Value};

/// The number of following instructions that are searched for the use.
const NEAR: usize = 16;

impl<'m> FuncPlanner<'_, 'm> {
    /// Whether the first of these instructions may be a kernel that is planned together with its only use.
    pub(super) fn is_fused_with_user(&self, block: Block, insts: &[Inst]) -> bool {
        self.is_only_stored(block, insts) || self.is_only_packed(block, insts) || self.is_only_part(block, insts)
    }

    /// Whether the first of these instructions may be a kernel whose only use is a store, soon and
    /// unchanged, to an array of the same type. No instruction in between can fail or has a visible effect.
    fn is_only_stored(&self, block: Block, insts: &[Inst]) -> bool {
        self.only_user(block, insts).is_some_and(|(result, store)| match store.args[..] {
            [dest, from] if store.op == effects::STORE => {
                let ty = self.func.ty(result);
                from == result && dest != result && self.func.ty(dest) == ty && !ty.dims().contains(&Dim::Any)
            }
            _ => false,
        })
    }

    /// Whether the first of these instructions may be a kernel of bools whose only use packs them soon.
    fn is_only_packed(&self, block: Block, insts: &[Inst]) -> bool {
        self.only_user(block, insts).is_some_and(|(result, user)| packs_bools(user) && user.args[..] == [result])
    }

    /// Whether the first of these instructions may be a kernel whose only use replaces a part of another
    /// array by its result, soon and unchanged.
    fn is_only_part(&self, block: Block, insts: &[Inst]) -> bool {
        self.only_user(block, insts).is_some_and(|(result, user)| {
            user.op == update::UPDATE && matches!(user.args[..], [base, new, ..] if new == result && base != result)
        })
    }

    /// The only result of the first of these instructions, which may be a kernel, and its only use, if that
    /// follows soon. No instruction in between can fail or has a visible effect.
    fn only_user(&self, block: Block, insts: &[Inst]) -> Option<(Value, &'m InstData)> {
        let (&first, rest) = insts.split_first()?;
        let data = self.func.inst(first);
        let &[result] = &data.results[..] else { return None };
        let once = self.left.get(&result) == Some(&1) && !self.live.at_end(block, result);
        if !once || !self.makes_elements(data) {
            return None;
        }
        let calm = |data: &InstData| match data.op.eval {
            Eval::Elementwise { .. } => {
                let scalars = data.args.iter().all(|&v| self.func.ty(v).is_scalar());
                scalars && !data.op.traits.contains(Traits::PARTIAL)
            }
            _ => data.op == dim::DIM || data.op == effects::DEL,
        };
        let mut near = rest.iter().take(NEAR).map(|&inst| self.func.inst(inst)).skip_while(|data| calm(data));
        near.next().filter(|user| user.args.contains(&result)).map(|user| (result, user))
    }

    /// Plans a store together with the kernel that computes the elements. Without a kernel there are two
    /// steps.
    pub(super) fn assign(&mut self, block: Block, maker: Inst, store: Inst) -> Result<(), LowerError> {
        let (data, to) = (self.func.inst(maker), self.func.inst(store));
        let mut dead = self.dying(block, data.args.iter().copied());
        let mut kind = self.inst(data, &dead)?;
        let (Some(&dest), StepKind::Kernel(kernel)) = (to.args.first(), &mut kind) else {
            self.push(block, maker, kind, dead);
            return self.alone(block, store);
        };
        if let Meaning::Array(eval) = kernel.meaning {
            let to = Destination { slot: self.slot(dest), param: self.param_index(dest) };
            kernel.meaning = Meaning::Assign(eval, to);
        }
        dead.extend(self.dying(block, to.args.iter().copied()));
        self.push(block, maker, kind, dead);
        Ok(())
    }

    /// Plans an update and the step that computes the new elements, one after the other. A kernel or loop
    /// program may write the elements to the part.
    pub(super) fn fill_part(&mut self, block: Block, maker: Inst, update: Inst) -> Result<(), LowerError> {
        self.alone(block, maker)?;
        if let Some(step) = self.steps.last_mut() {
            step.fills_part = match &step.kind {
                StepKind::Kernel(kernel) => matches!(kernel.meaning, Meaning::Array(_)),
                StepKind::Program(_) => true,
                _ => false,
            };
        }
        self.alone(block, update)?;
        // Otherwise the update has no step of its own.
        debug_assert!(self.steps.last().is_some_and(|step| step.inst == update));
        Ok(())
    }

    /// Plans the packing of bools together with the kernel that computes them. Without a suitable kernel
    /// there are two steps.
    pub(super) fn packed(&mut self, block: Block, maker: Inst, pack: Inst) -> Result<(), LowerError> {
        let (data, to) = (self.func.inst(maker), self.func.inst(pack));
        let dead = self.dying(block, data.args.iter().copied());
        let mut kind = self.inst(data, &dead)?;
        let why = match &kind {
            StepKind::Kernel(kernel) => kernel.launch.not_to_pack(),
            _ => Some("they are not computed by a kernel"),
        };
        let (None, StepKind::Kernel(kernel)) = (why, &mut kind) else {
            self.push(block, maker, kind, dead);
            self.remark(to, Instead::Apart, why.unwrap_or_default());
            return self.alone(block, pack);
        };
        if let Meaning::Array(eval) = kernel.meaning {
            kernel.meaning = Meaning::Packed(eval, pack);
        }
        kernel.launch.packed = true;
        kernel.exits = to.results.iter().map(|words| self.exits.get(words).copied()).collect();
        // The bools have no slot to release.
        self.dying(block, to.args.iter().copied());
        self.push_with(block, maker, to.results.iter().copied().collect(), kind, dead);
        Ok(())
    }

    /// Adds a remark if a step of its own packs the bools of a kernel of this function.
    pub(super) fn tell_if_apart(&mut self, data: &InstData) {
        let bools = data.args.first().filter(|_| packs_bools(data));
        let maker = bools.and_then(|&bools| self.func.def_inst(bools)).map(|maker| self.func.inst(maker));
        if maker.is_some_and(|maker| self.makes_elements(maker)) {
            self.remark(data, Instead::Apart, "others use them, too, or something else comes in between");
        }
    }
}

/// Whether an instruction packs bools into words.
pub(super) fn packs_bools(data: &InstData) -> bool {
    data.op.interface::<PacksBools>().is_some()
}
