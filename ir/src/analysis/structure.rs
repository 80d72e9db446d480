//! Structural hashes of functions, independent of keys and names.

use crate::attr::{Attr, Attrs};
use crate::function::{Block, Function, Value, ValueDef};
use slotmap::SecondaryMap;
use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A hash of a function's structure: blocks, instructions and types in layout order, and values by their
/// definitions. It ignores value and block names, source locations and keys. The same on all machines of the
/// same word size.
pub fn structural_hash(func: &Function) -> u64 {
    let mut h = DefaultHasher::new();
    let mut number: SecondaryMap<Value, u32> = SecondaryMap::new();
    let mut place: SecondaryMap<Block, u32> = SecondaryMap::new();
    let mut next = 0;
    let mut define = |values: &[Value], number: &mut SecondaryMap<Value, u32>| {
        for &v in values {
            number.insert(v, next);
            next += 1;
        }
    };
    for (i, block) in func.blocks().enumerate() {
        place.insert(block, i as u32);
        define(func.block_params(block), &mut number);
        for inst in func.insts(block) {
            define(&func.inst(inst).results, &mut number);
        }
    }
    let hash_value = |v: Value, h: &mut DefaultHasher| match func.def(v) {
        ValueDef::Const(scalar) => (0u8, scalar).hash(h),
        _ => (1u8, number.get(v)).hash(h),
    };
    func.results.hash(&mut h);
    for block in func.blocks() {
        let params = func.block_params(block);
        params.len().hash(&mut h);
        params.iter().for_each(|&p| func.ty(p).hash(&mut h));
        for inst in func.insts(block) {
            let data = func.inst(inst);
            data.op.hash(&mut h);
            hash_attrs(&data.attrs, &mut h);
            (data.args.len(), data.results.len(), data.targets.len()).hash(&mut h);
            data.uses().for_each(|v| hash_value(v, &mut h));
            data.targets.iter().for_each(|t| (place.get(t.block), t.args.len()).hash(&mut h));
            data.results.iter().for_each(|&r| func.ty(r).hash(&mut h));
        }
        u32::MAX.hash(&mut h);
    }
    h.finish()
}

/// Hashes attributes. Equal attributes have equal hashes.
pub fn hash_attrs(attrs: &Attrs, h: &mut impl Hasher) {
    for (name, attr) in attrs.iter() {
        name.hash(h);
        hash_attr(attr, h);
    }
}

fn hash_attr(attr: &Attr, h: &mut impl Hasher) {
    match attr {
        Attr::Bool(x) => x.hash(h),
        Attr::Int(x) => x.hash(h),
        Attr::Str(x) => x.hash(h),
        Attr::Ints(x) => x.hash(h),
        Attr::Dims(x) => x.hash(h),
        Attr::Slices(x) => x.hash(h),
        Attr::DType(x) => x.hash(h),
        Attr::Scalar(x) => x.hash(h),
        Attr::Func(x) => x.hash(h),
        Attr::Array(x) => {
            (x.dtype(), x.shape()).hash(h);
            x.iter().for_each(|element| element.hash(h));
        }
        // A body is a tree of many types; its `Debug` form has the same parts as its equality.
        Attr::Expr(x) => {
            let mut text = HashText(h);
            // Writing to a hasher can't fail.
            let _ = write!(text, "{:?}", (&x.axes, &x.guard, &x.operands, &x.body, &x.finish, &x.outs));
        }
    }
}

/// Hashes the text written to it.
struct HashText<'a, H: Hasher>(&'a mut H);

impl<H: Hasher> Write for HashText<'_, H> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.0.write(s.as_bytes());
        Ok(())
    }
}
