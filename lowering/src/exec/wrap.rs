//! Wraps one instruction as an array expression, so that instructions that were not fused run on the same
//! code generators.

use rewright_ir::expr::{
    Affine, Axis, Body, BodyOp, BodyRef, Index, IndexExpr, Mode, Operand, Out, Source, Write, axes_along,
};
use rewright_ir::ops::{arithmetic, compare, create, effects};
use rewright_ir::{
    ArrayExpr, Attrs, DType, Dim, Function, InstData, Loc, Module, Op, OpDef, OperandNames, Type, Value,
    inline_function,
};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// An elementwise op, a ufunc or a constructor as an expression over the instruction's operands, or the
/// reason against it.
pub fn wrap(module: &Module, func: &Function, data: &InstData) -> Result<ArrayExpr, String> {
    let constructs = [&create::FULL, &create::IOTA, &create::EYE, &create::TRI].into_iter().any(|op| data.op == *op);
    if !(data.op.is_elementwise() || data.op == effects::UFUNC || constructs) {
        return Err("it has no kernel".to_string());
    }
    let result = data.results.first().map(|&r| func.ty(r)).ok_or("it has no result")?;
    let types: Vec<Type> = data.args.iter().map(|&v| func.ty(v).clone()).collect();
    let mut wrapper = Wrapper::new(result.dims(), &types)?;
    let args: SmallVec<[BodyRef; 3]> = data.args.iter().map(|&v| wrapper.read(func, data, v)).collect();
    let yields = if data.op == effects::UFUNC {
        wrapper.inline(module, func, data, &args)?
    } else if constructs {
        smallvec![wrapper.construct(data, &args, result.dtype())?]
    } else {
        let dtypes = data.results.iter().map(|&r| func.ty(r).dtype());
        wrapper.body.push(BodyOp::Op(data.op, data.attrs.clone()), args, dtypes, data.loc)
    };
    let outs = data.results.iter().map(|&r| (func.ty(r).dtype(), func.ty(r).dims().to_vec())).collect();
    Ok(wrapper.finish(yields, outs, data.loc))
}

/// The expression of a `store`: operand 1, broadcast to the dims of operand 0 and cast to its dtype.
pub fn wrap_store(func: &Function, data: &InstData) -> Result<ArrayExpr, String> {
    let (&[dest, src], loc) = (&data.args[..], data.loc) else { return Err("it has not two operands".into()) };
    let (to, from) = (func.ty(dest), func.ty(src));
    if let Some(style) = to.style().or(from.style()) {
        return Err(format!("elements of `{style}` are looked at one by one"));
    }
    let mut wrapper = Wrapper::new(to.dims(), &[to.clone(), from.clone()])?;
    let read = wrapper.read(func, data, src);
    let value = wrapper.body.cast(read, from.dtype(), to.dtype(), loc);
    Ok(wrapper.finish(smallvec![value], vec![(to.dtype(), to.dims().to_vec())], loc))
}

/// An expression under construction.
pub(super) struct Wrapper {
    dims: Vec<Dim>,
    axes: Vec<Axis>,
    operands: Vec<Operand>,
    names: OperandNames,
    known: FxHashMap<Value, BodyRef>,
    body: Body,
}

impl Wrapper {
    /// An expression without operands. Results have these dims, and the instruction's operands these types.
    pub(super) fn new(dims: &[Dim], types: &[Type]) -> Result<Wrapper, String> {
        let taken = |name| types.iter().flat_map(Type::dims).chain(dims).any(|dim| *dim == Dim::Sym(name));
        let axes = axes_along(dims, taken);
        if axes.iter().zip(dims).any(|(axis, dim)| axis.hi.is_none() && *dim != Dim::Any) {
            return Err("an extent is too great".to_string());
        }
        let dims = dims.to_vec();
        let mut names = OperandNames::of(&axes, &[]);
        types.iter().for_each(|ty| names.reserve_symbols(ty.dims()));
        Ok(Wrapper { dims, axes, operands: Vec::new(), names, known: FxHashMap::default(), body: Body::default() })
    }

    /// The body's reference to an operand of the instruction.
    fn read(&mut self, func: &Function, data: &InstData, value: Value) -> BodyRef {
        if let Some(scalar) = func.as_const(value) {
            return BodyRef::Const(scalar);
        }
        if let Some(&known) = self.known.get(&value) {
            return known;
        }
        let ty = func.ty(value);
        let arg = data.args.iter().position(|&v| v == value).unwrap_or_default() as u32;
        let skip = self.dims.len().saturating_sub(ty.rank());
        let index = |(d, &dim): (usize, &Dim)| {
            let axis = skip + d;
            let at = |form, mode| Index { expr: IndexExpr::Affine(form), mode };
            match dim == self.dims[axis] {
                true if dim != Dim::Any => at(Affine::axis(axis as u32), Mode::Proved),
                _ if dim == Dim::Const(1) => at(Affine::constant(0), Mode::Proved),
                _ => at(Affine::axis(axis as u32), Mode::Broadcast),
            }
        };
        let index = ty.dims().iter().enumerate().map(index).collect();
        let source = if ty.rank() > 0 { Source::Array(arg) } else { Source::Scalar(arg) };
        let read = self.operand(func, value, source, index);
        self.known.insert(value, read);
        read
    }

    /// Adds an operand, which reads a value at these positions.
    pub(super) fn operand(&mut self, func: &Function, value: Value, source: Source, index: Vec<Index>) -> BodyRef {
        let name = self.names.for_value(func, value, "x");
        self.operands.push(Operand { name, source, dtype: func.ty(value).dtype(), index });
        BodyRef::Operand(self.operands.len() as u32 - 1)
    }

    /// Applies an op without attributes, and returns its only result.
    fn apply(&mut self, op: &'static OpDef, args: [BodyRef; 2], dtype: DType, loc: Loc) -> BodyRef {
        self.body.push(BodyOp::Op(Op(op), Attrs::new()), args, [dtype], loc)[0]
    }

    /// The element of a constructor.
    fn construct(&mut self, data: &InstData, args: &[BodyRef], to: DType) -> Result<BodyRef, String> {
        let attrs = &data.attrs;
        if data.op == create::FULL {
            return args.first().copied().ok_or_else(|| "it has no operand".to_string());
        }
        if data.op == create::IOTA {
            let axis = attrs.int("axis").unwrap_or(0);
            let axis = if axis < 0 { axis + self.axes.len() as i64 } else { axis };
            let index = BodyRef::Axis(u32::try_from(axis).map_err(|e| e.to_string())?);
            return Ok(self.body.cast(index, DType::I64, to, data.loc));
        }
        let above = self.apply(&arithmetic::SUB, [BodyRef::Axis(1), BodyRef::Axis(0)], DType::I64, data.loc);
        let offset = BodyRef::Const(attrs.int("offset").unwrap_or(0).into());
        let test = if data.op == create::EYE { &compare::EQ } else { &compare::LE };
        let one = self.apply(test, [above, offset], DType::Bool, data.loc);
        Ok(self.body.cast(one, DType::Bool, to, data.loc))
    }

    /// Inlines the body of a scalar function.
    fn inline(
        &mut self,
        module: &Module,
        func: &Function,
        data: &InstData,
        args: &[BodyRef],
    ) -> Result<SmallVec<[BodyRef; 2]>, String> {
        let name = data.attrs.func("callee").ok_or("it names no function")?;
        let callee = module.get(name).ok_or_else(|| format!("there is no function `@{name}`"))?;
        let args: SmallVec<[_; 3]> = args.iter().zip(&data.args).map(|(&a, &v)| (a, func.ty(v).dtype())).collect();
        inline_function(&mut self.body, module, callee, &args, data.loc)
    }

    /// The expression that yields these values.
    pub(super) fn finish(
        mut self,
        yields: SmallVec<[BodyRef; 2]>,
        outs: Vec<(DType, Vec<Dim>)>,
        loc: Loc,
    ) -> ArrayExpr {
        self.body.yields = yields.into_iter().collect();
        let index: Vec<IndexExpr> =
            (0..self.axes.len()).map(|axis| IndexExpr::Affine(Affine::axis(axis as u32))).collect();
        let outs = outs
            .into_iter()
            .map(|(dtype, dims)| Out { dtype, dims, index: index.clone(), fill: None, write: Write::Unique })
            .collect();
        ArrayExpr {
            axes: self.axes,
            guard: Vec::new(),
            operands: self.operands,
            body: self.body,
            reductions: Vec::new(),
            finish: None,
            outs,
            locs: vec![loc],
        }
    }
}
