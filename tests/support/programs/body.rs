//! A function under construction: the values in scope, with their static types and run-time extents.

use super::choices::Choices;
use super::flow::Region;
use super::{effects, flow, ops};
use rewright_ir::builder::infer_types;
use rewright_ir::op::Types;
use rewright_ir::{Arg, Attr, Attrs, Dim, FuncBuilder, Function, Literal, Module, Name, Scalar, Type, Value, registry};
use std::collections::HashMap;

/// The limit on the elements of an array.
const MAX_ELEMENTS: u64 = 1 << 12;

/// A function under construction.
pub struct Body<'m> {
    pub builder: FuncBuilder<'m>,
    /// The functions that may be called.
    pub module: &'m Module,
    /// The values in scope, latest last.
    pub values: Vec<Value>,
    /// The open branches and loops, innermost last.
    pub regions: Vec<Region>,
    /// Whether all values are scalars and nothing is printed: the function is for `ufunc`.
    pub scalars: bool,
    /// The symbols that are bound at the entry of the function.
    pub symbols: Vec<Dim>,
    /// The types of the results, after the first return.
    results: Option<Vec<Type>>,
    /// The types of values with their run-time extents; `?` for unknown ones.
    actual: HashMap<Value, Type>,
}

impl<'m> Body<'m> {
    /// Begins a function. Each parameter has a type and the shape of its argument.
    pub fn new(name: &str, module: &'m Module, params: &[(Type, Option<Vec<u64>>)], scalars: bool) -> Self {
        let names: Vec<String> = (0..params.len()).map(|i| format!("p{i}")).collect();
        let named: Vec<(&str, Type)> =
            names.iter().map(String::as_str).zip(params.iter().map(|(ty, _)| ty.clone())).collect();
        let builder = FuncBuilder::new(name, &named, Vec::new()).in_module(module);
        let values: Vec<Value> = builder.func().params().to_vec();
        let mut symbols = Vec::new();
        let mut actual = HashMap::new();
        for (&value, (ty, shape)) in values.iter().zip(params) {
            symbols.extend(ty.dims().iter().copied().filter(|dim| matches!(dim, Dim::Sym(_))));
            let dims = shape.as_ref().map(|shape| shape.iter().map(|&extent| Dim::Const(extent)).collect());
            actual.insert(value, Type::from_parts(ty.dtype(), dims));
        }
        Body { builder, module, values, regions: Vec::new(), scalars, symbols, results: None, actual }
    }

    /// The static type of a value.
    pub fn ty(&self, value: Value) -> &Type {
        self.builder.func().ty(value)
    }

    /// The type of a value with its run-time extents; `?` for unknown ones.
    pub fn actual(&self, value: Value) -> &Type {
        &self.actual[&value]
    }

    /// Sets the type of a value with its run-time extents.
    pub fn set_actual(&mut self, value: Value, ty: Type) {
        self.actual.insert(value, ty);
    }

    /// The run-time extents of a value, if all are known.
    pub fn shape(&self, value: Value) -> Option<Vec<u64>> {
        let extent = |dim: &Dim| if let Dim::Const(n) = dim { Some(*n) } else { None };
        self.actual(value).dims().iter().map(extent).collect()
    }

    /// A value in scope, most often a recent one.
    pub fn any(&self, c: &mut Choices<'_>) -> Option<Value> {
        c.late(&self.values)
    }

    /// A value in scope that satisfies a predicate.
    pub fn some(&self, c: &mut Choices<'_>, is_it: impl Fn(&Self, Value) -> bool) -> Option<Value> {
        let list: Vec<Value> = self.values.iter().copied().filter(|&v| is_it(self, v)).collect();
        c.late(&list)
    }

    /// An array in scope.
    pub fn array(&self, c: &mut Choices<'_>) -> Option<Value> {
        self.some(c, |body, v| body.ty(v).is_array())
    }

    /// Appends an instruction and brings its results into scope, if it is well-typed and, as far as
    /// known, succeeds at run time. Occasionally lets an instruction pass that fails.
    pub fn inst(
        &mut self,
        c: &mut Choices<'_>,
        name: &str,
        args: impl IntoIterator<Item = impl Into<Arg>>,
        attrs: Attrs,
    ) -> Option<Vec<Value>> {
        let args: Vec<Arg> = args.into_iter().map(Into::into).collect();
        let expected = self.expected(name, &args, &attrs);
        let small = |ty: &Type| {
            let len =
                ty.dims().iter().map(|d| if let Dim::Const(n) = d { *n } else { 4 }).try_fold(1, u64::checked_mul);
            len.is_some_and(|n| n <= MAX_ELEMENTS)
        };
        match &expected {
            Some(types) if types.iter().all(small) => {}
            None if c.one_in(50) => {}
            _ => return None,
        }
        let inst = self.builder.inst(name, args, attrs, []).ok()?;
        let results = self.builder.func().inst(inst).results.to_vec();
        for (i, &result) in results.iter().enumerate() {
            let stated = concrete(self.ty(result));
            let dims = match expected.as_ref().and_then(|types| types.get(i)) {
                Some(ty) if ty.rank() == stated.rank() => ty.dims(),
                _ => stated.dims(),
            };
            let actual = Type::from_parts(stated.dtype(), stated.is_array().then(|| dims.to_vec()));
            self.actual.insert(result, actual);
        }
        self.values.extend(&results);
        Some(results)
    }

    /// Appends an instruction with one result.
    pub fn op(
        &mut self,
        c: &mut Choices<'_>,
        name: &str,
        args: impl IntoIterator<Item = impl Into<Arg>>,
        attrs: Attrs,
    ) -> Option<Value> {
        self.inst(c, name, args, attrs)?.first().copied()
    }

    /// The result types with run-time extents; `None` if the op fails.
    fn expected(&self, name: &str, args: &[Arg], attrs: &Attrs) -> Option<Types> {
        let ty = |arg: &Arg| match arg {
            Arg::Value(v) => self.actual(*v).clone(),
            Arg::Literal(literal) => Type::scalar(literal.dtype_beside(None)),
        };
        let constant = |arg: &Arg| match arg {
            Arg::Literal(Literal::Typed(scalar)) => Some(*scalar),
            Arg::Literal(literal) => literal.at(literal.dtype_beside(None)),
            Arg::Value(_) => None,
        };
        let types: Vec<Type> = args.iter().map(ty).collect();
        let consts: Vec<Option<Scalar>> = args.iter().map(constant).collect();
        let mut known = attrs.clone();
        if let Some(dims) = attrs.dims("dims") {
            let dims: Vec<Dim> = dims.iter().map(|&dim| extent(dim)).collect();
            known.set(Name::new("dims"), Attr::Dims(dims.into()));
        }
        let callee = attrs.func("callee").and_then(|f| self.module.signature(f)).map(|mut signature| {
            signature.params = signature.params.iter().map(concrete).collect();
            signature.results = signature.results.iter().map(concrete).collect();
            signature
        });
        let (_, types) = infer_types(registry().op(name)?, &types, &consts, known, callee.as_ref()).ok()?;
        Some(types)
    }

    /// Appends the instructions of one step.
    pub fn step(&mut self, c: &mut Choices<'_>) {
        let kind = c.below(40);
        // Ill-typed ops are dropped, so a step may do nothing.
        let _: Option<()> = match kind {
            30..=31 => effects::ufunc(self, c),
            32..=33 => flow::begin(self, c),
            34..=36 => flow::end(self, c),
            _ if self.scalars => ops::elementwise(self, c),
            0..=13 => ops::elementwise(self, c),
            14..=17 => ops::view(self, c),
            18..=19 => ops::reduction(self, c),
            20..=21 => ops::constructor(self, c),
            22..=24 => ops::indexing(self, c),
            25 => ops::binary_structural(self, c),
            26..=27 => ops::reads_value_twice(self, c),
            28..=29 => effects::call(self, c),
            37 => effects::store(self, c),
            38 => effects::del(self, c),
            _ => effects::print(self, c),
        };
    }

    /// Returns values in scope that fit the types of earlier returns.
    pub fn ret(&mut self, c: &mut Choices<'_>) {
        let returned: Vec<Arg> = match self.results.clone() {
            Some(types) => {
                let fitting = types.iter().map(|ty| effects::argument(self, c, ty));
                fitting.collect::<Option<_>>().expect("an array of any type can be made")
            }
            None => {
                let values: Vec<Value> = (0..1 + c.below(3)).filter_map(|_| c.late(&self.values)).collect();
                self.results = Some(values.iter().map(|&v| self.general(c, v)).collect());
                values.into_iter().map(Arg::from).collect()
            }
        };
        self.builder.ret(returned).expect("values can be returned");
    }

    /// Closes all regions and returns.
    pub fn finish(mut self, c: &mut Choices<'_>) -> Function {
        while !self.regions.is_empty() {
            flow::end(&mut self, c);
        }
        self.ret(c);
        let mut function = self.builder.finish();
        function.results = self.results.unwrap_or_default();
        function
    }

    /// A dim of an extent: a symbol that is bound to it, or the constant.
    pub fn known(&self, c: &mut Choices<'_>, n: u64) -> Dim {
        let symbols: Vec<Dim> = self.symbols.iter().copied().filter(|&dim| extent(dim) == Dim::Const(n)).collect();
        if c.one_in(2) { c.late(&symbols).unwrap_or(Dim::Const(n)) } else { Dim::Const(n) }
    }

    /// A more general type for a value that is passed on: some of its dims are symbols or `?`.
    pub fn general(&self, c: &mut Choices<'_>, value: Value) -> Type {
        let (stated, actual) = (self.ty(value), self.actual(value));
        if stated.is_scalar() {
            return stated.clone();
        }
        let dims = stated.dims().iter().zip(actual.dims()).map(|(&dim, &extent)| match (c.below(4), extent) {
            (2, Dim::Const(n)) => self.known(c, n),
            (3, _) => Dim::Any,
            _ => dim,
        });
        Type::array(stated.dtype(), dims.collect::<Vec<Dim>>())
    }
}

/// The extent of a dim in these programs: the number at the end of a symbol.
fn extent(dim: Dim) -> Dim {
    let Dim::Sym(name) = dim else { return dim };
    name.as_str().trim_start_matches(|ch: char| !ch.is_ascii_digit()).parse().map_or(Dim::Any, Dim::Const)
}

/// The type with symbols replaced by their extents.
pub fn concrete(ty: &Type) -> Type {
    let dims = ty.is_array().then(|| ty.dims().iter().map(|&dim| extent(dim)).collect());
    Type::from_parts(ty.dtype(), dims)
}
