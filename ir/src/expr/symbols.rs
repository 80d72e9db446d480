//! Substitution: replaces the symbols of an expression by other dims.

use super::{Affine, ArrayExpr, Body, BodyOp, Combine, IndexExpr, SymExpr};
use crate::name::Name;
use crate::types::Dim;

impl ArrayExpr {
    /// The expression with other dims for its symbols, for a function with other names, or with known
    /// extents. `None` if a symbol has no dim or becomes `?`, and on overflow.
    pub fn with_symbols(&self, dim: &dyn Fn(Name) -> Option<Dim>) -> Option<ArrayExpr> {
        let mut expr = self.clone();
        expr.bind(dim)?;
        Some(expr)
    }

    fn bind(&mut self, dim: &dyn Fn(Name) -> Option<Dim>) -> Option<()> {
        for axis in &mut self.axes {
            axis.lo = axis.lo.with_symbols(dim)?;
            axis.hi = match axis.hi.take() {
                Some(hi) => Some(hi.with_symbols(dim)?),
                None => None,
            };
        }
        self.guard.iter_mut().try_for_each(|condition| bind_affine(&mut condition.form, dim))?;
        let positions = self.operands.iter_mut().flat_map(|operand| &mut operand.index).map(|index| &mut index.expr);
        positions.chain(self.outs.iter_mut().flat_map(|out| &mut out.index)).try_for_each(|p| bind_index(p, dim))?;
        for extent in self.outs.iter_mut().flat_map(|out| &mut out.dims) {
            if let Dim::Sym(name) = *extent {
                *extent = dim(name).filter(|d| *d != Dim::Any)?;
            }
        }
        for reduction in &mut self.reductions {
            if let Combine::Region(body) = &mut reduction.combine {
                bind_body(body, dim)?;
            }
        }
        bind_body(&mut self.body, dim)?;
        self.finish.as_mut().map_or(Some(()), |body| bind_body(body, dim))
    }
}

impl SymExpr {
    /// The form with other dims for its symbols.
    fn with_symbols(&self, dim: &dyn Fn(Name) -> Option<Dim>) -> Option<SymExpr> {
        self.terms().iter().try_fold(SymExpr::constant(self.constant), |mut form, &(name, coefficient)| {
            match dim(name)? {
                Dim::Any => None,
                Dim::Sym(other) => form.add_term(other, coefficient),
                Dim::Const(extent) => {
                    let extent = i64::try_from(extent).ok()?;
                    form.constant = form.constant.checked_add(coefficient.checked_mul(extent)?)?;
                    Some(form)
                }
            }
        })
    }
}

fn bind_affine(form: &mut Affine, dim: &dyn Fn(Name) -> Option<Dim>) -> Option<()> {
    form.offset = form.offset.with_symbols(dim)?;
    Some(())
}

fn bind_index(position: &mut IndexExpr, dim: &dyn Fn(Name) -> Option<Dim>) -> Option<()> {
    match position {
        IndexExpr::Affine(form) | IndexExpr::FloorDiv(form, _) | IndexExpr::Mod(form, _) => bind_affine(form, dim),
        IndexExpr::Gather { index, offset, .. } => {
            bind_affine(offset, dim)?;
            index.iter_mut().try_for_each(|inner| bind_index(inner, dim))
        }
    }
}

fn bind_body(body: &mut Body, dim: &dyn Fn(Name) -> Option<Dim>) -> Option<()> {
    body.insts.iter_mut().try_for_each(|inst| match &mut inst.op {
        BodyOp::Nested(expr) => expr.bind(dim),
        BodyOp::Op(..) => Some(()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_function;

    fn expr(rows: &str, columns: &str, last: &str) -> ArrayExpr {
        let text = format!(
            "func @f(%a: f64[n, m], %b: f64[m], %p: i64[n], %r: f64[r]) -> f64[{rows}] {{
entry:
  %0 = arrayexpr [i: {rows}, k: reduce 1..{columns}] where k <= i + {columns} (x = %a[i, clamp(k - {columns})], \
             y = %b[gather(%p[i])], z = %b[wrap((k + {columns}) // 2)]) {{
    t0 = arrayexpr [l: reduce {columns}] (w = %b[clamp(l)], c = x) {{
      t0 = mul w, c
      yield t0
    }} reduce (sum f64) : f64
    t1 = mul t0, y
    t2 = add t1, z
    yield t2
  }} reduce (sum f64) into ([i + {last}] fill 0.0) : f64[{rows}]
  ret %0
}}
"
        );
        let func = parse_function(&text).unwrap_or_else(|e| panic!("{e}"));
        let inst = func.blocks().flat_map(|b| func.insts(b)).find_map(|i| func.inst(i).attrs.expr().cloned());
        ArrayExpr { locs: Vec::new(), ..inst.map(|e| (*e).clone()).unwrap_or_else(|| panic!("an expression")) }
    }

    #[test]
    fn symbols_become_others_or_constants_everywhere() {
        let dims = |n: Dim, m: Dim| move |name: Name| Some(if name == Name::new("n") { n } else { m });
        let shown = |e: Option<ArrayExpr>| format!("{e:?}").replace(char::is_whitespace, "");
        let given = expr("n", "m", "0");
        let renamed = given.with_symbols(&dims(Dim::Sym("r".into()), Dim::Sym("n".into())));
        assert_eq!(shown(renamed), shown(Some(expr("r", "n", "0"))));
        let known = given.with_symbols(&dims(Dim::Const(4), Dim::Sym("m".into())));
        assert_eq!(shown(known), shown(Some(expr("4", "m", "0"))));
        assert_eq!(given.with_symbols(&dims(Dim::Any, Dim::Const(3))), None);
        assert_eq!(given.with_symbols(&|_| None), None);
        assert_eq!(given.with_symbols(&dims(Dim::Const(u64::MAX), Dim::Const(3))), None);
    }
}
