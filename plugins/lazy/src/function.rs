//! Compiled functions with lazy arguments and results.

use crate::array::LazyArray;
use crate::recipe::{Recipe, only_return};
use rewright::exec::{Arg, Options};
use rewright::lowering::exec::LowerError;
use rewright::rewrites::PipelineError;
use rewright::{
    Array, Attrs, Datum, Dim, EvalError, Executable, Module, Name, NoObserver, Pipeline, RewriteError, Scalar, Styled,
    Type, Types, rewrites, target_of,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// An argument or a result of a call.
#[derive(Clone, Debug)]
pub enum LazyValue {
    /// A scalar.
    Scalar(Scalar),
    /// An array, lazy or not.
    Array(LazyArray),
    /// An array of a storage style.
    Styled(Arc<Styled>),
}

impl LazyValue {
    /// The scalar, if it is one.
    pub fn as_scalar(&self) -> Option<Scalar> {
        if let LazyValue::Scalar(scalar) = self { Some(*scalar) } else { None }
    }
    /// The array, if it is a dense one.
    pub fn as_array(&self) -> Option<&LazyArray> {
        if let LazyValue::Array(array) = self { Some(array) } else { None }
    }
}

impl From<LazyArray> for LazyValue {
    fn from(array: LazyArray) -> Self {
        LazyValue::Array(array)
    }
}
impl From<Array> for LazyValue {
    fn from(array: Array) -> Self {
        LazyValue::Array(array.into())
    }
}
impl From<Scalar> for LazyValue {
    fn from(scalar: Scalar) -> Self {
        LazyValue::Scalar(scalar)
    }
}
impl From<Datum> for LazyValue {
    fn from(datum: Datum) -> Self {
        match datum {
            Datum::Scalar(scalar) => LazyValue::Scalar(scalar),
            Datum::Array(array) => LazyValue::Array(array.into()),
            Datum::Styled(styled) => LazyValue::Styled(styled),
        }
    }
}

/// The reason why a function can't be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The default pipeline can't be made.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// A rewrite failed.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
    /// There is no such function, or no kernel for it.
    #[error(transparent)]
    Lower(#[from] LowerError),
}

/// A compiled function whose results are lazy where they are views of its arguments or of constructors.
/// Lazy results are not compiled: a call derives their index maps, and computes only the other results.
///
/// ```
/// use rewright::{DType, Scalar, Array, parse_module};
/// use rewright_lazy::{LazyArray, LazyFunction};
/// let module = parse_module("func @f(%x: f64[n, m]) -> f64[m, n], f64[n, m], i64[n, m] {
/// entry:
///   %turned = transpose %x
///   %twice = mul %x, 2.0
///   %rows = iota dims=[n, m], axis=0
///   ret %turned, %twice, %rows
/// }", "f.ir")?;
/// let f = LazyFunction::compile(&module, "f", Default::default())?;
/// let x = Array::full(Scalar::F64(0.5), &[2, 3]).ok_or("no memory")?;
/// let results = f.call(&[x.into()])?;
/// let shown: Vec<String> = results.iter().filter_map(|r| r.as_array()).map(|a| a.expr().to_string()).collect();
/// assert_eq!(shown, ["var(f64[2, 3])[i: 3, j: 2 -> j, i]", "var(f64[2, 3])", "iota(i64, 2)[i: 2, j: 3 -> i]"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LazyFunction {
    /// Computes the results that are not lazy.
    computes: Executable,
    params: Vec<Type>,
    /// A recipe for each lazy result; `None` for computed results.
    results: Vec<Option<Recipe>>,
    /// Remarks about materialized results, by result.
    remarks: Mutex<BTreeMap<usize, String>>,
}

impl LazyFunction {
    /// Optimizes a function by the default pipeline, finds its lazy results, and compiles the others.
    pub fn compile(module: &Module, func: impl Into<Name>, options: Options) -> Result<LazyFunction, CompileError> {
        let (mut module, name) = (module.clone(), func.into());
        let pipeline = Pipeline::by_default()?;
        let rewriting = rewrites::Options { target: target_of(options.backend), ..Default::default() };
        pipeline.run(&mut module, &rewriting, &mut NoObserver)?;
        let func = module.get_mut(name).ok_or(LowerError::NoFunction { name })?;
        let params = func.params().iter().map(|&param| func.ty(param).clone()).collect();
        let mut results: Vec<Option<Recipe>> = func.results.iter().map(|_| None).collect();
        if let Some(ret) = only_return(func) {
            let returned = func.inst(ret).clone();
            results = returned.args.iter().map(|&value| Recipe::of(func, value)).collect();
            let is_computed = |n: &usize| results[*n].is_none();
            let computed: Vec<usize> = (0..results.len()).filter(is_computed).collect();
            let args = computed.iter().map(|&n| returned.args[n]);
            let shorter = func.create_inst(returned.op, args, Attrs::new(), [], Types::new(), returned.loc);
            func.results = computed.iter().map(|&n| func.results[n].clone()).collect();
            func.insert_before(ret, shorter);
            func.erase(ret);
            pipeline.run(&mut module, &rewriting, &mut NoObserver)?;
        }
        let computes = Executable::compile(&module, name, options)?;
        Ok(LazyFunction { computes, params, results, remarks: Mutex::default() })
    }

    /// Calls the function. Lazy arguments are read in place, through strides. A lazy result takes no
    /// memory, and keeps its source argument alive. A small result of a much larger argument is
    /// materialized instead: see [`remarks`](LazyFunction::remarks).
    pub fn call(&self, args: &[LazyValue]) -> Result<Vec<LazyValue>, EvalError> {
        let arg = |value| match value {
            &LazyValue::Scalar(scalar) => Ok(Arg::Scalar(scalar)),
            LazyValue::Array(array) => array.arg(),
            LazyValue::Styled(styled) => Ok(Arg::Styled(styled)),
        };
        let given = args.iter().map(arg).collect::<Result<Vec<_>, _>>()?;
        // The call also checks the arguments, so the extents below are consistent.
        let mut computed = self.computes.call(&given)?.into_vec().into_iter();
        let extents = |dim: Dim| self.extent(args, dim);
        let result = |(n, recipe): (usize, &Option<Recipe>)| match recipe {
            None => computed.next().map(LazyValue::from).ok_or_else(|| EvalError::value("a result is missing")),
            Some(recipe) => self.escaping(n, recipe.follow(args, &extents)?).map(LazyValue::Array),
        };
        self.results.iter().enumerate().map(result).collect()
    }

    /// The lazy results that were materialized, and the reason: one line for each result, regardless of
    /// the number of calls.
    pub fn remarks(&self) -> Vec<String> {
        self.remarks.lock().unwrap_or_else(|e| e.into_inner()).values().cloned().collect()
    }

    /// The compiled function of the results that are not lazy.
    pub fn executable(&self) -> &Executable {
        &self.computes
    }

    /// The extent of a symbolic dim in a call.
    fn extent(&self, args: &[LazyValue], dim: Dim) -> Option<u64> {
        let Dim::Sym(_) = dim else { return if let Dim::Const(extent) = dim { Some(extent) } else { None } };
        self.params.iter().zip(args).find_map(|(ty, arg)| {
            let axis = ty.dims().iter().position(|known| *known == dim)?;
            match arg {
                LazyValue::Scalar(_) => None,
                LazyValue::Array(array) => array.expr().axes().get(axis).map(|axis| axis.extent),
                LazyValue::Styled(styled) => styled.shape().get(axis).map(|&extent| extent as u64),
            }
        })
    }

    /// A lazy result on return from the function: materialized if it is small and the array that it keeps
    /// alive is large.
    fn escaping(&self, n: usize, array: LazyArray) -> Result<LazyArray, EvalError> {
        let Some(kept) = array.data().map(|data| (data.len() * data.dtype().size()) as u128) else { return Ok(array) };
        let own = array.expr().len().unwrap_or(u128::MAX).saturating_mul(array.dtype().size() as u128);
        if kept < LARGE || own.saturating_mul(SMALLER) > kept {
            return Ok(array);
        }
        let elements = array.force()?.clone();
        let why = format!("result {n} is made in memory, {own} bytes: `{}` would keep {kept} bytes", array.expr());
        self.remarks.lock().unwrap_or_else(|e| e.into_inner()).entry(n).or_insert(why);
        Ok(LazyArray::of(elements))
    }
}

/// The size in bytes from which a small result does not keep an array alive.
const LARGE: u128 = 1 << 16;
/// A result is small if its source is at least this many times larger.
const SMALLER: u128 = 16;
