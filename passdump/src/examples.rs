//! The examples at the end of each `--help` text.
//!
//! A test runs each line from a copy of the repository's files, and requires exit status 0, or the one that
//! the line's comment says.

/// Examples of the tool.
pub const PASSDUMP: &str = "\
Examples:
  passdump run fixtures/real/black_scholes.ron
  passdump exec fixtures/real/black_scholes.ron --time
  passdump list rewrites

Exit status: 0 done, 1 the input is wrong, 2 usage.";

/// Examples of `run`.
pub const RUN: &str = "\
Examples:
  passdump run fixtures/real/black_scholes.ron --diff
  passdump run fixtures/real/gelu.ron --pipeline 'fold, cse, dce' --check-each
  passdump run benches/peers/workloads/axpby.ir --remarks --stats --time";

/// Examples of `exec`.
pub const EXEC: &str = "\
Examples:
  passdump exec fixtures/real/black_scholes.ron --time
  passdump exec benches/peers/workloads/axpby.ir
  passdump exec benches/peers/workloads/axpby.ir --func f64 --arg 'a=[1, 2]' --arg 'b=[3, 4]'
  passdump exec fixtures/real/gelu.ron --arg x=@fixtures/data/nn_x.npy --out y=gelu.npy

Without --arg, and without runs of a fixture, the tool makes up small arguments and shows them.";

/// Examples of `bench`.
pub const BENCH: &str = "\
Examples:
  passdump bench fixtures/real/gelu.ron
  passdump bench benches/peers/workloads/axpby.ir --into --threads 1 --time 0.1
  passdump bench fixtures/real/gelu.ron --arg 'x=random:f64[300, 500]' --time 0.1 --json";

/// Examples of `asm`.
pub const ASM: &str = "\
Examples:
  passdump asm fixtures/real/black_scholes.ron
  passdump asm benches/peers/workloads/axpby.ir --func f64
  passdump asm fixtures/real/gelu.ron --kernel 1 --level cranelift";

/// Examples of `suggest`.
pub const SUGGEST: &str = "\
Examples:
  passdump suggest fixtures/real/gelu.ron --pipeline default
  passdump suggest fixtures/cse/twice.ron
  passdump run fixtures/cse/twice.ron --pipeline gvn --stop-after 1 > next.ir";

/// Examples of `bisect`.
pub const BISECT: &str = "\
Examples:
  passdump bisect fixtures/cse/twice.ron --command '! grep -q \"add %1, %1\" {}'
  passdump bisect fixtures/real/gelu.ron                       # exit status 1: nothing is wrong
  passdump bisect fixtures/real/gelu.ron --backend cranelift   # exit status 1: nothing is wrong

The program is wrong if rewriting ends with an error, or if the function computes something else
after it. The tool tries the arguments given, those of the fixture's runs, and generated ones.
With --command, the program is wrong if the command fails.";

/// Examples of `reduce`.
pub const REDUCE: &str = "\
Examples:
  passdump reduce fixtures/real/gelu.ron --command '! grep -q erf {}'
  passdump reduce fixtures/real/gelu.ron --command '! grep -q erf' > small.ir
  passdump reduce fixtures/real/gelu.ron                       # exit status 1: nothing is wrong

The program fails as `bisect` says, and must fail in the same way at each step: the same kind of
error by the same rewrite, a difference, or the same exit status of --command.";

/// Examples of `test`.
pub const TEST: &str = "\
Examples:
  passdump test fixtures/fusion
  passdump test fixtures/real/gelu.ron fixtures/real/softmax.ron
  passdump test fixtures/fusion --bless";

/// Examples of `explain`.
pub const EXPLAIN: &str = "\
Examples:
  passdump explain fixtures/real/black_scholes.ron d1
  passdump explain fixtures/saturate/log_exp.ron r
  passdump explain benches/peers/workloads/axpby.ir x --func f64 --pipeline 'array-expr, dce'";

/// Examples of `prove`.
pub const PROVE: &str = "\
Examples:
  passdump prove fixtures/cse/twice.ron %1 %3
  passdump prove fixtures/saturate/log_exp.ron r r
  passdump prove fixtures/real/gelu.ron scaled half            # exit status 1: not proved

Exit status 1: no proof was found. The reason says whether there is none by these rules, or which
limit was met.";

/// Examples of `html`.
pub const HTML: &str = "\
Examples:
  passdump html fixtures/real/black_scholes.ron steps.html
  passdump html fixtures/real/gelu.ron steps.html --time
  passdump html benches/peers/workloads/axpby.ir steps.html --func f64 --pipeline 'array-expr, dce'";

/// Examples of `check-rules`.
pub const CHECK_RULES: &str = "\
Examples:
  passdump check-rules
  passdump check-rules --rewrites softmax
  passdump check-rules rewrites/tests/rules/unsound/bools.ron  # exit status 1: unsound rules
  passdump check-rules rewrites/tests/rules/unsound/bools.ron --no-cache # exit status 1";

/// Examples of `completions`.
pub const COMPLETIONS: &str = "\
Examples:
  passdump completions bash > passdump.bash
  passdump completions zsh > _passdump
  passdump completions fish > passdump.fish

Each shell reads such files from a folder: bash from ~/.local/share/bash-completion/completions,
where the file is called `passdump`; fish from ~/.config/fish/completions; zsh from those in $fpath.";

/// Examples of `list`.
pub const LIST: &str = "\
Examples:
  passdump list
  passdump list rewrites
  passdump list ops --long
  passdump list backends";
