//! Programs of statements: reads a text once, then makes functions of it for the arrays of each call.

use crate::checked::{CheckedPosition, CheckedPositions};
use crate::explain::explain;
use crate::inputs::{Input, InputKind, inputs};
use crate::known::{Known, KnownArray, KnownScalar};
use crate::nest::{Nest, Source};
use crate::parse::parse;
use crate::ranges::{NoRanges, infer};
use crate::resolve::{flattened, resolve};
use crate::settings::Options;
use crate::syntax::{Assign, LeftPosition, Line, Program};
use crate::translate::{Refusal, translate};
use crate::{call, symbols};
use indexmap::IndexMap;
use rewright::expr::SymExpr;
use rewright::{
    Array, DType, Datum, Diagnostic, Diagnostics, Dim, FuncBuilder, Liberties, Module, Name, Scalar, Type, Value,
};
use std::num::NonZeroU32;

/// A program of statements.
///
/// ```
/// use rewright::ndarray::array;
/// use rewright_index::Statements;
///
/// let product = Statements::parse("C[i, k] := A[i, j] * B[j, k]")?;
/// let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[1.0, 0.0], [0.0, 2.0]]);
/// let results = product.call(&[("A", (&a).into()), ("B", (&b).into())])?;
/// assert_eq!(results["C"].to_string(), "[[1. 4.]\n [3. 8.]]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Statements {
    pub(crate) name: String,
    pub(crate) text: String,
    program: Program,
    nests: Vec<Nest>,
    options: Options,
    inputs: IndexMap<String, Input>,
    pub(crate) compiled: call::Cache,
}

/// The facts that are given about an input.
#[derive(Clone, Debug)]
pub(crate) enum InputFacts {
    /// A value.
    Value(Datum),
    /// A type. Its dims may be symbols.
    Type(Type),
}

/// The function of a program.
#[derive(Debug)]
pub struct Lowered {
    /// A module with one function.
    pub module: Module,
    /// The name of the function.
    pub func: Name,
    /// The names of its parameters.
    pub params: Vec<String>,
    /// The names of its results.
    pub results: Vec<String>,
    /// The first index of each dim of each result.
    pub origins: Vec<Vec<i64>>,
    /// The liberties that the program grants.
    pub liberties: Liberties,
    /// The most threads; `None` for all.
    pub threads: Option<NonZeroU32>,
    /// The ranges of each statement, their sources, and how reads are checked.
    pub explanation: String,
    /// Warnings: explicit ranges that shrink.
    pub warnings: Vec<String>,
    /// The positions that are verified at each element; they locate the errors of calls.
    pub checked: CheckedPositions,
}

/// The instructions of a program in a function.
struct Appended {
    results: IndexMap<String, Value>,
    explanation: String,
    warnings: Vec<String>,
    checked: Vec<CheckedPosition>,
}

/// The reason why there is no function.
pub(crate) enum NotLowered {
    Wrong(Diagnostics),
    /// Only the arrays of a call decide it.
    Undecided(Diagnostics),
}

impl NotLowered {
    pub(crate) fn into_errors(self) -> Diagnostics {
        match self {
            NotLowered::Wrong(errors) | NotLowered::Undecided(errors) => errors,
        }
    }
}

impl Statements {
    /// Reads a program.
    ///
    /// # Errors
    ///
    /// The first error of each statement, with its place.
    pub fn parse(text: &str) -> Result<Statements, Diagnostics> {
        Statements::parse_named(text, "statement")
    }

    /// Reads the program of a file of this name.
    ///
    /// # Errors
    ///
    /// The first error of each statement, with its place.
    pub fn parse_named(text: &str, name: &str) -> Result<Statements, Diagnostics> {
        let program = parse(text, name)?;
        let mut errors = Diagnostics::new(name, text);
        let mut options = Options::default();
        let mut nests: Vec<Nest> = Vec::new();
        for line in &program.lines {
            match line {
                Line::Set(settings) => {
                    for setting in settings {
                        let is_late =
                            matches!(setting.key.text.as_str(), "one_based" | "zero_based") && !nests.is_empty();
                        if is_late {
                            let error = Diagnostic::new("the first index is the same in all statements of a program");
                            errors.push(error.at(setting.key.loc).help("write this line first"));
                        } else if let Err(error) = options.apply(setting, true) {
                            errors.push(*error);
                        }
                    }
                }
                Line::Statement(statement) => match resolve(statement, &options) {
                    Ok(nest) => {
                        let names = |position: &LeftPosition| position.dim.as_ref().map(|word| word.text.clone());
                        let names = statement.left.positions.iter().flatten().map(names).collect::<Option<Vec<_>>>();
                        if let (Assign::New, Some(names)) = (statement.assign, names.filter(|names| !names.is_empty()))
                        {
                            options.dims.insert(nest.target.name.clone(), names);
                        }
                        match nest.target.parts.is_empty() {
                            true => options.tuples.shift_remove(&nest.target.name),
                            false => options.tuples.insert(nest.target.name.clone(), nest.target.parts.clone()),
                        };
                        for name in nest.target.names() {
                            match nest.target.dims {
                                Some(_) => options.computed.shift_remove(&name),
                                None => options.computed.insert(name),
                            };
                        }
                        nests.push(nest);
                    }
                    Err(error) => errors.push(*error),
                },
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let inputs = inputs(&nests);
        let statements = Statements {
            name: name.to_string(),
            text: text.to_string(),
            program,
            nests,
            options,
            inputs,
            compiled: call::Cache::default(),
        };
        Ok(statements)
    }

    /// The syntax tree.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The inputs, in the order of their first use.
    pub fn inputs(&self) -> &IndexMap<String, Input> {
        &self.inputs
    }

    /// The types of the inputs with symbolic extents. Arrays and scalars are `f64`, positions `i64`.
    pub fn symbolic_types(&self) -> IndexMap<String, Type> {
        let extents = symbols::extents(&self.nests, &self.inputs, self.options.base());
        let ty = |(name, input): (&String, &Input)| {
            let dims: Vec<Dim> = extents.get(name).into_iter().flatten().map(crate::translate::dim_of).collect();
            let ty = match input.kind {
                InputKind::Scalar => Type::scalar(DType::F64),
                InputKind::Array { .. } => Type::array(DType::F64, dims),
                InputKind::Positions { .. } => Type::array(DType::I64, dims),
            };
            (name.clone(), ty)
        };
        self.inputs.iter().map(ty).collect()
    }

    /// The function of the program for inputs of these types, whose dims may be symbols.
    ///
    /// # Errors
    ///
    /// Errors in the program, and questions that only the arrays of a call can answer.
    pub fn lower(&self, types: &IndexMap<String, Type>) -> Result<Lowered, Diagnostics> {
        let given = types.iter().map(|(name, ty)| (name.clone(), InputFacts::Type(ty.clone()))).collect();
        self.lowered(&given).map_err(NotLowered::into_errors)
    }

    /// The function of the program for these arrays and scalars. Their extents are constants in it.
    ///
    /// # Errors
    ///
    /// Errors in the program, and in what it does with these arrays.
    pub fn lower_for(&self, values: &IndexMap<String, Datum>) -> Result<Lowered, Diagnostics> {
        let given = values.iter().map(|(name, value)| (name.clone(), InputFacts::Value(value.clone()))).collect();
        self.lowered(&given).map_err(NotLowered::into_errors)
    }

    fn errors(&self, error: Diagnostic) -> Diagnostics {
        let mut errors = Diagnostics::new(&self.name, &self.text);
        errors.push(error);
        errors
    }

    pub(crate) fn lowered(&self, given: &IndexMap<String, InputFacts>) -> Result<Lowered, NotLowered> {
        let (mut known, types) = self.facts(given).map_err(|error| NotLowered::Wrong(self.errors(*error)))?;
        let params: Vec<(&str, Type)> = self.inputs.keys().map(String::as_str).zip(types).collect();
        let mut build = FuncBuilder::new("statements", &params, Vec::new());
        let values = self.inputs.keys().enumerate().map(|(n, name)| (name.clone(), build.param(n))).collect();
        let appended = self.append_all(&mut build, values, &mut known, true)?;
        let values: Vec<Value> = appended.results.values().copied().collect();
        let types = values.iter().map(|value| build.func().ty(*value).clone()).collect();
        let wrong = |error: Diagnostic| NotLowered::Wrong(self.errors(error));
        build.ret(values.iter().copied()).map_err(|error| wrong(Diagnostic::from(error)))?;
        let mut function = build.finish();
        function.results = types;
        for (name, value) in &appended.results {
            if function.value_name(*value).is_none() && name != "_" {
                function.set_value_name(*value, Some(Name::new(name)));
            }
        }
        let mut module = Module::new();
        let func = function.name;
        module.insert(function);
        if let Err(errors) = rewright::verify_module(&module) {
            return Err(wrong(Diagnostic::new(format!("the function is not valid: {errors}"))));
        }
        let strict = self.nests.iter().any(|nest| nest.strict);
        let liberties = if strict { Liberties::empty() } else { Liberties::REASSOCIATE | Liberties::CONTRACT };
        let origin = |name: &String| known.arrays.get(name).map(|array| array.first.clone()).unwrap_or_default();
        Ok(Lowered {
            module,
            func,
            params: self.inputs.keys().cloned().collect(),
            origins: appended.results.keys().map(origin).collect(),
            results: appended.results.into_keys().collect(),
            liberties,
            threads: self.nests.iter().filter_map(|nest| nest.threads).min(),
            explanation: appended.explanation,
            warnings: appended.warnings,
            checked: CheckedPositions {
                name: self.name.clone(),
                text: self.text.clone(),
                base: self.options.base(),
                positions: appended.checked,
            },
        })
    }

    /// Appends the instructions of the program to a function under construction, for values of it. Returns
    /// the values of the results.
    ///
    /// ```
    /// use rewright::{DType, Dim, FuncBuilder, Type};
    /// use rewright_index::Statements;
    ///
    /// let matrix = |rows: &str, columns: &str| Type::array(DType::F64, [Dim::from(rows), Dim::from(columns)]);
    /// let params = [("a", matrix("n", "m")), ("b", matrix("m", "k"))];
    /// let mut build = FuncBuilder::new("f", &params, vec![matrix("n", "k")]);
    /// let product = Statements::parse("C[i, k] := A[i, j] * B[j, k]")?;
    /// let (a, b) = (build.param(0), build.param(1));
    /// let results = product.append(&mut build, &[("A", a), ("B", b)])?;
    /// let twice = build.op("add", [results["C"], results["C"]])?;
    /// build.ret([twice])?;
    /// rewright::verify_function(&build.finish(), None)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Errors in the program and its inputs, and questions that only extents can answer. Instructions before
    /// the error stay.
    pub fn append(
        &self,
        build: &mut FuncBuilder<'_>,
        inputs: &[(&str, Value)],
    ) -> Result<IndexMap<String, Value>, Diagnostics> {
        let named = |(name, value): &(&str, Value)| ((*name).to_string(), *value);
        let values: IndexMap<String, Value> = inputs.iter().map(named).collect();
        let facts = values.iter().map(|(name, value)| {
            let facts = match build.func().as_const(*value) {
                Some(scalar) => InputFacts::Value(Datum::Scalar(scalar)),
                None => InputFacts::Type(build.func().ty(*value).clone()),
            };
            (name.clone(), facts)
        });
        let (mut known, _) = self.facts(&facts.collect()).map_err(|error| self.errors(*error))?;
        Ok(self.append_all(build, values, &mut known, false).map_err(NotLowered::into_errors)?.results)
    }

    /// The facts about all inputs, and their types.
    fn facts(&self, given: &IndexMap<String, InputFacts>) -> Result<(Known, Vec<Type>), Box<Diagnostic>> {
        if let Some(name) = given.keys().find(|name| !self.inputs.contains_key(*name)) {
            let list: Vec<String> = self.inputs.keys().map(|name| format!("`{name}`")).collect();
            let is_index = self.nests.iter().any(|nest| nest.indices.iter().any(|index| index.name == **name));
            let help = match is_index {
                true => format!("`{name}` is an index; write `${name}` for a scalar"),
                false => format!("its inputs are {}", list.join(", ")),
            };
            return Err(Box::new(Diagnostic::new(format!("the program has no input `{name}`")).help(help)));
        }
        let mut known = Known { base: self.options.base(), ..Known::default() };
        let mut types = Vec::new();
        for (name, input) in &self.inputs {
            let Some(value) = given.get(name) else {
                let error = Diagnostic::new(format!("`{name}` is not given")).at(input.loc);
                return Err(Box::new(error.help("pass it, or assign it above")));
            };
            types.push(self.input(name, input, value, &mut known)?);
        }
        Ok((known, types))
    }

    /// Appends the instructions of all statements. In a function of its own, they have the places of their
    /// statements.
    fn append_all(
        &self,
        build: &mut FuncBuilder<'_>,
        mut values: IndexMap<String, Value>,
        known: &mut Known,
        is_own: bool,
    ) -> Result<Appended, NotLowered> {
        let (mut explanation, mut warnings, mut checked) = (String::new(), Vec::new(), Vec::new());
        let mut results: IndexMap<String, Value> = IndexMap::new();
        for nest in &self.nests {
            if is_own {
                build.set_loc(nest.loc);
            }
            self.flatten(nest, build, &mut values, known)?;
            let ranges = infer(nest, known, &self.text).map_err(|error| match error {
                NoRanges::Wrong(error) => NotLowered::Wrong(self.errors(*error)),
                NoRanges::Undecided(error) => NotLowered::Undecided(self.errors(*error)),
            })?;
            explanation.push_str(&explain(nest, &ranges, known, &self.text));
            warnings.extend(ranges.warnings.iter().cloned());
            let made = translate(build, &values, nest, &ranges, known, &self.text);
            let made = made.map_err(|refusal| match refusal {
                Refusal::Wrong(error) => NotLowered::Wrong(self.errors(*error)),
                Refusal::Undecided(error) => NotLowered::Undecided(self.errors(*error)),
            })?;
            checked.extend(made.checked);
            made.orders.iter().for_each(|order| explanation.push_str(&format!("  {order}\n")));
            for (name, value) in nest.target.names().into_iter().zip(made.values) {
                let dtype = build.func().ty(value).dtype();
                match &made.extents {
                    Some(extents) => {
                        let (extents, first) = (extents.clone(), made.first.clone());
                        known.scalars.shift_remove(&name);
                        known.arrays.insert(name.clone(), KnownArray { dtype, extents, first, elements: None });
                    }
                    None => {
                        known.arrays.shift_remove(&name);
                        known.scalars.insert(name.clone(), KnownScalar { value: None });
                    }
                }
                values.insert(name.clone(), value);
                results.shift_remove(&name);
                results.insert(name, value);
            }
        }
        // Names that a later statement reads are intermediate.
        results.retain(|name, _| {
            let last = self.nests.iter().rposition(|nest| nest.target.names().contains(name));
            !last.is_some_and(|last| inputs(&self.nests[last + 1..]).contains_key(name))
        });
        Ok(Appended { results, explanation, warnings, checked })
    }

    /// Adds the arrays whose elements a statement reads in row-major order.
    fn flatten(
        &self,
        nest: &Nest,
        build: &mut FuncBuilder<'_>,
        values: &mut IndexMap<String, Value>,
        known: &mut Known,
    ) -> Result<(), NotLowered> {
        for access in &nest.accesses {
            let Source::Array(name) = &access.source else { continue };
            let Some(inner) = flattened(name) else { continue };
            let fail = |error: Diagnostic| self.errors(error.at(access.loc));
            let (Some(value), Some(array)) = (values.get(inner).copied(), known.arrays.get(inner)) else {
                return Err(NotLowered::Wrong(fail(Diagnostic::new(format!("there is no array `{inner}`")))));
            };
            let extents: Option<Vec<i64>> = array.extents.iter().map(SymExpr::as_constant).collect();
            let total = extents.and_then(|extents| extents.iter().try_fold(1i64, |n, extent| n.checked_mul(*extent)));
            let (value, extent) = match (&array.extents[..], total) {
                ([extent], _) => (value, extent.clone()),
                (_, Some(total)) => {
                    let dims = rewright::Attr::Dims(vec![Dim::Const(total.unsigned_abs())].into());
                    let attrs = rewright::Attrs::new().with("dims", dims);
                    let value =
                        build.op_with("reshape", [value], attrs).map_err(|e| NotLowered::Wrong(fail(e.into())))?;
                    (value, SymExpr::constant(total))
                }
                _ => {
                    let error = Diagnostic::new(format!("the number of elements of `{inner}` is no sum of extents"));
                    return Err(NotLowered::Undecided(fail(error.help("give the arrays"))));
                }
            };
            let flat =
                KnownArray { dtype: array.dtype, extents: vec![extent], first: vec![known.base], elements: None };
            values.insert(name.clone(), value);
            known.arrays.insert(name.clone(), flat);
        }
        Ok(())
    }

    /// Adds the facts about an input; returns its type.
    fn input(&self, name: &str, input: &Input, value: &InputFacts, known: &mut Known) -> Result<Type, Box<Diagnostic>> {
        let refuse = |message: String, help: &str| Err(Box::new(Diagnostic::new(message).at(input.loc).help(help)));
        let (ty, elements, scalar): (Type, Option<Array>, Option<Scalar>) = match value {
            InputFacts::Type(ty) => (ty.clone(), None, None),
            InputFacts::Value(Datum::Scalar(scalar)) => (Type::scalar(scalar.dtype()), None, Some(*scalar)),
            InputFacts::Value(Datum::Array(array)) => (array.ty(), Some(array.clone()), None),
            InputFacts::Value(Datum::Styled(styled)) => (styled.ty(), None, None),
        };
        if ty.style().is_some() {
            return refuse(format!("`{name}` is {ty}, and dense arrays are read"), "make it dense: `restyle`");
        }
        if ty.is_scalar() {
            if input.kind != InputKind::Scalar {
                return refuse(
                    format!("`{name}` is a number, and read as an array"),
                    "pass an array, or write `$name`",
                );
            }
            known.scalars.insert(name.to_string(), KnownScalar { value: scalar });
            return Ok(ty);
        }
        let dims: Option<Vec<SymExpr>> = ty.dims().iter().map(|dim| SymExpr::of_dim(*dim)).collect();
        let Some(extents) = dims else {
            return refuse(format!("`{name}` is {ty}, and its extents are needed"), "name them: `f64[n]`");
        };
        let base = self.options.base();
        let first = match self.options.origins.get(name) {
            Some(first) if first.len() == extents.len() => first.clone(),
            Some(first) => {
                let message = format!("`{name}` has {} dims, and an origin of {}", extents.len(), first.len());
                return refuse(message, "state the first index of each dim");
            }
            None => vec![base; extents.len()],
        };
        let is_int = ty.dtype().is_int();
        let elements = elements.filter(|_| is_int && matches!(input.kind, InputKind::Positions { .. }));
        known.arrays.insert(name.to_string(), KnownArray { dtype: ty.dtype(), extents, first, elements });
        Ok(ty)
    }
}
