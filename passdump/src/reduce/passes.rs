//! The reducer passes: each shrinks one kind of entity.

use super::copy::{CopyEdits, End, With};
use super::{Reducer, ddmin};
use crate::error::Error;
use rewright::{Attr, Attrs, Dim, Function, Inst, Module, Name, Scalar, Type, Value};
use std::collections::{HashMap, HashSet};

/// All instructions except terminators.
fn instructions(func: &Function) -> Vec<Inst> {
    let all = func.blocks().flat_map(|b| func.insts(b));
    all.filter(|&i| !func.inst(i).op.is_terminator()).collect()
}

impl Reducer<'_> {
    /// Removes functions.
    pub(super) fn functions(&mut self) -> Result<(), Error> {
        let whole = self.module.clone();
        let others: Vec<Name> = whole.names().filter(|&n| n != self.main).collect();
        ddmin(others, |kept| {
            let mut module = Module::new();
            for func in whole.functions().filter(|f| f.name == self.main || kept.contains(&f.name)) {
                module.insert(func.clone());
            }
            self.attempt(Some(module))
        })?;
        Ok(())
    }

    /// Merges blocks, ends them early, and replaces branches by jumps.
    pub(super) fn blocks(&mut self) -> Result<(), Error> {
        for name in self.names() {
            if !self.merge {
                self.merge = true;
                self.merge = self.try_edit(name, CopyEdits::default())?;
            }
            let mut at = 0;
            while let Some(func) = self.module.get(name) {
                let Some(block) = func.blocks().nth(at) else { break };
                let Some(end) = func.terminator(block).map(|i| func.inst(i)) else { break };
                let mut ends: Vec<End> = Vec::new();
                ends.extend((end.op.name != "ret").then_some(End::Return));
                ends.extend(
                    (end.targets.len() > 1).then(|| (0..end.targets.len()).map(End::Jump)).into_iter().flatten(),
                );
                for end in ends {
                    if self.try_edit(name, CopyEdits { ends: HashMap::from([(block, end)]), ..CopyEdits::default() })? {
                        break;
                    }
                }
                at += 1;
            }
        }
        Ok(())
    }

    /// Drops results.
    pub(super) fn results(&mut self) -> Result<(), Error> {
        let Some(func) = self.module.get(self.main).cloned() else { return Ok(()) };
        ddmin((0..func.results.len()).collect(), |kept: &[usize]| {
            let candidate = self.edit_of(&func, CopyEdits { results: Some(kept.to_vec()), ..CopyEdits::default() });
            self.attempt(candidate)
        })?;
        Ok(())
    }

    /// Removes instructions. Uses of their results become uses of an operand at first, then of new
    /// parameters.
    pub(super) fn instructions(&mut self) -> Result<(), Error> {
        let names = self.names();
        for (bypass, &name) in [true, false].into_iter().flat_map(|bypass| names.iter().map(move |n| (bypass, n))) {
            let Some(func) = self.module.get(name).cloned() else { continue };
            let all = instructions(&func);
            ddmin(all.clone(), |kept: &[Inst]| {
                let kept: HashSet<Inst> = kept.iter().copied().collect();
                let dropped = all.iter().copied().filter(|i| !kept.contains(i)).collect();
                let candidate = self.edit_of(&func, CopyEdits { dropped, bypass, ..CopyEdits::default() });
                self.attempt(candidate)
            })?;
        }
        Ok(())
    }

    /// Removes unused parameters, merges parameters of equal type, and replaces others by one or zero.
    pub(super) fn parameters(&mut self) -> Result<(), Error> {
        let Some(func) = self.module.get(self.main).cloned() else { return Ok(()) };
        let unused: Vec<Value> = func.params().iter().copied().filter(|&p| func.use_count(p) == 0).collect();
        ddmin(unused.clone(), |kept: &[Value]| {
            let params = unused.iter().copied().filter(|p| !kept.contains(p)).collect();
            let candidate = self.edit_of(&func, CopyEdits { params, ..CopyEdits::default() });
            self.attempt(candidate)
        })?;
        let mut at = 1;
        while let Some(func) = self.module.get(self.main).cloned() {
            let Some(&param) = func.params().get(at) else { break };
            let mut earlier = func.params()[..at].iter().copied().filter(|&p| func.ty(p) == func.ty(param));
            let mut gone = false;
            while let Some(other) = earlier.next().filter(|_| !gone) {
                let values = HashMap::from([(param, With::Value(other))]);
                gone = self.try_edit(
                    self.main,
                    CopyEdits { values, params: HashSet::from([param]), ..CopyEdits::default() },
                )?;
            }
            at += usize::from(!gone);
        }
        let mut at = 0;
        while let Some(func) = self.module.get(self.main).cloned() {
            let Some(&param) = func.params().get(at) else { break };
            let dtype = func.ty(param).dtype();
            let mut gone = false;
            for constant in [Scalar::one(dtype), Scalar::zero(dtype)] {
                let values = HashMap::from([(param, With::Const(constant))]);
                let edit = CopyEdits { values, params: HashSet::from([param]), ..CopyEdits::default() };
                gone = gone || self.try_edit(self.main, edit)?;
            }
            at += usize::from(!gone);
        }
        Ok(())
    }

    /// Replaces computed operands by parameters, so that their producers can be removed.
    pub(super) fn operands(&mut self) -> Result<(), Error> {
        let mut done: HashSet<(usize, usize)> = HashSet::new();
        while let Some(func) = self.module.get(self.main).cloned() {
            let insts = instructions(&func);
            let slots = insts.iter().enumerate().flat_map(|(n, &i)| (0..func.inst(i).args.len()).map(move |s| (n, s)));
            let Some((n, slot)) = slots.into_iter().find(|place| !done.contains(place)) else { break };
            done.insert((n, slot));
            let inst = insts[n];
            let value = func.inst(inst).args[slot];
            if func.def_inst(value).is_none() {
                continue;
            }
            let same = func.params().iter().copied().filter(|&p| func.ty(p) == func.ty(value));
            for param in same.take(4) {
                let operands = HashMap::from([((inst, slot), With::Value(param))]);
                if self.try_edit(self.main, CopyEdits { operands, ..CopyEdits::default() })? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Turns arrays into scalars, or reduces the number of axes and the extents.
    pub(super) fn extents(&mut self) -> Result<(), Error> {
        let Some(func) = self.module.get(self.main).cloned() else { return Ok(()) };
        let arrays: Vec<Value> =
            func.blocks().flat_map(|b| func.block_params(b).to_vec()).filter(|&p| func.ty(p).is_array()).collect();
        let dims: HashSet<Dim> = arrays.iter().flat_map(|&p| func.ty(p).dims().to_vec()).collect();
        if arrays.is_empty() {
            return Ok(());
        }
        let flat = |rank: usize| {
            let ty = |&p: &Value| {
                let ty = func.ty(p);
                let less = match rank {
                    0 => Type::scalar(ty.dtype()),
                    _ => Type::array(ty.dtype(), ty.dims()[..ty.rank().min(rank)].to_vec()),
                };
                (p, less)
            };
            CopyEdits { types: arrays.iter().map(ty).collect(), ..CopyEdits::default() }
        };
        for rank in 0..2 {
            if arrays.iter().any(|&p| func.ty(p).rank() > rank || rank == 0) && self.try_edit(self.main, flat(rank))? {
                return Ok(());
            }
        }
        let mut symbols: Vec<Dim> = dims.into_iter().collect();
        symbols.sort();
        // All dims become one symbol, or else each becomes 2.
        let one = symbols.iter().copied().find(|d| matches!(d, Dim::Sym(_))).unwrap_or(Dim::Const(2));
        let all = symbols.iter().filter(|&&d| d != one).map(|&d| (d, one)).collect::<HashMap<_, _>>();
        if !all.is_empty() && !self.try_edit(self.main, CopyEdits { dims: all, ..CopyEdits::default() })? {
            for &dim in symbols.iter().filter(|&&d| d > Dim::Const(2)) {
                self.try_edit(
                    self.main,
                    CopyEdits { dims: HashMap::from([(dim, Dim::Const(2))]), ..CopyEdits::default() },
                )?;
            }
        }
        Ok(())
    }

    /// Drops attributes, or sets their numbers to 0.
    pub(super) fn attributes(&mut self) -> Result<(), Error> {
        let mut at = 0;
        while let Some(func) = self.module.get(self.main).cloned() {
            let Some(&inst) = instructions(&func).get(at) else { break };
            at += 1;
            let data = func.inst(inst);
            let given = |attrs: &Attrs| {
                data.op.attrs.iter().filter(|d| attrs.get(d.name).is_some()).map(|d| d.name).collect::<Vec<_>>()
            };
            for name in given(&data.attrs) {
                let rest = given(&data.attrs).into_iter().filter(|n| *n != name);
                let without = rest.fold(Attrs::new(), |attrs, n| match data.attrs.get(n) {
                    Some(value) => attrs.with(n, value.clone()),
                    None => attrs,
                });
                let zero = data.attrs.int(name).filter(|&i| i != 0).map(|_| without.clone().with(name, Attr::Int(0)));
                for attrs in [Some(without), zero].into_iter().flatten() {
                    if self.try_edit(
                        self.main,
                        CopyEdits { attrs: HashMap::from([(inst, attrs)]), ..CopyEdits::default() },
                    )? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}
