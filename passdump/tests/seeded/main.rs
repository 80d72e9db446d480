//! What passdump does about rewrites with bugs. The test program is a passdump that has some: run with `PASSDUMP_SEEDED` set, it is the tool
//! itself.

mod programs;
mod rewrites;
mod run;
mod tool;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

/// Tests by their names.
macro_rules! tests {
    ($($module:ident: $($test:ident),+ $(,)?;)+) => {
        vec![$($(Trial::test(concat!(stringify!($module), "::", stringify!($test)), || {
            $module::$test();
            Ok(())
        }),)+)+]
    };
}

fn main() -> ExitCode {
    if std::env::var_os("PASSDUMP_SEEDED").is_some() {
        return rewright_passdump::main();
    }
    let tests = tests! {
        run: a_wrong_rewrite_is_shown_with_input_and_diff, what_fails_can_be_left_out, the_whole_function_is_verified,
            remarks_stand_under_their_lines, statistics_are_a_table;
    };
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}
