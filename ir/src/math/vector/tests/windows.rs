//! Search for the greatest errors by successive refinement: a coarse pass over the range, then smaller
//! windows where errors are greatest. Errors peak next to points at which the algorithm changes; random
//! numbers of the whole range seldom fall there.

use fastrand::Rng;

/// The number of windows in each power of 2, and of parts into which a window is split.
const WINDOWS: i32 = 64;
const PARTS: usize = 16;
/// The number of windows that are refined, and the number of refinements.
const KEPT: usize = 16;
const LEVELS: usize = 3;

/// The numbers from the first to the second.
type Window = (f64, f64);

/// The argument with the greatest error found, and that error. Searches magnitudes from 2^-40 to 2^11 of
/// both signs within a range; the first pass tries `tried` numbers in each window.
pub fn worst(range: Window, tried: usize, error: impl Fn(f64) -> f64) -> (Option<f64>, f64) {
    let mut rng = Rng::with_seed(12);
    let sizes = (-40 * WINDOWS..11 * WINDOWS).map(|n| {
        let size =
            |n: i32| 2f64.powi(n.div_euclid(WINDOWS)) * (1.0 + f64::from(n.rem_euclid(WINDOWS)) / f64::from(WINDOWS));
        (size(n), size(n + 1))
    });
    let inside = |&(least, most): &Window| range.0 <= least && most <= range.1;
    let mut windows: Vec<Window> = sizes.flat_map(|(a, b)| [(a, b), (-b, -a)]).filter(inside).collect();
    let mut greatest = (None, 0.0);
    for level in 0..=LEVELS {
        let tried = if level == 0 { tried } else { 4 * tried };
        let mut found: Vec<(f64, Window)> = Vec::with_capacity(windows.len());
        for window in windows {
            let arguments = (0..tried).map(|_| window.0 + rng.f64() * (window.1 - window.0));
            let (at, error) = super::worst(arguments, &error);
            if error > greatest.1 || error.is_nan() {
                greatest = (at, error);
            }
            found.push((error, window));
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let parts = |&(_, (a, b)): &(f64, Window)| {
            let part = (b - a) / PARTS as f64;
            (0..PARTS).map(move |n| (a + part * n as f64, a + part * (n + 1) as f64))
        };
        windows = found.iter().take(KEPT).flat_map(parts).collect();
    }
    greatest
}
