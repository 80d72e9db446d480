//! The text form of functions: a parser that reports every error, and a printer that it reads back exactly.
//!
//! ```text
//! func @count(%x: f64[n], %limit: i64) -> f64[n], i64 {
//! entry:
//!   jump loop(0, %x)
//! loop(%i: i64, %y: f64[n]):
//!   %more = lt %i, %limit
//!   br_if %more, body, done
//! body:
//!   %0 = mul %y, 2.0            // the literal's dtype comes from promotion; `2.0:f32` states one
//!   %1 = add %i, 1 : i64        // result types may be stated
//!   jump loop(%1, %0)
//! done:
//!   ret %y, %i
//! }
//! ```
//!
//! The first block has the function's parameters. An instruction ends at the end of its line, unless the
//! line ends with a comma or inside brackets. Operands come first, then attributes as `axes=[0],
//! keepdims=true`; a call is `call @f(%x)`. Terminators name blocks with arguments; `switch %i, 0: a(%x), 7:
//! b, default: c` has cases. Numbers are no names: `%0` is an anonymous value. A quoted name may have any
//! text: `%"a b"`. Blocks may stand in any order, and uses before definitions.

pub(crate) mod ast;
mod attrs;
mod expr;
mod expr_ast;
mod expr_body;
mod expr_index;
mod function;
mod inst;
mod lexer;
mod literal;
mod names;
mod numbers;
mod parser;
mod print_expr;
mod print_forms;
mod print_order;
mod printer;
mod refused;
mod resolve;
mod resolve_expr;
mod types;

use crate::attr::{Attr, AttrDef};
use crate::diag::{Diagnostic, Diagnostics};
use crate::function::Function;
use crate::module::Module;
use crate::name::Name;
use crate::registry::registry;
use indexmap::IndexMap;
pub use names::{Names, Numbering};
pub(crate) use numbers::{write_array, write_scalar};
pub(crate) use parser::{Failed, Parser, whole};
pub(crate) use printer::write_type;
pub use printer::{Printer, print_function, print_inst, print_module};
pub(crate) use resolve::{resolve_module, verify_resolved};

/// Parses and verifies all functions of a text. `file_name` is for messages.
pub fn parse_module(text: &str, file_name: &str) -> Result<Module, Diagnostics> {
    Ok(parse(text, file_name, true)?.0)
}

/// Parses and verifies a module, and returns the numbers of each function's anonymous values: `%7` has
/// number 7.
pub fn parse_numbered(text: &str, file_name: &str) -> Result<(Module, IndexMap<Name, Numbering>), Diagnostics> {
    parse(text, file_name, true)
}

/// Parses all functions of a text without verifying them. Names, types and syntax are valid, but terminators
/// may be missing, branch arguments may not fit, and definitions need not dominate uses. For tools that
/// diagnose invalid functions.
pub fn parse_unverified(text: &str, file_name: &str) -> Result<Module, Diagnostics> {
    Ok(parse(text, file_name, false)?.0)
}

fn parse(text: &str, file_name: &str, verified: bool) -> Result<(Module, IndexMap<Name, Numbering>), Diagnostics> {
    let mut parser = Parser::new(text, file_name);
    let mut functions = parser.module();
    let mut errors = parser.errors;
    for clash in registry().errors() {
        errors.push(Diagnostic::new(clash.to_string()));
    }
    let (module, numberings) = resolve_module(&mut functions, &mut errors);
    if verified {
        verify_resolved(&functions, &module, &mut errors);
    }
    errors.sort();
    if errors.is_empty() { Ok((module, numberings)) } else { Err(errors) }
}

/// Parses the value of an attribute, the text after `name=`; the error is a sentence.
pub fn parse_attr(def: &AttrDef, text: &str) -> Result<Attr, String> {
    whole(text, |p| p.attribute_value(def))
}

/// Parses a type; the error is a sentence.
pub fn parse_type(text: &str) -> Result<crate::types::Type, String> {
    whole(text, |p| p.ty())
}

/// Parses a text with a single function that calls no other.
pub fn parse_function(text: &str) -> Result<Function, Diagnostics> {
    const FILE: &str = "function";
    let module = parse_module(text, FILE)?;
    let found = module.len();
    let mut functions = module.into_functions();
    match (functions.next(), found) {
        (Some(function), 1) => Ok(function),
        _ => {
            let mut errors = Diagnostics::new(FILE, text);
            errors.push(Diagnostic::new(format!("expected one function, found {found}")));
            Err(errors)
        }
    }
}
