//! Inlining of scalar functions into bodies: a user's ufunc is computed inside an expression.
//!
//! If-conversion: a body has no control flow, so branches become selections. Every block is computed, and a
//! block parameter selects the argument of the edge that is taken. This is correct as long as no instruction
//! can fail where it would not have run. Loops can't be inlined.

use crate::analysis::Dominators;
use crate::attr::Attrs;
use crate::dtype::DType;
use crate::expr::{Body, BodyOp, BodyRef};
use crate::function::{Block, Function, Inst, InstData, Value, ValueDef};
use crate::loc::Loc;
use crate::module::Module;
use crate::op::{Eval, Op, OpDef, Traits};
use crate::ops::{compare, control, effects, logic, power};
use crate::scalar::Scalar;
use crate::types::Type;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

/// The maximum depth of inlined calls.
const MAX_DEPTH: usize = 16;
/// The maximum number of visited blocks, counted at each call.
const MAX_BLOCKS: usize = 1 << 13;
/// The maximum number of inlined instructions.
const MAX_INSTS: usize = 1 << 12;

/// Inlines a function of scalars into a body. `args` are values with their dtypes, which are cast to those
/// of the parameters.
///
/// Returns the results, or the reason why the function can't be inlined; then the body is incomplete and
/// must be discarded. Instructions that are not in the function, such as selections between branches, get
/// the location `loc` of the call. All inlined instructions record `loc` as the place where the function is
/// applied.
pub fn inline_function(
    body: &mut Body,
    module: &Module,
    func: &Function,
    args: &[(BodyRef, DType)],
    loc: Loc,
) -> Result<SmallVec<[BodyRef; 2]>, String> {
    let first = body.insts.len();
    let results = Inliner { body, first, blocks: 0, module }.call(func, args, &Path::Always, 0, loc)?;
    for inst in &mut body.insts[first..] {
        inst.applied = Some(loc);
    }
    Ok(results)
}

/// The condition under which control reaches a point.
#[derive(Clone, PartialEq)]
enum Path {
    /// Always.
    Always,
    /// Control reaches the outer point, and the test has this value there.
    When(Rc<Path>, BodyRef, bool),
    /// This bool is true.
    If(BodyRef),
}

/// An edge to a block, with arguments for its parameters.
struct Edge {
    path: Path,
    args: SmallVec<[BodyRef; 2]>,
}

/// The outgoing edges of a block: to other blocks, or out of the function.
type Ways = SmallVec<[(Option<Block>, Edge); 2]>;

struct Inliner<'a> {
    body: &'a mut Body,
    first: usize,
    /// The number of blocks of all calls so far.
    blocks: usize,
    module: &'a Module,
}

/// One call of a function.
struct InlinedCall<'f> {
    func: &'f Function,
    values: FxHashMap<Value, BodyRef>,
    depth: usize,
}

impl InlinedCall<'_> {
    fn get(&self, value: Value) -> Result<(BodyRef, DType), String> {
        let known = match self.func.def(value) {
            ValueDef::Const(s) => Some(BodyRef::Const(s)),
            _ => self.values.get(&value).copied(),
        };
        let known = known.ok_or_else(|| format!("`@{}` uses a value before it is defined", self.func.name))?;
        Ok((known, self.func.ty(value).dtype()))
    }
    fn get_all(&self, values: &[Value]) -> Result<SmallVec<[BodyRef; 2]>, String> {
        values.iter().map(|&v| Ok(self.get(v)?.0)).collect()
    }
}

impl Inliner<'_> {
    fn call(
        &mut self,
        func: &Function,
        args: &[(BodyRef, DType)],
        path: &Path,
        depth: usize,
        loc: Loc,
    ) -> Result<SmallVec<[BodyRef; 2]>, String> {
        let name = func.name;
        let signature = func.signature();
        if signature.params.iter().chain(&signature.results).any(Type::is_array) {
            return Err(format!("`@{name}` is no function of scalars"));
        }
        if args.len() != func.params().len() {
            return Err(format!("`@{name}` takes {} arguments, got {}", func.params().len(), args.len()));
        }
        if depth > MAX_DEPTH {
            return Err(format!("calls nest deeper than {MAX_DEPTH}"));
        }
        self.blocks += func.blocks().count();
        if self.blocks > MAX_BLOCKS {
            return Err(format!("it has more than {MAX_BLOCKS} blocks, with those of its callees"));
        }
        let dominators = Dominators::of(func);
        let order: FxHashMap<Block, usize> =
            dominators.reverse_postorder().iter().enumerate().map(|(n, &b)| (b, n)).collect();
        let mut frame = InlinedCall { func, values: FxHashMap::default(), depth };
        let mut entry: SmallVec<[BodyRef; 2]> = SmallVec::new();
        for (&(arg, from), &param) in args.iter().zip(func.params()) {
            entry.push(self.body.cast(arg, from, func.ty(param).dtype(), loc));
        }
        let mut edges: FxHashMap<Block, Vec<Edge>> = FxHashMap::default();
        let mut returned: Vec<Edge> = Vec::new();
        if let Some(block) = func.entry() {
            edges.insert(block, vec![Edge { path: path.clone(), args: entry }]);
        }
        for (number, &block) in dominators.reverse_postorder().iter().enumerate() {
            let params = func.block_params(block);
            let dtypes: SmallVec<[DType; 4]> = params.iter().map(|&p| func.ty(p).dtype()).collect();
            let Edge { path, args } = self.join(edges.remove(&block).unwrap_or_default(), &dtypes, loc)?;
            frame.values.extend(params.iter().copied().zip(args));
            for inst in func.insts(block) {
                if !func.inst(inst).op.is_terminator() {
                    self.inst(&mut frame, inst, &path)?;
                    continue;
                }
                for (target, edge) in self.leave(&frame, inst, &path)? {
                    match target {
                        None => returned.push(edge),
                        Some(next) if order.get(&next).is_some_and(|&n| n > number) => {
                            edges.entry(next).or_default().push(edge);
                        }
                        Some(_) => return Err(format!("`@{name}` has a loop")),
                    }
                }
            }
        }
        if returned.is_empty() {
            return Err(format!("`@{name}` does not return"));
        }
        let dtypes: SmallVec<[DType; 4]> = signature.results.iter().map(Type::dtype).collect();
        Ok(self.join(returned, &dtypes, loc)?.args)
    }

    // --- Instructions ---------------------------------------------------------------------------

    fn push(
        &mut self,
        op: BodyOp,
        args: impl IntoIterator<Item = BodyRef>,
        dtypes: impl IntoIterator<Item = DType>,
        loc: Loc,
    ) -> Result<SmallVec<[BodyRef; 2]>, String> {
        match self.body.insts.len() - self.first < MAX_INSTS {
            true => Ok(self.body.push(op, args, dtypes, loc)),
            false => Err(format!("it has more than {MAX_INSTS} instructions")),
        }
    }

    /// Appends an op with one result.
    fn op(&mut self, op: &'static OpDef, args: &[BodyRef], dtype: DType, loc: Loc) -> Result<BodyRef, String> {
        Ok(self.push(BodyOp::Op(Op(op), Attrs::new()), args.iter().copied(), [dtype], loc)?[0])
    }

    fn inst(&mut self, frame: &mut InlinedCall<'_>, inst: Inst, path: &Path) -> Result<(), String> {
        let (func, data) = (frame.func, frame.func.inst(inst));
        let args = data.args.iter().map(|&v| frame.get(v)).collect::<Result<SmallVec<[_; 3]>, _>>()?;
        let results = if data.op == effects::CALL || data.op == effects::UFUNC {
            let name = data.attrs.func("callee").ok_or("a call names no function")?;
            let callee = self.module.get(name).ok_or_else(|| format!("there is no function `@{name}`"))?;
            self.call(callee, &args, path, frame.depth + 1, data.loc)?
        } else if data.op == effects::DEL {
            return Ok(());
        } else {
            if *path != Path::Always && may_fail(data, &args) {
                return Err(format!("`{}` may fail, and `@{}` computes it under a condition", data.op, func.name));
            }
            if !data.op.is_elementwise() || !data.op.is_pure() {
                return Err(format!("`@{}` contains `{}`", func.name, data.op));
            }
            let dtypes = data.results.iter().map(|&r| func.ty(r).dtype());
            self.push(BodyOp::Op(data.op, data.attrs.clone()), args.iter().map(|a| a.0), dtypes, data.loc)?
        };
        frame.values.extend(data.results.iter().copied().zip(results));
        Ok(())
    }

    /// The outgoing edges of a terminator: to blocks, or out of the function.
    fn leave(&mut self, frame: &InlinedCall<'_>, inst: Inst, path: &Path) -> Result<Ways, String> {
        let data = frame.func.inst(inst);
        let mut edges = SmallVec::new();
        let mut along = |target: usize, path: Path| {
            let target = &data.targets[target];
            edges.push((Some(target.block), Edge { path, args: frame.get_all(&target.args)? }));
            Ok::<(), String>(())
        };
        if data.op == control::RET {
            edges.push((None, Edge { path: path.clone(), args: frame.get_all(&data.args)? }));
        } else if data.op == control::JUMP {
            along(0, path.clone())?;
        } else if data.op == control::BR_IF {
            let (test, _) = frame.get(data.args[0])?;
            along(0, Path::When(Rc::new(path.clone()), test, true))?;
            along(1, Path::When(Rc::new(path.clone()), test, false))?;
        } else if data.op == control::SWITCH {
            let (value, _) = frame.get(data.args[0])?;
            let mut rest = path.clone();
            for (target, &case) in data.attrs.ints("cases").unwrap_or(&[]).iter().enumerate() {
                let test = self.op(&compare::EQ, &[value, BodyRef::Const(Scalar::I64(case))], DType::Bool, data.loc)?;
                along(target, Path::When(Rc::new(rest.clone()), test, true))?;
                rest = Path::When(Rc::new(rest), test, false);
            }
            along(data.targets.len().saturating_sub(1), rest)?;
        } else {
            return Err(format!("`@{}` contains `{}`", frame.func.name, data.op));
        }
        Ok(edges)
    }

    // --- Joins ----------------------------------------------------------------------------------

    /// Joins the incoming edges of a block, at most one of which is taken, into one edge.
    fn join(&mut self, mut edges: Vec<Edge>, dtypes: &[DType], loc: Loc) -> Result<Edge, String> {
        // Joins the two edges of the same test first: the result depends on the test only, not on the path
        // to it.
        while let Some((a, b)) = sides(&edges) {
            let no = edges.swap_remove(b);
            let yes = std::mem::replace(&mut edges[a], Edge { path: Path::Always, args: SmallVec::new() });
            let Path::When(outer, test, holds) = yes.path else { return Err("two sides of no test".into()) };
            let args = if holds { (yes.args, no.args) } else { (no.args, yes.args) };
            edges[a] = Edge { path: (*outer).clone(), args: self.select_all(test, args.0, args.1, dtypes, loc)? };
        }
        let mut edges = edges.into_iter();
        let Some(mut joined) = edges.next() else { return Err("a block that nothing goes to".into()) };
        for edge in edges {
            let (Some(taken), Some(other)) = (self.bool_of(&edge.path, loc)?, self.bool_of(&joined.path, loc)?) else {
                return Err("two ways that are both always taken".into());
            };
            joined.args = self.select_all(taken, edge.args, joined.args, dtypes, loc)?;
            joined.path = Path::If(self.op(&logic::OR, &[taken, other], DType::Bool, loc)?);
        }
        Ok(joined)
    }

    fn select_all(
        &mut self,
        test: BodyRef,
        yes: SmallVec<[BodyRef; 2]>,
        no: SmallVec<[BodyRef; 2]>,
        dtypes: &[DType],
        loc: Loc,
    ) -> Result<SmallVec<[BodyRef; 2]>, String> {
        let choose = |((a, b), &dtype): ((BodyRef, BodyRef), &DType)| {
            if a == b { Ok(a) } else { self.op(&compare::WHERE, &[test, a, b], dtype, loc) }
        };
        yes.into_iter().zip(no).zip(dtypes).map(choose).collect()
    }

    /// A bool that is true if a path is taken; `None` for a path that always is.
    fn bool_of(&mut self, path: &Path, loc: Loc) -> Result<Option<BodyRef>, String> {
        let (outer, test, holds) = match path {
            Path::Always => return Ok(None),
            Path::If(known) => return Ok(Some(*known)),
            Path::When(outer, test, holds) => (outer, *test, *holds),
        };
        let test = if holds { test } else { self.op(&logic::NOT, &[test], DType::Bool, loc)? };
        match self.bool_of(outer, loc)? {
            None => Ok(Some(test)),
            Some(outer) => Ok(Some(self.op(&logic::AND, &[outer, test], DType::Bool, loc)?)),
        }
    }
}

/// True if an op may fail at these dtypes. Powers of floats and complex numbers are defined for all
/// operands.
fn may_fail(data: &InstData, args: &[(BodyRef, DType)]) -> bool {
    if !data.op.traits.contains(Traits::PARTIAL) {
        return false;
    }
    let dtypes: SmallVec<[DType; 3]> = args.iter().map(|a| a.1).collect();
    let total = match data.op.eval {
        Eval::Elementwise { resolve, .. } if data.op == power::POWER => {
            resolve(&dtypes, &data.attrs).is_ok_and(|found| !found.ins[0].is_int())
        }
        _ => false,
    };
    !total
}

/// Two edges that are the two sides of one test.
fn sides(edges: &[Edge]) -> Option<(usize, usize)> {
    let opposite = |a: &Path, b: &Path| match (a, b) {
        (Path::When(p, x, true), Path::When(q, y, false)) | (Path::When(p, x, false), Path::When(q, y, true)) => {
            x == y && (Rc::ptr_eq(p, q) || p == q)
        }
        _ => false,
    };
    let of = |a: usize| (a + 1..edges.len()).find(|&b| opposite(&edges[a].path, &edges[b].path)).map(|b| (a, b));
    // Searches from the end, where the edges of a long `switch` are.
    (0..edges.len()).rev().find_map(of)
}
