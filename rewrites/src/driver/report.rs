//! What a run did, in numbers and remarks.

use crate::egraph::SaturationStats;
use crate::error::RewriteError;
use crate::observer::Remark;
use std::time::Duration;

/// What one rewrite of a pipeline did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteStats {
    /// The rewrite.
    pub rewrite: &'static str,
    /// How often it was asked whether it matches.
    pub asked: u64,
    /// How often it changed a function, without what was undone since.
    pub applied: u64,
    /// The time in it and in checking what it did; zero unless the options ask for times.
    pub time: Duration,
}

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One for each rewrite of the pipeline, in the order in which it first stands there.
    pub stats: Vec<RewriteStats>,
    /// What rewrites said, in order. What was not done, and why, comes last for each function, as far as it still holds at the end.
    pub remarks: Vec<Remark>,
    /// What equality saturation did.
    pub saturation: SaturationStats,
    /// What failed, where the options say to keep going.
    pub failures: Vec<RewriteError>,
}

impl Report {
    /// How often any rewrite changed a function.
    pub fn applications(&self) -> u64 {
        self.stats.iter().map(|s| s.applied).sum()
    }
    /// How often a rewrite changed a function; 0 if it is not in the pipeline.
    pub fn applied(&self, rewrite: &str) -> u64 {
        self.stats.iter().find(|s| s.rewrite == rewrite).map_or(0, |s| s.applied)
    }
}
