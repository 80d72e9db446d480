//! A cache of verdicts on rules, in the user's cache folder.
//!
//! Checking a rule can take seconds, and the verdict depends only on the rule and the checker. So the key
//! is the text of the rule, and each build, with its registered ops and conditions, has its own file. A
//! missing or damaged file is no error: the rules are checked again.

use rewright::ir::registry;
use rewright::rewrites::rule::Rule;
use rewright::rewrites::rule::condition_entries;
use rewright::rewrites::rule::soundness::{Judgement, judge};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The number of builds whose files are kept.
const MAX_BUILDS: usize = 8;

/// The environment variable for the folder of all caches of the tool.
const FOLDER: &str = "REWRIGHT_CACHE";

/// Known verdicts.
pub struct Verdicts {
    /// `None` if verdicts are not saved.
    file: Option<PathBuf>,
    known: BTreeMap<String, Judgement>,
    is_changed: bool,
}

impl Verdicts {
    /// Opens the verdicts of this build; empty with `no_cache`, or without a cache folder.
    pub fn open(no_cache: bool) -> Verdicts {
        let file = if no_cache { None } else { folder().and_then(|folder| Some(folder.join(build()?))) };
        let known = file.as_deref().map(read).unwrap_or_default();
        Verdicts { file, known, is_changed: false }
    }

    /// The verdict on a rule; checks the rule if the verdict is unknown.
    pub fn of(&mut self, rule: &Rule) -> Judgement {
        if let Some(known) = self.known(rule) {
            return known.clone();
        }
        let judged = judge(rule);
        self.learn(rule, judged.clone());
        judged
    }

    /// The cached verdict on a rule.
    pub fn known(&self, rule: &Rule) -> Option<&Judgement> {
        self.known.get(&key(rule))
    }

    /// Adds the verdict on a rule.
    pub fn learn(&mut self, rule: &Rule, judged: Judgement) {
        self.known.insert(key(rule), judged);
        self.is_changed = true;
    }

    /// Saves the verdicts, merged with those that other runs saved in the meantime.
    pub fn keep(mut self) {
        let Some(file) = self.file.take().filter(|_| self.is_changed) else { return };
        let mut all = read(&file);
        all.append(&mut self.known);
        // A failed write of the cache is ignored.
        let _ = write(&file, &all);
    }
}

fn key(rule: &Rule) -> String {
    format!("{} liberties [{}]", rule.text, rule.liberties)
}

fn read(file: &Path) -> BTreeMap<String, Judgement> {
    fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Replaces the file atomically, so readers never see a part of it.
fn write(file: &Path, verdicts: &BTreeMap<String, Judgement>) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(&serde_json::to_vec(verdicts)?)?;
    new.persist(file).map_err(|e| e.error)?;
    prune(folder)
}

/// Removes the files of older builds.
fn prune(folder: &Path) -> std::io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(folder)?
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let is_ours = path.extension().is_some_and(|extension| extension == "json");
            is_ours.then(|| Some((path.metadata().ok()?.modified().ok()?, path))).flatten()
        })
        .collect();
    files.sort();
    let old = files.len().saturating_sub(MAX_BUILDS);
    files.into_iter().take(old).try_for_each(|(_, path)| fs::remove_file(path))
}

fn folder() -> Option<PathBuf> {
    let own = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    own.or_else(|| Some(dirs::cache_dir()?.join("rewright"))).map(|folder| folder.join("verdicts"))
}

/// The file name of this build. It depends on the binary and on the registered ops and conditions.
fn build() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let about = program.metadata().ok()?;
    let mut hasher = DefaultHasher::new();
    (program, about.len(), about.modified().ok()?).hash(&mut hasher);
    for (op, origin) in registry().ops() {
        (op.name, origin.to_string()).hash(&mut hasher);
    }
    for entry in condition_entries() {
        (entry.def.name, entry.origin.to_string()).hash(&mut hasher);
    }
    Some(format!("{}-{:016x}.json", env!("CARGO_PKG_VERSION"), hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rewright::rewrites::rule::parse_rule;
    use rewright::rewrites::rule::soundness::Verdict;

    #[test]
    fn verdicts_are_kept_and_damaged_files_are_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("verdicts").join("build.json");
        let of = |known| Verdicts { file: Some(file.clone()), known, is_changed: false };
        let rule = parse_rule("neg-neg", "(neg (neg ?x:i8)) => ?x").expect("a rule");
        let mut first = of(BTreeMap::new());
        assert!(first.known(&rule).is_none());
        first.learn(&rule, judge(&rule));
        assert_eq!(first.known(&rule).map(|known| known.verdict), Some(Verdict::Proved));
        first.keep();
        // Cached verdicts are used: a verdict that is changed in the file is reported.
        let text = fs::read_to_string(&file).expect("it was written");
        fs::write(&file, text.replace("Proved", "Held")).expect("it can be written");
        let second = of(read(&file));
        assert_eq!(second.known(&rule).map(|known| known.verdict), Some(Verdict::Held));
        assert!(!second.is_changed);
        fs::write(&file, &text[..text.len() / 2]).expect("it can be written");
        assert!(of(read(&file)).known(&rule).is_none());
    }

    #[test]
    fn files_of_old_builds_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..MAX_BUILDS + 3 {
            let file = folder.path().join(format!("{number:02}.json"));
            fs::write(&file, "{}").expect("it can be written");
            let then = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 + number as u64);
            fs::File::options().write(true).open(&file).and_then(|f| f.set_modified(then)).expect("it has a time");
        }
        prune(folder.path()).expect("files can be removed");
        assert!(!folder.path().join("02.json").exists() && folder.path().join("03.json").exists());
    }
}
