//! Programs as machine code, and those that are kept.

use super::function::Function;
use super::program::{Goal, Operand, Program, Step};
use super::{Error, ScalarFunction};
use rewright::exec::{Arg, Options};
use rewright::ir::LiteralCx;
use rewright::ir::builder::{Arg as Written, find_op, literal_at};
use rewright::ir::ops::effects::can_cast_same_kind;
use rewright::{
    Attr, Attrs, DType, Datum, EvalError, Executable, FuncBuilder, Literal, Module, Name, NoObserver, Pipeline, Scalar,
    Type, Value,
};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The most programs that are kept; the one that was not asked for the longest goes.
const MOST: usize = 256;
/// The memory that each keeps for its next call.
const KEPT_BYTES: u64 = 1 << 24;

static KEPT: LazyLock<Mutex<HashMap<Program, Kept>>> = LazyLock::new(Mutex::default);
static COMPILED: AtomicU64 = AtomicU64::new(0);
/// Counts calls, so that the oldest is known.
static CLOCK: AtomicU64 = AtomicU64::new(0);

struct Kept {
    compiled: Arc<Compiled>,
    asked: u64,
}

/// How many programs expressions were compiled to in this process. Expressions that differ in the values and their extents alone are one program.
pub fn compiled_programs() -> u64 {
    COMPILED.load(Ordering::Relaxed)
}

/// A program that can be called.
pub struct Compiled(Executable);

impl Compiled {
    /// The program, compiled unless that was done before.
    pub fn of(program: Program) -> Result<Arc<Compiled>, Error> {
        let now = CLOCK.fetch_add(1, Ordering::Relaxed);
        if let Some(kept) = KEPT.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&program) {
            kept.asked = now;
            return Ok(kept.compiled.clone());
        }
        // Others need not wait until it is compiled.
        let compiled = Arc::new(Compiled::new(&program)?);
        let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST
            && let Some(oldest) = all.iter().min_by_key(|(_, kept)| kept.asked).map(|(program, _)| program.clone())
        {
            all.remove(&oldest);
        }
        all.insert(program, Kept { compiled: compiled.clone(), asked: now });
        Ok(compiled)
    }

    fn new(program: &Program) -> Result<Compiled, Error> {
        let (mut module, name) = module(program)?;
        Pipeline::by_default()?.run(&mut module, &Default::default(), &mut NoObserver)?;
        let options = Options { kept_bytes: KEPT_BYTES, ..Options::default() };
        let executable = Executable::compile(&module, name, options)?;
        COMPILED.fetch_add(1, Ordering::Relaxed);
        Ok(Compiled(executable))
    }

    /// The result.
    pub fn value(&self, values: &[Datum]) -> Result<Datum, Error> {
        let args: Vec<Arg<'_>> = values.iter().map(Arg::from).collect();
        let mut results = self.0.call(&args)?.into_vec();
        Ok(results.pop().ok_or_else(|| EvalError::value("an expression has a result"))?)
    }

    /// Stores to the first of the values, in place if nobody else has a share in it.
    pub fn store(&self, values: &mut [Datum]) -> Result<(), Error> {
        Ok(self.0.call_mut(values).map(drop)?)
    }
}

/// The module of a program, and the name of its function.
fn module(program: &Program) -> Result<(Module, Name), Error> {
    let mut module = Module::new();
    let mut functions: HashMap<Name, &ScalarFunction> = HashMap::new();
    for step in &program.steps {
        let Function::Scalars(function) = &step.function else { continue };
        let name = function.function().name;
        if functions.insert(name, function).is_some_and(|other| other != function) {
            return Err(Error::SameName { name });
        }
        module.insert(function.function().clone());
    }
    // Casts are functions of scalars, of which it is known what they are when dtypes are.
    let casts = DType::ALL.iter().flat_map(|&from| DType::ALL.iter().map(move |&to| (from, to)));
    let is_cast_to = |to| program.steps.iter().any(|step| step.function == Function::Cast(to));
    let wanted: Vec<(DType, DType)> = casts.filter(|&(_, to)| is_cast_to(to)).collect();
    for (from, to) in wanted {
        let refuse = |error| Error::of_type("cast", error);
        let mut cast =
            FuncBuilder::new(cast_name(from, to).as_str(), &[("x", Type::scalar(from))], vec![Type::scalar(to)]);
        let x = cast.param(0);
        let y = cast.op_with("cast", [x], Attrs::new().with("to", Attr::DType(to))).map_err(refuse)?;
        cast.ret([y]).map_err(refuse)?;
        module.insert(cast.finish());
    }
    let free = |n: usize| Name::new(&if n == 0 { "expression".to_string() } else { format!("expression_{n}") });
    let name = (0..).map(free).find(|name| module.get(*name).is_none()).unwrap_or_else(|| free(0));
    let function = entry(program, name, &module)?;
    module.insert(function);
    Ok((module, name))
}

fn cast_name(from: DType, to: DType) -> Name {
    Name::new(&format!("cast.{from}.{to}"))
}

/// The program's own function.
fn entry(program: &Program, name: Name, module: &Module) -> Result<rewright::Function, Error> {
    let names: Vec<String> = (0..program.params.len()).map(|n| format!("a{n}")).collect();
    let params: Vec<(&str, Type)> = names.iter().map(String::as_str).zip(program.params.iter().cloned()).collect();
    let mut build = FuncBuilder::new(name.as_str(), &params, Vec::new()).in_module(module);
    let mut made: Vec<Value> = Vec::new();
    for step in &program.steps {
        let value = apply(&mut build, step, &made, module).map_err(|error| Error::of_type(&step.function, error))?;
        made.push(value);
    }
    let refuse = |error| Error::of_type("materialize", error);
    let result = written(&build, program.result, &made);
    match program.goal {
        Goal::Value(style) => {
            let style = style.map(|style| Attr::Str(style.as_str().into()));
            let attrs = style.map_or(Attrs::new(), |style| Attrs::new().with("style", style));
            let value = build.op_with("materialize", [result], attrs).map_err(refuse)?;
            build.ret([value]).map_err(refuse)?;
            let ty = build.func().ty(value).clone();
            let mut function = build.finish();
            function.results = vec![ty];
            Ok(function)
        }
        Goal::Destination(()) => {
            let to = program.params[0].dtype();
            let from = match result {
                Written::Value(value) => build.func().ty(value).dtype(),
                Written::Literal(literal) => literal.dtype_beside(Some(to)),
            };
            if !can_cast_same_kind(from, to) {
                return Err(Error::Kind { from, to });
            }
            let dense = Attrs::new().with("style", Attr::Str("dense".into()));
            let value = match result {
                Written::Value(_) => Written::Value(build.op_with("materialize", [result], dense).map_err(refuse)?),
                literal => literal,
            };
            let destination = Written::Value(build.param(0));
            let refuse = |error| Error::of_type("assign", error);
            build.inst("store", [destination, value], Attrs::new(), []).map_err(refuse)?;
            build.ret([] as [Value; 0]).map_err(refuse)?;
            Ok(build.finish())
        }
    }
}

/// Appends a step.
fn apply(
    build: &mut FuncBuilder<'_>,
    step: &Step,
    made: &[Value],
    module: &Module,
) -> Result<Value, rewright::TypeError> {
    let mut args: Vec<Written> = step.args.iter().map(|&arg| written(build, arg, made)).collect();
    let dtypes: Vec<Option<DType>> = args.iter().map(|arg| dtype(build, arg)).collect();
    let attrs = match &step.function {
        Function::Op(op) => {
            // Numbers have the dtypes that the op itself would give them.
            let rule = find_op(op)?.literal;
            for (operand, arg) in args.iter_mut().enumerate() {
                if let Written::Literal(literal) = *arg {
                    let dtype = rule(&LiteralCx { literal, operand, dtypes: &dtypes });
                    *arg = Written::Literal(Literal::Typed(literal_at(literal, dtype)?));
                }
            }
            Attrs::new().with("op", Attr::Str((*op).into()))
        }
        Function::Scalars(function) => {
            let params =
                module.signature(function.function().name).map(|signature| signature.params).unwrap_or_default();
            for (arg, param) in args.iter_mut().zip(&params) {
                if let Written::Literal(literal) = *arg {
                    *arg = Written::Literal(Literal::Typed(literal_at(literal, param.dtype())?));
                }
            }
            Attrs::new().with("callee", Attr::Func(function.function().name))
        }
        Function::Cast(to) => {
            let from = dtypes.first().copied().flatten();
            let from = from.unwrap_or_else(|| match args[0] {
                Written::Literal(literal) => literal.dtype_beside(None),
                Written::Value(_) => *to,
            });
            // Zeros stay zeros.
            let zero = Attr::Scalar(Scalar::zero(*to));
            Attrs::new().with("callee", Attr::Func(cast_name(from, *to))).with("zero", zero)
        }
    };
    build.op_with("broadcasted", args, attrs)
}

fn dtype(build: &FuncBuilder<'_>, arg: &Written) -> Option<DType> {
    match arg {
        Written::Value(value) => Some(build.func().ty(*value).dtype()),
        Written::Literal(Literal::Typed(scalar)) => Some(scalar.dtype()),
        Written::Literal(_) => None,
    }
}

fn written(build: &FuncBuilder<'_>, operand: Operand, made: &[Value]) -> Written {
    match operand {
        Operand::Param(n) => build.param(n).into(),
        Operand::Number(number) => number.0.into(),
        Operand::Step(n) => made[n].into(),
    }
}
