//! Index notation as a source language of tools, which read its programs in place of IR text.

use crate::Statements;
use crate::syntax::Assign;
use rewright::language::{LanguageDef, SourceProgram, Translation};
use rewright::{Datum, Diagnostics, Type};

static INDEX_NOTATION: LanguageDef = LanguageDef {
    name: "index notation",
    extension: "idx",
    is_program: |text| {
        let assigns = Assign::ALL.iter().any(|(assign, sign)| *assign != Assign::Store && text.contains(sign));
        assigns || text.contains(" = ") || (text.contains('[') && text.contains('='))
    },
    read: |name, text| Ok(Box::new(Statements::parse_named(text, name)?)),
};
rewright::register_language!(INDEX_NOTATION);

impl SourceProgram for Statements {
    fn inputs(&self) -> Vec<(String, Type)> {
        self.symbolic_types().into_iter().collect()
    }

    fn translate(&self, values: &[(String, Datum)]) -> Result<Translation, Diagnostics> {
        let lowered = match values.is_empty() {
            true => self.lower(&self.symbolic_types())?,
            false => self.lower_for(&values.iter().cloned().collect())?,
        };
        Ok(Translation {
            module: lowered.module,
            func: lowered.func,
            liberties: lowered.liberties,
            threads: lowered.threads,
            explanation: lowered.explanation,
            warnings: lowered.warnings,
            locate: Box::new(lowered.checked),
        })
    }
}
