//! Output to the terminal, or to its replacement.

use crate::wrap::{WIDTH, wrapped};
use std::io::{self, BufWriter, IsTerminal, Write};

/// The output of a command.
pub struct Out {
    stream: Box<dyn Write>,
    color: bool,
}

/// The role of a piece of output, shown by its colour where that is supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A heading or a name.
    Strong,
    /// Something new, or a success.
    Good,
    /// Something removed, or a failure.
    Bad,
    /// Something less important.
    Faint,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Tone::Strong => "1",
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Faint => "2",
        }
    }
}

/// Whether to use colours: on a terminal, unless `NO_COLOR` is set.
pub fn wants_color(stream: &impl IsTerminal) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    stream.is_terminal() && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}

impl Out {
    /// The standard output.
    pub fn stdout() -> Out {
        let stdout = io::stdout();
        let color = wants_color(&stdout);
        Out { stream: Box::new(BufWriter::new(stdout)), color }
    }

    /// The text in a tone.
    pub fn tone(&self, tone: Tone, text: impl AsRef<str>) -> String {
        let text = text.as_ref();
        match self.color && !text.is_empty() {
            true => format!("\x1b[{}m{text}\x1b[0m", tone.code()),
            false => text.to_string(),
        }
    }

    /// A line in a tone, as it is.
    pub fn line(&mut self, tone: Tone, text: impl AsRef<str>) -> io::Result<()> {
        let text = self.tone(tone, text);
        writeln!(self, "{text}")
    }

    /// A title in a tone, broken if it is too wide.
    pub fn title(&mut self, tone: Tone, text: impl AsRef<str>) -> io::Result<()> {
        let text = self.tone(tone, text);
        self.wrapped(&text, 2)
    }

    /// Prints a line, broken if it is too wide. Further lines are indented.
    pub fn wrapped(&mut self, text: &str, indent: usize) -> io::Result<()> {
        wrapped(text, WIDTH, indent).iter().try_for_each(|line| writeln!(self, "{line}"))
    }

    /// Prints remarks as IR comments.
    pub fn comments(&mut self, remarks: impl IntoIterator<Item = impl ToString>) -> io::Result<()> {
        for remark in remarks {
            for line in remark.to_string().lines() {
                self.line(Tone::Faint, format!("// {line}"))?;
            }
        }
        Ok(())
    }

    /// Prints a table: see [`columns`]. The first column is bold.
    pub fn table(&mut self, rows: &[Vec<String>]) -> io::Result<()> {
        for (row, lines) in rows.iter().zip(columns(rows, WIDTH)) {
            let first = row.first().map_or(0, String::len);
            for (i, line) in lines.iter().enumerate() {
                let strong = if i == 0 { self.tone(Tone::Strong, &line[..first]) } else { String::new() };
                writeln!(self, "{strong}{}", &line[if i == 0 { first } else { 0 }..])?;
            }
        }
        Ok(())
    }
}

/// The width of a comment's text: its lines begin with `// `.
pub const COMMENT_WIDTH: usize = WIDTH - 3;

/// The maximal width of a column; longer cells exceed it.
const MAX_WIDTH: usize = 64;

/// The least width of a broken last column. If less is left, the column begins on a line of its own.
const MIN_WIDTH: usize = 24;

/// The indentation of a last column on a line of its own.
const INDENT: usize = 4;

/// The lines of each row of a table. Columns are padded to their longest cell, except the last one, which is
/// broken if the row is too wide.
pub fn columns(rows: &[Vec<String>], width: usize) -> Vec<Vec<String>> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let longest = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(|c| longest(c).min(MAX_WIDTH)).collect();
    let lines = |row: &Vec<String>| {
        let Some((last, cells)) = row.split_last() else { return vec![String::new()] };
        let padding = |c: usize, cell: &str| widths[c].saturating_sub(cell.chars().count()) + 2;
        let cells = cells.iter().enumerate();
        let start: String = cells.map(|(c, cell)| format!("{cell}{}", " ".repeat(padding(c, cell)))).collect();
        let used = start.chars().count();
        if used + last.chars().count() <= width {
            return vec![format!("{start}{last}")];
        }
        if used + MIN_WIDTH <= width {
            return wrapped(&format!("{start}{last}"), width, used);
        }
        let mut lines = vec![start.trim_end().to_string()];
        lines.extend(wrapped(&format!("{}{last}", " ".repeat(INDENT)), width, INDENT));
        lines
    };
    rows.iter().map(lines).collect()
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A number with its noun, in the plural if it is not 1.
pub fn count(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
