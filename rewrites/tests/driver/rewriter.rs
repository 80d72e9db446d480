//! Changes that rewrites can make, and changes that the rewriter makes itself.

use crate::common::{Always, module, run, run_with, scalars, text};
use pretty_assertions::assert_eq;
use rewright_ir::{Target, verify_module};
use rewright_rewrites::Options;
use rewright_rewrites::prelude::*;

macro_rules! edit {
    ($($def:ident $name:literal $op:literal $apply:expr;)+) => {$(
        static $def: RewriteDef = RewriteDef::root($name, "a change", &Always($apply)).roots(&[$op]).opt_in();
    )+
    register_rewrite!($($def),+);};
}

edit! {
    MOVE "edit-move" "sin" |root, rw| {
        let user = rw.func().users(rw.func().inst(root).results[0])[0];
        rw.move_before(root, user)?;
        crate::common::becomes(root, rw, "cos")
    };
    POINTS "edit-points" "sin" |root, rw| {
        let x = rw.func().inst(root).args[0];
        let a = rw.op("exp", [x])?;
        let b = rw.op("neg", [a])?;
        rw.set_point(Point::After(root));
        let s = rw.func().inst(root).results[0];
        let c = rw.op("cos", [s])?;
        let d = rw.op("tan", [c])?;
        rw.set_point(Point::Before(root));
        let e = rw.op("tanh", [b])?;
        let users = rw.func().users(d);
        assert!(users.is_empty());
        rw.set_point(Point::After(rw.func().def_inst(d).ok_or_else(|| RewriteError::new("no instruction"))?));
        let sum = rw.op("add", [d, e])?;
        let last = rw.func().blocks().next().and_then(|b| rw.func().terminator(b));
        rw.set_use(last.ok_or_else(|| RewriteError::new("no end"))?, 0, sum)?;
        rw.set_use(root, 0, b)?;
        let t = rw.replace_with(root, "log", [b], Attrs::new())?;
        rw.set_loc(Default::default());
        rw.set_point(Point::After(t));
        Ok(())
    };
    REFINE "edit-refine" "sin" |root, rw| {
        let x = rw.func().inst(root).args[0];
        let y = rw.func().params()[1];
        rw.replace(root, &[if x == y { x } else { y }])
    };
    LOOP "edit-loop" "sin" |root, rw| {
        // Into a loop that counts to ten.
        let gone = || RewriteError::new("gone");
        let home = rw.func().block_of(root).ok_or_else(gone)?;
        let x = rw.func().inst(root).args[0];
        let back = rw.func().terminator(home).map(|t| rw.func().inst(t).args.clone()).ok_or_else(gone)?;
        let body = rw.create_block(Some("body".into()));
        let end = rw.create_block(Some("end".into()));
        let i = rw.add_block_param(body, Type::scalar(DType::I64))?;
        let v = rw.add_block_param(body, Type::scalar(DType::F64))?;
        let r = rw.add_block_param(end, Type::scalar(DType::F64))?;
        rw.replace(root, &[x])?;
        let zero = rw.constant(0i64);
        rw.set_terminator(home, "jump", [] as [Value; 0], Attrs::new(), [to(body, &[zero, x])])?;
        rw.set_terminator(end, "ret", [r], Attrs::new(), [])?;
        rw.set_point(Point::End(body));
        let next = rw.op("add", [Arg::from(i), Arg::from(1)])?;
        let w = rw.op("add", [v, back[0]])?;
        let more = rw.op("lt", [Arg::from(next), Arg::from(10)])?;
        rw.set_terminator(body, "br_if", [more], Attrs::new(), [to(body, &[next, w]), to(end, &[w])]).map(drop)
    };
    UNPARAM "edit-unparam" "sin" |root, rw| {
        let block = rw.func().block_of(root).ok_or_else(|| RewriteError::new("gone"))?;
        rw.erase_all(&[root], &[(block, 0)])
    };
    UNBLOCK "edit-unblock" "sin" |root, rw| {
        let block = rw.func().block_of(root).ok_or_else(|| RewriteError::new("gone"))?;
        rw.remove_blocks(&[block])
    };
}

fn to(block: Block, args: &[Value]) -> Target {
    Target { block, args: args.iter().copied().collect() }
}

#[test]
fn instructions_move_to_where_they_are_needed() {
    let body = "  %a = sin %x\n  %b = exp %y\n  %c = add %a, %b\n  ret %c\n";
    let (module, _) = run(&scalars(body), "edit-move");
    assert_eq!(text(&module), scalars("  %b = exp %y\n  %a = cos %x\n  %c = add %a, %b\n  ret %c\n"));
}

#[test]
fn new_instructions_stand_in_the_order_in_which_they_were_made() {
    let (module, _) = run(&scalars("  %a = sin %x\n  ret %a\n"), "edit-points");
    let want = "  %0 = exp %x\n  %1 = neg %0\n  %2 = tanh %1\n  %a = log %1\n  %3 = cos %a\n  %4 = tan %3\n  \
                %5 = add %4, %2\n  ret %5\n";
    assert_eq!(text(&module), scalars(want));
}

#[test]
fn types_that_say_more_go_on_to_users() {
    let input = "func @f(%x: f64[?], %y: f64[3]) -> f64[?] {\nentry:\n  %a = sin %x\n  %b = neg %a\n  %c = add %b, 1.0\n  ret %c\n}\n";
    let (module, _) = run(input, "edit-refine");
    let func = module.functions().next().unwrap();
    let types: Vec<String> = func
        .insts(func.entry().unwrap())
        .flat_map(|i| &func.inst(i).results)
        .map(|&v| func.ty(v).to_string())
        .collect();
    assert_eq!(types, ["f64[3]", "f64[3]"]);
    verify_module(&module).unwrap();
}

#[test]
fn blocks_can_be_made() {
    let (module, _) = run(&scalars("  %a = sin %x\n  ret %y\n"), "edit-loop");
    let want = "func @f(%x: f64, %y: f64) -> f64 {\nentry:\n  jump body(0, %x)\nbody(%0: i64, %1: f64):\n  %2 = add %0, 1\n  \
                %3 = add %1, %y\n  %4 = lt %2, 10\n  br_if %4, body(%2, %3), end(%3)\nend(%5: f64):\n  ret %5\n}\n";
    assert_eq!(text(&module), want);
}

#[test]
fn parameters_and_blocks_can_go() {
    let input = "func @f(%x: f64, %p: bool) -> f64 {\nentry:\n  br_if %p, a(%x), b(%x)\na(%u: f64):\n  %s = sin %u\n  ret 1.0\n\
                 b(%v: f64):\n  ret %v\n}\n";
    let (module, _) = run(input, "edit-unparam");
    assert_eq!(text(&module), input.replace("a(%x)", "a").replace("a(%u: f64)", "a").replace("  %s = sin %u\n", ""));
    let lonely = "func @f(%x: f64) -> f64 {\nentry:\n  ret %x\nlonely(%v: f64):\n  %s = sin %v\n  jump lonely(%s)\n}\n";
    let (module, _) = run(lonely, "edit-unblock");
    assert_eq!(text(&module), "func @f(%x: f64) -> f64 {\nentry:\n  ret %x\n}\n");
}

#[test]
fn a_block_that_is_branched_to_can_not_go() {
    let input = "func @f(%x: f64) -> f64 {\nentry:\n  jump a()\na:\n  %s = sin %x\n  ret %s\n}\n";
    let mut module = module(input);
    let error = run_with(&mut module, "edit-unblock", &Options::default()).unwrap_err();
    assert!(error.to_string().ends_with("a block that something branches to can't be removed"), "{error}");
}

#[test]
fn a_written_value_keeps_its_place() {
    let input = "func @f(%x: f64[n], %y: f64[n]) -> f64[n] {\nentry:\n  store %x, 1.0\n  %a = sin %x\n  ret %a\n}\n";
    let mut module = module(input);
    // Neither `%y` nor `%a` is stored to, so `%y` may replace it. `%x` is stored to and may not.
    let options = Options::default();
    run_with(&mut module, "edit-refine", &options).unwrap();
    assert_eq!(text(&module), input.replace("  %a = sin %x\n", "").replace("ret %a", "ret %y"));
    let mut module = crate::common::module(&input.replace("store %x", "store %y"));
    let error = run_with(&mut module, "edit-refine", &options).unwrap_err();
    assert!(error.to_string().contains("a value that something writes to can't be replaced"), "{error}");
}
