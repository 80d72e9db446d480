//! The set of functions, operands and constants of a whole nest, which is part of a lazy array's type.
//!
//! A type rule sees only the types of operands. So a style that decides by the whole nest needs a type that
//! lists the contents of the nest: `f64[n; lazy(diagonal, 0.0, nest(array f64 2 diagonal, number f64 3.0,
//! op mul))]`. The list is a set and no tree, so it stays small for large nests. Only programs that link a
//! style with the interface [`WholeNest`] carry it.

use crate::lazy::{self, Lazy};
use crate::ops::broadcasted::attrs_of_op;
use crate::whole_nest::WholeNest;
use rewright::ir::Style;
use rewright::{Attr, Attrs, DType, Name, Op, Scalar, Type, registry};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The most constants that a summary lists; beyond it, a flag says that there are more.
const MOST_CONSTANTS: usize = 64;

/// True if a registered style has the interface `WholeNest`.
static IS_WANTED: LazyLock<bool> =
    LazyLock::new(|| registry().styles().any(|(style, _)| style.interface::<WholeNest>().is_some()));

/// The functions, operands and constants of a nest.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Summary {
    /// Keyed by their texts, so that the order is deterministic.
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, PartialEq, Debug)]
enum Entry {
    Op(String),
    Callee(String),
    Operand(OperandKind),
    Constant(Scalar),
    /// The nest has more constants than the summary lists.
    More,
}

/// Operands of one kind.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OperandKind {
    /// The dtype of the elements.
    pub dtype: DType,
    /// The number of axes; none for scalars.
    pub rank: Option<usize>,
    /// The storage style.
    pub style: Style,
}

impl Summary {
    /// True if an elementwise op of this name is applied.
    pub fn applies(&self, op: &str) -> bool {
        self.ops().any(|name| name == op)
    }

    /// The names of the applied elementwise ops. An op with different attributes, such as casts to two
    /// dtypes, is listed once for each.
    pub fn ops(&self) -> impl Iterator<Item = &str> {
        self.entries.values().filter_map(|entry| match entry {
            Entry::Op(text) => text.split(' ').next(),
            _ => None,
        })
    }

    /// The names of the applied functions of scalars, without `@`. Characters that types can't have are
    /// replaced by `_`.
    pub fn callees(&self) -> impl Iterator<Item = &str> {
        self.entries
            .values()
            .filter_map(|entry| if let Entry::Callee(name) = entry { Some(name.as_str()) } else { None })
    }

    /// The kinds of operands: arrays, and scalars that are not constants of the program.
    pub fn operands(&self) -> impl Iterator<Item = OperandKind> + '_ {
        self.entries.values().filter_map(|entry| if let Entry::Operand(kind) = entry { Some(*kind) } else { None })
    }

    /// The constants of the program, up to 64 different ones.
    pub fn constants(&self) -> impl Iterator<Item = Scalar> + '_ {
        self.entries.values().filter_map(|entry| if let Entry::Constant(number) = entry { Some(*number) } else { None })
    }

    /// True if the nest has more constants than [`constants`](Summary::constants) lists.
    pub fn has_more_constants(&self) -> bool {
        self.entries.values().any(|entry| *entry == Entry::More)
    }

    /// The summary of a function and its operands. `op` is the elementwise op; if there is none, `attrs`
    /// has the callee.
    pub(crate) fn of(op: Option<Op>, attrs: &Attrs, args: &[Type], consts: &[Option<Scalar>]) -> Option<Summary> {
        if !*IS_WANTED {
            return None;
        }
        let mut all = Summary::default();
        match (op, attrs.func("callee")) {
            (Some(op), _) => all.add(Entry::Op(with_attrs(op, attrs))),
            (None, Some(callee)) => all.add(Entry::Callee(as_word(callee.as_str()))),
            (None, None) => {}
        }
        for (ty, number) in args.iter().zip(consts) {
            let style = Style::of(ty).unwrap_or(Style::dense());
            match number {
                Some(number) if ty.is_scalar() => all.add(Entry::Constant(*number)),
                _ if Lazy::is_lazy(ty) => {
                    let nest = Lazy::of(ty).ok().and_then(|lazy| lazy.summary()).unwrap_or_default();
                    nest.entries.into_values().for_each(|entry| all.add(entry));
                }
                _ => {
                    let rank = ty.is_array().then(|| ty.rank());
                    all.add(Entry::Operand(OperandKind { dtype: ty.dtype(), rank, style }));
                }
            }
        }
        Some(all)
    }

    fn add(&mut self, entry: Entry) {
        let text = entry.text();
        let is_new = matches!(entry, Entry::Constant(_)) && !self.entries.contains_key(&text);
        let entry = if is_new && self.constants().count() >= MOST_CONSTANTS { Entry::More } else { entry };
        self.entries.insert(entry.text(), entry);
    }

    /// Formats the summary as the argument of a lazy type, without the parentheses.
    pub fn written(&self) -> String {
        self.entries.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// Parses a summary.
    ///
    /// # Errors
    ///
    /// The text is no summary.
    pub fn read(text: &str) -> Result<Summary, String> {
        let mut all = Summary::default();
        for entry in lazy::arguments(text) {
            let read = Entry::read(entry).ok_or_else(|| format!("`{entry}` says nothing of a nest"))?;
            all.entries.insert(read.text(), read);
        }
        Ok(all)
    }
}

impl Entry {
    fn text(&self) -> String {
        match self {
            Entry::Op(text) => format!("op {text}"),
            Entry::Callee(name) => format!("call {name}"),
            Entry::Operand(OperandKind { dtype, rank: None, .. }) => format!("scalar {dtype}"),
            Entry::Operand(OperandKind { dtype, rank: Some(rank), style }) => format!("array {dtype} {rank} {style}"),
            Entry::Constant(number) => format!("number {} {}", number.dtype(), lazy::written(*number)),
            Entry::More => "more numbers".into(),
        }
    }

    fn read(text: &str) -> Option<Entry> {
        let (kind, rest) = text.split_once(' ')?;
        Some(match kind {
            "op" => Entry::Op(rest.into()),
            "call" => Entry::Callee(rest.into()),
            "scalar" => Entry::Operand(OperandKind { dtype: rest.parse().ok()?, rank: None, style: Style::dense() }),
            "array" => {
                let mut words = rest.splitn(3, ' ');
                let (dtype, rank) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
                let style = Style::named(Name::new(words.next()?)).ok()?;
                Entry::Operand(OperandKind { dtype, rank: Some(rank), style })
            }
            "number" => {
                let (dtype, number) = rest.split_once(' ')?;
                Entry::Constant(lazy::read(number, dtype.parse().ok()?)?)
            }
            "more" => Entry::More,
            _ => return None,
        })
    }
}

/// An op and the attributes that `broadcasted` passes to it: `cast to f32`.
fn with_attrs(op: Op, attrs: &Attrs) -> String {
    let mut text = op.name.to_string();
    for (name, value) in attrs_of_op(attrs).iter() {
        match value {
            Attr::DType(dtype) => text += &format!(" {name} {dtype}"),
            Attr::Int(n) => text += &format!(" {name} {n}"),
            _ => {}
        }
    }
    text
}

/// The name, with `_` for characters that arguments of styles can't have.
fn as_word(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "_.+-".contains(c) { c } else { '_' }).collect()
}
