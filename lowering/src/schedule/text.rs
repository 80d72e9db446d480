//! The text form of schedules.

use super::{Block, Schedule, ScheduleError};
use rewright_ir::Name;
use std::fmt;
use std::str::FromStr;

/// The most threads.
const MAX_THREADS: u32 = 256;
/// The most vectors in a round of the innermost loop.
const MAX_UNROLL: u32 = 16;
/// The fewest points of a part of a row: what each comes to is kept.
const LEAST_PART: u64 = 64;
/// The most loops into which the innermost one is cut.
const MAX_STAGES: u32 = 1_000_000;
/// The most rows that are computed at once.
const MAX_JAM: u64 = 16;
/// The most iterations of a block or chunk.
const MAX_ITERATIONS: u64 = u32::MAX as u64;

const KNOWN: &str = "`reorder(i, j*k)`, `parallel(threads=2, chunk=64)`, `serial`, `rfactor(4096)`, `split(i, 64)`, \
                     `stage(x, i, j)`, `collapse(i, j)`, `fission(i, k, ...)`, `unroll_and_jam(i, 4)`, \
                     `unblocked`, `vectorize(unroll=4, stages=2)`, `stream`";

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        let named = |name: &str, args: Vec<String>| format!("{name}({})", args.join(", "));
        if let Some(order) = &self.order {
            words.push(named("reorder", order.iter().map(|axes| joined(axes)).collect()));
        }
        match (self.threads, self.chunk) {
            (None, None) => {}
            (Some(1), None) => words.push("serial".to_string()),
            (threads, chunk) => {
                let threads = threads.map(|threads| format!("threads={threads}"));
                words.push(named("parallel", threads.into_iter().chain(chunk.map(|n| format!("chunk={n}"))).collect()));
            }
        }
        if let Some(part) = self.rfactor {
            words.push(named("rfactor", vec![part.map_or("off".to_string(), |part| part.to_string())]));
        }
        if let Some(blocks) = &self.blocks {
            words.extend(blocks.iter().map(Block::to_string));
            if blocks.is_empty() {
                words.push("unblocked".to_string());
            }
        }
        let unroll = self.unroll.map(|unroll| format!("unroll={unroll}"));
        let vectorize: Vec<String> = unroll.into_iter().chain(self.stages.map(|n| format!("stages={n}"))).collect();
        if !vectorize.is_empty() {
            words.push(named("vectorize", vectorize));
        }
        words.extend(self.stream.map(|on| if on { "stream" } else { "stream(off)" }.to_string()));
        f.write_str(&words.join(" "))
    }
}

/// A loop along several axes.
pub(super) fn joined(axes: &[Name]) -> String {
    axes.iter().map(Name::to_string).collect::<Vec<_>>().join("*")
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Block::Split { along, by } => write!(f, "split({}, {by})", joined(along)),
            Block::Jam { along, by } => write!(f, "unroll_and_jam({}, {by})", joined(along)),
            Block::Stage { operand, loops, pitch } => {
                write!(f, "stage({operand}")?;
                loops.iter().try_for_each(|along| write!(f, ", {}", joined(along)))?;
                pitch.iter().try_for_each(|pitch| write!(f, ", pitch={pitch}"))?;
                f.write_str(")")
            }
            Block::Collapse { outer, inner } => write!(f, "collapse({}, {})", joined(outer), joined(inner)),
            Block::Fission { outer, inner, first } => {
                write!(f, "fission({}, {}", joined(outer), joined(inner))?;
                first.iter().try_for_each(|block| write!(f, ", {block}"))?;
                f.write_str(")")
            }
        }
    }
}

/// A name or number, with arguments in parentheses.
struct Word<'t> {
    name: &'t str,
    args: Option<Vec<Word<'t>>>,
    /// The text of it all.
    text: &'t str,
}

/// Reads words up to the end of the text, or to a closing parenthesis. Commas separate arguments, and blanks
/// separate words that are no arguments.
fn words<'t>(rest: &mut &'t str, is_inside: bool) -> Result<Vec<Word<'t>>, ScheduleError> {
    let mut words = Vec::new();
    loop {
        *rest = rest.trim_start();
        let separates = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',');
        let (start, end) = (*rest, rest.find(separates).unwrap_or(rest.len()));
        let name = &rest[..end];
        *rest = rest[end..].trim_start();
        if name.is_empty() {
            let is_end = if is_inside { rest.starts_with(')') && words.is_empty() } else { rest.is_empty() };
            return if is_end {
                Ok(words)
            } else {
                ScheduleError::because(match rest.chars().next() {
                    Some(found) => format!("expected a word before `{found}`"),
                    None => "`(` without `)`".to_string(),
                })
            };
        }
        let mut args = None;
        if let Some(inside) = rest.strip_prefix('(') {
            *rest = inside;
            args = Some(self::words(rest, true)?);
            let Some(outside) = rest.strip_prefix(')') else {
                return ScheduleError::because("`(` without `)`");
            };
            *rest = outside;
        }
        words.push(Word { name, args, text: start[..start.len() - rest.len()].trim_end() });
        *rest = rest.trim_start();
        if is_inside {
            match rest.strip_prefix(',') {
                Some(next) => *rest = next,
                None if rest.starts_with(')') => return Ok(words),
                None if rest.is_empty() => return ScheduleError::because("`(` without `)`"),
                None => {
                    return ScheduleError::because(format!(
                        "`{}`: arguments have commas between them",
                        words[words.len() - 1].text
                    ));
                }
            }
        }
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Schedule, ScheduleError> {
        let mut rest = text;
        let mut schedule = Schedule::default();
        let mut said: Vec<&str> = Vec::new();
        for word in words(&mut rest, false)? {
            let is_block = matches!(word.name, "split" | "stage" | "collapse" | "fission" | "unroll_and_jam");
            let kind = if word.name == "serial" { "parallel" } else { word.name };
            if !is_block && said.contains(&kind) {
                return ScheduleError::because(format!("`{kind}` is given twice"));
            }
            if is_block && said.contains(&"unblocked") || word.name == "unblocked" && schedule.blocks.is_some() {
                return ScheduleError::because(
                    "`unblocked` goes with no `split`, `stage`, `collapse`, `fission` or `unroll_and_jam`",
                );
            }
            said.push(kind);
            schedule.word(&word)?;
        }
        Ok(schedule)
    }
}

impl Schedule {
    /// Takes a word in.
    fn word(&mut self, word: &Word<'_>) -> Result<(), ScheduleError> {
        match word.name {
            "reorder" => {
                self.order = Some(word.args("reorder(i, j*k)")?.iter().map(Word::axes).collect::<Result<_, _>>()?)
            }
            "serial" => {
                word.alone("serial")?;
                self.threads = Some(1);
            }
            "parallel" => {
                let usage = "parallel(threads=2, chunk=64)";
                for arg in word.args(usage)? {
                    match arg.setting() {
                        Some(("threads", n)) => self.threads = Some(number(arg, n, 1, MAX_THREADS.into())? as u32),
                        Some(("chunk", n)) => self.chunk = Some(number(arg, n, 1, MAX_ITERATIONS)?),
                        _ => return word.wrong(usage),
                    }
                }
            }
            "rfactor" => {
                self.rfactor = Some(match word.args("rfactor(4096)")? {
                    [part] if part.name == "off" => None,
                    [part] => Some(number(part, part.name, LEAST_PART, MAX_ITERATIONS)?),
                    _ => return word.wrong("rfactor(4096)` or `rfactor(off)"),
                });
            }
            "split" | "stage" | "collapse" | "fission" | "unroll_and_jam" => {
                self.blocks.get_or_insert_default().push(word.block()?)
            }
            "unblocked" => {
                word.alone("unblocked")?;
                self.blocks = Some(Vec::new());
            }
            "vectorize" => {
                let usage = "vectorize(unroll=4, stages=2)";
                for arg in word.args(usage)? {
                    match arg.setting() {
                        Some(("unroll", n)) => self.unroll = Some(number(arg, n, 1, MAX_UNROLL.into())? as u32),
                        Some(("stages", n)) => self.stages = Some(number(arg, n, 1, MAX_STAGES.into())? as u32),
                        _ => return word.wrong(usage),
                    }
                }
            }
            "stream" => {
                self.stream = Some(match word.args.as_deref() {
                    None => true,
                    Some([arg]) if arg.text == "on" => true,
                    Some([arg]) if arg.text == "off" => false,
                    Some(_) => return word.wrong("stream` or `stream(off)"),
                });
            }
            name => return ScheduleError::because(format!("unknown transformation `{name}`; there are {KNOWN}")),
        }
        Ok(())
    }
}

impl<'t> Word<'t> {
    fn wrong<T>(&self, usage: &str) -> Result<T, ScheduleError> {
        ScheduleError::because(format!("`{}`: write `{usage}`", self.text))
    }

    fn args(&self, usage: &str) -> Result<&[Word<'t>], ScheduleError> {
        self.args.as_deref().map_or_else(|| self.wrong(usage), Ok)
    }

    fn alone(&self, usage: &str) -> Result<(), ScheduleError> {
        if self.args.is_some() { self.wrong(usage) } else { Ok(()) }
    }

    /// The parts of `name=value`.
    fn setting(&self) -> Option<(&'t str, &'t str)> {
        self.name.split_once('=').filter(|_| self.args.is_none())
    }

    /// The axes of a loop: a name, or several with `*` between them.
    fn axes(&self) -> Result<Vec<Name>, ScheduleError> {
        let is_plain = |name: &str| !name.is_empty() && !name.contains(['=', '[', ']', '%']);
        if self.args.is_some() || !self.name.split('*').all(is_plain) {
            return ScheduleError::because(format!("`{}`: write a loop as `i`, or as `i*j`", self.text));
        }
        Ok(self.name.split('*').map(Name::from).collect())
    }

    /// A transformation of the loops of a block.
    fn block(&self) -> Result<Block, ScheduleError> {
        match self.name {
            "split" => match self.args("split(i, 64)")? {
                [along, by] if by.args.is_none() => {
                    Ok(Block::Split { along: along.axes()?, by: number(by, by.name, 1, MAX_ITERATIONS)? })
                }
                _ => self.wrong("split(i, 64)"),
            },
            "stage" => {
                let usage = "stage(x, i, j)";
                let Some((operand, mut loops)) = self.args(usage)?.split_first() else { return self.wrong(usage) };
                let mut pitch = None;
                if let Some((last, others)) = loops.split_last()
                    && let Some((name, value)) = last.setting()
                {
                    if name != "pitch" {
                        return self.wrong("stage(x, i, j, pitch=72)");
                    }
                    (pitch, loops) = (Some(number(last, value, 1, MAX_ITERATIONS)?), others);
                }
                if operand.args.is_some() || loops.is_empty() || pitch.is_some() && loops.len() < 2 {
                    return self.wrong(usage);
                }
                let loops = loops.iter().map(Word::axes).collect::<Result<_, _>>()?;
                Ok(Block::Stage { operand: Name::from(operand.name), loops, pitch })
            }
            "unroll_and_jam" => match self.args("unroll_and_jam(i, 4)")? {
                [along, by] => Ok(Block::Jam { along: along.axes()?, by: number(by, by.name, 2, MAX_JAM)? }),
                _ => self.wrong("unroll_and_jam(i, 4)"),
            },
            "collapse" => match self.args("collapse(i, j)")? {
                [outer, inner] => Ok(Block::Collapse { outer: outer.axes()?, inner: inner.axes()? }),
                _ => self.wrong("collapse(i, j)"),
            },
            _ => {
                let usage = "fission(i, k, collapse(i, k))";
                let [outer, inner, first @ ..] = self.args(usage)? else { return self.wrong(usage) };
                let is_known = |word: &Word<'_>| matches!(word.name, "split" | "stage" | "collapse");
                let first = first.iter().map(|word| if is_known(word) { word.block() } else { self.wrong(usage) });
                Ok(Block::Fission {
                    outer: outer.axes()?,
                    inner: inner.axes()?,
                    first: first.collect::<Result<_, _>>()?,
                })
            }
        }
    }
}

fn number(word: &Word<'_>, text: &str, least: u64, most: u64) -> Result<u64, ScheduleError> {
    match text.parse() {
        Ok(n) if (least..=most).contains(&n) => Ok(n),
        _ => ScheduleError::because(format!("`{}`: expected a number from {least} to {most}", word.text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_schedule_is_read_back() {
        for text in [
            "",
            "reorder()",
            "reorder(i)",
            "reorder(i*j, k) parallel(threads=2, chunk=4096) unblocked vectorize(unroll=4) stream",
            "serial split(i, 64) split(j, 128) stage(y, i, j, pitch=136) stream(off)",
            "parallel(chunk=7) vectorize(unroll=8, stages=3)",
            "split(i*j, 680) stage(x, i*j, k) collapse(i*j, k)",
            "rfactor(4096) stream(off)",
            "rfactor(off) unblocked",
            "split(i, 16) fission(i, k, stage(x, i, k), collapse(i, k)) stage(value.0, k, i)",
            "split(i, 16) stage(x, k) unroll_and_jam(i*j, 4)",
        ] {
            assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        }
        let loose: Schedule = "  stream(on)\n reorder( i*j ,k) parallel(threads=1)".parse().unwrap();
        assert_eq!(loose.to_string(), "reorder(i*j, k) serial stream");
    }

    #[test]
    fn errors_name_the_allowed_forms() {
        for (text, message) in [
            ("hurry", "unknown transformation `hurry`; there are `reorder(i, j*k)`"),
            ("parallel(threads=0)", "`threads=0`: expected a number from 1 to 256"),
            ("parallel(fast)", "`parallel(fast)`: write `parallel(threads=2, chunk=64)`"),
            ("parallel", "write `parallel("),
            ("serial parallel(threads=2)", "`parallel` is given twice"),
            ("serial(2)", "`serial(2)`: write `serial`"),
            ("split(i)", "`split(i)`: write `split(i, 64)`"),
            ("split(i, 0)", "`0`: expected a number from 1 to"),
            ("split(i, 4", "`(` without `)`"),
            ("split(i 4)", "arguments have commas between them"),
            ("split(i, 4))", "expected a word before `)`"),
            ("split(, 4)", "expected a word before `,`"),
            ("stage(x)", "write `stage(x, i, j)`"),
            ("stage(x, i, pace=3)", "write `stage(x, i, j, pitch=72)`"),
            ("collapse(i)", "write `collapse(i, j)`"),
            ("fission(i, k, stream)", "write `fission(i, k, collapse(i, k))`"),
            ("unroll_and_jam(i)", "write `unroll_and_jam(i, 4)`"),
            ("unroll_and_jam(i, 1)", "`1`: expected a number from 2 to 16"),
            ("unblocked split(i, 4)", "`unblocked` goes with no `split`"),
            ("split(i, 4) unblocked", "`unblocked` goes with no `split`"),
            ("stream(maybe)", "write `stream` or `stream(off)`"),
            ("vectorize(unroll=17)", "expected a number from 1 to 16"),
            ("vectorize(stages=0)", "expected a number from 1 to 1000000"),
            ("rfactor(3)", "expected a number from 64 to"),
            ("reorder(i, [j])", "`[j]`: write a loop as `i`, or as `i*j`"),
            ("reorder(i*)", "write a loop as `i`"),
        ] {
            let error = text.parse::<Schedule>().unwrap_err().to_string();
            assert!(error.starts_with("schedule: ") && error.contains(message), "{text}: {error}");
        }
    }
}
