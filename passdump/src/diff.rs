//! Differences between two texts, by lines.

use crate::output::{Out, Tone};
use similar::{ChangeTag, TextDiff};
use std::io::{self, Write};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 2;

/// The changed lines, each after `-` or `+`, with a few lines of context.
pub fn lines(old: &str, new: &str) -> String {
    let mut text = String::new();
    each(old, new, |sign, line| text.push_str(&format!("{sign} {line}\n")));
    text
}

/// Prints the differences in colours.
pub fn print(out: &mut Out, old: &str, new: &str) -> io::Result<()> {
    let mut result = Ok(());
    each(old, new, |sign, line| {
        let text = match sign {
            '-' => out.tone(Tone::Bad, format!("- {line}")),
            '+' => out.tone(Tone::Good, format!("+ {line}")),
            ' ' => format!("  {line}"),
            _ => out.tone(Tone::Faint, "  ..."),
        };
        if result.is_ok() {
            result = writeln!(out, "{text}");
        }
    });
    result
}

/// Calls `line` with each line and its sign: `-`, `+` or a blank. `.` stands between distant changes.
fn each(old: &str, new: &str, mut line: impl FnMut(char, &str)) {
    let diff = TextDiff::from_lines(old, new);
    for (i, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if i > 0 {
            line('.', "..");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            line(sign, change.value().trim_end_matches('\n'));
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn changes_are_shown_with_context() {
        let old: String = (0..20).map(|i| format!("line {i}\n")).collect();
        let new = old.replace("line 3\n", "").replace("line 15\n", "line 15\nmore\n");
        let found = super::lines(&old, &new);
        assert_eq!(
            found,
            "  line 1\n  line 2\n- line 3\n  line 4\n  line 5\n. ..\n  line 14\n  line 15\n+ more\n  line 16\n  line 17\n"
        );
        assert_eq!(super::lines(&old, &old), "");
    }
}
