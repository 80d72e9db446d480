//! Errors of calls name the op and the values of the program, for every pipeline and every code generator.

use crate::support::{done, passdump};

/// A program that fails when it is called: its text, the arguments, and what the error must say.
struct Failing {
    text: &'static str,
    args: &'static [&'static str],
    says: &'static [&'static str],
}

const PIPELINES: [&str; 4] = ["", "default", "saturate, dce", "default, saturate, array-expr, dce"];
const BACKENDS: [&str; 5] = ["reference", "interp", "cranelift", "x64-avx2", "auto"];

const PROGRAMS: &[Failing] = &[
    Failing {
        text: "func @f(%first: f64[n], %second: f64[m]) -> f64[?] {\nentry:\n  %twice = mul %first, 2.0\n  \
               %total = add %twice, %second\n  %root = sqrt %total\n  ret %root\n}\n",
        args: &["first=[1, 2, 3]", "second=[1, 2]"],
        says: &["`add`", "4:3", "%twice", "%second"],
    },
    Failing {
        text: "func @f(%table: f64[n], %place: i64[m]) -> f64[?] {\nentry:\n  %moved = add %place, 1\n  \
               %found = take %table, %moved, axis=0\n  %r = mul %found, 2.0\n  ret %r\n}\n",
        args: &["table=[1, 2, 3]", "place=[5]"],
        says: &["`take`", "position 6", "4:3", "%table", "%moved"],
    },
    Failing {
        text: "func @f(%table: f64[n], %place: i64) -> f64 {\nentry:\n  %moved = add %place, 1\n  \
               %found = getitem %table, %moved\n  %r = mul %found, 2.0\n  ret %r\n}\n",
        args: &["table=[1, 2, 3]", "place=5"],
        says: &["`getitem`", "position 6", "4:3", "%table", "%moved"],
    },
    Failing {
        text: "func @f(%base: i64[n], %expo: i64[n]) -> i64[n] {\nentry:\n  %less = sub %expo, 1\n  \
               %pow = power %base, %less\n  %r = add %pow, 1\n  ret %r\n}\n",
        args: &["base=[1, 2]", "expo=[0, 2]"],
        says: &["`power`", "4:3", "%base", "%less"],
    },
    Failing {
        text: "func @f(%x: f64[n]) -> f64 {\nentry:\n  %twice = mul %x, 2.0\n  %most = max %twice\n  \
               %r = add %most, 1.0\n  ret %r\n}\n",
        args: &["x=[]"],
        says: &["`max`", "zero elements", "4:3", "%twice"],
    },
    Failing {
        text: "func @f(%x: f64[n]) -> f64[?, ?] {\nentry:\n  %twice = mul %x, 2.0\n  \
               %table = reshape %twice, dims=[2, 3]\n  %r = add %table, 1.0\n  ret %r\n}\n",
        args: &["x=[1, 2, 3]"],
        says: &["`reshape`", "4:3", "%twice"],
    },
    // Values without a name are named by their numbers.
    Failing {
        text: "func @f(%7: f64[n], %3: f64[m]) -> f64[?] {\nentry:\n  %5 = neg %7\n  %8 = mul %5, %3\n  ret %8\n}\n",
        args: &["0=[1, 2, 3]", "1=[1, 2]"],
        says: &["`mul`", "4:3", "%5", "%3"],
    },
    Failing {
        text: "func @g(%left: f64[n], %right: f64[m]) -> f64[?] {\nentry:\n  %sum = add %left, %right\n  ret %sum\n}\n\
               func @f(%first: f64[n], %second: f64[m]) -> f64[?] {\nentry:\n  %twice = mul %first, 2.0\n  \
               %r = call @g(%twice, %second)\n  ret %r\n}\n",
        args: &["first=[1, 2, 3]", "second=[1, 2]"],
        says: &["`add`", "3:3", "%left", "%right"],
    },
    Failing {
        text: "func @f(%d: f64[n, n; diagonal], %v: f64[m, m]) -> f64[?, ?] {\nentry:\n  \
               %twice = broadcasted %d, 2.0, op=\"mul\"\n  %sum = broadcasted %twice, %v, op=\"add\"\n  \
               %r = materialize %sum\n  ret %r\n}\n",
        args: &["d=[[1, 0], [0, 2]]", "v=[[1, 2, 3], [1, 2, 3], [1, 2, 3]]"],
        says: &["`broadcasted`", "4:3", "%twice", "%v"],
    },
    Failing {
        text: "func @f(%a: f64[n, n]) -> f64[n, n; diagonal] {\nentry:\n  %twice = mul %a, 2.0\n  \
               %d = restyle %twice, style=\"diagonal\"\n  ret %d\n}\n",
        args: &["a=[[1, 3], [0, 2]]"],
        says: &["`restyle`", "6.0 at [0, 1]", "4:3", "%twice"],
    },
    Failing {
        text: "func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %s = sum %x\n  %bad = gt %s, 1.0\n  br_if %bad, no, yes\n\
               yes:\n  ret %x\nno:\n  raise kind=\"ValueError\", message=\"the sum is too large\"\n}\n",
        args: &["x=[1, 2, 3]"],
        says: &["the sum is too large", "9:3"],
    },
];

#[test]
fn programs_are_wrong_only_when_they_are_called() {
    PROGRAMS.iter().for_each(|program| drop(done(&["run", "-"], program.text)));
}

#[test]
fn errors_of_calls_name_the_programs_ops_and_values() {
    for (Failing { text, args, says }, pipeline) in
        PROGRAMS.iter().flat_map(|p| PIPELINES.map(|pipeline| (p, pipeline)))
    {
        for backend in BACKENDS {
            let mut command = vec!["exec", "-", "--pipeline", pipeline, "--backend", backend];
            command.extend(args.iter().flat_map(|arg| ["--arg", *arg]));
            let output = passdump(&command, text);
            // Lines are broken where the terminal ends.
            let said = String::from_utf8(output.stderr).unwrap();
            let said: Vec<&str> = said.split_whitespace().filter(|word| *word != "│").collect();
            let said = said.join(" ");
            if said.contains("processor") && backend == "x64-avx2" {
                continue;
            }
            assert_eq!(output.status.code(), Some(1), "{backend}, `{pipeline}`\n{text}{said}");
            for part in *says {
                assert!(said.contains(part), "{backend}, `{pipeline}`: {part} is missing\n{text}{said}");
            }
            let own = said.split("╭─").next().unwrap_or_default();
            // Operands of nodes have the names of the program's arrays. Only arrays without a name are `x`.
            let is_anonymous = text.contains("(%7:");
            assert!(is_anonymous || !own.contains("`x"), "{backend}, `{pipeline}`: {own}\n{text}");
            let values = says.iter().filter(|part| part.starts_with('%'));
            assert!(values.clone().all(|value| own.contains(value)), "{backend}, `{pipeline}`: {own}\n{text}");
        }
    }
}
