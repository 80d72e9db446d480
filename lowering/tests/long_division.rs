//! Quotients and remainders of 64-bit integers, which vectors find by way of floats, against division in 128 bits.

use ndarray::Array1;
use rewright_ir::text::parse_module;
use rewright_ir::{Datum, Element};
use rewright_lowering::exec::{Arg, Backend, Executable, Options};

/// Pairs whose quotients lie at, just below and just above integers, of every size of both.
fn pairs(count: usize) -> Vec<(u64, u64)> {
    let mut random = fastrand::Rng::with_seed(64);
    let mut any = move || random.u64(..) >> random.u32(..64);
    let powers = (0..64).flat_map(|bit| [1u64 << bit, (1u64 << bit) - 1, (1u64 << bit) + 1]);
    let special: Vec<u64> = powers.chain([0, u64::MAX, u64::MAX - 1, 3, 7, 10, 1_000_000_007]).collect();
    let signed = special.iter().flat_map(|&v| [v, v.wrapping_neg()]).collect::<Vec<_>>();
    let mut pairs: Vec<(u64, u64)> = signed.iter().flat_map(|&x| signed.iter().map(move |&y| (x, y))).collect();
    while pairs.len() < count {
        let (x, y) = (any(), any());
        let near = any().wrapping_mul(y);
        let sign = |v: u64, at: u64| if at.is_multiple_of(2) { v } else { v.wrapping_neg() };
        pairs.extend([(x, y), (sign(x, any()), sign(y, any()))]);
        pairs.extend([near, near.wrapping_sub(1), near.wrapping_add(1)].map(|x| (x, y)));
    }
    pairs
}

fn check<T: Element + PartialEq + std::fmt::Debug + Copy>(
    dtype: &str,
    pairs: &[(u64, u64)],
    of: impl Fn(u64) -> T,
    want: impl Fn(T, T) -> [T; 3],
) where
    for<'a> Arg<'a>: From<&'a Array1<T>>,
{
    let text = format!(
        "func @f(%x: {dtype}[n], %y: {dtype}[n]) -> {dtype}[n], {dtype}[n], {dtype}[n] {{
entry:
  %0 = floordiv %x, %y
  %1 = mod %x, %y
  %2 = fmod %x, %y
  ret %0, %1, %2
}}"
    );
    let module = parse_module(&text, "test").unwrap();
    let xs = Array1::from_iter(pairs.iter().map(|&(x, _)| of(x)));
    let ys = Array1::from_iter(pairs.iter().map(|&(_, y)| of(y)));
    for backend in Backend::available().filter(|&backend| backend != Backend::Reference) {
        let f = Executable::compile(&module, "f", Options { backend, ..Options::default() }).unwrap();
        let found = f.call(&[(&xs).into(), (&ys).into()]).unwrap();
        let list = |datum: &Datum| match datum {
            Datum::Array(array) => T::unwrap(array).unwrap().iter().copied().collect::<Vec<T>>(),
            _ => Vec::new(),
        };
        let [quotients, rests, truncated] = [0, 1, 2].map(|n| list(&found[n]));
        assert_eq!(quotients.len(), pairs.len());
        for n in 0..pairs.len() {
            let (x, y) = (xs[n], ys[n]);
            assert_eq!([quotients[n], rests[n], truncated[n]], want(x, y), "{x:?} by {y:?}, {backend:?}");
        }
    }
}

#[test]
fn every_size_of_both() {
    let pairs = pairs(300_000);
    check(
        "u64",
        &pairs,
        |x| x,
        |x, y| {
            let rest = x.checked_rem(y).unwrap_or(0);
            [x.checked_div(y).unwrap_or(0), rest, rest]
        },
    );
    let floor = |x: i64, y: i64| {
        let (x, y) = (i128::from(x), i128::from(y));
        let (q, r) = (x.div_euclid(y), x.rem_euclid(y));
        // Rounded down, so that the rest has the sign of the divisor.
        let (q, r) = if y < 0 && r != 0 { (q - 1, r + y) } else { (q, r) };
        [q as i64, r as i64, (x % y) as i64]
    };
    check("i64", &pairs, |x| x as i64, |x, y| if y == 0 { [0, 0, 0] } else { floor(x, y) });
}
