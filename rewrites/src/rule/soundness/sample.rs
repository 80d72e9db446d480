//! Samples of lists that are too long to be tried in full.

/// An evenly spaced sample of a list, of at most `most` elements.
pub(super) fn thinned<T>(list: Vec<T>, most: usize) -> Vec<T> {
    let count = list.len();
    if count <= most {
        return list;
    }
    list.into_iter()
        .enumerate()
        .filter(|(at, _)| at * most / count != (at + 1) * most / count)
        .map(|(_, x)| x)
        .collect()
}
