//! Schedules: how the loops of a call are run.
//!
//! A kernel says what is computed at each point; its schedule says in which order, by how many threads and with what stores. It is data: decided for
//! each call, from the kernel, the extents and strides of the arrays, and the threads that are awake ([`Decision`]), printed, read back, and given by hand where
//! somebody knows better:
//!
//! ```
//! use rewright_lowering::Schedule;
//! let schedule: Schedule = "order=[i*j,k] threads=2 chunk=4096 tile=off stream=on unroll=4 stages=2".parse()?;
//! assert_eq!((schedule.threads, schedule.stream), (Some(2), Some(true)));
//! assert_eq!(schedule.to_string().parse(), Ok(schedule));
//! # Ok::<(), rewright_lowering::ScheduleError>(())
//! ```
//!
//! **No schedule changes a bit of any result.** Points are independent, or combined in an order that is part of the meaning and that all
//! schedules keep: threads share out results, or parts of one row that are nodes of the tree in which it is combined.
//!
//! | word | meaning |
//! |---|---|
//! | `order=[i*j,k]` | the loops, outermost first; the points of the last one are computed in vectors. Axes with `*` between them are one loop where the strides of a call allow it, those without are not |
//! | `threads=2` | so many threads share the work |
//! | `chunk=4096` | so many iterations of a loop that is shared are handed out at once |
//! | `tile=32x256` | so many iterations of the last two loops at once: elements that lie across the last one are turned in the cache. `tile=off`: none |
//! | `stream=on` | results go past the caches, where elements are adjacent. `stream=off`: through them |
//! | `unroll=4` | so many vectors in a round of the innermost loop |
//! | `stages=2` | the innermost loop cut into so many at most |
//! | `long=on` | where results lie in memory as if the last two loops were one, and the last one is short, several rows are run as one: other arrays are written out or copied for that. `long=off`: they are not |
//! | `search=4096` | long rows of which the first of the greatest elements is sought are gone through in blocks of so many points: by their values alone, but for the one that it is in. `search=off`: they are not |
//! | `pack=on` | short rows whose points are combined, and which each iteration of outer loops reads again or which are combined in any order, are turned first, a block at a time, so that vectors have a point of several rows. `pack=off`: they are not |
//! | `items=on` | what the points of short rows give is computed first, several rows as one, and combined then. `items=off`: it is not |
//!
//! What is not said is decided.

mod ahead;
mod band;
mod crew;
mod decide;
mod feed;
mod items_first;
mod lines;
mod long_rows;
mod machine;
mod pack;
mod packed;
mod parts;
mod place;
mod result_lanes;
pub(crate) mod row_blocks;
mod run;
mod search;
mod series;
mod turn;

pub use crew::share;
pub use decide::{Decision, Threads, Tile};
pub(crate) use decide::{LEAST_POINTS, LEAST_ROWS, LEAST_TURNED, is_apart, nanos, part_of_row, tile_for};
pub use machine::{Facts, facts};
pub use parts::Parts;

pub(crate) use band::{Bands, Member, Moved, run_bands};
pub(crate) use feed::{Feed, Passed, run_fed};
pub(crate) use items_first::{ItemKernels, LEAST_ITEMS, is_much};
pub(crate) use lines::{LINE, Lines};
pub(crate) use packed::{packed_decision, run_packed, written};
pub(crate) use parts::{Halves, run_parts};
pub(crate) use result_lanes::ResultLanes;
pub(crate) use row_blocks::BlockKernels;
pub(crate) use run::{Work, run};
pub(crate) use search::Searchers;

use rewright_ir::Name;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The most threads that may be asked for.
pub const MAX_THREADS: u32 = 256;
/// The most vectors in a round that may be asked for.
pub const MAX_UNROLL: u32 = 16;
/// The fewest points of a block of a row that is searched: what each comes to is kept.
const LEAST_SEARCH: u64 = 64;
/// The most stages of a loop.
const MAX_STAGES: u32 = 1_000_000;

/// The schedule of a call's loops. `docs/schedules.md` explains the text form. The policy chooses each field
/// that is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The loops, outermost first, and the axes that each goes along.
    pub order: Option<Vec<Vec<Name>>>,
    /// The threads that share the work.
    pub threads: Option<u32>,
    /// The iterations of the loop that threads share which are handed out at once.
    pub chunk: Option<u64>,
    /// The iterations of the last two loops that are turned at once, or none.
    pub tile: Option<Option<Tile>>,
    /// Whether results go past the caches.
    pub stream: Option<bool>,
    /// How many vectors a round of the innermost loop computes.
    pub unroll: Option<u32>,
    /// The loops, at most, that the innermost one is cut into.
    pub stages: Option<u32>,
    /// Whether short rows are packed first.
    pub pack: Option<bool>,
    /// The points of blocks in which the first of the greatest elements of a long row is sought, or none.
    pub search: Option<Option<u64>>,
    /// Whether short rows that follow one another in the result are run as long ones.
    pub long: Option<bool>,
    /// Whether the points of short rows are computed before they are combined.
    pub items: Option<bool>,
}

/// Why a text is no schedule, or a schedule not one of an expression.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("schedule: {0}")]
pub struct ScheduleError(pub String);

impl ScheduleError {
    /// With a message.
    pub(crate) fn because<T>(message: impl Into<String>) -> Result<T, ScheduleError> {
        Err(ScheduleError(message.into()))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        if let Some(order) = &self.order {
            let one = |axes: &Vec<Name>| axes.iter().map(Name::to_string).collect::<Vec<_>>().join("*");
            words.push(format!("order=[{}]", order.iter().map(one).collect::<Vec<_>>().join(",")));
        }
        words.extend(self.threads.map(|threads| format!("threads={threads}")));
        words.extend(self.chunk.map(|chunk| format!("chunk={chunk}")));
        words.extend(self.tile.map(|tile| match tile {
            Some(tile) => format!("tile={}x{}", tile.rows, tile.columns),
            None => "tile=off".to_string(),
        }));
        let switch = |name, on: Option<bool>| on.map(|on| format!("{name}={}", if on { "on" } else { "off" }));
        words.extend(switch("stream", self.stream));
        words.extend(self.unroll.map(|unroll| format!("unroll={unroll}")));
        words.extend(self.stages.map(|stages| format!("stages={stages}")));
        words.extend(self.search.map(|search| match search {
            Some(points) => format!("search={points}"),
            None => "search=off".to_string(),
        }));
        words.extend(switch("pack", self.pack));
        words.extend(switch("long", self.long));
        words.extend(switch("items", self.items));
        f.write_str(&words.join(" "))
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Schedule, ScheduleError> {
        let mut schedule = Schedule::default();
        let mut said: Vec<&str> = Vec::new();
        for word in words(text) {
            let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
            if said.contains(&name) {
                return ScheduleError::because(format!("`{name}` is said twice"));
            }
            said.push(name);
            schedule.word(name, value)?;
        }
        Ok(schedule)
    }
}

/// What blanks separate, but for those in brackets.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    let separates = move |c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        depth <= 0 && c.is_whitespace()
    };
    text.split(separates).filter(|word| !word.is_empty())
}

impl Schedule {
    /// Takes a word in.
    fn word(&mut self, name: &str, value: Option<&str>) -> Result<(), ScheduleError> {
        match (name, value) {
            ("order", Some(value)) => self.order = Some(order(value)?),
            ("threads", Some(value)) => self.threads = Some(number("threads", value, 1, MAX_THREADS.into())? as u32),
            ("chunk", Some(value)) => self.chunk = Some(number("chunk", value, 1, u64::from(u32::MAX))?),
            ("tile", Some("off")) => self.tile = Some(None),
            ("tile", Some(value)) => {
                let Some((rows, columns)) = value.split_once('x') else {
                    return ScheduleError::because(format!("`tile={value}`: write `tile=32x256` or `tile=off`"));
                };
                let [rows, columns] = [rows, columns].map(|side| number("tile", side, 1, Tile::MOST));
                self.tile = Some(Some(Tile { rows: rows?, columns: columns? }));
            }
            ("stream", value) => self.stream = Some(switch("stream", value)?),
            ("pack", value) => self.pack = Some(switch("pack", value)?),
            ("long", value) => self.long = Some(switch("long", value)?),
            ("items", value) => self.items = Some(switch("items", value)?),
            ("unroll", Some(value)) => self.unroll = Some(number("unroll", value, 1, MAX_UNROLL.into())? as u32),
            ("stages", Some(value)) => self.stages = Some(number("stages", value, 1, MAX_STAGES.into())? as u32),
            ("search", Some("off")) => self.search = Some(None),
            ("search", Some(value)) => {
                self.search = Some(Some(number("search", value, LEAST_SEARCH, u64::from(u32::MAX))?))
            }
            ("order" | "threads" | "chunk" | "tile" | "unroll" | "stages" | "search", None) => {
                return ScheduleError::because(format!("`{name}` wants a value: `{name}=...`"));
            }
            _ => {
                return ScheduleError::because(format!(
                    "unknown word `{name}`; there are `order=[i,j]`, `threads=N`, `chunk=N`, `tile=RxC`, `stream=on`, `unroll=N`, `stages=N`, `search=N`, `pack=on`, `long=on`, `items=on`"
                ));
            }
        }
        Ok(())
    }

    /// The same, with what is not said here as it is said there.
    pub fn or(self, other: Schedule) -> Schedule {
        Schedule {
            order: self.order.or(other.order),
            threads: self.threads.or(other.threads),
            chunk: self.chunk.or(other.chunk),
            tile: self.tile.or(other.tile),
            stream: self.stream.or(other.stream),
            unroll: self.unroll.or(other.unroll),
            stages: self.stages.or(other.stages),
            search: self.search.or(other.search),
            pack: self.pack.or(other.pack),
            long: self.long.or(other.long),
            items: self.items.or(other.items),
        }
    }
}

fn switch(name: &str, text: Option<&str>) -> Result<bool, ScheduleError> {
    match text {
        None | Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(text) => ScheduleError::because(format!("`{name}={text}`: write `{name}=on` or `{name}=off`")),
    }
}

fn number(name: &str, text: &str, least: u64, most: u64) -> Result<u64, ScheduleError> {
    match text.trim().parse() {
        Ok(n) if (least..=most).contains(&n) => Ok(n),
        _ => ScheduleError::because(format!("`{name}={text}`: wants a number from {least} to {most}")),
    }
}

/// The loops of `[i*j,k]`.
fn order(text: &str) -> Result<Vec<Vec<Name>>, ScheduleError> {
    let wrong = || ScheduleError(format!("`order={text}`: write the axes as in `order=[i*j,k]`"));
    let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).ok_or_else(wrong)?;
    if inside.trim().is_empty() {
        return Ok(Vec::new());
    }
    let axis = |name: &str| {
        let name = name.trim();
        let plain = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || "[],*=".contains(c));
        if plain { Ok(Name::from(name)) } else { Err(wrong()) }
    };
    inside.split(',').map(|axes| axes.split('*').map(axis).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_back() {
        for text in [
            "",
            "order=[]",
            "order=[i]",
            "order=[i*j,k] threads=2 chunk=4096 tile=off stream=on unroll=4",
            "threads=256 tile=32x256 stream=off",
            "unroll=8 stages=3",
            "stream=on pack=off",
            "stages=2 pack=on",
            "stream=off long=on",
            "long=off items=on",
        ] {
            assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        }
        let loose: Schedule = "  stream\n order=[ i * j , k ]".parse().unwrap();
        assert_eq!(loose.to_string(), "order=[i*j,k] stream=on");
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_allowed() {
        for (text, message) in [
            ("speed=9", "unknown word `speed`; there are `order=[i,j]`, `threads=N`"),
            ("threads=0", "wants a number from 1 to 256"),
            ("threads", "`threads` wants a value"),
            ("threads=1 threads=2", "`threads` is said twice"),
            ("tile=9", "write `tile=32x256` or `tile=off`"),
            ("tile=0x4", "wants a number from 1 to"),
            ("stream=maybe", "write `stream=on` or `stream=off`"),
            ("pack=maybe", "write `pack=on` or `pack=off`"),
            ("long=maybe", "write `long=on` or `long=off`"),
            ("items=maybe", "write `items=on` or `items=off`"),
            ("unroll=17", "wants a number from 1 to 16"),
            ("stages=0", "wants a number from 1 to 1000000"),
            ("order=i,j", "write the axes as in `order=[i*j,k]`"),
            ("order=[i,,j]", "write the axes as in `order=[i*j,k]`"),
        ] {
            let error = text.parse::<Schedule>().unwrap_err().to_string();
            assert!(error.starts_with("schedule: ") && error.contains(message), "{text}: {error}");
        }
    }
}
