//! The printed names of a function's values and blocks.

use super::lexer::{escape, is_plain_name};
use crate::function::{Block, Function, Value};
use crate::name::Name;
use rustc_hash::{FxHashMap, FxHashSet};
use slotmap::SecondaryMap;
use std::fmt::Write;

#[derive(Clone, Copy)]
enum Label {
    Number(u32),
    Name(Name),
}

/// The printed names of a function's values and blocks. Anonymous values are numbered in layout order. A
/// duplicate name gets a number after it.
pub struct Names {
    values: SecondaryMap<Value, Label>,
    blocks: SecondaryMap<Block, Name>,
}

/// The numbers of a function's anonymous values, kept while the function changes, so that two versions of it
/// can be compared. A value keeps its number, and a new one gets a number that no value had before.
#[derive(Clone, Debug, Default)]
pub struct Numbering {
    numbers: SecondaryMap<Value, u32>,
    next: u32,
}

impl Numbering {
    /// Sets the number of a value.
    pub fn set(&mut self, value: Value, number: u32) {
        self.numbers.insert(value, number);
        self.next = self.next.max(number.saturating_add(1));
    }

    fn of(&mut self, value: Value) -> u32 {
        if let Some(&number) = self.numbers.get(value) {
            return number;
        }
        self.numbers.insert(value, self.next);
        self.next += 1;
        self.next - 1
    }
}

impl Names {
    /// The names for the current state of a function.
    pub fn new(func: &Function) -> Self {
        Names::numbered(func, &mut Numbering::default())
    }

    /// The names for the current state of a function; values keep the numbers of `numbering`.
    pub fn numbered(func: &Function, numbering: &mut Numbering) -> Self {
        let mut names = Names { values: SecondaryMap::new(), blocks: SecondaryMap::new() };
        let mut values = Uniquifier::default();
        let mut blocks = Uniquifier::default();
        let named = func.blocks().filter_map(|b| func.block_name(b));
        blocks.reserve(named);
        for (index, block) in func.blocks().enumerate() {
            let name = match func.block_name(block) {
                Some(name) => blocks.name(name),
                None => blocks.fresh(&format!("b{index}")),
            };
            names.blocks.insert(block, name);
            let params = func.block_params(block).iter().copied();
            let results = func.insts(block).flat_map(|i| func.inst(i).results.iter().copied());
            for value in params.chain(results) {
                let label = match func.value_name(value) {
                    Some(name) => Label::Name(values.name(name)),
                    None => Label::Number(numbering.of(value)),
                };
                names.values.insert(value, label);
            }
        }
        names
    }

    /// Writes `%x`, or `%?` for a value that does not exist.
    pub fn value(&self, value: Value, out: &mut String) {
        match self.values.get(value) {
            Some(Label::Number(n)) => {
                let _ = write!(out, "%{n}");
            }
            Some(Label::Name(name)) => {
                out.push('%');
                write_name(*name, out);
            }
            None => out.push_str("%?"),
        }
    }

    /// A block's name; `None` if the block does not exist.
    pub(super) fn block_name(&self, block: Block) -> Option<Name> {
        self.blocks.get(block).copied()
    }

    /// Writes a block's name.
    pub fn block(&self, block: Block, out: &mut String) {
        match self.blocks.get(block) {
            // Without quotes these names would be read as numbers.
            Some(name) if matches!(name.as_str(), "true" | "false" | "inf" | "NaN") => escape(name, out),
            Some(name) => write_name(*name, out),
            None => out.push('?'),
        }
    }
}

/// Writes a name, in quotes if it needs them.
pub(super) fn write_name(name: Name, out: &mut String) {
    if is_plain_name(&name) { out.push_str(&name) } else { escape(&name, out) }
}

/// Makes names unique.
#[derive(Default)]
pub(super) struct Uniquifier {
    taken: FxHashSet<Name>,
    reserved: FxHashSet<Name>,
    next: FxHashMap<Name, u32>,
}

impl Uniquifier {
    /// Reserves names, so that [`fresh`](Self::fresh) does not use them.
    pub fn reserve(&mut self, names: impl Iterator<Item = Name>) {
        self.reserved.extend(names);
    }

    /// True if the name is in use.
    pub fn has(&self, name: Name) -> bool {
        self.taken.contains(&name)
    }

    /// The name if it is free, else the name with a number.
    pub fn name(&mut self, name: Name) -> Name {
        if self.taken.insert(name) {
            return name;
        }
        let next = self.next.entry(name).or_insert(0);
        loop {
            *next += 1;
            let numbered = Name::new(&format!("{name}_{next}"));
            if self.taken.insert(numbered) {
                return numbered;
            }
        }
    }

    /// A name for an anonymous value or block: `name` if it is free and not reserved, else the name with a
    /// number.
    pub fn fresh(&mut self, name: &str) -> Name {
        let mut name = Name::new(name);
        while self.reserved.contains(&name) && !self.taken.contains(&name) {
            name = Name::new(&format!("{name}_"));
        }
        self.name(name)
    }
}
