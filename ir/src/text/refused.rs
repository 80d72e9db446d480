//! The reason why an instruction of a text can't be created.

use crate::diag::Diagnostic;

/// An instruction that can't be created: because of an error here, or of one reported before.
pub(super) enum Refused {
    Now(Box<Diagnostic>),
    Before,
}
impl From<Diagnostic> for Refused {
    fn from(error: Diagnostic) -> Self {
        Refused::Now(Box::new(error))
    }
}
