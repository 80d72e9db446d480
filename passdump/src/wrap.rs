//! Breaks lines that are wider than the output.

use std::borrow::Cow;
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// The width of the output, in columns. Only IR text, its comments, and machine code may be wider.
pub const WIDTH: usize = 100;

/// Breaks a line at spaces, so that it fits `width` unless a word is longer. Further lines are indented by
/// `indent` columns. Escape sequences of colours have no width.
pub fn wrapped(line: &str, width: usize, indent: usize) -> Vec<String> {
    let indent = " ".repeat(indent);
    let options = Options::new(width)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(line, options).into_iter().map(Cow::into_owned).collect()
}

/// Breaks every line of a text that is too wide, except indented ones: those are excerpts.
pub fn paragraphs(text: &str) -> String {
    let lines = text.lines().flat_map(|line| match line.starts_with("    ") {
        true => vec![line.to_string()],
        false => wrapped(line, WIDTH, 2),
    });
    let mut joined = lines.collect::<Vec<_>>().join("\n");
    if text.ends_with('\n') {
        joined.push('\n');
    }
    joined
}

/// Breaks the lines of a help text that are too wide, below the column in which their descriptions begin.
pub fn described(text: &str) -> String {
    let broken = |line: &str| {
        let indent = line.rfind("  ").map_or(0, |at| display_width(&line[..at + 2]));
        wrapped(line, WIDTH, indent).into_iter().map(|line| line + "\n").collect::<String>()
    };
    text.lines().map(broken).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrapped("one two three", 13, 2), ["one two three"]);
        assert_eq!(wrapped("one two three", 8, 2), ["one two", "  three"]);
        assert_eq!(wrapped("one twothreefour five", 6, 2), ["one", "  twothreefour", "  five"]);
        assert_eq!(wrapped("  one  two three", 10, 4), ["  one  two", "    three"]);
        assert_eq!(wrapped("\x1b[31mone\x1b[0m two", 7, 0), ["\x1b[31mone\x1b[0m two"]);
    }

    #[test]
    fn descriptions_are_broken_below_their_column() {
        let text = described(&format!("  --option  {}", "word ".repeat(30)));
        assert!(text.lines().count() == 2 && text.ends_with('\n'), "{text}");
        assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("            word")), "{text}");
    }

    #[test]
    fn excerpts_are_not_broken() {
        let long = format!("    {}", "word ".repeat(40));
        assert_eq!(paragraphs(&long), long);
        assert!(paragraphs(long.trim()).lines().all(|line| line.len() <= WIDTH));
        assert_eq!(paragraphs("a\nb\n"), "a\nb\n");
    }
}
