//! The built-in rewrites: text before and after, and random programs before and after.

/// Defines tests by name: the pipelines after which random functions compute the same.
macro_rules! exact {
    ($params:tt => $check:expr; $($name:ident: $($pipeline:literal),+;)*) => {
        proptest! {$(
            #[test]
            fn $name $params {
                let check = $check;
                $(check($pipeline)?;)+
            }
        )*}
    };
}

mod canonicalize;
mod cse;
mod dce;
mod fold;
mod one_pass_variance;
mod random;
mod random_blocks;
mod reduce_siblings;
mod reduce_views;
mod scalar_finish;
mod scale;

use rewright_ir::{Module, parse_module, print_module, verify_module};
use rewright_rewrites::{NoObserver, Options, Pipeline, Report};

fn parse(text: &str) -> Module {
    parse_module(text, "test.ir").unwrap_or_else(|e| panic!("{}", e.render(false)))
}

fn run(pipeline: &str, module: &mut Module) -> Report {
    let report = Pipeline::parse(pipeline).unwrap().run(module, &Options::default(), &mut NoObserver);
    let report = report.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(verify_module(module), Ok(()));
    report
}

/// Runs a pipeline on a text of functions.
fn optimized(pipeline: &str, text: &str) -> String {
    let mut module = parse(text);
    run(pipeline, &mut module);
    print_module(&module)
}

/// The pipeline turns the first text into the second, which is a fixed point.
#[track_caller]
fn becomes(pipeline: &str, before: &str, after: &str) {
    // The printer separates functions by an empty line.
    let printed = after.replace("}\nfunc", "}\n\nfunc");
    pretty_assertions::assert_eq!(optimized(pipeline, before), printed);
    pretty_assertions::assert_eq!(optimized(pipeline, after), printed);
}

/// The pipeline leaves the text unchanged.
#[track_caller]
fn stays(pipeline: &str, text: &str) {
    becomes(pipeline, text, text);
}

#[test]
fn types_that_become_more_precise_do_so_in_any_order() {
    let text = "func @f(%a: f64[n], %c: bool) -> f64[?] {\nentry:\n  jump next(%a)\nnext(%x: f64[?]):\n  %0, %1 = divmod %x, %x\n  \
                %2 = transpose %0, perm=[0]\n  %3 = add %2, %1\n  %4 = abs %3\n  br_if %c, next(%x), done\ndone:\n  ret %4\n}\n";
    assert!(optimized("block-args", text).contains("next:\n  %0, %1 = divmod %a, %a\n"));
}
