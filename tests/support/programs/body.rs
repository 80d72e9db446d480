//! A function in the making: the values in scope, and the types that they will have when it runs.

use super::choices::Choices;
use super::flow::Region;
use super::{effects, flow, ops};
use rewright_ir::builder::infer_types;
use rewright_ir::op::Types;
use rewright_ir::{Arg, Attr, Attrs, Dim, FuncBuilder, Function, Literal, Module, Name, Scalar, Type, Value, registry};
use std::collections::HashMap;

/// Arrays are not made larger than this.
const MAX_ELEMENTS: u64 = 1 << 12;

/// A function in the making.
pub struct Body<'m> {
    pub builder: FuncBuilder<'m>,
    /// The functions that may be called.
    pub module: &'m Module,
    /// The values that instructions may use, late ones last.
    pub values: Vec<Value>,
    /// The branches and loops that are open, inner ones last.
    pub regions: Vec<Region>,
    /// All values are scalars, and nothing is printed: the function is for `ufunc`.
    pub scalars: bool,
    /// Symbols that are bound when the function is entered.
    pub symbols: Vec<Dim>,
    /// The types of the results, once something was returned.
    results: Option<Vec<Type>>,
    /// The types with the extents that values will have; `?` where they are not known here.
    actual: HashMap<Value, Type>,
}

impl<'m> Body<'m> {
    /// Begins a function; with each parameter's type comes the shape of what will be passed.
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

    /// The type as the IR has it.
    pub fn ty(&self, value: Value) -> &Type {
        self.builder.func().ty(value)
    }

    /// The type with the extents that the value will have, `?` where they are not known.
    pub fn actual(&self, value: Value) -> &Type {
        &self.actual[&value]
    }

    /// States the type that a value will have.
    pub fn set_actual(&mut self, value: Value, ty: Type) {
        self.actual.insert(value, ty);
    }

    /// The extents of a value where all are known.
    pub fn shape(&self, value: Value) -> Option<Vec<u64>> {
        let extent = |dim: &Dim| if let Dim::Const(n) = dim { Some(*n) } else { None };
        self.actual(value).dims().iter().map(extent).collect()
    }

    /// A value, most often a late one.
    pub fn any(&self, c: &mut Choices<'_>) -> Option<Value> {
        c.late(&self.values)
    }

    /// A value of which something holds.
    pub fn some(&self, c: &mut Choices<'_>, is_it: impl Fn(&Self, Value) -> bool) -> Option<Value> {
        let list: Vec<Value> = self.values.iter().copied().filter(|&v| is_it(self, v)).collect();
        c.late(&list)
    }

    /// An array.
    pub fn array(&self, c: &mut Choices<'_>) -> Option<Value> {
        self.some(c, |body, v| body.ty(v).is_array())
    }

    /// Appends an instruction and brings its results into scope, if it is well-typed and, as far as is
    /// known here, will not fail for the extents of its operands. Once in a while one that will is let
    /// through.
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

    /// The types that the results will have; none if the op will fail.
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

    /// Appends what one step says.
    pub fn step(&mut self, c: &mut Choices<'_>) {
        let kind = c.below(40);
        // Ops that do not fit are left out, so a step may do nothing.
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
            25 => ops::joined(self, c),
            26..=27 => ops::two_places(self, c),
            28..=29 => effects::call(self, c),
            37 => effects::store(self, c),
            38 => effects::del(self, c),
            _ => effects::print(self, c),
        };
    }

    /// Returns some of the values in scope: they fit the types of other returns.
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

    /// Ends all regions and returns.
    pub fn finish(mut self, c: &mut Choices<'_>) -> Function {
        while !self.regions.is_empty() {
            flow::end(&mut self, c);
        }
        self.ret(c);
        let mut function = self.builder.finish();
        function.results = self.results.unwrap_or_default();
        function
    }

    /// A dim of an extent: a symbol if one is bound to it, or the number.
    pub fn known(&self, c: &mut Choices<'_>, n: u64) -> Dim {
        let symbols: Vec<Dim> = self.symbols.iter().copied().filter(|&dim| extent(dim) == Dim::Const(n)).collect();
        if c.one_in(2) { c.late(&symbols).unwrap_or(Dim::Const(n)) } else { Dim::Const(n) }
    }

    /// A type that a value may have where it goes on under another name: some of its dims are less certain.
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

/// The extent that a dim of these programs stands for: symbols end with it.
fn extent(dim: Dim) -> Dim {
    let Dim::Sym(name) = dim else { return dim };
    name.as_str().trim_start_matches(|ch: char| !ch.is_ascii_digit()).parse().map_or(Dim::Any, Dim::Const)
}

/// The type with the extents that its symbols stand for.
pub fn concrete(ty: &Type) -> Type {
    let dims = ty.is_array().then(|| ty.dims().iter().map(|&dim| extent(dim)).collect());
    Type::from_parts(ty.dtype(), dims)
}
