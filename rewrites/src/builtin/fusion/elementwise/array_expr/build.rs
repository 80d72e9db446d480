//! Builds the array expression of a group.

use super::candidate::{Role, is_del};
use super::plan::{FusionGroup, Member};
use super::views::{AxisMap, is_exact, look_through};
use crate::MatchCx;
use crate::builtin::fusion::node::dtype_of;
use rewright_ir::expr::{
    Affine, Axis, Body, BodyInst, BodyOp, BodyRef, Index, IndexExpr, Mode, Operand, Out, Source, Write, axes_along,
    prune,
};
use rewright_ir::{
    ArrayExpr, Dim, Function, Inst, Loc, Name, OperandNames, TypeError, Value, ValueDef, inline_function,
};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// An array expression with operands and results, ready to become an instruction.
pub struct Built {
    /// The expression.
    pub expr: ArrayExpr,
    /// The instruction's operands.
    pub args: Vec<Value>,
    /// The values that its results replace.
    pub results: Vec<Value>,
}

/// Builds the expression of a group.
pub fn build(cx: &MatchCx<'_>, group: &FusionGroup) -> Result<Built, TypeError> {
    let func = cx.func();
    let Some(root) = group.members.last() else { return Err(TypeError::new("a group without members")) };
    let dims = func.ty(func.inst(root.inst).results[0]).dims().to_vec();
    let mut builder = BodyBuilder {
        cx,
        func,
        members: group.members.iter().map(|m| m.inst).collect(),
        axes: axes(func, group, &extents(func, group, &dims)),
        dims,
        args: Vec::new(),
        arg_of: FxHashMap::default(),
        operands: Vec::new(),
        operand_of: FxHashMap::default(),
        names: OperandNames::default(),
        body: Body::default(),
        refs: FxHashMap::default(),
        locs: Vec::new(),
    };
    builder.names = OperandNames::of(&builder.axes, &[]);
    for member in &group.members {
        builder.member(member)?;
    }
    Ok(builder.finish(group))
}

/// The extents of the group's axes. An extent that the type of the last member leaves open is the broadcast
/// of the operands' extents. By now these may be known, and possibly no operand is indexed by the axis any
/// more.
fn extents(func: &Function, group: &FusionGroup, dims: &[Dim]) -> Vec<Dim> {
    let mut extents: Vec<Dim> = dims.iter().map(|&d| if d == Dim::Any { Dim::Const(1) } else { d }).collect();
    let mut clashes: SmallVec<[usize; 2]> = SmallVec::new();
    let members: FxHashSet<Inst> = group.members.iter().map(|m| m.inst).collect();
    let inside = |value: Value| func.def_inst(value).is_some_and(|inst| members.contains(&inst));
    for member in &group.members {
        let data = func.inst(member.inst);
        let mut read = |value: Value, lies: &mut dyn Iterator<Item = Option<usize>>| {
            for (&dim, axis) in func.ty(value).dims().iter().zip(lies) {
                let Some(axis) = axis.filter(|&a| dims[a] == Dim::Any) else { continue };
                // Values of members get their extents from the members' operands.
                if dim != Dim::Any || !inside(value) {
                    match extents[axis].broadcast(dim) {
                        Some(both) => extents[axis] = both,
                        None => clashes.push(axis),
                    }
                }
            }
        };
        match (member.candidate.role, data.attrs.expr()) {
            (Role::Expression, Some(expr)) => {
                for operand in &expr.operands {
                    let Source::Array(arg) = operand.source else { continue };
                    let axis = |index: &Index| match &index.expr {
                        IndexExpr::Affine(form) => member.map[form.as_axis()? as usize],
                        _ => None,
                    };
                    read(data.args[arg as usize], &mut operand.index.iter().map(axis));
                }
            }
            _ => data.args.iter().for_each(|&value| {
                let offset = member.map.len() - func.ty(value).rank();
                read(value, &mut member.map[offset..].iter().copied());
            }),
        }
    }
    // Calls with such operands fail, and the node reports why. The other axes are not affected.
    clashes.into_iter().for_each(|axis| extents[axis] = Dim::Any);
    extents
}

/// The axes: named `i`, `j`, ... around the symbols in use, with the extents of the dims.
fn axes(func: &Function, group: &FusionGroup, dims: &[Dim]) -> Vec<Axis> {
    let mut taken: FxHashSet<Name> = FxHashSet::default();
    let types = group.members.iter().flat_map(|m| {
        let data = func.inst(m.inst);
        data.args.iter().chain(&data.results).map(|&v| func.ty(v)).collect::<Vec<_>>()
    });
    for dim in types.flat_map(|ty| ty.dims()) {
        if let Dim::Sym(s) = dim {
            taken.insert(*s);
        }
    }
    axes_along(dims, |name| taken.contains(&name))
}

struct BodyBuilder<'a> {
    cx: &'a MatchCx<'a>,
    func: &'a Function,
    members: FxHashSet<Inst>,
    axes: Vec<Axis>,
    dims: Vec<Dim>,
    args: Vec<Value>,
    arg_of: FxHashMap<Value, u32>,
    operands: Vec<Operand>,
    /// The numbers of operands by source and index map; scalars have no indices.
    operand_of: FxHashMap<(Source, Vec<Index>), u32>,
    /// Names in use, with the next number to try after them.
    names: OperandNames,
    body: Body,
    /// The body reference of each value that a member computes.
    refs: FxHashMap<Value, BodyRef>,
    locs: Vec<Loc>,
}

impl BodyBuilder<'_> {
    fn member(&mut self, member: &Member) -> Result<(), TypeError> {
        let data = self.func.inst(member.inst);
        let yields: SmallVec<[BodyRef; 2]> = match member.candidate.role {
            Role::Elementwise => {
                let args: SmallVec<[BodyRef; 3]> = data.args.iter().map(|&v| self.read(member, v)).collect();
                let dtypes = data.results.iter().map(|&r| self.func.ty(r).dtype());
                self.body.push(BodyOp::Op(data.op, data.attrs.clone()), args, dtypes, data.loc)
            }
            Role::Ufunc(name) => self.applied(member, name)?,
            Role::Expression => self.inline_expression(member)?,
        };
        self.refs.extend(data.results.iter().copied().zip(yields));
        if !data.loc.is_none() {
            self.locs.push(data.loc);
        }
        Ok(())
    }

    /// The body reference of a member's operand.
    fn read(&mut self, member: &Member, value: Value) -> BodyRef {
        if let ValueDef::Const(scalar) = self.func.def(value) {
            return BodyRef::Const(scalar);
        }
        let viewed = look_through(self.cx, value);
        if let Some(&inside) = self.refs.get(&viewed.base).filter(|_| self.is_member(viewed.base)) {
            return inside;
        }
        let ty = self.func.ty(value);
        let offset = member.map.len() - ty.rank();
        let lies: AxisMap = member.map[offset..].iter().copied().collect();
        let exact = |view: &&AxisMap| is_exact(self.func, value, viewed.base, view, &lies, &self.dims);
        if let Some(view) = viewed.map.as_ref().filter(exact) {
            let through = view.iter().map(|axis| axis.and_then(|a| lies[a])).collect();
            return BodyRef::Operand(self.operand(viewed.base, &through));
        }
        BodyRef::Operand(self.operand(value, &lies))
    }

    fn is_member(&self, value: Value) -> bool {
        self.func.def_inst(value).is_some_and(|i| self.members.contains(&i))
    }

    /// The operand that reads a value whose axis `a` lies at axis `lies[a]` of the group.
    fn operand(&mut self, value: Value, lies: &AxisMap) -> u32 {
        let ty = self.func.ty(value);
        let index = ty
            .dims()
            .iter()
            .zip(lies)
            .map(|(&dim, &axis)| match axis.filter(|_| dim != Dim::Const(1)) {
                None => Index { expr: IndexExpr::Affine(Affine::constant(0)), mode: Mode::Proved },
                Some(g) => Index {
                    expr: IndexExpr::Affine(Affine::axis(g as u32)),
                    mode: if dim == self.dims[g] && dim != Dim::Any { Mode::Proved } else { Mode::Broadcast },
                },
            })
            .collect();
        self.operand_at(value, index)
    }

    fn operand_at(&mut self, value: Value, index: Vec<Index>) -> u32 {
        let args = &mut self.args;
        let arg = *self.arg_of.entry(value).or_insert_with(|| {
            args.push(value);
            args.len() as u32 - 1
        });
        let source = if self.func.ty(value).rank() > 0 { Source::Array(arg) } else { Source::Scalar(arg) };
        if let Some(&known) = self.operand_of.get(&(source.clone(), index.clone())) {
            return known;
        }
        let number = self.operands.len() as u32;
        let name = self.names.for_value(self.func, value, "x");
        let dtype = self.func.ty(value).dtype();
        self.operand_of.insert((source.clone(), index.clone()), number);
        self.operands.push(Operand { name, source, dtype, index });
        number
    }

    /// Inlines a scalar function.
    fn applied(&mut self, member: &Member, name: Name) -> Result<SmallVec<[BodyRef; 2]>, TypeError> {
        let callee = self.cx.module().get(name);
        let callee = callee.ok_or_else(|| TypeError::new(format!("there is no function `@{name}`")))?;
        let data = self.func.inst(member.inst);
        let read = |&v: &Value| (self.read(member, v), self.func.ty(v).dtype());
        let args: SmallVec<[_; 3]> = data.args.iter().map(read).collect();
        inline_function(&mut self.body, self.cx.module(), callee, &args, data.loc).map_err(TypeError::new)
    }

    /// Inlines an expression: maps its operands through the member's axis map, appends its body, and returns
    /// its yields.
    fn inline_expression(&mut self, member: &Member) -> Result<SmallVec<[BodyRef; 2]>, TypeError> {
        let data = self.func.inst(member.inst);
        let expr = data.attrs.expr().ok_or_else(|| TypeError::new("an `arrayexpr` without expression"))?.clone();
        let mut operands: Vec<BodyRef> = Vec::with_capacity(expr.operands.len());
        for operand in &expr.operands {
            let (Source::Array(arg) | Source::Scalar(arg)) = operand.source else {
                return Err(TypeError::new("an operand that can't be taken in"));
            };
            let value = data.args[arg as usize];
            let base = look_through(self.cx, value).base;
            let inside = self.refs.get(&base).filter(|_| self.is_member(base)).copied();
            operands.push(match (self.func.def(value), inside) {
                (ValueDef::Const(scalar), _) => BodyRef::Const(scalar),
                (_, Some(inside)) => inside,
                _ => {
                    let lies = operand.index.iter().map(|i| match &i.expr {
                        IndexExpr::Affine(form) => form.as_axis().and_then(|a| member.map[a as usize]),
                        _ => None,
                    });
                    let lies: AxisMap = lies.collect();
                    BodyRef::Operand(self.operand(value, &lies))
                }
            });
        }
        let base = self.body.insts.len() as u32;
        let shift = |r: BodyRef| match r {
            BodyRef::Operand(n) => operands[n as usize],
            BodyRef::Inst(n, result) => BodyRef::Inst(n + base, result),
            BodyRef::Axis(a) => match member.map[a as usize] {
                Some(g) => BodyRef::Axis(g as u32),
                None => BodyRef::Const(rewright_ir::Scalar::I64(0)),
            },
            other => other,
        };
        for inst in &expr.body.insts {
            let args = inst.args.iter().map(|&r| shift(r)).collect();
            self.body.insts.push(BodyInst { args, ..inst.clone() });
        }
        self.locs.extend(expr.locs.iter().copied());
        let mut yields = SmallVec::new();
        for (&value, out) in expr.body.yields.iter().zip(&expr.outs) {
            let from = dtype_of(&expr, value).ok_or_else(|| TypeError::new("a yield that can't be taken in"))?;
            yields.push(self.body.cast(shift(value), from, out.dtype, data.loc));
        }
        Ok(yields)
    }

    /// Makes results of all values that are used outside of the members and the views between them.
    fn finish(mut self, group: &FusionGroup) -> Built {
        let gone: FxHashSet<Inst> = self.members.iter().chain(&group.views).copied().collect();
        let mut results = Vec::new();
        let mut outs = Vec::new();
        for value in group.members.iter().flat_map(|m| self.func.inst(m.inst).results.iter().copied()) {
            if self.func.users(value).iter().all(|u| gone.contains(u) || is_del(self.func, *u)) {
                continue;
            }
            let ty = self.func.ty(value);
            let index = (0..self.axes.len()).map(|axis| IndexExpr::Affine(Affine::axis(axis as u32))).collect();
            outs.push(Out { dtype: ty.dtype(), dims: ty.dims().to_vec(), index, fill: None, write: Write::Unique });
            self.body.yields.push(self.refs[&value]);
            results.push(value);
        }
        prune(&mut self.body, &self.axes, &mut self.operands, &mut self.args);
        let expr = ArrayExpr {
            axes: self.axes,
            guard: Vec::new(),
            operands: self.operands,
            body: self.body,
            reductions: Vec::new(),
            finish: None,
            outs,
            locs: self.locs,
        };
        Built { expr, args: self.args, results }
    }
}
