//! Copies a function, and drops or replaces parts of it. The copy is valid wherever types allow it.
//!
//! Uses of a dropped instruction's result become uses of a new parameter, or of an operand of that
//! instruction. The types of results are inferred again.

use rewright::ir::builder::infer;
use rewright::{Attr, Attrs, Block, Dim, Function, Inst, Module, Name, Op, Scalar, Target, Type, Value, registry};
use std::collections::{HashMap, HashSet};

/// The replacement of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum With {
    /// A value of the old function.
    Value(Value),
    /// A constant.
    Const(Scalar),
}

/// The replaced end of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A jump to one of its targets.
    Jump(usize),
    /// A return of arbitrary values.
    Return,
}

/// The edits that a copy applies.
#[derive(Clone, Debug, Default)]
pub struct CopyEdits {
    /// Dropped instructions.
    pub dropped: HashSet<Inst>,
    /// Whether a dropped result is replaced by an operand of the same type, if there is one, instead of a
    /// parameter.
    pub bypass: bool,
    /// Dropped parameters.
    pub params: HashSet<Value>,
    /// Replacements of values.
    pub values: HashMap<Value, With>,
    /// Replacements of operands.
    pub operands: HashMap<(Inst, usize), With>,
    /// Dropped operands, by position.
    pub unread: HashSet<(Inst, usize)>,
    /// New types of parameters and block parameters.
    pub types: HashMap<Value, Type>,
    /// Replacements of dims, in all types.
    pub dims: HashMap<Dim, Dim>,
    /// New attributes.
    pub attrs: HashMap<Inst, Attrs>,
    /// New ends of blocks.
    pub ends: HashMap<Block, End>,
    /// The results to keep, by index; `None` keeps all.
    pub results: Option<Vec<usize>>,
    /// Whether blocks are merged into their predecessor, if each is the other's only successor and
    /// predecessor.
    pub merge: bool,
    /// Whether other functions call this one, so that its parameters are fixed.
    pub called: bool,
}

/// Copies a function; `None` if types can't be inferred. The copy may still be invalid.
pub fn copy(func: &Function, module: &Module, edit: &CopyEdits) -> Option<Function> {
    let order = reachable(func, edit);
    let merged = if edit.merge { merged(func, edit, &order) } else { HashSet::new() };
    let mut copier = Copier {
        old: func,
        module,
        edit,
        new: Function::new(func.name, Vec::new()),
        values: HashMap::new(),
        blocks: HashMap::new(),
        returned: None,
    };
    copier.new.loc = func.loc;
    for block in func.blocks().filter(|b| order.contains(b) && !merged.contains(b)) {
        let new = copier.new.create_block(func.block_name(block));
        copier.blocks.insert(block, new);
        copier.params(block, new);
    }
    for &block in order.iter().filter(|b| !merged.contains(*b)) {
        copier.block(block, &merged)?;
    }
    copier.results();
    Some(copier.new)
}

/// The remaining targets of a block's end.
fn targets<'f>(func: &'f Function, edit: &CopyEdits, block: Block) -> Vec<&'f Target> {
    let Some(end) = func.terminator(block) else { return Vec::new() };
    let all = &func.inst(end).targets;
    match edit.ends.get(&block) {
        None => all.iter().collect(),
        Some(End::Jump(i)) => all.get(*i).into_iter().collect(),
        Some(End::Return) => Vec::new(),
    }
}

/// The reachable blocks in reverse postorder, so dominators come first.
fn reachable(func: &Function, edit: &CopyEdits) -> Vec<Block> {
    let Some(entry) = func.entry() else { return Vec::new() };
    let successors = |block| targets(func, edit, block).into_iter().map(|t| t.block).collect::<Vec<_>>();
    let (mut seen, mut order) = (HashSet::from([entry]), Vec::new());
    let mut stack = vec![(entry, successors(entry))];
    while let Some((block, left)) = stack.last_mut() {
        match left.pop() {
            Some(next) if seen.insert(next) => stack.push((next, successors(next))),
            Some(_) => {}
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

/// The blocks that are merged into their predecessor.
fn merged(func: &Function, edit: &CopyEdits, order: &[Block]) -> HashSet<Block> {
    let mut from: HashMap<Block, Vec<Block>> = HashMap::new();
    for &block in order {
        targets(func, edit, block).iter().for_each(|t| from.entry(t.block).or_default().push(block));
    }
    let only = |list: &[Block]| matches!(list, [one] if targets(func, edit, *one).len() == 1);
    from.into_iter().filter(|(_, list)| only(list)).map(|(block, _)| block).collect()
}

struct Copier<'a> {
    old: &'a Function,
    module: &'a Module,
    edit: &'a CopyEdits,
    new: Function,
    values: HashMap<Value, Value>,
    blocks: HashMap<Block, Block>,
    /// The types of the returned values.
    returned: Option<Vec<Type>>,
}

impl Copier<'_> {
    fn dim(&self, dim: Dim) -> Dim {
        self.edit.dims.get(&dim).copied().unwrap_or(dim)
    }
    fn ty(&self, ty: &Type) -> Type {
        if ty.is_scalar() || self.edit.dims.is_empty() {
            return ty.clone();
        }
        Type::array(ty.dtype(), ty.dims().iter().map(|&d| self.dim(d)).collect::<Vec<_>>()).with_style(ty.style())
    }
    fn value_ty(&self, value: Value) -> Type {
        self.edit.types.get(&value).cloned().unwrap_or_else(|| self.ty(self.old.ty(value)))
    }

    fn params(&mut self, block: Block, new: Block) {
        for &param in self.old.block_params(block) {
            if !self.edit.params.contains(&param) {
                self.param(param, new);
            }
        }
    }
    fn param(&mut self, value: Value, block: Block) -> Value {
        let ty = self.value_ty(value);
        let param = self.new.add_block_param(block, ty);
        self.new.set_value_name(param, self.old.value_name(value));
        self.values.insert(value, param);
        param
    }

    /// The replacement of an old value.
    fn value(&mut self, value: Value) -> Option<Value> {
        match self.edit.values.get(&value).copied().filter(|with| *with != With::Value(value)) {
            Some(With::Const(scalar)) => return Some(self.new.constant(scalar)),
            Some(With::Value(other)) => return self.values.get(&other).copied(),
            None => {}
        }
        if let Some(scalar) = self.old.as_const(value) {
            return Some(self.new.constant(scalar));
        }
        if let Some(&known) = self.values.get(&value) {
            return Some(known);
        }
        // The definition was dropped.
        let operand = self.bypassed(value);
        if operand != value {
            return self.value(operand);
        }
        if self.edit.called {
            let ty = self.value_ty(value);
            return ty.is_scalar().then(|| self.new.constant(Scalar::zero(ty.dtype())));
        }
        let entry = self.new.entry()?;
        Some(self.param(value, entry))
    }
    /// The operand that replaces the result of a dropped instruction; recursively, if the operand's
    /// definition is dropped, too.
    fn bypassed(&self, mut value: Value) -> Value {
        while let Some(def) = self.old.def_inst(value).filter(|i| self.edit.bypass && self.edit.dropped.contains(i)) {
            let args = self.old.inst(def).args.iter().copied();
            let Some(next) = { args }.find(|&a| self.old.ty(a) == self.old.ty(value)) else { break };
            value = next;
        }
        value
    }
    fn operand(&mut self, inst: Inst, slot: usize, value: Value) -> Option<Value> {
        match self.edit.operands.get(&(inst, slot)) {
            Some(&With::Const(scalar)) => Some(self.new.constant(scalar)),
            Some(&With::Value(other)) => self.value(other),
            None => self.value(value),
        }
    }

    fn block(&mut self, block: Block, merged: &HashSet<Block>) -> Option<()> {
        let to = *self.blocks.get(&block)?;
        let mut from = block;
        loop {
            for inst in self.old.insts(from).filter(|&i| !self.old.inst(i).op.is_terminator()) {
                if !self.edit.dropped.contains(&inst) {
                    self.inst(inst, to)?;
                }
            }
            let end = self.old.terminator(from)?;
            match targets(self.old, self.edit, from)[..] {
                [only] if merged.contains(&only.block) => {
                    for (&param, &arg) in self.old.block_params(only.block).iter().zip(&only.args) {
                        let arg = self.value(arg)?;
                        self.values.insert(param, arg);
                    }
                    from = only.block;
                }
                _ => return self.end(from, end, to),
            }
        }
    }

    fn inst(&mut self, inst: Inst, to: Block) -> Option<()> {
        let data = self.old.inst(inst);
        let mut args = Vec::with_capacity(data.args.len());
        for (slot, &arg) in data.args.iter().enumerate().filter(|(slot, _)| !self.edit.unread.contains(&(inst, *slot)))
        {
            args.push(self.operand(inst, slot, arg)?);
        }
        let mut attrs = self.edit.attrs.get(&inst).unwrap_or(&data.attrs).clone();
        for def in data.op.attrs {
            if let Some(Attr::Dims(dims)) = attrs.get(def.name).filter(|_| !self.edit.dims.is_empty()) {
                let dims = dims.iter().map(|&d| self.dim(d)).collect();
                attrs.set(Name::new(def.name), Attr::Dims(dims));
            }
        }
        let same = |(&new, &old): (&Value, &Value)| self.new.ty(new) == self.old.ty(old);
        let types = if attrs == data.attrs && args.iter().zip(&data.args).all(same) {
            // The old types may be more precise than the inferred ones.
            data.results.iter().map(|&r| self.old.ty(r).clone()).collect()
        } else {
            let callee = attrs.func("callee").and_then(|name| self.module.signature(name));
            let (normal, types) = infer(&self.new, data.op, &args, attrs, callee.as_ref()).ok()?;
            attrs = normal;
            types
        };
        if types.len() != data.results.len() {
            return None;
        }
        let new = self.new.create_inst(data.op, args, attrs, [], types, data.loc);
        self.new.append(to, new);
        let results = self.new.inst(new).results.clone();
        for (&old, &result) in data.results.iter().zip(&results) {
            self.new.set_value_name(result, self.old.value_name(old));
            self.values.insert(old, result);
        }
        Some(())
    }

    /// Ends a block: as the old block ends, or as the edit says.
    fn end(&mut self, block: Block, end: Inst, to: Block) -> Option<()> {
        let data = self.old.inst(end);
        let op = |name: &str| registry().op(name);
        let kept = targets(self.old, self.edit, block);
        let mut branches = Vec::with_capacity(kept.len());
        for target in kept {
            let args = target.args.iter().map(|&arg| self.value(arg)).collect::<Option<_>>()?;
            branches.push(Target { block: *self.blocks.get(&target.block)?, args });
        }
        let mut args = Vec::new();
        let (op, attrs): (Op, Attrs) = match self.edit.ends.get(&block) {
            Some(End::Jump(_)) => (op("jump")?, Attrs::new()),
            Some(End::Return) => {
                for ty in self.old.results.clone() {
                    args.push(self.anything(&ty)?);
                }
                (op("ret")?, Attrs::new())
            }
            None => {
                for &arg in &data.args {
                    args.push(self.value(arg)?);
                }
                (data.op, data.attrs.clone())
            }
        };
        if op.name == "ret" {
            if let Some(kept) = &self.edit.results {
                args = kept.iter().filter_map(|&i| args.get(i).copied()).collect();
            }
            let types = args.iter().map(|&v| self.new.ty(v).clone()).collect();
            self.returned.get_or_insert(types);
        }
        let new = self.new.create_inst(op, args, attrs, branches, Default::default(), data.loc);
        self.new.append(to, new);
        Some(())
    }

    /// An arbitrary value of a type.
    fn anything(&mut self, ty: &Type) -> Option<Value> {
        let ty = self.ty(ty);
        if ty.is_scalar() {
            return Some(self.new.constant(Scalar::zero(ty.dtype())));
        }
        let same = self.new.params().iter().copied().find(|&p| *self.new.ty(p) == ty);
        if same.is_some() || self.edit.called {
            return same;
        }
        let entry = self.new.entry()?;
        Some(self.new.add_block_param(entry, ty))
    }

    /// The types of the results: the old ones, or those of the returned values if the edit changes types.
    fn results(&mut self) {
        let kept = |i: &usize| self.edit.results.as_ref().is_none_or(|kept| kept.contains(i));
        let old = (0..self.old.results.len()).filter(kept).map(|i| self.old.results[i].clone());
        let changed = !self.edit.types.is_empty() || !self.edit.dims.is_empty();
        self.new.results = match self.returned.take().filter(|_| changed) {
            Some(returned) => returned,
            None => old.collect(),
        };
    }
}
