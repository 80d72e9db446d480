//! Compares the analyses with naive ones on random functions.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rewright_ir::analysis::{
    CallGraph, Dominators, FunctionEffects, Liveness, Loops, ModuleEffects, inst_effects, written_values,
};
use rewright_ir::*;
use std::collections::{BTreeMap, BTreeSet};

// --- Random functions ---------------------------------------------------------------------------

/// A plan of a block: choices of its branch targets, the kind of each instruction, and the choices of all
/// their operands.
type Plan = (Vec<prop::sample::Index>, Vec<bool>, Vec<prop::sample::Index>);

fn plans(blocks: usize) -> impl Strategy<Value = Vec<Plan>> {
    let index = any::<prop::sample::Index>;
    let block = (
        prop::collection::vec(index(), 0..4),
        prop::collection::vec(any::<bool>(), 0..4),
        prop::collection::vec(index(), 24),
    );
    prop::collection::vec(block, 1..blocks)
}

/// The control flow graph of a plan: the successors of each block. The first block has no predecessors.
fn edges(plan: &[Plan]) -> Vec<Vec<usize>> {
    let n = plan.len();
    let targets = |list: &[prop::sample::Index]| list.iter().map(|i| 1 + i.index(n - 1)).collect();
    plan.iter().map(|(list, ..)| if n == 1 { vec![] } else { targets(list) }).collect()
}

/// A valid function with a parameter for each block, `add`s and `print`s, in which definitions dominate
/// uses.
fn build(plan: &[Plan]) -> Function {
    let (edges, int) = (edges(plan), Type::scalar(DType::I64));
    let mut b = FuncBuilder::new("f", &[("x", int.clone())], vec![]);
    let mut blocks = vec![b.func().entry().unwrap()];
    for at in 1..plan.len() {
        blocks.push(b.block(&format!("b{at}"), &[("p", int.clone())]));
    }
    let dominates = dominance(&edges);
    let mut defined: Vec<Vec<Value>> = blocks.iter().map(|&block| vec![b.block_param(block, 0)]).collect();
    // In this order definitions stand before uses: a dominator of a block has fewer dominators than the
    // block.
    let mut order: Vec<usize> = (0..plan.len()).collect();
    order.sort_by_key(|&at| dominates.iter().filter(|row| row[at]).count());
    for at in order {
        b.switch_to(blocks[at]);
        let mut sources = plan[at].2.iter();
        let seen = |defined: &[Vec<Value>]| -> Vec<Value> {
            (0..plan.len()).filter(|&d| dominates[d][at]).flat_map(|d| defined[d].clone()).collect()
        };
        let mut pick = |defined: &[Vec<Value>]| -> Value { *sources.next().unwrap().get(&seen(defined)) };
        for &adds in &plan[at].1 {
            if adds {
                let (x, y) = (pick(&defined), pick(&defined));
                defined[at].push(b.op("add", [x, y]).unwrap());
            } else {
                b.inst("print", [pick(&defined)], Attrs::new(), []).unwrap();
            }
        }
        let targets: Vec<Target> = edges[at]
            .iter()
            .map(|&to| Target { block: blocks[to], args: [pick(&defined)].into_iter().collect() })
            .collect();
        match targets.len() {
            0 => b.inst("ret", Vec::<Value>::new(), Attrs::new(), []),
            1 => b.inst("jump", Vec::<Value>::new(), Attrs::new(), targets),
            n => {
                let cases = Attrs::new().with("cases", Attr::Ints((1..n as i64).collect()));
                b.inst("switch", [pick(&defined)], cases, targets)
            }
        }
        .unwrap();
    }
    b.finish()
}

// --- Naive analyses -----------------------------------------------------------------------------

/// The blocks that are reachable from `from` without passing `without`.
fn reach(edges: &[Vec<usize>], from: usize, without: Option<usize>) -> Vec<bool> {
    let mut seen = vec![false; edges.len()];
    let mut stack: Vec<usize> = Some(from).filter(|&f| Some(f) != without).into_iter().collect();
    while let Some(at) = stack.pop() {
        if !std::mem::replace(&mut seen[at], true) {
            stack.extend(edges[at].iter().copied().filter(|&to| Some(to) != without));
        }
    }
    seen
}

/// `[a][b]`: every path from the entry to `b` passes `a`. All blocks dominate an unreachable one.
fn dominance(edges: &[Vec<usize>]) -> Vec<Vec<bool>> {
    let not_reached = |without| reach(edges, 0, Some(without)).into_iter().map(|reached| !reached).collect();
    (0..edges.len()).map(not_reached).collect()
}

/// For each loop header, the sources of its back edges, and the blocks of the loop.
fn natural_loops(edges: &[Vec<usize>]) -> BTreeMap<usize, (BTreeSet<usize>, BTreeSet<usize>)> {
    let (dominates, reachable) = (dominance(edges), reach(edges, 0, None));
    let mut found = BTreeMap::new();
    for (header, dominated) in dominates.iter().enumerate() {
        let branches_back = |&from: &usize| reachable[from] && dominated[from] && edges[from].contains(&header);
        let latches: BTreeSet<usize> = (0..edges.len()).filter(branches_back).collect();
        if !latches.is_empty() {
            let leads_back = |&b: &usize| b == header || latches.iter().any(|&l| reach(edges, b, Some(header))[l]);
            let body = (0..edges.len()).filter(|&b| reachable[b]).filter(leads_back).collect();
            found.insert(header, (latches.clone(), body));
        }
    }
    found
}

/// Live-in and live-out sets of each block by the textbook equations, iterated to a fixed point.
fn live_sets(func: &Function) -> BTreeMap<Block, (BTreeSet<Value>, BTreeSet<Value>)> {
    let mut sets: BTreeMap<Block, (BTreeSet<Value>, BTreeSet<Value>)> =
        func.blocks().map(|b| (b, Default::default())).collect();
    loop {
        let before = sets.clone();
        for block in func.blocks() {
            let out: BTreeSet<Value> = func.successors(block).flat_map(|s| sets[&s].0.clone()).collect();
            let mut live = out.clone();
            for inst in func.insts(block).rev() {
                let data = func.inst(inst);
                live.retain(|v| !data.results.contains(v));
                live.extend(data.uses().filter(|&v| func.as_const(v).is_none()));
            }
            live.retain(|v| !func.block_params(block).contains(v));
            sets.insert(block, (live, out));
        }
        if sets == before {
            return sets;
        }
    }
}

fn set<T: Ord + Copy>(list: &[T]) -> BTreeSet<T> {
    let set: BTreeSet<T> = list.iter().copied().collect();
    assert!(set.len() == list.len(), "each is listed once");
    set
}

// --- Properties ---------------------------------------------------------------------------------

proptest! {
    #[test]
    fn random_functions_are_valid(plan in plans(10)) {
        let func = build(&plan);
        prop_assert_eq!(verify_function(&func, None).map_err(|e| e.to_string()), Ok(()));
    }

    #[test]
    fn dominators_are_the_naive_ones(plan in plans(16)) {
        let func = build(&plan);
        let (blocks, edges): (Vec<Block>, _) = (func.blocks().collect(), edges(&plan));
        let (found, expected, reachable) = (Dominators::of(&func), dominance(&edges), reach(&edges, 0, None));
        for a in 0..blocks.len() {
            prop_assert_eq!(found.is_reachable(blocks[a]), reachable[a]);
            for b in 0..blocks.len() {
                let naive = if reachable[a] { expected[a][b] } else { !reachable[b] };
                prop_assert_eq!(found.dominates(blocks[a], blocks[b]), naive, "{} and {}", a, b);
            }
        }
        for b in (0..blocks.len()).filter(|&b| reachable[b]) {
            let strict: Vec<usize> = (0..blocks.len()).filter(|&a| a != b && reachable[a] && expected[a][b]).collect();
            let nearest = strict.iter().copied().find(|&a| strict.iter().all(|&other| expected[other][a]));
            prop_assert_eq!(found.idom(blocks[b]), nearest.map(|a| blocks[a]));
        }
        for order in [found.reverse_postorder().to_vec(), found.preorder().collect()] {
            let place = |block: Block| order.iter().position(|&b| b == block);
            prop_assert_eq!(order.len(), reachable.iter().filter(|&&r| r).count());
            prop_assert!(order.iter().all(|&b| found.idom(b).is_none_or(|up| place(up) < place(b))));
        }
        let preorder: Vec<Block> = found.preorder().collect();
        for (at, &block) in preorder.iter().enumerate() {
            let below = preorder.iter().filter(|&&b| found.dominates(block, b)).count();
            prop_assert!(preorder[at..at + below].iter().all(|&b| found.dominates(block, b)), "a subtree is apart");
        }
    }

    #[test]
    fn loops_are_the_naive_ones(plan in plans(16)) {
        let func = build(&plan);
        let blocks: Vec<Block> = func.blocks().collect();
        let found = Loops::of(&func, &Dominators::of(&func));
        let expected = natural_loops(&edges(&plan));
        let headers: BTreeSet<Block> = set(&found.iter().map(|(_, l)| l.header).collect::<Vec<_>>());
        prop_assert_eq!(headers, expected.keys().map(|&h| blocks[h]).collect::<BTreeSet<_>>());
        for (id, one) in found.iter() {
            let at = blocks.iter().position(|&b| b == one.header).unwrap();
            let (latches, body) = &expected[&at];
            prop_assert_eq!(set(&one.latches), latches.iter().map(|&l| blocks[l]).collect::<BTreeSet<_>>());
            for (b, &block) in blocks.iter().enumerate() {
                prop_assert_eq!(found.contains(id, block), body.contains(&b), "block {} in the loop of {}", b, at);
            }
            let around = |h: usize| h != at && expected[&h].1.contains(&at);
            let parent = expected.keys().copied().filter(|&h| around(h)).min_by_key(|h| expected[h].1.len());
            prop_assert_eq!(one.parent.map(|p| found.get(p).header), parent.map(|h| blocks[h]));
        }
        for (b, &block) in blocks.iter().enumerate() {
            let depth = expected.values().filter(|(_, body)| body.contains(&b)).count();
            prop_assert_eq!(found.depth(block) as usize, depth);
        }
    }

    #[test]
    fn liveness_is_the_naive_one(plan in plans(10)) {
        let func = build(&plan);
        let found = Liveness::of(&func);
        for (block, (ins, outs)) in live_sets(&func) {
            prop_assert_eq!(set(found.live_in(block)), ins);
            prop_assert_eq!(set(found.live_out(block)), outs.clone());
            // Walks backwards, and compares the values live after each instruction.
            let mut live = outs;
            for inst in func.insts(block).rev() {
                for value in func.insts(block).flat_map(|i| func.inst(i).results.clone()).chain(func.params().to_vec()) {
                    if func.def_inst(value).is_none_or(|def| def == inst || func.comes_before(def, inst)) {
                        prop_assert_eq!(found.live_after(&func, value, inst), live.contains(&value));
                    }
                }
                let data = func.inst(inst);
                live.retain(|v| !data.results.contains(v));
                live.extend(data.uses().filter(|&v| func.as_const(v).is_none()));
            }
        }
    }

    #[test]
    fn a_use_where_the_definition_does_not_dominate_is_refused(plan in plans(10), user in any::<prop::sample::Index>(), used in any::<prop::sample::Index>()) {
        let mut func = build(&plan);
        let insts: Vec<Inst> = func.blocks().flat_map(|b| func.insts(b)).filter(|&i| func.inst(i).op.name == "print").collect();
        let values: Vec<Value> = func.blocks().flat_map(|b| {
            let results = func.insts(b).flat_map(|i| func.inst(i).results.clone());
            func.block_params(b).iter().copied().chain(results).collect::<Vec<_>>()
        }).collect();
        prop_assume!(!insts.is_empty());
        let (inst, value) = (*user.get(&insts), *used.get(&values));
        func.set_use(inst, 0, value);
        let blocks: Vec<Block> = func.blocks().collect();
        let place = |block: Option<Block>| blocks.iter().position(|&b| Some(b) == block).unwrap();
        let here = place(func.block_of(inst));
        let home = match func.def(value) {
            ValueDef::Param(block, _) => place(Some(block)),
            ValueDef::Result(def, _) => place(func.block_of(def)),
            ValueDef::Const(_) => here,
        };
        let edges = edges(&plan);
        let reachable = reach(&edges, 0, None);
        let good = !reachable[here] || if home == here {
            func.def_inst(value).is_none_or(|def| func.comes_before(def, inst))
        } else {
            reachable[home] && dominance(&edges)[home][here]
        };
        prop_assert_eq!(verify_function(&func, None).is_ok(), good);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Recursion and the order of functions, compared with reachability.
    #[test]
    fn call_graphs(calls in (1usize..12).prop_flat_map(|n| prop::collection::vec(prop::collection::vec(0..n, 0..3), n))) {
        let mut text = String::new();
        for (at, callees) in calls.iter().enumerate() {
            let insts: String = callees.iter().map(|callee| format!("  call @f{callee}()\n")).collect();
            text += &format!("func @f{at}() {{\nentry:\n{insts}  ret\n}}\n");
        }
        let module = module(&text);
        let leads = |from: usize, to: usize| calls[from].iter().any(|&callee| reach(&calls, callee, None)[to]);
        let graph = CallGraph::of(&module);
        let place = |at: usize| graph.callees_first().iter().position(|name| name.as_str() == format!("f{at}")).unwrap();
        prop_assert_eq!(graph.callees_first().len(), calls.len());
        for (at, callees) in calls.iter().enumerate() {
            prop_assert_eq!(graph.is_recursive(format!("f{at}").as_str().into()), leads(at, at));
            for &callee in callees.iter().filter(|&&callee| !leads(callee, at)) {
                prop_assert!(place(callee) < place(at));
            }
        }
    }
}

// --- Cases --------------------------------------------------------------------------------------

fn module(text: &str) -> Module {
    parse_module(text, "test.ir").unwrap_or_else(|e| panic!("{}", e.render(false)))
}
fn effects_of(text: &str) -> BTreeMap<String, (Vec<bool>, bool)> {
    let m = module(text);
    let effects = ModuleEffects::of(&m);
    let one = |f: &Function| {
        let FunctionEffects { stores, io } = effects.function(f.name).unwrap().clone();
        (f.name.to_string(), (stores, io))
    };
    m.functions().map(one).collect()
}

#[test]
fn effects_come_through_calls() {
    let found = effects_of(
        "\
func @pure(%x: f64[n]) -> f64[n] {
entry:
  %0 = neg %x
  store %0, 1.0
  ret %0
}
func @fill(%x: f64[n], %v: f64) {
entry:
  store %x, %v
  ret
}
func @second(%v: f64, %x: f64[n]) {
entry:
  call @fill(%x, %v)
  ret
}
func @local(%x: f64[n]) -> f64[n] {
entry:
  %0 = neg %x
  call @second(1.0, %0)
  ret %0
}
func @says(%x: f64[n]) {
entry:
  print %x
  ret
}
func @fails() {
entry:
  raise kind=\"E\", message=\"m\"
}
func @both(%a: f64[n], %b: f64[m]) {
entry:
  call @says(%a)
  call @second(0.0, %b)
  ret
}
func @block_argument(%x: f64[n]) {
entry:
  jump next(%x)
next(%y: f64[n]):
  store %y, 1.0
  ret
}
",
    );
    let pure = |n: usize| (vec![false; n], false);
    assert_eq!(found["pure"], pure(1), "stores of a function to its own values are not visible");
    assert_eq!(found["fill"], (vec![true, false], false));
    assert_eq!(found["second"], (vec![false, true], false));
    assert_eq!(found["local"], pure(1));
    assert_eq!(found["says"], (vec![false], true));
    assert_eq!(found["fails"], (vec![], true));
    assert_eq!(found["both"], (vec![false, true], true));
    assert_eq!(found["block_argument"], pure(1), "a block parameter holds a value of its own");
}

#[test]
fn effects_come_through_recursion() {
    let found = effects_of(
        "\
func @even(%x: f64[n], %y: f64[n], %k: i64) {
entry:
  %0 = eq %k, 0
  br_if %0, done, more
more:
  %1 = sub %k, 1
  call @odd(%y, %x, %1)
  ret
done:
  ret
}
func @odd(%x: f64[n], %y: f64[n], %k: i64) {
entry:
  %0 = sub %k, 1
  store %x, 0.0
  call @even(%y, %x, %0)
  ret
}
func @quiet(%x: f64[n]) {
entry:
  call @quiet(%x)
  ret
}
",
    );
    assert_eq!(found["odd"], (vec![true, false, false], false));
    assert_eq!(found["even"], (vec![false, true, false], false));
    assert_eq!(found["quiet"], (vec![false], false));
    let printed = effects_of(
        "func @a() {\nentry:\n  call @b()\n  ret\n}\nfunc @b() {\nentry:\n  call @c()\n  ret\n}\nfunc @c() {\nentry:\n  call @a()\n  print 1\n  ret\n}\n",
    );
    assert!(printed.values().all(|(_, io)| *io));
}

#[test]
fn instructions_tell_what_they_write_free_and_show() {
    let m = module(
        "\
func @fill(%x: f64[n], %y: f64[n]) {
entry:
  store %y, %x
  ret
}
func @f(%a: f64[n], %b: f64[n]) -> f64[n] {
entry:
  %0 = neg %a
  store %0, %b
  call @fill(%a, %b)
  print %b
  del %a
  ret %0
}
",
    );
    let f = m.get("f".into()).unwrap();
    let insts: Vec<Inst> = f.insts(f.entry().unwrap()).collect();
    let effects = ModuleEffects::of(&m);
    let (a, b, neg) = (f.params()[0], f.params()[1], f.inst(insts[0]).results[0]);
    let told: Vec<_> =
        insts.iter().map(|&i| effects.inst(f, i)).map(|e| (e.writes.to_vec(), e.frees.to_vec(), e.io)).collect();
    assert_eq!(told[0], (vec![], vec![], false));
    assert_eq!(told[1], (vec![neg], vec![], false));
    assert_eq!(told[2], (vec![b], vec![], false));
    assert_eq!(told[3], (vec![], vec![], true));
    assert_eq!(told[4], (vec![], vec![a], false));
    assert!(insts.iter().all(|&i| inst_effects(f, Some(&m), i) == effects.inst(f, i)));
    let written: BTreeSet<Value> = written_values(f, &effects).into_iter().collect();
    assert_eq!(written, BTreeSet::from([neg, b]));
    let unknown = inst_effects(f, None, insts[2]);
    assert_eq!((unknown.writes.to_vec(), unknown.io), (vec![a, b], true), "a callee that is not known may do anything");
}

#[test]
fn analyses_take_functions_of_any_depth() {
    const BLOCKS: usize = 50_000;
    let mut b = FuncBuilder::new("f", &[("c", Type::scalar(DType::Bool))], vec![]);
    let c = b.param(0);
    let out = b.block("out", &[]);
    b.switch_to(out);
    b.ret(Vec::<Value>::new()).unwrap();
    let entry = b.func().entry().unwrap();
    let chain: Vec<Block> = std::iter::once(entry).chain((1..BLOCKS).map(|_| b.block("b", &[]))).collect();
    let to = |block| Target { block, args: Default::default() };
    for (at, &block) in chain.iter().enumerate() {
        b.switch_to(block);
        let next = chain.get(at + 1).copied().unwrap_or(out);
        b.inst("br_if", [c], Attrs::new(), [to(next), to(out)]).unwrap();
    }
    let func = b.finish();
    let dominators = Dominators::of(&func);
    assert_eq!(dominators.idom(out), Some(entry));
    assert!(chain.windows(2).all(|pair| dominators.idom(pair[1]) == Some(pair[0])));
    assert_eq!(Loops::of(&func, &dominators).iter().len(), 0);
    assert_eq!(Liveness::of(&func).live_in(chain[BLOCKS - 1]), [c]);
    assert_eq!(verify_function(&func, None), Ok(()));
}

#[test]
fn definitions_dominate_uses_in_unreachable_blocks() {
    let m = module("func @f(%x: f64) {\nentry:\n  %a = neg %x\n  ret\ndead:\n  %b = neg %x\n  %c = neg %b\n  ret\n}\n");
    let mut func = m.get("f".into()).unwrap().clone();
    let insts: Vec<Inst> = func.blocks().flat_map(|b| func.insts(b)).collect();
    let values: Vec<Value> = insts.iter().flat_map(|&inst| func.inst(inst).results.clone()).collect();
    let dominators = Dominators::of(&func);
    let dominates =
        |func: &Function, value: usize, inst: usize| dominators.value_dominates(func, values[value], insts[inst]);
    // `%a` does not dominate itself; in the unreachable block even the later `%c` dominates `%b`.
    assert!(dominates(&func, 0, 1) && !dominates(&func, 0, 0));
    assert!(dominates(&func, 0, 2) && dominates(&func, 2, 2));
    // Nothing dominates an instruction that is not linked, and its results dominate nothing.
    func.begin();
    func.erase(insts[3]);
    assert!(!dominates(&func, 0, 3) && !dominates(&func, 2, 4));
}

#[test]
fn calls_of_any_depth() {
    const LEN: usize = 50_000;
    let mut text = String::new();
    for at in 0..LEN {
        text += &format!("func @f{at}() {{\nentry:\n  call @f{}()\n  ret\n}}\n", (at + 1) % LEN);
    }
    let ring = CallGraph::of(&module(&text));
    assert!(ring.callees_first().iter().all(|&name| ring.is_recursive(name)));
    let path = CallGraph::of(&module(&text.replacen("call @f0()", "ret", 1).replace("  ret\n  ret\n", "  ret\n")));
    assert_eq!(path.callees_first().first().map(|name| name.to_string()), Some(format!("f{}", LEN - 1)));
    assert_eq!(path.callees_first().last().map(|name| name.to_string()), Some("f0".to_string()));
    assert!(!path.callees_first().iter().any(|&name| path.is_recursive(name)));
}
