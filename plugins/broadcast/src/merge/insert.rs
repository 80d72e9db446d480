//! Inserts a short list of places into a long one; most columns are copied unchanged.

use super::Lists;
use super::along::{Along, Run};
use crate::pattern::reserved;

/// The merged list, and the map from its places to the values of each list.
pub fn insert<'a>(many: &Lists<'_>, few: &Lists<'_>) -> Result<(Lists<'a>, [Along; 2]), String> {
    let mut rows = reserved(many.rows.len() + few.rows.len())?;
    let mut starts = reserved(many.starts.len())?;
    let (mut kept, mut put) = (Vec::new(), Vec::new());
    // The number of places of the long list that are copied.
    let mut done = 0;
    let mut copy = |rows: &mut Vec<i64>, to: usize| {
        if to > done {
            kept.push(Run { place: rows.len(), number: done, len: to - done });
            rows.extend_from_slice(&many.rows[done..to]);
            done = to;
        }
    };
    let mut added = 0;
    let columns = many.starts.len().min(few.starts.len()) - 1;
    let mut column = 0;
    while column < columns {
        let next = few.empty_from(column).min(columns);
        starts.extend(many.starts[column..next].iter().map(|start| start + added));
        if next == columns {
            break;
        }
        starts.push(many.starts[next] + added);
        let [from, end] = [next, next + 1].map(|at| many.starts[at] as usize);
        let [few_from, few_end] = [next, next + 1].map(|at| few.starts[at] as usize);
        for number in few_from..few_end {
            let row = few.rows[number];
            let at = from + many.rows[from..end].partition_point(|&other| other < row);
            copy(&mut rows, at);
            put.push(Run { place: rows.len(), number, len: 1 });
            if many.rows[at..end].first() != Some(&row) {
                rows.push(row);
                added += 1;
            }
        }
        column = next + 1;
    }
    copy(&mut rows, many.rows.len());
    starts.push(rows.len() as i64);
    let places = rows.len();
    let lists = Lists { starts: starts.into(), rows: rows.into() };
    Ok((lists, [kept, put].map(|runs| Along::Runs { runs, places })))
}
