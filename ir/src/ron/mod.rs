//! The data form of functions and modules: `serde` for [`Function`] and [`Module`], and RON texts of them.
//!
//! ```text
//! Module([
//!     Function(
//!         name: "double",
//!         results: ["f64[n]"],
//!         blocks: [
//!             Block(
//!                 name: "entry",
//!                 params: [("%x", "f64[n]")],
//!                 insts: [
//!                     Inst(results: ["%0"], op: "mul", args: ["%x", "2.0:f64"], types: ["f64[n]"]),
//!                     Inst(op: "ret", args: ["%0"]),
//!                 ],
//!             ),
//!         ],
//!     ),
//! ])
//! ```
//!
//! A tree with the contents of the [text form](crate::text), for programs that process IR without a parser.
//! Types, values and numbers are strings, written as in text; numbers always have their dtype. Attributes
//! are `{"axes": Ints([0])}`, and the expression of an `arrayexpr` is a tree of its parts (see
//! [`crate::expr`]).
//!
//! Result types may be omitted. Before type inference (`untyped: true`), the types of block parameters are
//! `"?"`, and numbers have no dtype. Reading verifies the function, and reproduces the written one except
//! for source locations. A [`Function`] by itself may call only itself.
//!
//! ```
//! use rewright_ir::{parse_module, ron::{from_ron, to_ron}};
//! let module = parse_module("func @half(%x: f32) -> f32 {\nentry:\n  %0 = mul %x, 0.5\n  ret %0\n}\n", "half.ir")?;
//! let text = to_ron(&module)?;
//! assert_eq!(from_ron(&text, "half.ron")?.to_string(), module.to_string());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod data;
mod leaf;
mod read;
mod remedy;

use crate::diag::{Diagnostic, Diagnostics};
use crate::function::Function;
use crate::loc::Loc;
use crate::module::Module;
use data::{FunctionData, ModuleData};
use read::read_module;
pub use remedy::remedy;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

/// The number of levels that are broken into lines; below them are the parts of one instruction.
const LINE_LEVELS: usize = 5;

/// The description of the form of a module, for errors.
const FORM: &str = "`passdump run FILE --emit ron` prints a program in this form";

/// The RON text of a module, with an instruction on each line. An error if an expression nests deeper than
/// the verifier allows.
pub fn to_ron(module: &Module) -> Result<String, ron::Error> {
    let layout = ron::ser::PrettyConfig::new().struct_names(true).depth_limit(LINE_LEVELS).new_line("\n");
    let mut text = ron::ser::to_string_pretty(module, layout)?;
    text.push('\n');
    Ok(text)
}

/// Reads and verifies a module from a RON text. `file_name` is for messages. Errors of RON have a location
/// in the text; errors of the IR name function, block and instruction.
pub fn from_ron(text: &str, file_name: &str) -> Result<Module, Diagnostics> {
    let mut errors = Diagnostics::new(file_name, text);
    match ron::from_str::<ModuleData>(text) {
        Ok(data) => read_module(&data.0, errors),
        Err(e) => {
            let place = place(text, e.span.start.line, e.span.start.col);
            errors.push(Diagnostic::new(e.code.to_string()).at(place).help(remedy(&e.code, FORM)));
            Err(errors)
        }
    }
}

/// The source location of a line and column, both counted from 1.
fn place(text: &str, line: usize, col: usize) -> Loc {
    let lines = text.split_inclusive('\n');
    let start: usize = lines.take(line.saturating_sub(1)).map(str::len).sum();
    let before = text[start..].chars().take(col.saturating_sub(1)).map(char::len_utf8).sum::<usize>();
    let at = start + before;
    let len = text[at..].chars().next().filter(|c| *c != '\n').map_or(0, char::len_utf8);
    match (u32::try_from(line), u32::try_from(col), u32::try_from(at)) {
        (Ok(line), Ok(col), Ok(start)) => Loc { line, col, start, len: len as u32, op: None },
        _ => Loc::default(),
    }
}

impl Serialize for Function {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FunctionData::of(self).serialize(serializer)
    }
}

impl Serialize for Module {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ModuleData(self.functions().map(FunctionData::of).collect()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Function {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let data = FunctionData::deserialize(deserializer)?;
        let module = read_module(&[data], Diagnostics::new("function", "")).map_err(told)?;
        module.into_functions().next().ok_or_else(|| D::Error::custom("there is no function"))
    }
}

impl<'de> Deserialize<'de> for Module {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let data = ModuleData::deserialize(deserializer)?;
        read_module(&data.0, Diagnostics::new("module", "")).map_err(told)
    }
}

/// All errors in one, for formats that report a single error.
fn told<E: Error>(errors: Diagnostics) -> E {
    let messages: Vec<_> = errors.errors().iter().map(|e| e.message.as_str()).collect();
    E::custom(messages.join("; "))
}
