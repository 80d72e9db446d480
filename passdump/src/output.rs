//! Output to the terminal, or to its replacement.

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

    /// A line in a tone.
    pub fn line(&mut self, tone: Tone, text: impl AsRef<str>) -> io::Result<()> {
        let text = self.tone(tone, text);
        writeln!(self, "{text}")
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
        for (row, line) in rows.iter().zip(columns(rows)) {
            let first = row.first().map_or(0, String::len);
            let strong = self.tone(Tone::Strong, &line[..first]);
            writeln!(self, "{strong}{}", &line[first..])?;
        }
        Ok(())
    }
}

/// The maximal width of a column; longer cells exceed it.
const MAX_WIDTH: usize = 64;

/// The lines of a table: columns are padded to their longest cell, except the last one.
pub fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(|c| width(c).min(MAX_WIDTH)).collect();
    let line = |row: &Vec<String>| {
        let padding = |c: usize, cell: &str| match c + 1 == row.len() {
            true => 0,
            false => widths[c].saturating_sub(cell.chars().count()) + 2,
        };
        row.iter().enumerate().map(|(c, cell)| format!("{cell}{}", " ".repeat(padding(c, cell)))).collect()
    };
    rows.iter().map(line).collect()
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
