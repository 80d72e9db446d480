//! Side effects of instructions and functions, including those of calls, also recursive ones.

use crate::function::{Function, Inst, Value, ValueDef};
use crate::module::Module;
use crate::name::Name;
use crate::op::Effects;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// The side effects of an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstEffects {
    /// The values that it may write to.
    pub writes: SmallVec<[Value; 1]>,
    /// The values that it frees.
    pub frees: SmallVec<[Value; 1]>,
    /// Observable outside (prints, raises): never removed, or reordered with others of the kind.
    pub io: bool,
}

impl InstEffects {
    /// True without any effects.
    pub fn is_pure(&self) -> bool {
        self.writes.is_empty() && self.frees.is_empty() && !self.io
    }
}

/// The effects of a call of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionEffects {
    /// For each parameter, whether the function may store to it.
    pub stores: Vec<bool>,
    /// Whether it may print or raise.
    pub io: bool,
}

impl FunctionEffects {
    /// True if a call has no effects.
    pub fn is_pure(&self) -> bool {
        !self.io && !self.stores.contains(&true)
    }
}

/// The effects of all functions of a module.
#[derive(Clone, Debug, Default)]
pub struct ModuleEffects {
    functions: FxHashMap<Name, FunctionEffects>,
}

/// A call inside a function: the callee, and the pairs of argument number and caller's parameter number that
/// are passed.
struct CallSite {
    callee: Name,
    params: SmallVec<[(usize, usize); 2]>,
}

impl ModuleEffects {
    /// Computes the effects of each function, and propagates them from callees to callers to a fixed point.
    pub fn of(module: &Module) -> Self {
        let mut this = ModuleEffects::default();
        let mut callers: FxHashMap<Name, Vec<(Name, CallSite)>> = FxHashMap::default();
        let mut work: Vec<Name> = Vec::new();
        for func in module.functions() {
            let (own, sites) = local_effects(func, module);
            if !own.is_pure() {
                work.push(func.name);
            }
            this.functions.insert(func.name, own);
            for site in sites {
                callers.entry(site.callee).or_default().push((func.name, site));
            }
        }
        while let Some(callee) = work.pop() {
            let Some(sites) = callers.get(&callee) else { continue };
            let effects = this.functions.get(&callee).cloned().unwrap_or_default();
            for (caller, site) in sites {
                let Some(found) = this.functions.get_mut(caller) else { continue };
                let mut changed = effects.io && !found.io;
                found.io |= effects.io;
                for &(arg, param) in &site.params {
                    if effects.stores.get(arg) == Some(&true) && !found.stores[param] {
                        found.stores[param] = true;
                        changed = true;
                    }
                }
                if changed {
                    work.push(*caller);
                }
            }
        }
        this
    }

    /// Updates the effects of a function that has changed; those of its callees are as before.
    pub fn refresh(&mut self, func: &Function, module: &Module) {
        let (mut own, sites) = local_effects(func, module);
        for site in sites.iter().filter(|site| site.callee != func.name) {
            let Some(effects) = self.functions.get(&site.callee) else { continue };
            own.io |= effects.io;
            for &(arg, param) in &site.params {
                own.stores[param] |= effects.stores.get(arg) == Some(&true);
            }
        }
        self.functions.insert(func.name, own);
    }

    /// The effects of a call of a function; `None` if the module has no such function.
    pub fn function(&self, name: Name) -> Option<&FunctionEffects> {
        self.functions.get(&name)
    }

    /// The effects of an instruction. A call of an unknown function writes all its arguments, and is
    /// observable outside.
    pub fn inst(&self, func: &Function, inst: Inst) -> InstEffects {
        let data = func.inst(inst);
        let effects = data.op.effects;
        let mut found = InstEffects { io: effects.contains(Effects::IO), ..InstEffects::default() };
        if effects.contains(Effects::WRITES) {
            found.writes.extend(data.args.first().copied());
        }
        if effects.contains(Effects::FREES) {
            found.frees.extend(data.args.iter().copied());
        }
        if effects.contains(Effects::CALLS) {
            let callee = data.attrs.func("callee").and_then(|name| self.function(name));
            found.io |= callee.is_none_or(|e| e.io);
            for (i, &arg) in data.args.iter().enumerate() {
                let stored = callee.is_none_or(|e| e.stores.get(i).copied().unwrap_or(true));
                if stored && func.ty(arg).is_array() && !found.writes.contains(&arg) {
                    found.writes.push(arg);
                }
            }
        }
        found
    }
}

/// The effects of a function's own instructions, and its calls of functions of the module.
fn local_effects(func: &Function, module: &Module) -> (FunctionEffects, Vec<CallSite>) {
    let mut own = FunctionEffects { stores: vec![false; func.params().len()], io: false };
    let mut sites = Vec::new();
    let entry = func.entry();
    let param = |value: Value| match func.def(value) {
        ValueDef::Param(block, index) if Some(block) == entry => Some(index as usize),
        _ => None,
    };
    for inst in func.blocks().flat_map(|b| func.insts(b)) {
        let data = func.inst(inst);
        own.io |= data.op.effects.contains(Effects::IO);
        if data.op.effects.contains(Effects::WRITES)
            && let Some(index) = data.args.first().and_then(|&dest| param(dest))
        {
            own.stores[index] = true;
        }
        if !data.op.effects.contains(Effects::CALLS) {
            continue;
        }
        let params = data.args.iter().enumerate().filter_map(|(i, &arg)| Some((i, param(arg)?))).collect();
        match data.attrs.func("callee").filter(|&name| module.get(name).is_some()) {
            Some(callee) => sites.push(CallSite { callee, params }),
            None => {
                own.io = true;
                params.iter().for_each(|&(_, index)| own.stores[index] = true);
            }
        }
    }
    (own, sites)
}

/// The effects of one instruction. For a call this computes the effects of the whole module; to query
/// several instructions, keep a [`ModuleEffects`].
pub fn inst_effects(func: &Function, module: Option<&Module>, inst: Inst) -> InstEffects {
    let calls = func.inst(inst).op.effects.contains(Effects::CALLS);
    let effects = module.filter(|_| calls).map(ModuleEffects::of).unwrap_or_default();
    effects.inst(func, inst)
}

/// The values of a function that some instruction may write to, so that their contents depend on the time of
/// a read.
pub fn written_values(func: &Function, effects: &ModuleEffects) -> FxHashSet<Value> {
    let writers = func.blocks().flat_map(|b| func.insts(b));
    let writers = writers.filter(|&i| func.inst(i).op.effects.intersects(Effects::WRITES | Effects::CALLS));
    writers.flat_map(|i| effects.inst(func, i).writes).collect()
}
