//! The verifier of one instruction: operands, attributes, result types, targets.

use super::{At, FunctionVerifier};
use crate::builder::infer;
use crate::function::{Inst, Target};
use crate::ops::control;
use crate::types::Type;

impl FunctionVerifier<'_> {
    pub(super) fn check_inst(&mut self, inst: Inst) {
        let data = self.func.inst(inst);
        let missing: Vec<_> = data.uses().filter(|&v| !self.is_defined(v)).collect();
        for value in &missing {
            let label = self.label(*value);
            self.references_exist = false;
            self.error(At::Inst(inst), format!("`{}` uses {label}, which is defined nowhere", data.op), None);
        }
        if missing.is_empty() {
            self.check_types(inst);
            self.check_targets(inst);
        }
        if data.op == control::RET {
            self.check_ret(inst);
        }
    }

    /// Operand count, attributes and result types, by the op's own rule.
    fn check_types(&mut self, inst: Inst) {
        let func = self.func;
        let data = func.inst(inst);
        let declared = || data.results.iter().map(|&v| func.ty(v));
        self.check_styles(declared(), At::Inst(inst));
        let callee = data.attrs.func("callee");
        if callee.is_some() && self.module.is_none() {
            return;
        }
        let signature = callee.and_then(|name| match name == func.name {
            // The module may hold an older version of this function.
            true => Some(func.signature()),
            false => self.module.and_then(|m| m.signature(name)),
        });
        match infer(func, data.op, &data.args, data.attrs.clone(), signature.as_ref()) {
            Err(e) => self.error(At::Inst(inst), e.message, e.help.as_deref()),
            Ok((attrs, types)) => {
                if !declared().eq(types.iter()) {
                    let (have, want) = (list(declared()), list(types.iter()));
                    let count = format!("`{}` has {} results, it gives {}", data.op, data.results.len(), types.len());
                    let message = match data.results.len() == types.len() {
                        true => format!("`{}` gives {want}, its result is declared as {have}", data.op),
                        false => count,
                    };
                    self.error(At::Inst(inst), message, None);
                }
                if attrs != data.attrs {
                    let message = format!("attributes of `{}` are not in the order of its definition", data.op);
                    self.error(At::Inst(inst), message, Some("`Attrs::normalize` brings them into it"));
                }
            }
        }
    }

    fn check_targets(&mut self, inst: Inst) {
        let data = self.func.inst(inst);
        let wanted = match control::target_count(data.op, &data.attrs) {
            None if !data.op.is_terminator() => Some(0),
            other => other,
        };
        if let Some(wanted) = wanted.filter(|&n| n != data.targets.len()) {
            self.error(At::Inst(inst), format!("`{}` has {wanted} targets, got {}", data.op, data.targets.len()), None);
        }
        for target in &data.targets {
            self.check_target(inst, target);
        }
    }

    fn check_target(&mut self, inst: Inst, target: &Target) {
        let func = self.func;
        let data = func.inst(inst);
        if !func.has_block(target.block) {
            self.references_exist = false;
            let label = self.block_label(target.block);
            return self.error(At::Inst(inst), format!("`{}` branches to {label}", data.op), None);
        }
        if func.entry() == Some(target.block) {
            let help = "a loop that begins the function needs a block before it";
            self.error(At::Inst(inst), format!("`{}` branches to the entry block", data.op), Some(help));
        }
        let params = func.block_params(target.block);
        if params.len() != target.args.len() {
            let (label, want, got) = (self.block_label(target.block), params.len(), target.args.len());
            return self.error(At::Inst(inst), format!("{label} takes {want} arguments, got {got}"), None);
        }
        for (i, (&arg, &param)) in target.args.iter().zip(params).enumerate() {
            let (given, wanted) = (func.ty(arg), func.ty(param));
            if !func.untyped && !given.fits(wanted) {
                let label = self.block_label(target.block);
                self.error(At::Inst(inst), format!("argument {i} of {label} is {given}, its parameter {wanted}"), None);
            }
        }
    }

    fn check_ret(&mut self, inst: Inst) {
        let func = self.func;
        let data = func.inst(inst);
        if data.args.len() != func.results.len() {
            let (want, got) = (func.results.len(), data.args.len());
            return self.error(At::Inst(inst), format!("`@{}` has {want} results, `ret` gives {got}", func.name), None);
        }
        for (i, (&arg, wanted)) in data.args.iter().zip(&func.results).enumerate() {
            if func.has_value(arg) && !func.untyped && !func.ty(arg).fits(wanted) {
                let given = func.ty(arg).to_string();
                let message = format!("result {i} of `@{}` is {wanted}, `ret` gives {given}", func.name);
                let help = format!("declare the result as {given} after `->`, or return a value of type {wanted}");
                self.error(At::Inst(inst), message, Some(&help));
            }
        }
    }
}

fn list<'a>(types: impl Iterator<Item = &'a Type>) -> String {
    types.map(Type::to_string).collect::<Vec<_>>().join(", ")
}
