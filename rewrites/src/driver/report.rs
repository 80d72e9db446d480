//! The report of a run: statistics and remarks.

use crate::egraph::SaturationStats;
use crate::error::RewriteError;
use crate::observer::Remark;
use std::time::Duration;

/// Statistics of one rewrite of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteStats {
    /// The rewrite.
    pub rewrite: &'static str,
    /// The number of tests whether it matches.
    pub asked: u64,
    /// The number of applications, without those that were undone.
    pub applied: u64,
    /// The time of the rewrite and of checking its results; zero unless the options ask for times.
    pub time: Duration,
}

/// The report of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One entry for each rewrite of the pipeline, in the order of first occurrence.
    pub stats: Vec<RewriteStats>,
    /// Remarks of rewrites, in order. For each function, reasons for not rewriting come last, if they still
    /// hold at the end.
    pub remarks: Vec<Remark>,
    /// Statistics of equality saturation.
    pub saturation: SaturationStats,
    /// The failures, if the options say to keep going.
    pub failures: Vec<RewriteError>,
}

impl Report {
    /// The number of applications of all rewrites.
    pub fn applications(&self) -> u64 {
        self.stats.iter().map(|s| s.applied).sum()
    }
    /// The number of applications of a rewrite; 0 if it is not in the pipeline.
    pub fn applied(&self, rewrite: &str) -> u64 {
        self.stats.iter().find(|s| s.rewrite == rewrite).map_or(0, |s| s.applied)
    }
}
