//! Advice for errors of RON's syntax.

use rewright::Registry;

/// The advice for a message of the RON parser; `page` says where the form of the file is described.
pub fn remedy(message: &str, page: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if message.starts_with("Expected comma") {
        return "commas separate fields and items: put one before this place".to_string();
    }
    if message.starts_with("Expected colon") {
        return "a field is written as `name: value`".to_string();
    }
    if let ["Unexpected field named", ..] = message.split('`').map(str::trim).collect::<Vec<_>>()[..]
        && let [field, _, known @ ..] = &quoted[..]
        && let Some(near) = Registry::suggest(field, known.iter().copied())
    {
        return format!("did you mean `{near}`?");
    }
    if message.starts_with("Expected struct")
        && let [wanted, ..] = quoted[..]
    {
        return format!("write `{wanted}(...)`: {page}");
    }
    page.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_suggestions() {
        let message = "Unexpected field named `abot` in `Fixture`, expected one of `about`, or `runs` instead";
        assert_eq!(remedy(message, ""), "did you mean `about`?");
        assert_eq!(remedy(&message.replace("abot", "zzz"), "the page"), "the page");
        assert!(remedy("Expected comma", "").contains("put one before"));
        assert_eq!(remedy("Expected struct `Fixture` but found `A`", "p"), "write `Fixture(...)`: p");
    }
}
