//! The verifier: a violation of each rule, and valid functions.

use pretty_assertions::assert_eq;
use rewright_ir::op::Types;
use rewright_ir::*;

/// Parses without verification.
fn module(text: &str) -> Module {
    parse_unverified(text, "test.ir").unwrap_or_else(|e| panic!("{}", e.render(false)))
}
fn function(text: &str) -> Function {
    module(text).into_functions().next().unwrap()
}
/// The errors of a function without a module, each on a line.
fn errors(func: &Function) -> String {
    verify_function(func, None).map_or_else(|e| e.to_string(), |()| String::new())
}
fn op(name: &str) -> Op {
    registry().op(name).unwrap()
}
fn block(func: &Function, name: &str) -> Block {
    func.blocks().find(|&b| func.block_name(b).is_some_and(|n| n == name)).unwrap()
}
/// The n-th instruction in layout order.
fn inst(func: &Function, n: usize) -> Inst {
    func.blocks().flat_map(|b| func.insts(b)).nth(n).unwrap()
}
fn inst_result(func: &Function, n: usize) -> Value {
    func.inst(inst(func, n)).results[0]
}
fn target(block: Block, args: &[Value]) -> Target {
    Target { block, args: args.iter().copied().collect() }
}
fn f64_scalar() -> Type {
    Type::scalar(DType::F64)
}

/// Inserts an instruction without any checks.
fn force(func: &mut Function, before: Inst, name: &str, args: &[Value], attrs: Attrs, results: Types) {
    let loc = func.inst(before).loc;
    let made = func.create_inst(op(name), args.iter().copied(), attrs, [], results, loc);
    func.insert_before(before, made);
}

const LOOP: &str = "\
func @f(%x: f64[n], %limit: i64) -> f64[n] {
entry:
  jump head(0, %x)
head(%i: i64, %y: f64[n]):
  %more = lt %i, %limit
  br_if %more, body, done
body:
  %next = add %i, 1
  %z = mul %y, 2.0
  jump head(%next, %z)
done:
  ret %y
}
";

#[test]
fn valid_functions_pass() {
    for text in [
        LOOP,
        "func @f() {\nentry:\n  ret\n}\n",
        "func @f(%k: i64) -> i64 {\nentry:\n  switch %k, 0: a, 7: b(%k), default: c\na:\n  ret 1\nb(%p: i64):\n  ret %p\nc:\n  raise kind=\"ValueError\", message=\"no\"\n}\n",
        "func @f(%x: f64[n, m]) -> f64[?, 3] {\nentry:\n  ret %x\n}\n",
    ] {
        assert_eq!(errors(&function(text)), "", "{text}");
    }
}

#[test]
fn a_function_has_blocks_and_nothing_branches_to_the_first() {
    assert_eq!(
        errors(&Function::new("f", vec![])),
        "`@f`: the function has no blocks (it needs one, that ends with `ret`)"
    );
    let mut f = function(LOOP);
    let (entry, back) = (f.entry().unwrap(), inst(&f, 5));
    let args = f.params().to_vec();
    f.set_targets(back, [target(entry, &args)]);
    assert_eq!(
        errors(&f),
        "`@f` line 10: `jump` branches to the entry block (a loop that begins the function needs a block before it)"
    );
}

#[test]
fn a_block_ends_with_its_only_terminator() {
    let mut f = function(LOOP);
    let back = inst(&f, 5);
    f.erase(back);
    assert_eq!(
        errors(&f),
        "`@f` line 9: `body` does not end with a terminator (`jump`, `br_if`, `switch`, `ret` and `raise` are terminators)"
    );

    let mut f = function(LOOP);
    let done = block(&f, "done");
    f.erase(inst(&f, 6));
    assert!(f.first_inst(done).is_none());
    assert!(
        errors(&f).starts_with(&format!("`@f`{}: `done` does not end with a terminator", place(&f))),
        "{}",
        errors(&f)
    );

    let mut f = function(LOOP);
    let first = inst(&f, 3);
    let y = f.block_params(block(&f, "head"))[1];
    force(&mut f, first, "ret", &[y], Attrs::new(), Types::new());
    assert_eq!(errors(&f), "`@f` line 8: `ret` stands in the middle of `body`");
}

#[test]
fn targets_are_blocks_of_the_function_and_get_the_arguments_that_they_take() {
    let retarget = |change: &dyn Fn(&mut Function, Inst, Block)| {
        let mut f = function(LOOP);
        let (back, head) = (inst(&f, 5), block(&f, "head"));
        change(&mut f, back, head);
        errors(&f)
    };
    let gone = retarget(&|f, back, _| {
        let extra = f.create_block(None);
        f.remove_blocks(&[extra]);
        f.set_targets(back, [target(extra, &[])]);
    });
    assert_eq!(gone, "`@f` line 10: `jump` branches to a block that is not in the function");
    let few = retarget(&|f, back, head| {
        let z = f.inst(back).targets[0].args[1];
        f.set_targets(back, [target(head, &[z])]);
    });
    assert_eq!(few, "`@f` line 10: `head` takes 2 arguments, got 1");
    let swapped = retarget(&|f, back, head| {
        let args = f.inst(back).targets[0].args.clone();
        f.set_targets(back, [target(head, &[args[1], args[0]])]);
    });
    assert_eq!(
        swapped,
        "`@f` line 10: argument 0 of `head` is f64[n], its parameter i64\n\
         `@f` line 10: argument 1 of `head` is i64, its parameter f64[n]"
    );
    let two = retarget(&|f, back, head| {
        let one = f.inst(back).targets[0].clone();
        f.set_targets(back, [one.clone(), Target { block: head, ..one }]);
    });
    assert_eq!(two, "`@f` line 10: `jump` has 1 targets, got 2");
}

#[test]
fn operands_are_values_of_the_function() {
    let mut f = function(LOOP);
    // `%z` loses its definition.
    f.erase(inst(&f, 4));
    assert_eq!(errors(&f), "`@f` line 10: `jump` uses %?, which is defined nowhere");

    // An instruction without a location is printed.
    let mut f = function("func @f(%x: f64) -> f64 {\n  %y = neg %x\n  ret %y\n}");
    let made = f.create_inst(
        op("add"),
        [f.params()[0], inst_result(&f, 0)],
        Attrs::new(),
        [],
        Types::from_elem(f64_scalar(), 1),
        Loc::default(),
    );
    f.insert_before(inst(&f, 0), made);
    let message = "`@f` line 1, `%0 = add %x, %y`: `add` uses %y, which is not defined on every path to it";
    assert!(errors(&f).starts_with(message), "{}", errors(&f));

    let mut f = function(LOOP);
    let (head, entry_jump, back) = (block(&f, "head"), inst(&f, 0), inst(&f, 5));
    let i = f.block_params(head)[0];
    f.set_targets(entry_jump, [target(head, &[f.params()[0]])]);
    let z = f.inst(back).targets[0].args[1];
    f.set_targets(back, [target(head, &[z])]);
    f.remove_block_param(head, 0);
    assert!(!f.block_params(head).contains(&i));
    assert_eq!(
        errors(&f),
        "`@f` line 5: `lt` uses %i, which is defined nowhere\n`@f` line 8: `add` uses %i, which is defined nowhere"
    );
}

#[test]
fn uses_are_dominated_by_definitions() {
    let f = function(
        "\
func @f(%c: bool, %x: f64) -> f64, f64 {
entry:
  %early = neg %late
  %late = neg %x
  br_if %c, a, join
a:
  %a = neg %x
  jump join
join:
  ret %a, %early
}
",
    );
    let help = "(values go from block to block as block arguments where their definition does not dominate)";
    assert_eq!(
        errors(&f),
        format!(
            "`@f` line 3: `neg` uses %late, which is not defined on every path to it {help}\n\
             `@f` line 10: `ret` uses %a, which is not defined on every path to it {help}"
        )
    );
}

#[test]
fn in_unreachable_blocks_every_value_is_defined_but_not_outside_of_them() {
    let mut f = function(
        "\
func @f(%x: f64) -> f64 {
entry:
  %a = neg %x
  ret %a
dead:
  %b = add %a, %x
  %c = add %a, %b
  jump other
other:
  %d = neg %c
  jump dead
}
",
    );
    let (b, d) = (inst(&f, 2), f.inst(inst(&f, 5)).results[0]);
    f.set_use(b, 0, d);
    f.set_use(b, 1, f.inst(b).results[0]);
    assert_eq!(errors(&f), "");
    let (ret, b) = (inst(&f, 1), f.inst(b).results[0]);
    f.set_use(ret, 0, b);
    assert!(errors(&f).starts_with("`@f` line 4: `ret` uses %b, which is not defined on every path to it"));
}

#[test]
fn operands_attributes_and_results_are_as_the_op_says() {
    let text = "func @f(%x: f64[n], %k: i64) -> f64[n] {\nentry:\n  %s = sum %x, axes=[0], keepdims=true\n  %y = add %x, %k\n  ret %y\n}\n";
    assert_eq!(errors(&function(text)), "");
    let broken = |change: &dyn Fn(&mut Function, Inst)| {
        let mut f = function(text);
        let ret = inst(&f, 2);
        change(&mut f, ret);
        errors(&f)
    };
    let x = |f: &Function| f.params()[0];
    let ty = |f: &Function| f.ty(f.params()[0]).clone();

    let arity = broken(&|f, at| force(f, at, "add", &[x(f)], Attrs::new(), Types::from_iter([ty(f)])));
    assert_eq!(arity, "`@f` line 5: `add` takes 2 operands, got 1 (write `add %a, %b`: Sum; of bools, logical or)");
    let result = broken(&|f, at| force(f, at, "neg", &[x(f)], Attrs::new(), Types::from_iter([f64_scalar()])));
    assert_eq!(result, "`@f` line 5: `neg` gives f64[n], its result is declared as f64");
    let count = broken(&|f, at| force(f, at, "neg", &[x(f)], Attrs::new(), Types::new()));
    assert_eq!(count, "`@f` line 5: `neg` has 0 results, it gives 1");
    let attr = broken(&|f, at| {
        let attrs = Attrs::new().with("axis", Attr::Int(0));
        force(f, at, "neg", &[x(f)], attrs, Types::from_iter([ty(f)]));
    });
    assert_eq!(attr, "`@f` line 5: `neg`: unknown attribute `axis`; this op has none");
    let missing = broken(&|f, at| force(f, at, "cast", &[x(f)], Attrs::new(), Types::from_iter([ty(f)])));
    assert!(missing.starts_with("`@f` line 5: `cast`: missing attribute `to`"), "{missing}");
    let refused = broken(&|f, at| {
        let flags = f.constant(Scalar::Bool(true));
        force(f, at, "neg", &[flags], Attrs::new(), Types::from_iter([Type::scalar(DType::Bool)]));
    });
    assert!(refused.starts_with("`@f` line 5: `neg` is not defined for bool"), "{refused}");
    let order = broken(&|f, _| {
        let sum = inst(f, 0);
        let list: Vec<_> = f.inst(sum).attrs.iter().map(|(n, a)| (n, a.clone())).collect();
        let reversed = list.into_iter().rev().fold(Attrs::new(), |attrs, (n, a)| attrs.with(n.as_str(), a));
        f.set_attrs(sum, reversed);
    });
    assert_eq!(
        order,
        "`@f` line 3: attributes of `sum` are not in the order of its definition (`Attrs::normalize` brings them into it)"
    );
    let stale = broken(&|f, _| {
        let y = f.inst(inst(f, 1)).results[0];
        f.set_type(y, Type::array(DType::F32, [Dim::from("n")]));
    });
    assert_eq!(
        stale,
        "`@f` line 4: `add` gives f64[n], its result is declared as f32[n]\n\
         `@f` line 5: result 0 of `@f` is f64[n], `ret` gives f32[n]\
         \x20(declare the result as f32[n] after `->`, or return a value of type f64[n])"
    );
    let targets = broken(&|f, at| {
        let to = f.create_block(None);
        let ret = f.create_inst(op("ret"), [], Attrs::new(), [], Types::new(), f.inst(at).loc);
        f.append(to, ret);
        force(f, at, "neg", &[x(f)], Attrs::new(), Types::from_iter([ty(f)]));
        let neg = f.prev_inst(at).unwrap();
        f.set_targets(neg, [target(to, &[])]);
    });
    assert!(targets.contains("`@f` line 5: `neg` has 0 targets, got 1"), "{targets}");
}

#[test]
fn branch_operands_are_checked() {
    let mut f = function(LOOP);
    let branch = inst(&f, 2);
    let i = f.block_params(block(&f, "head"))[0];
    f.set_use(branch, 0, i);
    assert_eq!(errors(&f), "`@f` line 6: `br_if` wants a scalar bool, got i64 (compare it: `ne %x, 0`)");
    let attrs = Attrs::new().with("cases", Attr::Ints([1, 1].into()));
    let ret = f.terminator(block(&f, "done")).unwrap();
    let to = [target(block(&f, "body"), &[]), target(block(&f, "done"), &[]), target(block(&f, "done"), &[])];
    let switch = f.create_inst(op("switch"), [i], attrs, to, Types::new(), Loc::default());
    let head = block(&f, "head");
    f.erase(branch);
    f.append(head, switch);
    let text = "`switch %i, 1: body, 1: done, default: done`";
    assert_eq!(errors(&f), format!("`@f`{}, {text}: `switch` has case 1 twice", place(&f)));
    assert!(f.is_linked(ret));
}

/// The location in an error of an instruction without one: that of the function.
fn place(func: &Function) -> String {
    if func.loc.is_none() { String::new() } else { format!(" line {}", func.loc.line) }
}

#[test]
fn callees_are_functions_of_the_module() {
    let m = module(
        "\
func @g(%x: f64[n]) -> f64[n] {
entry:
  ret %x
}
func @f(%x: f64[k]) -> f64[k] {
entry:
  %y = call @g(%x)
  ret %y
}
",
    );
    assert_eq!(verify_module(&m), Ok(()));
    let f = m.get("f".into()).unwrap().clone();
    let mut alone = Module::new();
    alone.insert(f.clone());
    assert_eq!(
        verify_module(&alone).unwrap_err().to_string(),
        "`@f` line 7: `call`: there is no function `@g` in the module"
    );
    assert_eq!(verify_function(&f, None), Ok(()), "without a module calls are not looked at");

    let mut wrong = m.clone();
    let g = wrong.get_mut("g".into()).unwrap();
    let x = g.params()[0];
    g.set_type(x, Type::array(DType::F32, [Dim::from("n")]));
    g.results = vec![Type::array(DType::F32, [Dim::from("n")])];
    assert_eq!(
        verify_module(&wrong).unwrap_err().to_string(),
        "`@f` line 7: argument 0 is f64[k], `call` needs f32[n]"
    );
}

#[test]
fn ret_gives_the_functions_results() {
    let mut f = function(LOOP);
    f.results = vec![];
    assert_eq!(errors(&f), "`@f` line 12: `@f` has 0 results, `ret` gives 1");
    f.results = vec![Type::array(DType::F64, [Dim::from("n"), Dim::from("n")])];
    let advice = "declare the result as f64[n] after `->`, or return a value of type f64[n, n]";
    assert_eq!(errors(&f), format!("`@f` line 12: result 0 of `@f` is f64[n, n], `ret` gives f64[n] ({advice})"));
    f.results = vec![Type::array(DType::F64, [Dim::Const(3)])];
    assert_eq!(errors(&f), "", "whether n is 3 shows at run time");
}

#[test]
fn symbols_of_block_parameters_are_bound_by_the_function() {
    let with = |ty: &str| {
        errors(&function(&format!("func @f(%x: f64[n]) -> f64 {{\nentry:\n  jump b(%x)\nb(%y: {ty}):\n  ret 0.0\n}}")))
    };
    assert_eq!(with("f64[n]"), "");
    assert_eq!(with("f64[?]"), "");
    assert_eq!(
        with("f64[m]"),
        "`@f` line 5: %y is f64[m], and `m` is bound by no parameter of the function (a dim that is not known when the \
         function is called is `?`)"
    );
}

#[test]
fn storage_styles_are_registered() {
    let odd = Type::array(DType::F64, [Dim::from("n")]).with_style(Some(Name::new("dence")));
    let mut f = function(LOOP);
    f.results = vec![odd.clone()];
    let message = "there is no array of type f64[n; dence]: unknown storage style `dence`: did you mean `dense`?";
    assert_eq!(
        errors(&f),
        format!(
            "`@f`{}: {message}\n`@f` line 12: result 0 of `@f` is f64[n; dence], `ret` gives f64[n] (declare the \
             result as f64[n] after `->`, or return a value of type f64[n; dence])",
            place(&f)
        )
    );
    let mut f = function("func @f(%x: f64[n]) {\nentry:\n  ret\n}\n");
    let x = f.params()[0];
    f.set_type(x, odd);
    assert_eq!(errors(&f), format!("`@f` line 3: {message}"));
}

#[test]
fn nothing_is_used_after_its_del() {
    let del = |text: &str| errors(&function(text));
    let straight = "func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %a = neg %x\n  del %a\n  %b = abs %x\n  print %a\n  %c = neg %a\n  ret %c\n}\n";
    assert_eq!(del(straight), "`@f` line 6: `print` uses %a after its `del` in line 4");
    let mut f = function(straight);
    let (a, abs) = (f.inst(inst(&f, 0)).results[0], inst(&f, 2));
    f.set_use(abs, 0, a);
    assert_eq!(errors(&f), "`@f` line 5: `abs` uses %a after its `del` in line 4", "the first use is named");
    let twice = "func @f(%x: f64[n]) {\nentry:\n  del %x\n  del %x\n  ret\n}\n";
    assert_eq!(del(twice), "`@f` line 4: `del` uses %x after its `del` in line 3");
    let fine = "func @f(%x: f64[n]) {\nentry:\n  %a = neg %x\n  del %x\n  print %a\n  del %a\n  ret\n}\n";
    assert_eq!(del(fine), "");
}

#[test]
fn dels_are_followed_over_branches() {
    let diamond = |a: &str, b: &str, join: &str| {
        errors(&function(&format!(
            "func @f(%x: f64[n], %c: bool) {{\nentry:\n  br_if %c, a, b\na:\n{a}  jump join\nb:\n{b}  jump join\njoin:\n{join}  ret\n}}\n"
        )))
    };
    let (del, print) = ("  del %x\n", "  print %x\n");
    assert_eq!(diamond(del, del, ""), "");
    assert_eq!(diamond(del, print, ""), "");
    assert_eq!(diamond("", "", del), "");
    assert_eq!(diamond(print, print, del), "");
    assert_eq!(diamond(del, "", print), "`@f` line 5: %x is used after this `del`, on some path");
    assert_eq!(diamond(del, "", del), "`@f` line 5: %x is used after this `del`, on some path");
}

#[test]
fn dels_are_followed_around_loops() {
    let around = |before: &str, in_loop: &str, after: &str| {
        errors(&function(&format!(
            "func @f(%x: f64[n], %c: bool) {{\nentry:\n{before}  jump loop\nloop:\n{in_loop}  br_if %c, loop, done\ndone:\n{after}  ret\n}}\n"
        )))
    };
    assert_eq!(around("", "  print %x\n", "  del %x\n"), "");
    assert_eq!(around("", "  %a = neg %x\n  del %a\n", ""), "", "defined anew each time round");
    assert_eq!(around("", "  del %x\n", ""), "`@f` line 5: %x is used after this `del`, on some path");
    assert_eq!(around("", "  print %x\n  del %x\n", ""), "`@f` line 6: %x is used after this `del`, on some path");
    assert_eq!(around("  del %x\n", "  print %x\n", ""), "`@f` line 3: %x is used after this `del`, on some path");
}

#[test]
fn branch_arguments_are_uses_before_the_block_is_left() {
    let text = "func @f(%x: f64[n], %c: bool) {\nentry:\n  jump loop(%x)\nloop(%y: f64[n]):\n  %z = neg %y\n  del %y\n  br_if %c, loop(%z), done\ndone:\n  del %z\n  ret\n}\n";
    assert_eq!(errors(&function(text)), "");
    let wrong = text.replace("loop(%z)", "loop(%y)");
    assert_eq!(errors(&function(&wrong)), "`@f` line 7: `br_if` uses %y after its `del` in line 6");
}

#[test]
fn dels_in_unreachable_blocks_end_nothing() {
    let text = "func @f(%x: f64[n]) {\nentry:\n  jump join\ndead:\n  del %x\n  print %x\n  jump join\njoin:\n  print %x\n  ret\n}\n";
    assert_eq!(errors(&function(text)), "");
}

#[test]
fn everything_wrong_is_reported_at_once() {
    let mut f = function(LOOP);
    let (less, next, z, back, ret) = (inst(&f, 1), inst(&f, 3), inst(&f, 4), inst(&f, 5), inst(&f, 6));
    let z = f.inst(z).results[0];
    f.set_type(f.inst(less).results[0], Type::scalar(DType::I8));
    f.set_attrs(next, Attrs::new().with("fast", Attr::Bool(true)));
    f.set_targets(back, []);
    f.set_use(ret, 0, z);
    f.results.push(f64_scalar());
    let found = verify_function(&f, None).unwrap_err();
    let found: Vec<String> = found.0.iter().map(|e| format!("{}: {}", e.loc.line, e.message)).collect();
    assert_eq!(
        found,
        [
            "5: `lt` gives bool, its result is declared as i8",
            "6: `br_if` wants a scalar bool, got i8",
            "8: `add`: unknown attribute `fast`; this op has none",
            "10: `jump` has 1 targets, got 0",
            "12: `@f` has 2 results, `ret` gives 1",
            "12: `ret` uses %z, which is not defined on every path to it",
        ]
    );
}
