//! Links of pages lead to files and headings that exist.

use regex::Regex;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn links_lead_to_files_and_headings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let link = Regex::new(r"\]\(([^)\s]+)\)").expect("a regular expression");
    let mut broken = Vec::new();
    for page in pages(root) {
        let text = fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
        let folder = page.parent().expect("a page lies in a folder");
        for found in prose(&text).into_iter().flat_map(|line| link.captures_iter(line)) {
            let target = &found[1];
            if target.contains("://") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { page.clone() } else { folder.join(file) };
            let has_heading = heading.is_empty() || headings(&file).iter().any(|name| name == heading);
            if !file.exists() || !has_heading {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{} links:\n{}", broken.len(), broken.join("\n"));
}

/// The pages in the root of the repository and in `docs`.
fn pages(root: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for folder in [root.to_path_buf(), root.join("docs")] {
        let entries = fs::read_dir(folder).expect("a folder").filter_map(|entry| Some(entry.ok()?.path()));
        pages.extend(entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    assert!(pages.len() > 15, "only {} pages", pages.len());
    pages
}

/// The lines outside of code blocks.
fn prose(text: &str) -> Vec<&str> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        if !in_code && !is_fence {
            lines.push(line);
        }
    }
    lines
}

/// The names of a page's headings in links: lower case, without punctuation, with hyphens for blanks.
fn headings(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap_or_default();
    let titles = prose(&text).into_iter().filter(|line| line.starts_with('#'));
    titles.map(|title| heading_name(title.trim_start_matches('#').trim())).collect()
}

fn heading_name(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}
