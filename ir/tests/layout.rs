//! The order of instructions in a block, after arbitrary insertions, moves and removals.

use proptest::prelude::*;
use rewright_ir::{DType, FuncBuilder, Function, Inst, Type, print_function};

/// A function of one block, and its instructions.
fn function() -> (Function, Vec<Inst>) {
    let mut b = FuncBuilder::new("f", &[("x", Type::scalar(DType::F64))], vec![]);
    let x = b.param(0);
    b.op("neg", [x]).expect("a number");
    b.ret([] as [rewright_ir::Value; 0]).expect("no results");
    let func = b.finish();
    let list = insts(&func);
    (func, list)
}

fn insts(func: &Function) -> Vec<Inst> {
    func.insts(func.entry().expect("a block")).collect()
}

/// Applies steps, each at a relative position from 0 to 1, to a function and to a plain list.
fn apply(func: &mut Function, list: &mut Vec<Inst>, steps: &[(u8, f64)]) {
    let op = rewright_ir::registry().op("neg").expect("a known op");
    let (x, ty) = (func.params()[0], Type::scalar(DType::F64));
    for &(kind, place) in steps {
        // The terminator stays last.
        let at = (place * (list.len() - 1) as f64) as usize;
        match kind {
            0 if list.len() > 2 => {
                let from = (at * 7 + 3) % (list.len() - 1);
                if from != at {
                    let (inst, before) = (list[from], list[at]);
                    func.move_before(before, inst);
                    list.remove(from);
                    let at = list.iter().position(|&i| i == before).expect("it is there");
                    list.insert(at, inst);
                }
            }
            1 if list.len() > 2 => func.erase(list.remove(at)),
            _ => {
                let inst = func.create_inst(op, [x], Default::default(), [], [ty.clone()].into(), Default::default());
                func.insert_before(list[at], inst);
                list.insert(at, inst);
            }
        }
    }
}

/// Compares the order and `comes_before` with a plain list.
fn check(steps: &[(u8, f64)]) {
    let (mut func, mut list) = function();
    apply(&mut func, &mut list, steps);
    assert_eq!(func.check_integrity(), Ok(()));
    assert_eq!(insts(&func), list);
    for pair in list.windows(2) {
        assert!(func.comes_before(pair[0], pair[1]) && !func.comes_before(pair[1], pair[0]));
    }
}

proptest! {
    #[test]
    fn comes_before_agrees_with_the_list(steps in prop::collection::vec((0u8..6, 0.0..1.0), 0..400)) {
        check(&steps);
    }

    #[test]
    fn rollback_restores_the_function(
        before in prop::collection::vec((0u8..6, 0.0..1.0), 0..40),
        during in prop::collection::vec((0u8..6, 0.0..1.0), 0..40),
    ) {
        let (mut func, mut list) = function();
        apply(&mut func, &mut list, &before);
        let text = print_function(&func);
        func.begin();
        apply(&mut func, &mut list.clone(), &during);
        // Every instruction uses the result of the first, then a parameter of a new block.
        let first = func.inst(insts(&func)[0]).results.first().copied();
        let block = func.create_block(None);
        let param = func.add_block_param(block, Type::scalar(DType::F32));
        func.set_type(param, Type::scalar(DType::F64));
        let x = func.params()[0];
        first.into_iter().chain([param]).fold(x, |old, new| {
            func.replace_all_uses(old, new);
            new
        });
        assert_eq!(func.check_integrity(), Ok(()));
        func.rollback();
        assert_eq!(func.check_integrity(), Ok(()));
        assert_eq!((insts(&func), print_function(&func)), (list, text));
    }
}

#[test]
#[should_panic(expected = "transactions are not nested")]
fn transactions_are_not_nested() {
    let (mut func, _) = function();
    func.begin();
    func.begin();
}

#[test]
fn insertions_at_one_place_keep_their_order() {
    for place in [0.0, 0.5, 0.999_999] {
        check(&vec![(2, place); 5000]);
    }
}
