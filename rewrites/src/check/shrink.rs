//! Shrinks an input on which two forms of a function differ, so that it can be read.

use super::checker::{call, comparable};
use super::difference::{Allowed, Difference, differs};
use super::inputs::FreeExtents;
use rewright_ir::{Array, Datum, Function, Module};

/// The most inputs that are tried.
const MAX_TRIES: u32 = 256;

/// Axes, as pairs of argument and axis, that must keep equal extents: those of a symbol, of a `?`, or of
/// several at once.
type Tied = Vec<(usize, usize)>;

/// The same difference on an input of smaller arrays, if one is found.
pub(super) fn smaller(
    mut found: Box<Difference>,
    before: (&Function, &Module),
    after: (&Function, &Module),
    allowed: Allowed,
) -> Box<Difference> {
    let tied = tied(before.0, &found);
    let mut tries = MAX_TRIES;
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for axes in &tied {
            let len = axes.first().map_or(0, |&(arg, axis)| found.input[arg].1.shape()[axis]);
            let parts = [(0, len / 2), (len / 2, len), (0, len.saturating_sub(1)), (1.min(len), len)];
            for (from, to) in parts.into_iter().filter(|(from, to)| to - from < len) {
                if tries == 0 {
                    return found;
                }
                tries -= 1;
                if shrinks(&mut found, axes, (from, to), [before, after], allowed) {
                    changed = true;
                    break;
                }
            }
        }
    }
    found
}

/// Keeps a part of some axes, if the forms differ there too.
fn shrinks(
    found: &mut Difference,
    axes: &[(usize, usize)],
    part: (usize, usize),
    forms: [(&Function, &Module); 2],
    allowed: Allowed,
) -> bool {
    let mut args: Vec<Datum> = found.input.iter().map(|(_, datum)| datum.clone()).collect();
    for &(arg, axis) in axes {
        match taken(&args[arg], axis, part) {
            Some(less) => args[arg] = less,
            None => return false,
        }
    }
    let [(before, _, floats), (after, _, later)] =
        forms.map(|(func, module)| call(func, module, args.clone(), 1 << 20));
    let is_compared = comparable(&before) && !allowed.leaves_out(floats);
    match differs(&before, &after, [floats, later], allowed).filter(|_| is_compared) {
        Some(what) => {
            found.input.iter_mut().zip(args).for_each(|((_, datum), less)| *datum = less);
            (found.what, found.before, found.after) = (what, before, after);
            true
        }
        None => false,
    }
}

/// The elements of an array in a range of an axis.
fn taken(datum: &Datum, axis: usize, (from, to): (usize, usize)) -> Option<Datum> {
    let array = datum.as_array()?;
    let mut shape = array.shape().to_vec();
    *shape.get_mut(axis)? = to - from;
    let element = |mut at: usize| {
        let mut index = vec![0; shape.len()];
        for (i, &extent) in shape.iter().enumerate().rev() {
            index[i] = at % extent;
            at /= extent;
        }
        index[axis] += from;
        array.get(&index)
    };
    let elements: Vec<_> = (0..shape.iter().product()).map(element).collect::<Option<_>>()?;
    Array::from_fn(array.dtype(), &shape, |at| elements[at]).map(Datum::Array)
}

/// The sets of axes that may shrink together: first all of equal extent, then each extent separately.
fn tied(func: &Function, found: &Difference) -> Vec<Tied> {
    let each = FreeExtents::of(func).tied();
    let len = |tied: &Tied| tied.first().and_then(|&(arg, axis)| found.input.get(arg)?.1.shape().get(axis).copied());
    let mut lens: Vec<usize> = each.iter().filter_map(len).collect();
    lens.sort_unstable();
    lens.dedup();
    let together = |&wanted: &usize| each.iter().filter(|t| len(t) == Some(wanted)).flatten().copied().collect();
    let mut all: Vec<Tied> = lens.iter().map(together).collect();
    all.extend(each);
    all
}
