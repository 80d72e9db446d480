//! `einsum` strings of NumPy, as a second front end: `"bij,bjk->bik"` is a statement of index notation.
//!
//! Labels are single letters. `...` stands for the dims without labels, which are aligned at the last one.
//! Without `->`, the result has the labels that occur once, in alphabetical order, behind those of `...`.

use crate::call::{Error, eval};
use rewright::exec::Arg;
use rewright::{Datum, Diagnostic, Diagnostics, Loc};

/// The statement of a string for operands of these ranks: `C[i, k] := A0[i, j] * A1[j, k]`.
///
/// ```
/// let statement = rewright_index::einsum_statement("ij,jk->ik", &[2, 2])?;
/// assert_eq!(statement, "R[i, k] := A0[i, j] * A1[j, k]");
/// assert_eq!(rewright_index::einsum_statement("...i,i", &[3, 1])?, "R[_0′, _1′] := A0[_0′, _1′, i] * A1[i]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// A wrong string, with its place.
pub fn einsum_statement(text: &str, ranks: &[usize]) -> Result<String, Diagnostics> {
    let wrong = |message: String, part: &str, help: &str| {
        let start = part.as_ptr() as usize - text.as_ptr() as usize;
        let col = text.get(..start).map_or(0, |before| before.chars().count()) as u32 + 1;
        let loc = Loc { line: 1, col, start: start as u32, len: part.len() as u32, op: None };
        let mut errors = Diagnostics::new("einsum", text);
        let error = Diagnostic::new(message).at(loc);
        errors.push(if help.is_empty() { error } else { error.help(help) });
        errors
    };
    let (inputs, output) = match text.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output)),
        None => (text, None),
    };
    let operands: Vec<&str> = inputs.split(',').collect();
    if operands.len() != ranks.len() {
        let message = format!("the string has {} operands, and {} are given", operands.len(), ranks.len());
        return Err(wrong(message, inputs, "separate the labels of operands by `,`"));
    }
    let mut labels: Vec<Vec<String>> = Vec::new();
    let mut widest = 0;
    for (part, &rank) in operands.iter().zip(ranks) {
        let own = terms(part).map_err(|(bad, why)| wrong(why, bad, ""))?;
        let named = own.iter().filter(|term| term.is_some()).count();
        let has_rest = own.len() > named;
        if named > rank || (named < rank && !has_rest) {
            let help = if has_rest { "" } else { "write `...` for dims without labels" };
            return Err(wrong(format!("this operand has {rank} dims and {named} labels"), part, help));
        }
        widest = widest.max(if has_rest { rank - named } else { 0 });
        let expanded = own.into_iter().flat_map(|term| match term {
            Some(label) => vec![label],
            // Named below.
            None => vec![String::new(); rank - named],
        });
        labels.push(expanded.collect());
    }
    // Dims of `...` are counted from the last one.
    for own in &mut labels {
        let count = own.iter().filter(|label| label.is_empty()).count();
        own.iter_mut().filter(|label| label.is_empty()).enumerate().for_each(|(n, label)| {
            *label = rest(widest - count + n);
        });
    }
    let all: Vec<&String> = labels.iter().flatten().collect();
    let result: Vec<String> = match output {
        Some(output) => {
            let mut found: Vec<String> = Vec::new();
            for term in terms(output).map_err(|(bad, why)| wrong(why, bad, ""))? {
                match term {
                    None => found.extend((0..widest).map(rest)),
                    Some(label) if found.contains(&label) => {
                        return Err(wrong(format!("label `{label}` is twice in the result"), output, "write it once"));
                    }
                    Some(label) if !all.contains(&&label) => {
                        return Err(wrong(format!("label `{label}` is in no operand"), output, ""));
                    }
                    Some(label) => found.push(label),
                }
            }
            if widest > 0 && !output.contains("...") {
                return Err(wrong(
                    "the result has no `...`, and operands have".into(),
                    output,
                    "NumPy sums no dims without labels: write `...`",
                ));
            }
            found
        }
        None => {
            let mut once: Vec<String> = all
                .iter()
                .filter(|label| all.iter().filter(|other| other == label).count() == 1 && label.chars().count() == 1)
                .map(|label| (*label).clone())
                .collect();
            once.sort();
            (0..widest).map(rest).chain(once).collect()
        }
    };
    let read = |(n, own): (usize, &Vec<String>)| match own.is_empty() {
        true => format!("A{n}[]"),
        false => format!("A{n}[{}]", own.join(", ")),
    };
    let factors: Vec<String> = labels.iter().enumerate().map(read).collect();
    Ok(format!("R[{}] := {}", result.join(", "), factors.join(" * ")))
}

/// The index of a dim of `...`.
fn rest(n: usize) -> String {
    format!("_{n}′")
}

/// The labels of an operand; `None` for `...`. Else the part that is wrong, and why.
fn terms(part: &str) -> Result<Vec<Option<String>>, (&str, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = part[at..].chars().next() {
        let len = c.len_utf8();
        if part[at..].starts_with("...") {
            if found.contains(&None) {
                return Err((&part[at..at + 3], "`...` is twice in an operand".into()));
            }
            found.push(None);
            at += 3;
            continue;
        }
        match c {
            ' ' => {}
            c if c.is_alphabetic() => found.push(Some(c.to_string())),
            _ => return Err((&part[at..at + len], format!("`{c}` is no label: labels are letters"))),
        }
        at += len;
    }
    Ok(found)
}

/// `numpy.einsum`: `einsum("bij,bjk->bik", &[(&a).into(), (&b).into()])`.
///
/// ```
/// use rewright::ndarray::array;
/// let a = array![[1.0, 2.0], [3.0, 4.0]];
/// let trace = rewright_index::einsum("ii", &[(&a).into()])?;
/// assert_eq!(trace.to_string(), "5.0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Extents must be equal: a dim of extent 1 is not stretched.
///
/// # Errors
///
/// A wrong string, and dims that differ.
pub fn einsum(text: &str, operands: &[Arg<'_>]) -> Result<Datum, Error> {
    let rank = |arg: &Arg<'_>| match arg {
        Arg::Scalar(_) => 0,
        Arg::Array(array) => array.rank(),
        Arg::View(view) => view.shape().len(),
        Arg::Styled(styled) => styled.shape().len(),
    };
    let ranks: Vec<usize> = operands.iter().map(rank).collect();
    let mut statement = einsum_statement(text, &ranks)?;
    let names: Vec<String> = (0..operands.len()).map(|n| format!("A{n}")).collect();
    let args: Vec<(&str, Arg<'_>)> = names.iter().map(String::as_str).zip(operands.iter().cloned()).collect();
    // A number is no array of rank 0.
    for (name, _) in args.iter().filter(|(_, arg)| matches!(arg, Arg::Scalar(_))) {
        statement = statement.replace(&format!("{name}[]"), &format!("${name}"));
    }
    let results = eval(&statement, &args)?;
    match results.into_iter().next() {
        Some((_, Datum::Array(array))) if array.rank() == 0 => {
            Ok(array.get(&[]).map_or(Datum::Array(array), Datum::Scalar))
        }
        Some((_, result)) => Ok(result),
        None => Err(Error::Statement(Diagnostics::new("einsum", text))),
    }
}
