//! A failed application is undone, and other applications are kept.

use crate::common::{Always, module, run_with, scalars, text};
use pretty_assertions::assert_eq;
use rewright_rewrites::prelude::*;
use rewright_rewrites::{Options, RewriteError, Verify};

/// Makes every kind of change.
fn havoc(root: Inst, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
    let x = rw.func().inst(root).args[0];
    let a = rw.op("neg", [x])?;
    let b = rw.op("add", [Arg::from(a), Arg::from(7.0)])?;
    rw.set_use(root, 0, b)?;
    let first = rw.func().blocks().next().and_then(|b| rw.func().first_inst(b));
    if let Some(first) = first.filter(|&f| f != root) {
        rw.move_before(first, root)?;
    }
    let block = rw.create_block(None);
    let param = rw.add_block_param(block, Type::scalar(DType::F64))?;
    rw.set_terminator(block, "ret", [param], Attrs::new(), [])?;
    let home = rw.func().block_of(root).ok_or_else(|| RewriteError::new("gone"))?;
    let target = rewright_ir::Target { block, args: [b].into_iter().collect() };
    rw.set_terminator(home, "jump", [] as [Value; 0], Attrs::new(), [target])?;
    let results = rw.func().inst(root).results.clone();
    if rw.func().use_count(results[0]) == 0 { rw.erase(root) } else { rw.replace(root, &[b]) }
}

struct PanicsInMatches;
impl RootRewrite for PanicsInMatches {
    type Match = ();
    fn matches(&self, _: &MatchCx<'_>, _: Inst) -> Result<(), NoMatch> {
        panic!("this op is unknown")
    }
    fn apply(&self, (): (), _: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        Ok(())
    }
}

macro_rules! bad {
    ($($def:ident $name:literal $apply:expr;)+) => {$(
        static $def: RewriteDef =
            RewriteDef::root($name, "fails", &Always($apply)).roots(&["sin"]).opt_in();
    )+
    register_rewrite!($($def),+);};
}
bad! {
    PANICS "bad-panics" |root, rw| { havoc(root, rw)?; panic!("out of {}", "ideas") };
    ERRS "bad-errs" |root, rw| { havoc(root, rw)?; Err(RewriteError::new("changed my mind")) };
    IDLE "bad-idle" |_, _| Ok(());
    TYPE "bad-type" |root, rw| { havoc(root, rw)?; rw.op("add", ["no"].map(|_| 1.0)).map(drop) };
    UNKNOWN "bad-op" |root, rw| { havoc(root, rw)?; rw.op("addd", [1.0, 2.0]).map(drop) };
    UNORDERED "bad-order" |root, rw| {
        // After its user.
        let value = rw.func().inst(root).results[0];
        let user = rw.func().users(value)[0];
        rw.move_before(user, root)
    };
    OPEN "bad-open" |_, rw| { rw.create_block(None); Ok(()) };
    ARGUMENTS "bad-arguments" |root, rw| {
        let block = rw.func().block_of(root).ok_or_else(|| RewriteError::new("gone"))?;
        let to = rw.create_block(None);
        rw.set_terminator(to, "ret", [1.0], Attrs::new(), [])?;
        let target = rewright_ir::Target { block: to, args: [].into_iter().collect() };
        rw.set_terminator(block, "jump", [] as [Value; 0], Attrs::new(), [target])?;
        rw.add_block_param(to, Type::scalar(DType::F64)).map(drop)
    };
    USED "bad-used" |root, rw| rw.erase(root);
    DEAD "bad-dead" |root, rw| {
        let x = rw.func().inst(root).args[0];
        rw.replace(root, &[x])?;
        rw.erase(root)
    };
    NARROW "bad-narrow" |root, rw| {
        let one = rw.constant(1.0f32);
        rw.replace(root, &[one])
    };
    RESULT "bad-result" |root, rw| {
        let block = rw.func().block_of(root).ok_or_else(|| RewriteError::new("gone"))?;
        rw.set_terminator(block, "ret", [] as [Value; 0], Attrs::new(), []).map(drop)
    };
}
static LOOKS: RewriteDef = RewriteDef::root("bad-look", "panics", &PanicsInMatches).roots(&["sin"]).opt_in();
register_rewrite!(LOOKS);

const BODY: &str = "  %a = mul %y, 2.0\n  %b = sin %x\n  %c = exp %b\n  %d = sub %c, %a\n  ret %d\n";

/// The message of each failure.
const BAD: [(&str, &str); 13] = [
    ("bad-panics", "it panicked: out of ideas"),
    ("bad-errs", "changed my mind"),
    ("bad-idle", "it matched and changed nothing"),
    ("bad-type", "`add` takes 2 operands, got 1"),
    ("bad-op", "unknown op `addd` (did you mean `add`?)"),
    ("bad-order", "`exp` uses a value whose definition does not come before it"),
    ("bad-open", "does not end with a terminator"),
    ("bad-arguments", "takes 1 arguments, got 0"),
    ("bad-used", "`sin` can't be erased: it has 1 uses left"),
    ("bad-dead", "the instruction is not in the function any more"),
    ("bad-narrow", "a value of type f32 can't replace one of type f64"),
    ("bad-result", "`ret` does not give the function's results"),
    ("bad-look", "it panicked: this op is unknown"),
];

#[test]
fn failed_applications_are_undone_and_named() {
    for (rewrite, why) in BAD {
        for verify in [Verify::Last, Verify::Each] {
            let mut module = module(&scalars(BODY));
            let error = run_with(&mut module, rewrite, &Options { verify, ..Options::default() }).unwrap_err();
            assert_eq!(text(&module), scalars(BODY), "{rewrite}");
            let RewriteError::Failed { step, function, loc, .. } = &error else { panic!("{error}") };
            assert_eq!((step.rewrite, function.as_str(), loc.line), (rewrite, "f", 4));
            let said = error.to_string();
            assert!(said.starts_with(&format!("rewrite `{rewrite}` of rewright-rewrites (")), "{said}");
            // The verifier of whole functions has its own messages.
            assert!(said.contains(why) || verify == Verify::Each, "{said}");
        }
    }
}

#[test]
fn the_rest_goes_on_if_asked_to() {
    for (rewrite, why) in BAD {
        let mut module = module(&scalars(BODY));
        let options = Options { keep_going: true, ..Options::default() };
        let report = run_with(&mut module, &format!("{rewrite}, test-double"), &options).unwrap();
        assert_eq!(text(&module), scalars(&BODY.replace("mul %y, 2.0", "add %y, %y")), "{rewrite}");
        assert_eq!((report.failures.len(), report.applied(rewrite), report.applied("test-double")), (1, 0, 1));
        assert!(report.failures[0].to_string().contains(why));
    }
}

#[test]
fn a_failure_in_a_later_function_leaves_the_earlier_ones_alone() {
    let first = scalars("  %a = mul %x, 2.0\n  ret %a\n").replace("@f", "@g");
    let mut module = module(&format!("{first}\n{}", scalars(BODY)));
    let before = text(&module);
    run_with(&mut module, "test-double, bad-errs", &Options::default()).unwrap_err();
    assert_eq!(text(&module), before);
    let options = Options { keep_going: true, ..Options::default() };
    let report = run_with(&mut module, "test-double, bad-errs", &options).unwrap();
    assert_eq!((report.applied("test-double"), report.failures.len()), (2, 1));
}

#[test]
fn a_rewrite_that_failed_in_one_function_is_tried_in_the_next() {
    let mut module = module(&format!("{}\n{}", scalars(BODY).replace("@f", "@g"), scalars(BODY)));
    let options = Options { keep_going: true, ..Options::default() };
    let report = run_with(&mut module, "bad-errs", &options).unwrap();
    assert_eq!(report.failures.len(), 2);
}

#[test]
fn an_invalid_module_is_refused() {
    let mut module = module(&scalars(BODY));
    let func = module.get_mut(rewright_ir::Name::new("f")).unwrap();
    let last = func.insts(func.entry().unwrap()).next_back().unwrap();
    func.erase(last);
    let error = run_with(&mut module, "test-double", &Options::default()).unwrap_err();
    assert!(matches!(&error, RewriteError::InvalidInput(e) if e.0.len() == 1), "{error}");
}
