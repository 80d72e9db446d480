//! Random well-typed programs: any dtype, ranks 0 to 4, extents 0 and 1, strided operands, special
//! values, shared values, functions of scalars and of arrays, branches, loops, views, stores, dels and
//! prints.
//!
//! A program is decoded from a [`Recipe`]: lists of bytes, each a choice. Each step has its own bytes, so
//! steps can be dropped. proptest shrinks programs by dropping steps and by smaller bytes.

mod body;
mod choices;
mod data;
mod effects;
mod flow;
mod ops;

use body::Body;
use choices::Choices;
use data::Stock;
use proptest::collection::vec;
use proptest::prelude::*;
use rewright_ir::{Datum, Function, Module, Type, parse_module};

/// The choices from which a program is decoded.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The extents and dtypes that are frequent.
    stock: Vec<u8>,
    /// Functions of scalars.
    ufuncs: Vec<Part>,
    /// Functions of arrays, for `call`.
    functions: Vec<Part>,
    /// The program itself.
    main: Part,
}

/// The choices for a function: its parameters, arguments and results, then its steps.
#[derive(Clone, Debug)]
pub struct Part {
    head: Vec<u8>,
    steps: Vec<Vec<u8>>,
}

fn part(steps: usize) -> impl Strategy<Value = Part> {
    (vec(any::<u8>(), 0..80), vec(vec(any::<u8>(), 4..24), 0..steps)).prop_map(|(head, steps)| Part { head, steps })
}

/// The strategy of recipes.
pub fn recipes() -> impl Strategy<Value = Recipe> {
    let few = 0..3usize;
    (vec(any::<u8>(), 0..7), vec(part(8), few.clone()), vec(part(10), few), part(32))
        .prop_map(|(stock, ufuncs, functions, main)| Recipe { stock, ufuncs, functions, main })
}

/// A program with arguments for one call.
pub struct Program {
    /// The module, parsed from text so that its instructions have locations. The program is its function
    /// `f`.
    pub module: Module,
    /// The arguments, one for each parameter.
    pub args: Vec<Datum>,
}

/// Decodes a program. The error is a failed round trip: the printed program did not parse, or parsed
/// differently.
pub fn program(recipe: &Recipe) -> Result<Program, String> {
    let stock = Stock::choose(&mut Choices::new(&recipe.stock));
    let mut module = Module::new();
    for (i, part) in recipe.ufuncs.iter().enumerate() {
        let made = function(&format!("u{i}"), part, &stock, &module, true).0;
        module.insert(made);
    }
    for (i, part) in recipe.functions.iter().enumerate() {
        let made = function(&format!("g{i}"), part, &stock, &module, false).0;
        module.insert(made);
    }
    let (made, args) = function("f", &recipe.main, &stock, &module, false);
    module.insert(made);
    let text = module.to_string();
    let read = parse_module(&text, "random").map_err(|e| format!("{}\n{text}", e.render(false)))?;
    match read.to_string() == text {
        true => Ok(Program { module: read, args }),
        false => Err(format!("printed and read, it is another program\n{text}\n--- read\n{read}")),
    }
}

/// A function, and arguments for it.
fn function(name: &str, part: &Part, stock: &Stock, module: &Module, scalars: bool) -> (Function, Vec<Datum>) {
    let c = &mut Choices::new(&part.head);
    let params: Vec<(Type, Option<Vec<u64>>)> = (0..1 + c.below(4))
        .map(|_| if scalars { (Type::scalar(stock.dtype(c)), None) } else { data::param(c, stock) })
        .collect();
    let mut body = Body::new(name, module, &params, scalars);
    for step in &part.steps {
        body.step(&mut Choices::new(step));
    }
    let made = body.finish(c);
    (made, params.iter().map(|(ty, shape)| data::argument(c, ty.dtype(), shape.as_deref())).collect())
}
