//! From the RON tree to the function. It goes through the parser's syntax tree, so that names, literals and
//! types have the same semantics.

use super::data::{BlockData, FunctionData, InstData};
use crate::builder::find_op;
use crate::diag::{Diagnostic, Diagnostics};
use crate::loc::Loc;
use crate::module::Module;
use crate::name::Name;
use crate::text::ast::{PArg, PDef, PFunction, PInst, POperand, PParam, PTarget};
use crate::text::{Parser, resolve_module, verify_resolved};
use smallvec::SmallVec;

/// Creates and verifies the functions. `errors` is empty on entry.
pub(super) fn read_module(functions: &[FunctionData], mut errors: Diagnostics) -> Result<Module, Diagnostics> {
    for clash in crate::registry().errors() {
        errors.push(Diagnostic::new(clash.to_string()));
    }
    let mut read: Vec<_> = functions.iter().map(|f| function(f, &mut errors)).collect();
    let (module, _) = resolve_module(&mut read, &mut errors);
    verify_resolved(&read, &module, &mut errors);
    if errors.is_empty() { Ok(module) } else { Err(errors) }
}

fn function<'a>(data: &'a FunctionData, errors: &mut Diagnostics) -> PFunction<'a> {
    let mut f = PFunction::new(Name::new(&data.name), Loc::default());
    f.results = Some(data.results.clone());
    f.untyped = data.untyped;
    let before = errors.count();
    if data.results.iter().any(|ty| !ty.is_known()) {
        errors.push(Diagnostic::new(format!("`@{}` has a result without a type", data.name)));
    }
    for block in &data.blocks {
        let mut reader = BlockReader { place: format!("`@{}`, block `{}`", data.name, block.name), errors };
        reader.block(block, &mut f);
    }
    f.failed = errors.count() > before;
    f
}

/// Reads one block; error messages name it.
struct BlockReader<'e> {
    place: String,
    errors: &'e mut Diagnostics,
}

impl BlockReader<'_> {
    fn error(&mut self, message: impl std::fmt::Display) {
        self.errors.push(Diagnostic::new(format!("{}: {message}", self.place)));
    }

    fn block<'a>(&mut self, data: &'a BlockData, f: &mut PFunction<'a>) {
        let id = f.block(&data.name, Loc::default());
        if std::mem::replace(&mut f.blocks[id as usize].defined, true) {
            return self.error("there is another block of this name");
        }
        let is_entry = f.order.is_empty();
        f.order.push(id);
        let mut params = Vec::with_capacity(data.params.len());
        for (name, ty) in &data.params {
            let open = !ty.is_known() && (is_entry || !f.untyped);
            if open {
                self.error(format_args!(
                    "parameter `{name}` has no type; only blocks of untyped functions may leave it open"
                ));
            }
            if let Some(value) = self.define(name, PDef::Param, f) {
                // A parameter without a type can't be used; that is not an additional error.
                params.push(PParam { value, ty: (!open).then(|| ty.clone()) });
            }
        }
        *(if is_entry { &mut f.params } else { &mut f.blocks[id as usize].params }) = params;
        let first = f.insts.len();
        let place = self.place.clone();
        for (number, inst) in data.insts.iter().enumerate() {
            self.place = format!("{place}, instruction {number} (`{}`)", inst.op);
            self.inst(inst, f);
        }
        f.blocks[id as usize].insts = first..f.insts.len();
    }

    /// Defines a value: `%x`.
    fn define<'a>(&mut self, name: &'a str, def: PDef, f: &mut PFunction<'a>) -> Option<u32> {
        let found = self.part(name, |p| {
            let token = p.expect_value()?;
            p.value_id(f, token)
        })?;
        if f.define(found, def, Loc::default()).is_err() {
            self.error(format_args!("value `{name}` is defined twice"));
        }
        Some(found)
    }

    /// Parses a whole string by a rule of the text parser.
    fn part<'a, T>(
        &mut self,
        text: &'a str,
        read: impl FnOnce(&mut Parser<'a>) -> Result<T, crate::text::Failed>,
    ) -> Option<T> {
        match crate::text::whole(text, read) {
            Ok(found) => Some(found),
            Err(message) => {
                self.error(message);
                None
            }
        }
    }

    fn inst<'a>(&mut self, data: &'a InstData, f: &mut PFunction<'a>) {
        let before = self.errors.count();
        let op = find_op(&data.op).map_err(|e| {
            let help = e.help.map(|h| format!(" ({h})")).unwrap_or_default();
            self.error(format_args!("{}{help}", e.message));
        });
        let args = self.args(&data.args, f);
        let mut targets = Vec::with_capacity(data.targets.len());
        for target in &data.targets {
            let block = f.block(&target.block, Loc::default());
            targets.push(PTarget { block, args: self.args(&target.args, f).into(), loc: Loc::default() });
        }
        // Defines the results of invalid instructions as well, so that their uses are no errors.
        let op = op.ok().filter(|_| self.errors.count() == before);
        let def = if op.is_some() { PDef::Result(f.insts.len() as u32) } else { PDef::Poison };
        let results: SmallVec<[u32; 1]> = data.results.iter().filter_map(|r| self.define(r, def, f)).collect();
        let Some(op) = op else { return };
        f.insts.push(PInst {
            op,
            results,
            args: args.into(),
            attrs: data.attrs.clone(),
            targets,
            expr: None,
            types: (!data.types.is_empty()).then(|| data.types.clone()),
            op_loc: Loc::default(),
            loc: Loc::default(),
            place: Some(self.place.as_str().into()),
        });
    }

    fn args<'a>(&mut self, list: &'a [String], f: &mut PFunction<'a>) -> Vec<PArg> {
        let mut args = Vec::with_capacity(list.len());
        for text in list {
            let Some(arg) = self.part(text, |p| p.operand(f)) else { continue };
            // Locations inside these strings are no locations of the whole text.
            if let POperand::Value(id) = arg.operand {
                f.values[id as usize].loc = Loc::default();
            }
            args.push(PArg { loc: Loc::default(), ..arg });
        }
        args
    }
}
