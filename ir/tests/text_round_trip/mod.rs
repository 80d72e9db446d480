//! Random functions, printed and parsed: text and RON reproduce the same function, bit for bit.

mod expression;
mod random;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use random::{Coverage, Rng, module};
use rewright_ir::ron::{from_ron, to_ron};
use rewright_ir::*;

/// Makes a round trip through both forms. RON has everything but source locations, so equal RON means equal
/// functions.
fn check(module: &Module) {
    let (text, ron) = (print_module(module), to_ron(module).unwrap());
    let parsed = parse_module(&text, "random.ir").unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
    assert_eq!(print_module(&parsed), text);
    assert_eq!(to_ron(&parsed).unwrap(), ron);
    let read = from_ron(&ron, "random.ron").unwrap_or_else(|e| panic!("{}\n{ron}", e.render(false)));
    assert_eq!(print_module(&read), text);
    assert_eq!(to_ron(&read).unwrap(), ron);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_modules_survive_text_and_ron(seed: u64, size in 1usize..40) {
        check(&module(&mut Rng::new(seed), size, &mut Coverage::default()));
    }
}

/// The random functions cover every op.
#[test]
fn every_op_is_among_the_random_ones() {
    let mut coverage = Coverage::default();
    for seed in 0..60 {
        check(&module(&mut Rng::new(seed), 60, &mut coverage));
    }
    let missing: Vec<_> = registry().ops().map(|(op, _)| op.name).filter(|n| !coverage.ops.contains(n)).collect();
    assert_eq!(missing, Vec::<&str>::new());
    for (what, seen) in [
        ("nested", coverage.nested),
        ("reducing", coverage.reducing),
        ("scanning", coverage.scanning),
        ("gathering", coverage.gathering),
    ] {
        assert!(seen > 5, "only {seen} {what} expressions");
    }
}

#[test]
fn names_of_every_kind_are_kept_apart() {
    let names =
        ["x", "x", "x_1", "12", "true", "NaN", "inf", "a b", "", "\"", "\\", "\n", "é", "日本", "func", "\u{7f}", "%"];
    let mut func = Function::new("odd name\t", vec![Type::scalar(DType::F64)]);
    let entry = func.create_block(Some("inf".into()));
    let mut values = Vec::new();
    for name in names {
        let value =
            func.add_block_param(entry, Type::array(DType::F64, [Dim::from("a b"), Dim::from("true"), Dim::Any]));
        func.set_value_name(value, Some(name.into()));
        values.push(value);
    }
    for name in [Some("default"), None, Some("b2"), Some("NaN"), Some(""), Some("x\"y")] {
        let block = func.create_block(name.map(Name::from));
        let op = |name| registry().op(name).unwrap();
        let previous: Vec<Block> = func.blocks().collect();
        let from = previous[previous.len() - 2];
        let jump = func.create_inst(
            op("jump"),
            [],
            Attrs::new(),
            [Target { block, args: vec![].into() }],
            vec![].into(),
            Loc::default(),
        );
        func.append(from, jump);
    }
    let last = func.blocks().next_back().unwrap();
    let zero = func.constant(Scalar::F64(0.0));
    let ret = registry().op("ret").unwrap();
    let ret = func.create_inst(ret, [zero], Attrs::new(), [], vec![].into(), Loc::default());
    func.append(last, ret);
    let mut module = Module::new();
    module.insert(func);
    check(&module);
}
