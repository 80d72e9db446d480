//! Branches and loops.
//!
//! Steps form a flat list: one opens a region, a later one closes it or moves to its next arm. So any
//! step can be dropped.

use super::body::Body;
use super::choices::Choices;
use rewright_ir::{Arg, Attr, Attrs, Block, DType, Dim, Target, Type, Value};

/// The limit on nesting, so that programs end soon.
const MAX_DEPTH: usize = 3;

/// An open region of a function.
pub enum Region {
    /// The arm of a branch.
    Branch {
        /// The blocks of the arms that are not yet generated.
        arms: Vec<Block>,
        /// The join block of the arms, and the default arguments for it.
        join: Block,
        defaults: Vec<Value>,
        /// The values in scope before the branch, and those that some arm has ended.
        outer: Vec<Value>,
        ended: Vec<Value>,
        /// Whether an arm, or the branch itself, reaches `join`.
        joined: bool,
    },
    /// The body of a loop.
    Loop {
        /// The loop header, with a counter and the carried values.
        head: Block,
        /// The exit block; `None` for a loop that tests its condition at the end.
        exit: Option<Block>,
        rounds: i64,
        /// The values in scope before the loop, and its parameters.
        outer: Vec<Value>,
    },
}

impl Region {
    /// True if the region still uses the value, so that it can't be ended.
    pub fn needs(&self, value: Value) -> bool {
        match self {
            Region::Branch { defaults, .. } => defaults.contains(&value),
            Region::Loop { outer, .. } => outer.contains(&value),
        }
    }
}

/// Begins a branch or a loop.
pub fn begin(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    if body.regions.len() >= MAX_DEPTH {
        return None;
    }
    if c.one_in(3) { begin_loop(body, c) } else { begin_branch(body, c) }
}

/// Ends the innermost arm or loop.
pub fn end(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    match body.regions.pop()? {
        Region::Loop { head, exit, rounds, outer } => end_loop(body, c, head, exit, rounds, outer),
        branch @ Region::Branch { .. } => end_arm(body, c, branch),
    }
}

/// A block whose parameters receive values. The types of parameters may be more general than those of the
/// values.
fn block(body: &mut Body<'_>, c: &mut Choices<'_>, name: &str, counter: Option<Type>, values: &[Value]) -> Block {
    let types: Vec<Type> = counter.clone().into_iter().chain(values.iter().map(|&v| body.general(c, v))).collect();
    let params: Vec<(&str, Type)> = types.into_iter().map(|ty| ("q", ty)).collect();
    let block = body.builder.block(name, &params);
    let made = body.builder.func().block_params(block).to_vec();
    let given = counter.into_iter().chain(values.iter().map(|&v| body.actual(v).clone())).collect::<Vec<_>>();
    made.into_iter().zip(given).for_each(|(param, ty)| body.set_actual(param, ty));
    block
}

fn to(block: Block, args: &[Value]) -> Target {
    Target { block, args: args.iter().copied().collect() }
}

/// Some values in scope to pass to a block.
fn passed(body: &Body<'_>, c: &mut Choices<'_>) -> Vec<Value> {
    (0..c.below(4)).filter_map(|_| body.any(c)).collect()
}

/// Arguments for the parameters of a block: recent values of the arm that fit, or the defaults.
fn arguments(body: &Body<'_>, c: &mut Choices<'_>, params: &[Value], defaults: &[Value]) -> Vec<Value> {
    let fits = |v: Value, param: Value| {
        let (given, wanted) = (body.actual(v), body.actual(param));
        body.ty(v).fits(body.ty(param)) && given == wanted && given.dims().iter().all(|d| *d != Dim::Any)
    };
    let choose = |(&param, &default): (&Value, &Value)| match c.below(4) {
        3 => default,
        _ => body.some(c, |_, v| fits(v, param)).unwrap_or(default),
    };
    params.iter().zip(defaults).map(choose).collect()
}

/// A scalar bool.
fn condition(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<Value> {
    let value = body.any(c)?;
    let scalar = match body.ty(value).is_scalar() {
        true => value,
        false => {
            let name = c.pick(&["any", "all", "sum"]);
            body.op(c, name, [value], Attrs::new())?
        }
    };
    if body.ty(scalar).dtype() == DType::Bool {
        return Some(scalar);
    }
    let name = c.pick(&["ne", "gt", "le"]);
    body.op(c, name, [scalar.into(), Arg::from(0)], Attrs::new())
}

fn begin_branch(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    let chosen = c.below(4);
    let on = match chosen {
        3 => body.some(c, |b, v| b.ty(v).is_scalar() && b.ty(v).dtype().is_int()),
        _ => condition(body, c),
    }?;
    let defaults = passed(body, c);
    let join = block(body, c, "join", None, &defaults);
    let count = if chosen == 3 { 1 + c.below(3) } else { 2 };
    let mut joined = false;
    let mut arms = Vec::new();
    let mut targets = Vec::new();
    for arm in 0..count {
        // The last target may be the join itself.
        if arm > 0 && arm + 1 == count && c.one_in(3) {
            targets.push(to(join, &defaults));
            joined = true;
        } else {
            let given = if c.one_in(3) { passed(body, c) } else { Vec::new() };
            let made = block(body, c, "arm", None, &given);
            targets.push(to(made, &given));
            arms.push(made);
        }
    }
    match chosen {
        3 => {
            let cases: Vec<i64> = (0..count as i64 - 1).collect();
            body.builder.inst("switch", [on], Attrs::new().with("cases", Attr::Ints(cases.into())), targets)
        }
        _ if c.one_in(8) => body.builder.inst("br_if", [c.below(2) == 1], Attrs::new(), targets),
        _ => body.builder.inst("br_if", [on], Attrs::new(), targets),
    }
    .expect("a branch on a value of the right type");
    arms.reverse();
    let outer = body.values.clone();
    body.regions.push(Region::Branch { arms, join, defaults, outer, ended: Vec::new(), joined });
    next_arm(body);
    Some(())
}

/// Continues in the next arm of the innermost region, or in its join block after the last arm.
fn next_arm(body: &mut Body<'_>) {
    let Some(Region::Branch { arms, join, outer, ended, .. }) = body.regions.last_mut() else { return };
    body.values.clone_from(outer);
    let arm = arms.pop();
    let block = arm.unwrap_or(*join);
    if arm.is_none() {
        let ended = std::mem::take(ended);
        body.regions.pop();
        ended.iter().for_each(|&v| forget(body, v));
    }
    body.builder.switch_to(block);
    body.values.extend(body.builder.func().block_params(block));
}

/// Removes an ended value from scope, for the rest of the innermost branch and after it.
pub fn forget(body: &mut Body<'_>, value: Value) {
    body.values.retain(|&v| v != value);
    if let Some(Region::Branch { ended, .. }) = body.regions.last_mut() {
        ended.push(value);
    }
}

fn end_arm(body: &mut Body<'_>, c: &mut Choices<'_>, mut branch: Region) -> Option<()> {
    let Region::Branch { join, defaults, joined, .. } = &mut branch else { return None };
    // At least one arm reaches the join block; others may return.
    if *joined && c.one_in(6) {
        body.ret(c);
    } else if *joined && c.one_in(16) {
        let attrs = Attrs::new().with("kind", Attr::Str("ValueError".into())).with("message", Attr::Str("no".into()));
        body.builder.inst("raise", Vec::<Value>::new(), attrs, []).expect("`raise` has no operands");
    } else {
        let params = body.builder.func().block_params(*join).to_vec();
        let args = arguments(body, c, &params, defaults);
        body.builder.inst("jump", Vec::<Value>::new(), Attrs::new(), [to(*join, &args)]).expect("arguments fit");
        *joined = true;
    }
    body.regions.push(branch);
    next_arm(body);
    Some(())
}

fn begin_loop(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    let carried = passed(body, c);
    let counter = Type::scalar(DType::I64);
    let head = block(body, c, "head", Some(counter), &carried);
    let zero = start(body)?;
    let args: Vec<Value> = [zero].into_iter().chain(carried).collect();
    body.builder.inst("jump", Vec::<Value>::new(), Attrs::new(), [to(head, &args)]).expect("arguments fit");
    body.builder.switch_to(head);
    let params = body.builder.func().block_params(head).to_vec();
    body.values.extend(&params);
    let outer = body.values.clone();
    let rounds = c.pick(&[2, 1, 3, 0]);
    let exit = (!c.one_in(3)).then(|| {
        let more = body.builder.op("lt", [params[0].into(), Arg::from(rounds)]).expect("integers");
        let (inside, exit) = (body.builder.block("body", &[]), body.builder.block("exit", &[]));
        let targets = [to(inside, &[]), to(exit, &[])];
        body.builder.inst("br_if", [more], Attrs::new(), targets).expect("a bool");
        body.builder.switch_to(inside);
        exit
    });
    body.regions.push(Region::Loop { head, exit, rounds, outer });
    Some(())
}

/// The initial value 0 of a counter.
fn start(body: &mut Body<'_>) -> Option<Value> {
    body.builder.op_with("cast", [Arg::from(0)], Attrs::new().with("to", Attr::DType(DType::I64))).ok()
}

fn end_loop(
    body: &mut Body<'_>,
    c: &mut Choices<'_>,
    head: Block,
    exit: Option<Block>,
    rounds: i64,
    outer: Vec<Value>,
) -> Option<()> {
    let params = body.builder.func().block_params(head).to_vec();
    let next = body.builder.op("add", [params[0].into(), Arg::from(1)]).expect("integers");
    let carried = arguments(body, c, &params[1..], &params[1..]);
    let again = to(head, &[&[next], &carried[..]].concat());
    let exit = match exit {
        Some(exit) => {
            body.builder.inst("jump", Vec::<Value>::new(), Attrs::new(), [again]).expect("arguments fit");
            body.values = outer;
            exit
        }
        None => {
            let more = body.builder.op("lt", [next.into(), Arg::from(rounds)]).expect("integers");
            let exit = body.builder.block("exit", &[]);
            body.builder.inst("br_if", [more], Attrs::new(), [again, to(exit, &[])]).expect("a bool");
            exit
        }
    };
    body.builder.switch_to(exit);
    Some(())
}
