//! Remedies for errors of RON's syntax.

use crate::registry::Registry;
use ron::Error;

/// The remedy for an error of the RON parser. `form` describes the form of the file.
pub fn remedy(error: &Error, form: &str) -> String {
    match error {
        Error::ExpectedComma => "commas separate fields and items: put one before this place".to_string(),
        Error::ExpectedMapColon => "a field is written as `name: value`".to_string(),
        Error::NoSuchStructField { expected, found, .. } => match Registry::suggest(found, expected.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => form.to_string(),
        },
        Error::ExpectedNamedStructLike(name) | Error::ExpectedDifferentStructName { expected: name, .. } => {
            format!("write `{name}(...)`: {form}")
        }
        _ => form.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Page {
        about: String,
    }

    #[test]
    fn errors_of_syntax_have_a_remedy() {
        assert_eq!(ron::from_str::<Page>("Page(about: \"a\")").unwrap().about, "a");
        let of = |text: &str| remedy(&ron::from_str::<Page>(text).unwrap_err().code, "the form");
        assert_eq!(of("Page(abot: \"\")"), "did you mean `about`?");
        assert_eq!(of("Page(zzz: \"\")"), "the form");
        assert_eq!(of("Page(about \"\")"), "a field is written as `name: value`");
        assert!(of("Page(about: \"\" about: \"\")").contains("put one before this place"));
        assert_eq!(of("Pag()"), "write `Page(...)`: the form");
    }
}
