//! The names that a function's values and blocks are printed by.

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

/// The printed names of a function's values and blocks. Anonymous values are numbered in the order in which they stand there; a
/// name that another value has too gets a number after it.
pub struct Names {
    values: SecondaryMap<Value, Label>,
    blocks: SecondaryMap<Block, Name>,
}

/// The numbers of a function's anonymous values, kept while the function changes, so that one form of it can be compared with the next:
/// a value that stays has the number that it had, and a new one has a number that no value had before.
#[derive(Clone, Debug, Default)]
pub struct Numbering {
    numbers: SecondaryMap<Value, u32>,
    next: u32,
}

impl Numbering {
    /// Says which number a value has.
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
    /// The names for a function as it is now.
    pub fn new(func: &Function) -> Self {
        Names::numbered(func, &mut Numbering::default())
    }

    /// The names for a function as it is now, numbers as they were.
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

    /// Writes `%x`. A value that is not in the function is `%?`.
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

    /// A block's name; none if it is not in the function.
    pub(super) fn block_name(&self, block: Block) -> Option<Name> {
        self.blocks.get(block).copied()
    }

    /// Writes a block's name.
    pub fn block(&self, block: Block, out: &mut String) {
        match self.blocks.get(block) {
            // These would be read as numbers.
            Some(name) if matches!(name.as_str(), "true" | "false" | "inf" | "NaN") => escape(name, out),
            Some(name) => write_name(*name, out),
            None => out.push('?'),
        }
    }
}

/// Writes a name, in quotes where it needs them.
pub(super) fn write_name(name: Name, out: &mut String) {
    if is_plain_name(&name) { out.push_str(&name) } else { escape(&name, out) }
}

/// Gives out each name once.
#[derive(Default)]
pub(super) struct Uniquifier {
    taken: FxHashSet<Name>,
    reserved: FxHashSet<Name>,
    next: FxHashMap<Name, u32>,
}

impl Uniquifier {
    /// Keeps names from being given to what has none.
    pub fn reserve(&mut self, names: impl Iterator<Item = Name>) {
        self.reserved.extend(names);
    }

    /// True if the name is given out.
    pub fn has(&self, name: Name) -> bool {
        self.taken.contains(&name)
    }

    /// The name if it is free, else the name and a number.
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

    /// The name for something that has none, if that is free and not reserved, else the name and a number.
    pub fn fresh(&mut self, name: &str) -> Name {
        let mut name = Name::new(name);
        while self.reserved.contains(&name) && !self.taken.contains(&name) {
            name = Name::new(&format!("{name}_"));
        }
        self.name(name)
    }
}
