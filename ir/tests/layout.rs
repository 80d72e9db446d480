//! The order of instructions in a block, after arbitrary insertions, moves and removals.

use proptest::prelude::*;
use rewright_ir::{DType, FuncBuilder, Inst, Type};

/// Applies steps, each at a relative position from 0 to 1, and compares the order and `comes_before` with a
/// plain list.
fn check(steps: &[(u8, f64)]) {
    let mut b = FuncBuilder::new("f", &[("x", Type::scalar(DType::F64))], vec![]);
    let x = b.param(0);
    let neg = b.op("neg", [x]).expect("a number");
    b.ret([] as [rewright_ir::Value; 0]).expect("no results");
    let mut func = b.finish();
    let block = func.entry().expect("a block");
    let first = func.def_inst(neg).expect("an instruction");
    let (op, ty) = (func.inst(first).op, Type::scalar(DType::F64));
    let mut list: Vec<Inst> = func.insts(block).collect();
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
    assert_eq!(func.insts(block).collect::<Vec<_>>(), list);
    for pair in list.windows(2) {
        assert!(func.comes_before(pair[0], pair[1]) && !func.comes_before(pair[1], pair[0]));
    }
}

proptest! {
    #[test]
    fn comes_before_agrees_with_the_list(steps in prop::collection::vec((0u8..6, 0.0..1.0), 0..400)) {
        check(&steps);
    }
}

#[test]
fn insertions_at_one_place_keep_their_order() {
    for place in [0.0, 0.5, 0.999_999] {
        check(&vec![(2, place); 5000]);
    }
}
