//! What passdump does about rewrites with bugs. The test program is a passdump that has some: run with
//! `PASSDUMP_SEEDED` set, it is the tool itself.

mod bisect;
mod programs;
mod reduce;
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
        run: a_wrong_rewrite_is_shown_with_input_and_diff, failing_rewrites_can_be_left_out, the_whole_function_is_verified,
            remarks_stand_under_their_lines, statistics_are_a_table;
        bisect: the_guilty_application_is_found, arguments_show_what_made_up_ones_do_not, errors_are_shown_as_they_are,
            a_command_decides, a_backend_with_a_bug_is_found;
        reduce: a_miscompile_becomes_small, a_miscompile_of_one_value_becomes_small, a_panic_becomes_small, an_invalid_program_becomes_small, what_never_ends_becomes_small,
            rewrites_that_undo_each_other_become_small, a_command_decides, arguments_stay_what_they_are, bodies_of_expressions_become_small;
    };
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}
