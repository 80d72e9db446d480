//! Scalar operations: bodies, finishers, and numbers that are known before the loops.

use super::level::{Item, Level};
use super::products::Summand;
use super::{Made, Translation, at, refuse, typed, undecided};
use crate::known::Known;
use crate::nest::{Function, Node, Reducer, Source, Term};
use rewright::builder::{infer_types, literal_at};
use rewright::expr::{AxisKind, BodyOp, BodyRef, Operand, Out, SymExpr, Write};
use rewright::ir::op::eval_scalar;
use rewright::{Accessed, Attr, Attrs, DType, Literal, LiteralCx, Loc, Op, Scalar, Type, registry};

/// Ops that compute with truth values as with the numbers 0 and 1.
const ARITHMETIC: [&str; 9] = ["add", "sub", "mul", "neg", "pos", "abs", "power", "floordiv", "mod"];

/// A built-in op.
pub(super) fn op(name: &str, loc: Loc) -> Made<Op> {
    registry().op(name).map_or_else(|| refuse(format!("there is no op `{name}`"), loc, ""), Ok)
}

/// The value of an expression of numbers and scalars.
pub(super) fn constant(known: &Known, node: &Node) -> Made<Literal> {
    match &node.term {
        Term::Literal(literal) => Ok(*literal),
        Term::Scalar(name) => match known.scalars.get(name) {
            Some(scalar) => match scalar.value {
                Some(value) => Ok(Literal::Typed(value)),
                None => undecided(format!("the value of `{name}` is needed before the loops"), node.loc),
            },
            None => refuse(format!("`{name}` is no scalar"), node.loc, ""),
        },
        Term::Size(size) => {
            let number = known.number(size).map_err(|e| at(e, node.loc))?;
            Ok(Literal::Typed(Scalar::I64(number)))
        }
        Term::Apply(function, args) => {
            let args = args.iter().map(|arg| constant(known, arg)).collect::<Made<Vec<_>>>()?;
            match function {
                Function::Op(op) => folded(*op, &args, node.loc),
                Function::Cast(dtype) => Ok(Literal::Typed(natural(args[0], node.loc)?.cast(*dtype))),
                Function::Abs2 | Function::Position => {
                    refuse("this value is computed before the loops, by ops alone", node.loc, "")
                }
            }
        }
        _ => refuse("this value is no number that is known before the loops", node.loc, ""),
    }
}

/// A literal at its default dtype.
pub(super) fn natural(literal: Literal, loc: Loc) -> Made<Scalar> {
    literal_at(literal, literal.dtype_beside(None)).map_err(|e| typed(e, loc))
}

/// The result of an op on literals: weak if all of them are.
fn folded(op: Op, args: &[Literal], loc: Loc) -> Made<Literal> {
    let scalars = args.iter().map(|arg| natural(*arg, loc)).collect::<Made<Vec<_>>>()?;
    let results = eval_scalar(op, &scalars, &Attrs::new());
    let result = match results {
        Ok(results) if results.len() == 1 => results[0],
        Ok(_) => return refuse(format!("`{op}` has several results"), loc, ""),
        Err(error) => return refuse(error.message, loc, ""),
    };
    let is_weak = args.iter().all(|arg| !matches!(arg, Literal::Typed(_)));
    Ok(match result {
        Scalar::Bool(x) if is_weak => Literal::Bool(x),
        Scalar::I64(x) if is_weak => Literal::Int(x.into()),
        Scalar::U64(x) if is_weak => Literal::Int(x.into()),
        Scalar::F64(x) if is_weak => Literal::Float(x),
        Scalar::C128(z) if is_weak => Literal::Complex(z.re, z.im),
        other => Literal::Typed(other),
    })
}

impl Translation<'_, '_, '_> {
    pub(super) fn level(&mut self) -> &mut Level {
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    /// Adds an operand to the innermost expression.
    pub(super) fn operand(&mut self, name: &str, operand: Operand) -> Item {
        let taken: Vec<String> =
            self.levels.iter().flat_map(|level| level.axes.iter().map(|axis| axis.name.to_string())).collect();
        self.level().operand(name, operand, &|text| taken.iter().any(|own| own == text))
    }

    /// The element that an access reads by an operand.
    pub(super) fn element(&mut self, access: usize, operand: Operand) -> Made<Item> {
        let item = self.operand(&operand.name.to_string(), operand);
        if let Item::Known(BodyRef::Operand(own), _) = item {
            let name = self.level().operands[own as usize].name;
            for dim in 0..self.nest.accesses[access].dims.len() {
                self.note_checked(Accessed::Operand(name), access, dim)?;
            }
        }
        Ok(item)
    }

    /// The value of a node in the innermost expression.
    pub(super) fn node(&mut self, node: &Node) -> Made<Item> {
        let loc = node.loc;
        if let Some((_, value, indices)) = self.stored_node(node) {
            let (value, indices) = (*value, indices.clone());
            return self.stored_element(value, &indices, loc);
        }
        match &node.term {
            Term::Literal(literal) => Ok(Item::Weak(*literal)),
            Term::Size(size) => {
                let number = self.known.number(size).map_err(|e| at(e, loc))?;
                Ok(Item::Weak(Literal::Int(number.into())))
            }
            Term::Scalar(name) => self.scalar(name, loc),
            Term::Index(index) => self.index_value(*index, loc),
            Term::Read(access) => self.read(*access),
            Term::Result(part) => match self.level().results.get(*part) {
                Some(result) => Ok(*result),
                None => refuse("`_` is the result of a reduction, in its finisher", loc, ""),
            },
            Term::Tuple(_) => refuse("a tuple is no number", loc, ""),
            Term::Local(local) => self.local(*local, loc),
            Term::Block(lets, value) => {
                for (local, _) in lets {
                    self.local(*local, loc)?;
                }
                self.node(value)
            }
            Term::Apply(function, args) => {
                let args = args.iter().map(|arg| self.node(arg)).collect::<Made<Vec<_>>>()?;
                self.apply(*function, &args, loc)
            }
            Term::Reduce(reducer, indices, body) => self.nested(*reducer, indices, body, loc),
        }
    }

    fn scalar(&mut self, name: &str, loc: Loc) -> Made<Item> {
        let value = self.value_of(name, loc)?;
        let ty = self.build.func().ty(value).clone();
        if !ty.is_scalar() {
            return refuse(
                format!("`{name}` is {ty}, and a number is expected"),
                loc,
                &format!("read an element: `{name}[i]`"),
            );
        }
        let arg = self.arg(value);
        let operand = Operand {
            name: rewright::Name::new(name),
            source: rewright::expr::Source::Scalar(arg),
            dtype: ty.dtype(),
            index: Vec::new(),
        };
        Ok(self.operand(name, operand))
    }

    /// An index as a number.
    fn index_value(&mut self, index: usize, loc: Loc) -> Made<Item> {
        let found = self.levels.iter().rev().find_map(|level| level.indices.get(&index).cloned());
        let Some((axis, added)) = found else {
            return refuse(format!("index `{}` has no value here", self.nest.indices[index].name), loc, "");
        };
        let value = Item::Known(BodyRef::Axis(axis), DType::I64);
        match added.as_constant() {
            Some(0) => Ok(value),
            Some(n) => self.core("add", &[value, Item::Weak(Literal::Int(n.into()))], loc),
            None => undecided("the first value of an index depends on extents", loc),
        }
    }

    /// The value of a name of a block. It is computed where it is first used; inner expressions capture it.
    fn local(&mut self, local: usize, loc: Loc) -> Made<Item> {
        let found = self.levels.iter().enumerate().rev().find_map(|(n, level)| Some((n, *level.locals.get(&local)?)));
        if let Some((depth, item)) = found {
            return Ok(self.captured(depth, item));
        }
        let Some(definition) = self.definitions.get(&local).copied() else {
            return refuse("this name is defined in another block", loc, "");
        };
        let item = self.node(definition)?;
        self.level().locals.insert(local, item);
        Ok(item)
    }

    /// A value of an outer expression in the innermost one.
    fn captured(&mut self, depth: usize, item: Item) -> Item {
        let Item::Known(mut value, dtype) = item else { return item };
        let mut found = item;
        if matches!(value, BodyRef::Const(_) | BodyRef::Axis(_)) {
            return item;
        }
        for inner in depth + 1..self.levels.len() {
            let taken: Vec<String> =
                self.levels.iter().flat_map(|level| level.axes.iter().map(|axis| axis.name.to_string())).collect();
            found = self.levels[inner].capture(value, dtype, &|text| taken.iter().any(|own| own == text));
            if let Item::Known(own, _) = found {
                value = own;
            }
        }
        found
    }

    /// The element that an access reads.
    fn read(&mut self, access: usize) -> Made<Item> {
        let nest = self.nest;
        let own = &nest.accesses[access];
        match &own.source {
            Source::Array(name) => {
                let operand = self.read_operand(access, name)?;
                self.element(access, operand)
            }
            Source::Range(lo, _) => {
                let lo = self.known.number(lo).map_err(|e| at(e, own.loc))?;
                let (position, inside) = self.computed_position(access, 0)?;
                let value = self.core("add", &[position, Item::Weak(Literal::Int(lo.into()))], own.loc)?;
                self.or_padding(value, inside, own.loc)
            }
            Source::Filled(value, _) => {
                let mut item = Item::Weak(Literal::Typed(Scalar::F64(*value)));
                for dim in 0..own.dims.len() {
                    let (_, inside) = self.computed_position(access, dim)?;
                    item = self.or_padding(item, inside, own.loc)?;
                }
                Ok(item)
            }
        }
    }

    /// A value, or the padding where a condition fails.
    fn or_padding(&mut self, value: Item, inside: Option<Item>, loc: Loc) -> Made<Item> {
        let Some(inside) = inside else { return Ok(value) };
        let dtype = self.strong(value, loc)?.1;
        let padding = self.padding(dtype)?;
        self.core("where", &[inside, value, Item::Weak(Literal::Typed(padding))], loc)
    }

    /// A value with a dtype.
    pub(super) fn strong(&self, item: Item, loc: Loc) -> Made<(BodyRef, DType)> {
        match item {
            Item::Known(value, dtype) => Ok((value, dtype)),
            Item::Weak(literal) => {
                let scalar = natural(literal, loc)?;
                Ok((BodyRef::Const(scalar), scalar.dtype()))
            }
        }
    }

    /// The dtype of a value.
    pub(super) fn dtype(&self, item: Item, loc: Loc) -> Made<DType> {
        self.strong(item, loc).map(|(_, dtype)| dtype)
    }

    /// A value at a dtype.
    pub(super) fn cast(&mut self, item: Item, to: DType, loc: Loc) -> Made<Item> {
        if let Item::Weak(literal) = item
            && let Some(scalar) = literal.at(to)
        {
            return Ok(Item::Known(BodyRef::Const(scalar), to));
        }
        let (value, dtype) = self.strong(item, loc)?;
        match value {
            _ if dtype == to => Ok(Item::Known(value, dtype)),
            BodyRef::Const(scalar) => Ok(Item::Known(BodyRef::Const(scalar.cast(to)), to)),
            _ => {
                let attrs = Attrs::new().with("to", Attr::DType(to));
                let cast = op("cast", loc)?;
                Ok(self.level().push(cast, attrs, &[value], to, loc))
            }
        }
    }

    /// Applies a built-in op.
    pub(super) fn core(&mut self, name: &str, args: &[Item], loc: Loc) -> Made<Item> {
        self.op(op(name, loc)?, args, loc)
    }

    /// Whether a number of a known dtype, not a complex one, has the exponent 2.
    fn is_square(&self, args: &[Item]) -> bool {
        match args {
            [Item::Known(_, dtype), Item::Weak(Literal::Int(2))] => dtype.is_int() || dtype.is_float(),
            [Item::Known(_, dtype), Item::Weak(Literal::Float(2.0))] => dtype.is_float(),
            _ => false,
        }
    }

    fn apply(&mut self, function: Function, args: &[Item], loc: Loc) -> Made<Item> {
        match function {
            // The square is the product, to the bit.
            Function::Op(op) if op.name == "power" && self.is_square(args) => {
                self.core("mul", &[args[0], args[0]], loc)
            }
            Function::Op(op) => self.op(op, args, loc),
            Function::Cast(dtype) => {
                let (value, own) = self.strong(args[0], loc)?;
                self.cast(Item::Known(value, own), dtype, loc)
            }
            Function::Position => self.as_position(args[0], loc),
            Function::Abs2 => {
                let x = args[0];
                if self.dtype(x, loc)?.is_complex() {
                    let (re, im) = (self.core("real", &[x], loc)?, self.core("imag", &[x], loc)?);
                    let (re, im) = (self.core("mul", &[re, re], loc)?, self.core("mul", &[im, im], loc)?);
                    self.core("add", &[re, im], loc)
                } else {
                    self.core("mul", &[x, x], loc)
                }
            }
        }
    }

    /// Applies an op. Literals take the dtype that its rule gives them. In arithmetic, truth values are 0
    /// and 1.
    pub(super) fn op(&mut self, op: Op, args: &[Item], loc: Loc) -> Made<Item> {
        let is_truth = |arg: &Item| match arg {
            Item::Known(_, dtype) => dtype.is_bool(),
            Item::Weak(literal) => literal.dtype_beside(None).is_bool(),
        };
        let numbers: Vec<Item>;
        let args = match ARITHMETIC.contains(&op.name) && args.iter().all(is_truth) {
            true => {
                numbers = args
                    .iter()
                    .map(|arg| {
                        let (value, dtype) = self.strong(*arg, loc)?;
                        self.cast(Item::Known(value, dtype), DType::I64, loc)
                    })
                    .collect::<Made<_>>()?;
                &numbers
            }
            false => args,
        };
        let literals: Option<Vec<Literal>> =
            args.iter().map(|arg| if let Item::Weak(literal) = arg { Some(*literal) } else { None }).collect();
        if let Some(literals) = literals {
            return folded(op, &literals, loc).map(Item::Weak);
        }
        let attrs = Attrs::new();
        let dtypes: Vec<Option<DType>> = args
            .iter()
            .map(|arg| match arg {
                Item::Known(_, dtype) => Some(*dtype),
                Item::Weak(Literal::Typed(scalar)) => Some(scalar.dtype()),
                Item::Weak(_) => None,
            })
            .collect();
        let mut refs = Vec::new();
        for (operand, arg) in args.iter().enumerate() {
            refs.push(match *arg {
                Item::Known(value, _) => value,
                Item::Weak(Literal::Typed(scalar)) => BodyRef::Const(scalar),
                Item::Weak(literal) => {
                    let dtype = (op.literal)(&LiteralCx { literal, operand, dtypes: &dtypes, attrs: &attrs });
                    BodyRef::Const(literal_at(literal, dtype).map_err(|e| typed(e, loc))?)
                }
            });
        }
        let types: Vec<Type> = refs
            .iter()
            .zip(&dtypes)
            .map(|(value, dtype)| {
                Type::scalar(if let BodyRef::Const(s) = value { s.dtype() } else { dtype.unwrap_or(DType::F64) })
            })
            .collect();
        let consts: Vec<Option<Scalar>> =
            refs.iter().map(|value| if let BodyRef::Const(s) = value { Some(*s) } else { None }).collect();
        let (attrs, results) = infer_types(op, &types, &consts, attrs, None).map_err(|e| typed(e, loc))?;
        match &results[..] {
            [only] => Ok(self.level().push(op, attrs, &refs, only.dtype(), loc)),
            _ => refuse(format!("`{op}` has {} results, and an expression has one", results.len()), loc, ""),
        }
    }

    /// A scoped reduction: a nested expression.
    fn nested(&mut self, reducer: Reducer, indices: &[usize], body: &Node, loc: Loc) -> Made<Item> {
        let nest = self.nest;
        let outer_axes = self.levels.iter().map(|level| level.axes.len()).sum();
        let mut level = Level { outer_axes, ..Level::default() };
        for &index in indices {
            let (lo, hi) = self.range_of(index, loc)?;
            let name = self.axis_name(index, &level);
            level.axis(index, &name, lo, hi, AxisKind::Reduce);
        }
        self.levels.push(level);
        let made = self.node(body).and_then(|item| {
            let (reduction, dtype) = self.reduction(reducer, &Summand::One(item), None, loc, nest.strict)?;
            let item = self.cast(item, dtype, loc)?;
            Ok((reduction, dtype, self.strong(item, loc)?.0))
        });
        let level = self.levels.pop();
        let (reduction, dtype, value) = made?;
        let Some(mut level) = level else { return refuse("no expression", loc, "") };
        level.body.yields = vec![value];
        let out = Out { dtype, dims: Vec::new(), index: Vec::new(), fill: None, write: Write::Unique };
        let expr = rewright::ArrayExpr {
            axes: level.axes,
            guard: Vec::new(),
            operands: level.operands,
            body: level.body,
            reductions: vec![reduction],
            finish: None,
            outs: vec![out],
            locs: Vec::new(),
        };
        let around = self.level();
        let body = if around.is_finish { around.finish.get_or_insert_default() } else { &mut around.body };
        let results = body.push(BodyOp::Nested(Box::new(expr)), level.captures, [dtype], loc);
        Ok(Item::Known(results[0], dtype))
    }

    /// The bounds of an index: its first value, and one more than its last.
    pub(super) fn range_of(&self, index: usize, loc: Loc) -> Made<(SymExpr, SymExpr)> {
        let range = &self.ranges.indices[index];
        Ok((range.lo.clone(), crate::known::plus(&range.hi, 1).map_err(|e| at(e, loc))?))
    }

    /// A name for the axis of an index that no axis has.
    pub(super) fn axis_name(&self, index: usize, level: &Level) -> String {
        let name = &self.nest.indices[index].name;
        let is_taken = |text: &str| {
            let name = rewright::Name::new(text);
            self.levels.iter().chain([level]).any(|level| level.axes.iter().any(|axis| axis.name == name))
        };
        let mut text = name.clone();
        let mut n = 0;
        while is_taken(&text) {
            n += 1;
            text = format!("{name}{n}");
        }
        text
    }
}
