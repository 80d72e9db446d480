//! Rewrites that a user may have meant by an unknown name: those with its words in the name or in the
//! documentation.

use rewright::rewrites::Form;
use rewright::rewrites::{RewriteEntry, RewriteRegistry};

/// The most rewrites that are named.
const MOST: usize = 4;

/// The least number of letters by which a word is found.
const LEAST: usize = 4;

/// The names of the similar rewrites, the most similar first. Rules are left out.
pub fn rewrites(registry: &RewriteRegistry, name: &str) -> Vec<&'static str> {
    let name = name.to_ascii_lowercase();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() >= LEAST);
    // The end of a word is its inflection: `folding` finds `fold`.
    let stems: Vec<&str> = words.map(|word| &word[..LEAST.max(word.len().saturating_sub(3))]).collect();
    let score = |entry: &RewriteEntry| {
        let doc = entry.def.doc.to_ascii_lowercase();
        let of = |stem: &&str| 2 * usize::from(entry.def.name.contains(*stem)) + usize::from(doc.contains(*stem));
        stems.iter().map(of).sum::<usize>()
    };
    let others = registry.iter().filter(|entry| !matches!(entry.def.form, Form::Rule(_)));
    let mut found: Vec<(usize, &'static str)> = others.map(|entry| (score(&entry), entry.def.name)).collect();
    found.retain(|&(score, _)| score > 0);
    found.sort_by_key(|&(score, name)| (usize::MAX - score, name));
    found.into_iter().map(|(_, name)| name).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_names_and_documentation() {
        let registry = rewright::rewrites::rewrites();
        assert_eq!(rewrites(registry, "constant-folding").first(), Some(&"fold"));
        assert_eq!(rewrites(registry, "inlining"), ["inline"]);
        assert!(rewrites(registry, "zzzzzz").is_empty() && rewrites(registry, "a").is_empty());
    }
}
