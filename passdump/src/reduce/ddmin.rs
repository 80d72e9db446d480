//! Delta debugging: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input" (2002).

/// The maximal number of parts for which each part is tried alone.
const FEW: usize = 16;

/// Delta debugging, algorithm `ddmin`: returns a subsequence of the items that passes the test and from
/// which no single item can be removed. The test must pass for all items. It tries the complement of each
/// part in turn, and continues from a smaller one at once. So even thousands of items that can only be
/// removed one by one take a few tests each.
pub fn ddmin<T: Clone, E>(mut items: Vec<T>, mut test: impl FnMut(&[T]) -> Result<bool, E>) -> Result<Vec<T>, E> {
    if items.is_empty() || test(&[])? {
        return Ok(Vec::new());
    }
    let mut size = items.len().div_ceil(2);
    while items.len() > 1 {
        if let Some(part) = alone(&items, size, &mut test)? {
            items = part;
            size = items.len().div_ceil(2);
            continue;
        }
        let before = items.len();
        let mut at = 0;
        while at < items.len() && items.len() > 1 {
            let until = (at + size).min(items.len());
            let rest = [&items[..at], &items[until..]].concat();
            if !rest.is_empty() && test(&rest)? {
                items = rest;
            } else {
                at = until;
            }
        }
        if size == 1 && items.len() == before {
            break;
        }
        size = size.div_ceil(2).min(items.len().div_ceil(2)).max(1);
    }
    Ok(items)
}

/// A part that passes the test alone.
fn alone<T: Clone, E>(
    items: &[T],
    size: usize,
    test: &mut impl FnMut(&[T]) -> Result<bool, E>,
) -> Result<Option<Vec<T>>, E> {
    if size >= items.len() || items.len().div_ceil(size) > FEW {
        return Ok(None);
    }
    for part in items.chunks(size) {
        if test(part)? {
            return Ok(Some(part.to_vec()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::ddmin;

    #[test]
    fn the_needed_parts_are_found() {
        for needed in [&[][..], &[0], &[17], &[3, 4], &[0, 50, 99], &[1, 2, 3, 97, 98]] {
            let mut runs = 0;
            let found = ddmin((0..100).collect(), |part: &[i32]| {
                runs += 1;
                Ok::<bool, ()>(needed.iter().all(|n| part.contains(n)))
            });
            assert_eq!(found.as_deref(), Ok(needed));
            assert!(runs <= 50 + 20 * needed.len(), "{runs} runs for {needed:?}");
        }
    }

    #[test]
    fn no_item_can_be_left_out() {
        // Any three items pass the test.
        let found = ddmin((0..10).collect(), |part: &[i32]| Ok::<bool, ()>(part.len() >= 3));
        assert_eq!(found.map(|f| f.len()), Ok(3));
        assert_eq!(ddmin(vec![1], |_| Err::<bool, &str>("no")), Err("no"));
    }
}
