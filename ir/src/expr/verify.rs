//! The verifier of expressions: checks every property that does not depend on extents.
//!
//! All consumers of expressions rely on it: references are in range and in order, dtypes are those that the
//! ops compute, maps have a position for each dim, and there is a result for each yield.

use super::{
    Affine, ArrayExpr, Axis, AxisKind, Body, BodyInst, BodyOp, BodyRef, Combine, Index, IndexExpr, Init, Mode, Monoid,
    Operand, Out, Reduction, Source, SymExpr, Test, Write,
};
use crate::dtype::DType;
use crate::loc::Loc;
use crate::name::Name;
use crate::op::infer_types;
use crate::scalar::Scalar;
use crate::types::{Dim, Type};
use smallvec::SmallVec;

/// The maximum nesting of expressions, and of positions that are read from arrays.
pub const MAX_NESTING: usize = 8;

/// A violation in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The violation.
    pub message: String,
    /// The source location, if an instruction of a body is at fault.
    pub loc: Loc,
}

/// All violations of an expression whose instruction has operands of these types.
pub fn verify(expr: &ArrayExpr, args: &[Type]) -> Vec<Problem> {
    let mut verifier = ExprVerifier { args, problems: Vec::new(), loc: Loc::default() };
    verifier.expression(expr, &NameScope::default());
    verifier.problems
}

impl ArrayExpr {
    /// The dtypes of all accumulators, in order.
    pub fn accumulators(&self) -> impl Iterator<Item = DType> + '_ {
        self.reductions.iter().flat_map(|r| r.accumulators.iter().copied())
    }
}

/// The names that an expression inherits from the enclosing ones; with its own axes, the names in scope of
/// its parts.
#[derive(Clone, Default)]
struct NameScope {
    /// Each axis, and whether it may be used here.
    axes: Vec<(Name, bool)>,
    /// Names of axes and operands.
    names: Vec<Name>,
    /// The dtypes of the values that a nested expression captures.
    captures: Option<Vec<Option<DType>>>,
    depth: usize,
}

/// A kind of body of an expression.
#[derive(Clone, Copy, PartialEq)]
enum BodyKind {
    Body,
    Finish,
    Region,
}

struct ExprVerifier<'a> {
    args: &'a [Type],
    problems: Vec<Problem>,
    loc: Loc,
}

impl ExprVerifier<'_> {
    fn problem(&mut self, message: impl Into<String>) {
        self.problems.push(Problem { message: message.into(), loc: self.loc });
    }

    /// Checks an expression; returns the dtypes of its results.
    fn expression(&mut self, expr: &ArrayExpr, outer: &NameScope) -> Vec<DType> {
        let results = expr.outs.iter().map(|o| o.dtype).collect();
        if outer.depth > MAX_NESTING {
            self.problem(format!("expressions nest deeper than {MAX_NESTING}"));
            return results;
        }
        let mut scope = outer.clone();
        scope.depth += 1;
        // Axes of enclosing expressions are in scope; their operands are not.
        scope.names = outer.axes.iter().map(|(name, _)| *name).collect();
        for axis in &expr.axes {
            self.name(&mut scope, axis.name, "axis");
            scope.axes.push((axis.name, true));
        }
        for (i, axis) in expr.axes.iter().enumerate() {
            self.axis(expr, axis, outer.axes.len() + i, outer);
        }
        for condition in &expr.guard {
            self.affine(&condition.form, &scope, "the guard");
            if matches!(condition.test, Test::DivisibleBy(n) if n <= 0) {
                self.problem("the guard divides by a number that is not positive");
            }
        }
        for operand in &expr.operands {
            self.name(&mut scope, operand.name, "operand");
            self.operand(operand, &scope);
        }
        let mut finish_scope = scope.clone();
        for (i, axis) in expr.axes.iter().enumerate() {
            finish_scope.axes[outer.axes.len() + i].1 = axis.kind.has_results();
        }
        let yields = self.body(&expr.body, expr, &scope, &[], BodyKind::Body);
        let yields = self.reductions(expr, yields, &finish_scope);
        self.outs(expr, yields.len(), outer, &finish_scope);
        results
    }

    fn name(&mut self, scope: &mut NameScope, name: Name, what: &str) {
        if scope.names.contains(&name) {
            self.problem(format!("{what} `{name}` has a name that is taken"));
        }
        scope.names.push(name);
    }

    fn axis(&mut self, expr: &ArrayExpr, axis: &Axis, number: usize, outer: &NameScope) {
        if outer.captures.is_some() && axis.kind.has_results() {
            self.problem(format!(
                "axis `{}` of a nested expression must be a reduce axis, as its results are scalars",
                axis.name
            ));
        }
        if axis.hi.is_some() {
            return;
        }
        if axis.lo != SymExpr::default() {
            self.problem(format!("axis `{}` has no upper bound, so its lower bound must be 0", axis.name));
        }
        if !extent_sources(expr, number as u32).any(|_| true) {
            self.problem(format!(
                "the extent of axis `{}` can't be inferred: no operand is indexed by just it",
                axis.name
            ));
        }
    }

    fn affine(&mut self, form: &Affine, scope: &NameScope, what: &str) {
        for &(axis, _) in form.axes() {
            match scope.axes.get(axis as usize) {
                None => self.problem(format!("{what} names axis {axis}, there are {}", scope.axes.len())),
                Some((name, false)) => self.problem(format!("{what} can't depend on the reduce axis `{name}`")),
                Some((_, true)) => {}
            }
        }
    }

    // --- Operands -------------------------------------------------------------------------------

    fn operand(&mut self, operand: &Operand, scope: &NameScope) {
        let what = format!("operand `{}`", operand.name);
        let found = match &operand.source {
            Source::Capture(k) => match scope.captures.as_ref().map(|c| c.get(*k as usize)) {
                Some(Some(dtype)) => dtype.map(|d| (d, Some(0))),
                Some(None) => return self.problem(format!("{what} is capture {k}, which is not given")),
                None => return self.problem(format!("{what} captures, but the expression is not nested")),
            },
            Source::Array(n) | Source::Scalar(n) => {
                let Some(ty) = self.args.get(*n as usize) else {
                    return self
                        .problem(format!("{what} is operand {n} of the instruction, which has {}", self.args.len()));
                };
                match &operand.source {
                    Source::Array(_) if ty.is_scalar() || ty.style().is_some() => {
                        return self.problem(format!("{what} is read as a dense array and is {ty}"));
                    }
                    Source::Scalar(_) if ty.rank() != 0 || ty.style().is_some() => {
                        return self.problem(format!("{what} is read as a scalar and is {ty}"));
                    }
                    _ => Some((ty.dtype(), Some(ty.rank()))),
                }
            }
        };
        if let Some((dtype, rank)) = found {
            if dtype != operand.dtype {
                self.problem(format!("{what} has dtype {}, its source {dtype}", operand.dtype));
            }
            if rank.is_some_and(|r| r != operand.index.len()) {
                let rank = rank.unwrap_or_default();
                self.problem(format!("{what} has {} positions for {rank} dims", operand.index.len()));
            }
        }
        for index in &operand.index {
            self.index(index, operand, scope, &what);
        }
    }

    fn index(&mut self, index: &Index, operand: &Operand, scope: &NameScope, what: &str) {
        self.position(&index.expr, scope, what, 0);
        match index.mode {
            Mode::Broadcast if plain_axis(&index.expr).is_none() => {
                self.problem(format!("{what} broadcasts along something that is not an axis"));
            }
            Mode::Proved if matches!(index.expr, IndexExpr::Gather { .. }) => {
                self.problem(format!("{what} claims that positions read from an array are in bounds"));
            }
            Mode::Pad(value) if value.dtype() != operand.dtype => {
                self.problem(format!("{what} has dtype {} and is padded with {}", operand.dtype, value.dtype()));
            }
            _ => {}
        }
    }

    fn position(&mut self, position: &IndexExpr, scope: &NameScope, what: &str, depth: usize) {
        if depth > MAX_NESTING {
            return self.problem(format!("{what} reads positions nested deeper than {MAX_NESTING}"));
        }
        match position {
            IndexExpr::Affine(form) => self.affine(form, scope, what),
            IndexExpr::FloorDiv(form, divisor) | IndexExpr::Mod(form, divisor) => {
                self.affine(form, scope, what);
                if *divisor <= 0 {
                    self.problem(format!("{what} divides by {divisor}, which is not positive"));
                }
            }
            IndexExpr::Gather { arg, index, offset, .. } => {
                self.affine(offset, scope, what);
                match self.args.get(*arg as usize) {
                    Some(ty) if ty.style().is_some() || !ty.dtype().is_int() => {
                        let message =
                            format!("{what} reads positions from {ty}, which is no integer or dense array of them");
                        self.problem(message);
                    }
                    Some(ty) if ty.rank() != index.len() => {
                        self.problem(format!("{what} reads positions from {ty} at {} positions", index.len()))
                    }
                    Some(_) => {}
                    None => self.problem(format!(
                        "{what} reads positions from operand {arg} of the instruction, which has {}",
                        self.args.len()
                    )),
                }
                for inner in index {
                    self.position(inner, scope, what, depth + 1);
                }
            }
        }
    }

    // --- Bodies ---------------------------------------------------------------------------------

    /// Checks a body; returns the dtypes of its yields, where they are known.
    fn body(
        &mut self,
        body: &Body,
        expr: &ArrayExpr,
        scope: &NameScope,
        accs: &[DType],
        place: BodyKind,
    ) -> Vec<Option<DType>> {
        for (i, inst) in body.insts.iter().enumerate() {
            self.loc = inst.loc;
            let args: SmallVec<[Option<DType>; 3]> =
                inst.args.iter().map(|r| self.reference(r, body, i, expr, scope, accs, place)).collect();
            match &inst.op {
                BodyOp::Op(..) => self.body_op(inst, &args),
                BodyOp::Nested(_) if place == BodyKind::Region => {
                    self.problem("a combining region holds no nested expression")
                }
                BodyOp::Nested(nested) => {
                    let inner = NameScope { captures: Some(args.to_vec()), ..scope.clone() };
                    let dtypes = self.expression(nested, &inner);
                    self.loc = inst.loc;
                    if dtypes[..] != inst.dtypes[..] {
                        self.problem(format!("a nested expression has results of {dtypes:?}, not {:?}", inst.dtypes));
                    }
                }
            }
        }
        self.loc = Loc::default();
        let end = body.insts.len();
        body.yields.iter().map(|r| self.reference(r, body, end, expr, scope, accs, place)).collect()
    }

    fn body_op(&mut self, inst: &BodyInst, args: &[Option<DType>]) {
        let BodyOp::Op(op, attrs) = &inst.op else { return };
        if !op.is_elementwise() {
            return self.problem(format!("`{op}` is not elementwise"));
        }
        let Some(known) = args.iter().map(|d| d.map(Type::scalar)).collect::<Option<SmallVec<[Type; 3]>>>() else {
            return;
        };
        let consts: SmallVec<[_; 3]> =
            inst.args.iter().map(|r| if let BodyRef::Const(s) = r { Some(*s) } else { None }).collect();
        match infer_types(*op, &known, &consts, attrs.clone(), None) {
            Err(e) => self.problem(e.message),
            Ok((_, types)) if !types.iter().map(Type::dtype).eq(inst.dtypes.iter().copied()) => {
                let found: Vec<_> = types.iter().map(Type::dtype).collect();
                self.problem(format!("`{op}` computes {found:?} here, not {:?}", inst.dtypes));
            }
            Ok(_) => {}
        }
    }

    #[allow(clippy::too_many_arguments, reason = "a reference means something only with all that is around it")]
    fn reference(
        &mut self,
        r: &BodyRef,
        body: &Body,
        at: usize,
        expr: &ArrayExpr,
        scope: &NameScope,
        accs: &[DType],
        place: BodyKind,
    ) -> Option<DType> {
        let found =
            match *r {
                BodyRef::Const(s) => Ok(s.dtype()),
                BodyRef::Operand(_) | BodyRef::Axis(_) if place == BodyKind::Region => {
                    Err("a combining region sees accumulators and constants only".to_string())
                }
                BodyRef::Operand(k) => match expr.operands.get(k as usize) {
                    None => Err(format!("operand {k} of {} is used", expr.operands.len())),
                    Some(operand) => {
                        if place == BodyKind::Finish {
                            // Operands are read again, at a point of the parallel axes.
                            operand
                                .index
                                .iter()
                                .for_each(|index| self.index(index, operand, scope, "a read of a finisher"));
                        }
                        Ok(operand.dtype)
                    }
                },
                BodyRef::Axis(k) => match scope.axes.get(k as usize) {
                    None => Err(format!("axis {k} of {} is used", scope.axes.len())),
                    Some((name, false)) => Err(format!("the reduce axis `{name}` is used after the reduction")),
                    Some(_) => Ok(DType::I64),
                },
                BodyRef::Acc(k) => {
                    accs.get(k as usize).copied().ok_or_else(|| format!("accumulator {k} of {} is used", accs.len()))
                }
                BodyRef::Inst(i, result) => match body.insts.get(i as usize) {
                    Some(inst) if (i as usize) < at => inst.dtypes.get(result as usize).copied().ok_or_else(|| {
                        format!("result {result} of instruction {i} is used, it has {}", inst.dtypes.len())
                    }),
                    _ => Err(format!("instruction {i} is used before it is computed")),
                },
            };
        found.map_err(|message| self.problem(message)).ok()
    }

    // --- Reductions and results -----------------------------------------------------------------

    /// Checks the reductions and the `finish` body; returns the dtypes of the values that the results
    /// receive.
    fn reductions(&mut self, expr: &ArrayExpr, yields: Vec<Option<DType>>, scope: &NameScope) -> Vec<Option<DType>> {
        let combines = expr.axes.iter().any(|a| a.kind != AxisKind::Parallel);
        if expr.axes.iter().filter(|a| a.kind.is_scan()).count() > 1 {
            self.problem("there are several scan axes; an expression has at most one");
        }
        if expr.reductions.is_empty() {
            if expr.axes.iter().any(|a| a.kind == AxisKind::Reduce) {
                self.problem("there are reduce axes, and nothing says how points along them combine");
            }
            if let Some((axis, _)) = expr.scan() {
                let name = expr.axes[axis].name;
                self.problem(format!("nothing says how points along the scan axis `{name}` combine"));
            }
            if expr.finish.is_some() {
                self.problem("there is a finisher, and nothing that it finishes");
            }
            return yields;
        }
        if !combines {
            self.problem("there are reductions, and no reduce axis and no scan axis");
        }
        let accs: Vec<DType> = expr.accumulators().collect();
        if accs.len() != yields.len() {
            self.problem(format!("the body yields {} values for {} accumulators", yields.len(), accs.len()));
        }
        let mut first = 0;
        for reduction in &expr.reductions {
            self.reduction(reduction, expr, first, scope);
            if let Some((axis, exclusive)) = expr.scan() {
                self.scanned(reduction, expr.axes[axis].name, exclusive);
            }
            first += reduction.accumulators.len();
        }
        match &expr.finish {
            Some(finish) => self.body(finish, expr, scope, &accs, BodyKind::Finish),
            None => accs.into_iter().map(Some).collect(),
        }
    }

    fn reduction(&mut self, reduction: &Reduction, expr: &ArrayExpr, first: usize, scope: &NameScope) {
        let accs = &reduction.accumulators;
        match &reduction.combine {
            Combine::Builtin(monoid) => {
                if monoid.accumulators() != accs.len() {
                    self.problem(format!(
                        "`{}` has {} accumulators, not {}",
                        monoid.name(),
                        monoid.accumulators(),
                        accs.len()
                    ));
                }
                if *monoid == Monoid::Dot {
                    if accs.windows(2).any(|pair| pair[0] != pair[1]) {
                        self.problem("the factors of `dot` have one dtype");
                    }
                    match &reduction.init {
                        Init::Identity => {}
                        Init::Values(values) if values.get(1).is_none_or(|&one| one == Scalar::one(one.dtype())) => {}
                        Init::Values(_) => self.problem("`dot` starts from a sum and 1"),
                        Init::First => self.problem("`dot` starts from a sum, as one point has factors"),
                        Init::Existing(_) => {
                            self.problem("`dot` can't start from existing elements; a finisher can add them");
                        }
                    }
                } else if monoid.accumulators() == 2 && !accs.get(1).is_some_and(|d| d.is_int()) {
                    self.problem(format!("the position of `{}` must be an integer", monoid.name()));
                }
                if reduction.identity.is_some() {
                    self.problem(format!("the identity of `{}` is known and can't be given", monoid.name()));
                }
            }
            Combine::Region(body) => {
                let both: Vec<DType> = accs.iter().chain(accs).copied().collect();
                let yields = self.body(body, expr, scope, &both, BodyKind::Region);
                if !accs.is_empty() && yields.iter().all(Option::is_some) && !yields.iter().flatten().eq(accs) {
                    let found: Vec<DType> = yields.into_iter().flatten().collect();
                    self.problem(format!("a combining region yields {found:?} for accumulators of {accs:?}"));
                }
                if accs.is_empty() {
                    self.problem("a combining region without accumulators");
                }
            }
        }
        let lists = [reduction.identity.as_ref(), if let Init::Values(v) = &reduction.init { Some(v) } else { None }];
        for values in lists.into_iter().flatten() {
            if !values.iter().map(|s| s.dtype()).eq(accs.iter().copied()) {
                self.problem(format!("starting values or identity don't fit the accumulators, which are {accs:?}"));
            }
        }
        if let Init::Existing(args) = &reduction.init {
            if args.len() != accs.len() {
                self.problem(format!("{} accumulators start from {} operands", accs.len(), args.len()));
            }
            for (k, arg) in args.iter().enumerate() {
                self.existing(*arg, first + k, expr, scope);
            }
        }
    }

    /// Checks the start of a reduction along a scan axis.
    fn scanned(&mut self, reduction: &Reduction, axis: Name, exclusive: bool) {
        match &reduction.init {
            Init::Existing(_) => self.problem(format!(
                "accumulators can't start from existing elements along the scan axis `{axis}`, as each point has a \
                 result; a finisher can combine them"
            )),
            _ if exclusive && reduction.initial_values().is_none() => self.problem(format!(
                "the exclusive scan along `{axis}` has no value at its first point: it needs an initial value, or a \
                 monoid with an identity"
            )),
            _ => {}
        }
    }

    fn existing(&mut self, arg: u32, accumulator: usize, expr: &ArrayExpr, scope: &NameScope) {
        let rank = existing_out(expr, accumulator).map(|out| out.dims.len());
        match self.args.get(arg as usize) {
            _ if scope.captures.is_some() => {
                self.problem("accumulators of a nested expression can't start from arrays")
            }
            Some(ty) if !ty.is_array() || ty.style().is_some() || Some(ty.rank()) != rank => self.problem(format!(
                "accumulator {accumulator} starts from {ty}, which is no dense array of its result's rank"
            )),
            Some(_) => {}
            None => self.problem(format!("accumulator {accumulator} starts from operand {arg}, which is not there")),
        }
    }

    fn outs(&mut self, expr: &ArrayExpr, yields: usize, outer: &NameScope, scope: &NameScope) {
        if expr.outs.is_empty() {
            self.problem("there are no results");
        }
        if expr.outs.len() != yields {
            self.problem(format!("{yields} values are computed for {} results", expr.outs.len()));
        }
        for (k, out) in expr.outs.iter().enumerate() {
            let what = format!("result {k}");
            if out.dims.len() != out.index.len() {
                self.problem(format!("{what} has {} positions for {} dims", out.index.len(), out.dims.len()));
            }
            if outer.captures.is_some() && !out.dims.is_empty() {
                self.problem("a nested expression gives scalars");
            }
            for (position, dim) in out.index.iter().zip(&out.dims) {
                self.position(position, scope, &what, 0);
                if *dim == Dim::Any && plain_axis(position).is_none() {
                    self.problem(format!("{what} needs a dim where it is not indexed by just an axis"));
                }
            }
            if out.fill.is_some_and(|f| f.dtype() != out.dtype) {
                self.problem(format!("{what} has dtype {} and is filled with another", out.dtype));
            }
            match out.write {
                Write::Combine(Monoid::ArgMin | Monoid::ArgMax) => {
                    self.problem(format!("{what} can't combine positions of minima or maxima"));
                }
                Write::Combine(Monoid::Dot) => {
                    self.problem(format!("{what} can't combine factors by `dot`; `sum` adds products"));
                }
                Write::Unique if self.problems.is_empty() => self.unique(expr, out, outer.axes.len(), &what),
                _ => {}
            }
        }
    }

    /// Reports an axis with more than one point on which a map that must be injective does not depend.
    fn unique(&mut self, expr: &ArrayExpr, out: &Out, first: usize, what: &str) {
        for (i, axis) in expr.axes.iter().enumerate() {
            let number = (first + i) as u32;
            let uses = |form: &Affine| form.axes().iter().any(|(a, _)| *a == number);
            let guarded = expr.guard.iter().any(|c| uses(&c.form));
            let single = axis
                .hi
                .as_ref()
                .is_some_and(|hi| hi.terms() == axis.lo.terms() && hi.constant.saturating_sub(axis.lo.constant) <= 1);
            let counts = axis.kind.has_results() && !guarded && !single;
            if counts && !out.index.iter().any(|p| depends(p, &uses)) {
                self.problem(format!("{what} is written at one place by all points along axis `{}`", axis.name));
            }
        }
    }
}

fn depends(position: &IndexExpr, uses: &impl Fn(&Affine) -> bool) -> bool {
    match position {
        IndexExpr::Affine(form) | IndexExpr::FloorDiv(form, _) | IndexExpr::Mod(form, _) => uses(form),
        IndexExpr::Gather { index, offset, .. } => uses(offset) || index.iter().any(|p| depends(p, uses)),
    }
}

/// The axis, if a position is just one axis.
pub(crate) fn plain_axis(position: &IndexExpr) -> Option<u32> {
    if let IndexExpr::Affine(form) = position { form.as_axis() } else { None }
}

/// The result whose elements are the initial values of an accumulator with existing elements: the result of
/// its number, or the last one.
pub(crate) fn existing_out(expr: &ArrayExpr, accumulator: usize) -> Option<&Out> {
    expr.outs.get(accumulator).or(expr.outs.last())
}

/// The dims, as (operand of the instruction, dim), that determine the extent of an axis without an upper
/// bound. They are indexed by just this axis, in the expression, in its gathered positions, or in nested
/// expressions.
pub fn extent_sources(expr: &ArrayExpr, axis: u32) -> impl Iterator<Item = (u32, usize)> + '_ {
    let mut found = Vec::new();
    let mut work = vec![expr];
    while let Some(expr) = work.pop() {
        for operand in &expr.operands {
            let positions: Vec<&IndexExpr> = operand.index.iter().map(|i| &i.expr).collect();
            let source = if let Source::Array(n) = operand.source { Some(n) } else { None };
            positions_of(source, &positions, axis, &mut found, 0);
        }
        for out in &expr.outs {
            positions_of(None, &out.index.iter().collect::<Vec<_>>(), axis, &mut found, 0);
        }
        for inst in expr.body.insts.iter().chain(expr.finish.iter().flat_map(|f| &f.insts)) {
            if let BodyOp::Nested(nested) = &inst.op {
                work.push(nested);
            }
        }
    }
    found.into_iter()
}

fn positions_of(source: Option<u32>, positions: &[&IndexExpr], axis: u32, found: &mut Vec<(u32, usize)>, depth: usize) {
    for (dim, position) in positions.iter().enumerate() {
        match (position, source) {
            (IndexExpr::Gather { arg, index, .. }, _) if depth <= MAX_NESTING => {
                positions_of(Some(*arg), &index.iter().collect::<Vec<_>>(), axis, found, depth + 1);
            }
            (position, Some(source)) if plain_axis(position) == Some(axis) => found.push((source, dim)),
            _ => {}
        }
    }
}
