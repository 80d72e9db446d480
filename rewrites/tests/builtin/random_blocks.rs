//! Random functions with branches and loops behave the same before and after each rewrite: results, stores
//! to arguments, and prints.

use crate::run;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;
use rewright_ir::analysis::Dominators;
use rewright_ir::op::Types;
use rewright_ir::*;
use rewright_rewrites::rule::Liberties;
use rewright_rewrites::{Analyses, MatchCx, Matcher, Pipeline};

/// A planned block: its terminator and targets, its instructions as kind and operands, and the sources of
/// other operands.
#[derive(Clone, Debug)]
struct Plan {
    end: u8,
    targets: [Index; 3],
    insts: Vec<(u8, Index, Index)>,
    sources: Vec<Index>,
}

fn plans() -> impl Strategy<Value = (Vec<Plan>, Vec<(Index, Index)>)> {
    let index = any::<Index>;
    let insts = prop::collection::vec((0u8..16, index(), index()), 0..5);
    let block = (0u8..8, [index(), index(), index()], insts, prop::collection::vec(index(), 12));
    let block = block.prop_map(|(end, targets, insts, sources)| Plan { end, targets, insts, sources });
    (prop::collection::vec(block, 1..8), prop::collection::vec((index(), index()), 0..6))
}

fn int() -> Type {
    Type::scalar(DType::I64)
}
fn ints() -> Type {
    Type::array(DType::I64, [Dim::from("n")])
}

/// The number of targets of a plan, given the number of blocks. No branch targets the first block.
fn target_count(plan: &Plan, blocks: usize) -> usize {
    match plan.end {
        _ if blocks == 1 => 0,
        0 => 0,
        1 | 2 => 1,
        3..7 => 2,
        _ => 3,
    }
}

/// A function with the control flow only, to compute dominance.
fn skeleton(plans: &[Plan]) -> (Function, Vec<Block>) {
    let mut b = FuncBuilder::new("f", &[("x", int()), ("a", ints())], vec![int(), ints()]);
    let mut blocks = vec![b.func().entry().unwrap()];
    for at in 1..plans.len() {
        blocks.push(b.block(&format!("b{at}"), &[("p", int()), ("q", ints())]));
    }
    for (plan, &block) in plans.iter().zip(&blocks) {
        b.switch_to(block);
        let (x, a) = (b.block_param(block, 0), b.block_param(block, 1));
        let to = |i: usize| Target {
            block: blocks[1 + plan.targets[i].index(plans.len() - 1)],
            args: [x, a].into_iter().collect(),
        };
        let count = target_count(plan, plans.len());
        let targets: Vec<Target> = (0..count).map(to).collect();
        let ends = match count {
            0 => b.ret([x, a]).map(|()| None),
            1 => b.inst("jump", Vec::<Value>::new(), Attrs::new(), targets).map(Some),
            2 => b.inst("br_if", [true], Attrs::new(), targets).map(Some),
            _ => b.inst("switch", [0], Attrs::new().with("cases", Attr::Ints([0, 1].into())), targets).map(Some),
        };
        ends.unwrap();
    }
    (b.finish(), blocks)
}

/// Fills in the blocks: each use takes a value whose definition dominates it.
struct Filler<'a> {
    func: Function,
    blocks: &'a [Block],
    dominators: Dominators,
    /// Integers and arrays that each block defines.
    defined: Vec<[Vec<Value>; 2]>,
}

impl Filler<'_> {
    fn pick(&mut self, at: usize, array: bool, index: &Index) -> Value {
        let reachable = self.dominators.is_reachable(self.blocks[at]);
        let dominates = |d: usize| d == at || (reachable && self.dominators.dominates(self.blocks[d], self.blocks[at]));
        let mut seen: Vec<Value> = (0..self.blocks.len())
            .filter(|&d| dominates(d))
            .flat_map(|d| self.defined[d][usize::from(array)].clone())
            .collect();
        if !array {
            seen.extend([0, 1, 2].map(|i| self.func.constant(Scalar::I64(i))));
        }
        // Prefers early values, so that computations repeat.
        let n = seen.len();
        seen[index.index(n) * index.index(n) / n]
    }

    fn put(&mut self, at: usize, name: &str, args: &[Value], result: Option<Type>) -> Option<Value> {
        let end = self.func.terminator(self.blocks[at]).unwrap();
        let results: Types = result.into_iter().collect();
        let op = registry().op(name).unwrap();
        let inst = self.func.create_inst(op, args.iter().copied(), Attrs::new(), [], results, Loc::default());
        self.func.insert_before(end, inst);
        let value = self.func.inst(inst).results.first().copied()?;
        let array = self.func.ty(value).is_array();
        if *self.func.ty(value) != Type::scalar(DType::Bool) {
            self.defined[at][usize::from(array)].push(value);
        }
        Some(value)
    }

    fn fill(&mut self, at: usize, plan: &Plan) {
        for (kind, left, right) in &plan.insts {
            let array = *kind >= 8;
            let (x, y) = (self.pick(at, array, left), self.pick(at, array, right));
            let scalar = self.pick(at, false, right);
            match kind {
                0..3 => self.put(at, "add", &[x, y], Some(int())),
                3 | 4 => self.put(at, "sub", &[x, y], Some(int())),
                5 => self.put(at, "mul", &[x, y], Some(int())),
                6 => self.put(at, "floordiv", &[x, y], Some(int())),
                7 | 8 => self.put(at, "print", &[x], None),
                9 | 10 => self.put(at, "neg", &[x], Some(ints())),
                11 | 12 => self.put(at, "add", &[x, scalar], Some(ints())),
                13 => self.put(at, "mul", &[x, y], Some(ints())),
                // Repeats a read after a store that may be to the same array.
                14 => {
                    self.put(at, "neg", &[y], Some(ints()));
                    self.put(at, "store", &[x, scalar], None);
                    self.put(at, "neg", &[y], Some(ints()))
                }
                _ => self.put(at, "store", &[x, y], None),
            };
        }
        let end = self.func.terminator(self.blocks[at]).unwrap();
        let mut sources = plan.sources.iter();
        let slots = self.func.inst(end).uses().count();
        let operands = self.func.inst(end).args.len();
        for slot in 0..slots {
            let old = self.func.inst(end).uses().nth(slot).unwrap();
            let index = sources.next().unwrap();
            let array = self.func.ty(old).is_array();
            let condition = *self.func.ty(old) == Type::scalar(DType::Bool);
            let new = match condition && slot < operands {
                true => {
                    let (x, y) = (self.pick(at, false, index), self.pick(at, false, &plan.sources[11]));
                    self.put(at, "lt", &[x, y], Some(Type::scalar(DType::Bool))).unwrap()
                }
                false => self.pick(at, array, index),
            };
            self.func.set_use(end, slot, new);
        }
    }
}

fn build(plans: &[Plan], dels: &[(Index, Index)]) -> Function {
    let (func, blocks) = skeleton(plans);
    let dominators = Dominators::of(&func);
    let params = |&b: &Block| [vec![func.block_params(b)[0]], vec![func.block_params(b)[1]]];
    let defined = blocks.iter().map(params).collect();
    let order: Vec<Block> =
        dominators.preorder().chain(blocks.iter().copied().filter(|&b| !dominators.is_reachable(b))).collect();
    let mut filler = Filler { func, blocks: &blocks, dominators, defined };
    for block in order {
        let at = blocks.iter().position(|&b| b == block).unwrap();
        filler.fill(at, &plans[at]);
    }
    let (mut func, values) = (filler.func, filler.defined.concat().concat());
    // A `del` where it is valid.
    let dominators = Dominators::of(&func);
    for (value, place) in dels {
        let reachable = dominators.reverse_postorder().iter();
        let insts: Vec<Inst> = reachable.flat_map(|&b| func.insts(b)).collect();
        let (value, at) = (*value.get(&values), *place.get(&insts));
        let del =
            func.create_inst(registry().op("del").unwrap(), [value], Attrs::new(), [], Types::new(), Loc::default());
        func.insert_before(at, del);
        if verify_function(&func, None).is_err() {
            func.erase(del);
        }
    }
    func
}

fn same_after(pipeline: &str, plans: &[Plan], dels: &[(Index, Index)]) -> Result<(), TestCaseError> {
    let func = build(plans, dels);
    prop_assert_eq!(verify_function(&func, None).map_err(|e| e.to_string()), Ok(()));
    let mut module = Module::new();
    module.insert(func.clone());
    run(pipeline, &mut module);
    let optimized = module.functions().next().unwrap();
    for x in [0, 3, -5] {
        let array = Array::from_fn(DType::I64, &[2], |i| Scalar::I64(x + i as i64)).unwrap();
        let args = vec![Datum::Scalar(Scalar::I64(x)), Datum::Array(array)];
        let limits = Limits { steps: 2000, ..Limits::default() };
        // A loop that exceeds the limits before may exceed them after.
        if let Ok(before) = evaluate_function(&func, args.clone(), limits) {
            let after = evaluate_function(optimized, args, limits);
            prop_assert_eq!(Ok(before), after, "{}{}", print_function(&func), print_function(optimized));
        }
    }
    Ok(())
}

exact! {
    ((plans, dels) in plans()) => |pipeline| same_after(pipeline, &plans, &dels);
    folding_is_exact: "fold";
    canonicalizing_is_exact: "canonicalize";
    sharing_is_exact: "cse";
    removing_is_exact: "dce";
    propagating_copies_is_exact: "block-args";
    numbering_is_exact: "gvn", "block-args, gvn, dce";
    moving_out_of_loops_is_exact: "licm", "licm, block-args, merge-blocks";
    sinking_is_exact: "sink", "licm, sink, array-expr, dce";
    placing_dels_is_exact: "del-placement", "gvn, licm, sink, del-placement";
    merging_is_exact: "merge-blocks";
    threading_is_exact: "jump-threading", "fold, jump-threading, dce";
    all_together_are_exact: "fold, canonicalize, cse, dce", "default";
}

proptest! {
    // The same functions in every run.
    #![proptest_config(ProptestConfig { cases: 2_000, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn after_the_default_pipeline_no_rewrite_of_it_matches((plans, dels) in plans()) {
        let mut module = Module::new();
        module.insert(build(&plans, &dels));
        let before = print_module(&module);
        run("default", &mut module);
        let (func, analyses) = (module.functions().next().unwrap(), Analyses::default());
        let matcher = Matcher::new(&Pipeline::by_default().unwrap(), Liberties::empty());
        let found = matcher.first_match(&MatchCx::new(func, &module, &analyses));
        prop_assert_eq!(found, None, "{}{}", before, print_function(func));
    }
}
