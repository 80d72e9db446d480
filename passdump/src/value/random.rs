//! Random arrays from a short description: `random:f64[1000, 3]:-1..1:7`.

use super::{FitError, ValueError};
use rewright::ir::value::checked_len;
use rewright::{Array, DType, Literal, Scalar};

/// The limit on the bytes of a random array.
const MOST_BYTES: usize = 1 << 33;

/// The prefix of a random value.
pub const PREFIX: &str = "random:";

/// Uniformly distributed numbers, reproducible by their seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Random {
    /// The element type.
    pub dtype: DType,
    /// The extents.
    pub shape: Vec<usize>,
    /// The range: the lower bound, and the exclusive upper bound.
    pub range: (f64, f64),
    /// The seed.
    pub seed: u64,
}

impl Random {
    /// Parses the text after the prefix: `DTYPE[EXTENTS]`, then in any order `:LOW..HIGH` and `:SEED`.
    /// `at` is the offset of the text.
    pub fn parse(text: &str, at: usize) -> Result<Random, ValueError> {
        let mut parts = Vec::new();
        let mut from = 0;
        for part in text.split(':') {
            parts.push((part, at + from));
            from += part.len() + 1;
        }
        let (dtype, shape) = kind(parts[0].0, parts[0].1)?;
        let mut random = Random { dtype, shape, range: default_range(dtype), seed: 0 };
        let (mut ranged, mut seeded) = (false, false);
        for &(part, at) in &parts[1..] {
            match part.split_once("..") {
                Some((low, high)) if !ranged => {
                    random.range = range(part, low, high, dtype, at)?;
                    ranged = true;
                }
                None if !seeded => {
                    let number = part.trim().parse();
                    random.seed = number
                        .map_err(|_| error(format!("`{part}` is no seed: it is a number, or LOW..HIGH"), part, at))?;
                    seeded = true;
                }
                _ => return Err(error("a range or a seed is given twice", part, at)),
            }
        }
        Ok(random)
    }

    /// Generates the array.
    pub fn array(&self) -> Result<Array, FitError> {
        let bytes = checked_len(&self.shape).and_then(|len| len.checked_mul(self.dtype.size()));
        if bytes.is_none_or(|bytes| bytes > MOST_BYTES) {
            return Err(FitError(format!(
                "an array of shape {:?} is larger than {} GiB",
                self.shape,
                MOST_BYTES >> 30
            )));
        }
        let mut state = self.seed;
        let made = Array::from_fn(self.dtype, &self.shape, |_| self.element(&mut state));
        made.ok_or_else(|| FitError(format!("{} has no evenly spread values", self.dtype)))
    }

    fn element(&self, state: &mut u64) -> Scalar {
        let (low, high) = self.range;
        // Rounding may reach the upper bound, which is exclusive.
        let mut float = || (low + (high - low) * unit(state)).min(high.next_down()).max(low);
        match self.dtype {
            DType::Bool => Scalar::Bool(float() >= 0.5),
            DType::F32 => Scalar::F32((float() as f32).min((high as f32).next_down()).max(low as f32)),
            dtype if dtype.is_complex() => {
                let parts = (float(), float());
                let zero = Scalar::zero(dtype);
                Literal::Complex(parts.0, parts.1).at(dtype).unwrap_or(zero)
            }
            dtype if dtype.is_float() => Scalar::F64(float()),
            dtype => Scalar::F64(float().floor()).cast(dtype),
        }
    }
}

/// Parses `f64[1000, 3]`.
fn kind(text: &str, at: usize) -> Result<(DType, Vec<usize>), ValueError> {
    let form = "expected an array's type, such as `random:f64[1000, 3]`";
    let (name, extents) = text.split_once('[').ok_or_else(|| error(form, text, at))?;
    let names = || DType::ALL.iter().map(|d| d.name()).collect::<Vec<_>>().join(", ");
    let dtype = name.trim().parse();
    let dtype = dtype.map_err(|_| error(format!("`{name}` is no dtype: it is one of {}", names()), name, at))?;
    let extents = extents.trim_end().strip_suffix(']').ok_or_else(|| error(form, text, at))?;
    if extents.trim().is_empty() {
        return Ok((dtype, Vec::new()));
    }
    let extent = |part: &str| {
        let number = part.trim().replace('_', "").parse();
        number.map_err(|_| error(format!("`{}` is no extent", part.trim()), text, at))
    };
    Ok((dtype, extents.split(',').map(extent).collect::<Result<_, _>>()?))
}

/// Parses `-1..1`, within the range of the dtype.
fn range(text: &str, low: &str, high: &str, dtype: DType, at: usize) -> Result<(f64, f64), ValueError> {
    let number = |part: &str| match part.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(error(format!("`{}` is no finite number", part.trim()), text, at)),
    };
    let (low, high) = (number(low)?, number(high)?);
    if low >= high {
        return Err(error("the range is empty", text, at));
    }
    let (least, most) = bounds(dtype);
    if low < least || high > most {
        return Err(error(
            format!("of {dtype} the range is within {least}..{most}, as its end is not in it"),
            text,
            at,
        ));
    }
    Ok((low, high))
}

/// The default range: numbers from 0 to 1, or integers from 0 to 100.
fn default_range(dtype: DType) -> (f64, f64) {
    if dtype.is_float() || dtype.is_complex() || dtype == DType::Bool { (0.0, 1.0) } else { (0.0, 100.0) }
}

/// The range of a dtype as floats, with an exclusive upper bound for integers.
fn bounds(dtype: DType) -> (f64, f64) {
    let bits = 8 * dtype.size() as i32;
    match dtype {
        DType::Bool => (0.0, 1.0),
        DType::F32 | DType::C64 => (f64::from(f32::MIN), f64::from(f32::MAX)),
        dtype if dtype.is_float() || dtype.is_complex() => (f64::MIN, f64::MAX),
        dtype if dtype.is_signed() => (-(2f64.powi(bits - 1)), 2f64.powi(bits - 1)),
        _ => (0.0, 2f64.powi(bits)),
    }
}

/// A number from 0 to 1, exclusive: SplitMix64 (Steele, Lea and Flood 2014).
fn unit(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 * (-53f64).exp2()
}

fn error(message: impl Into<String>, text: &str, at: usize) -> ValueError {
    ValueError { message: message.into(), at, len: text.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Random, String> {
        Random::parse(text, 7).map_err(|e| e.message)
    }
    fn values(text: &str) -> Vec<f64> {
        let random = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        random.array().unwrap_or_else(|e| panic!("{text}: {e}")).iter().map(Scalar::to_f64).collect()
    }

    #[test]
    fn the_same_description_gives_the_same_numbers_in_its_range() {
        let a = values("f64[10_000]:-2..6:5");
        assert_eq!(a, values("f64[100, 100]:5:-2..6"));
        assert_ne!(a, values("f64[10000]:-2..6:4"));
        assert!(a.iter().all(|x| (-2.0..6.0).contains(x)));
        let mean = a.iter().sum::<f64>() / 1e4;
        assert!((1.8..2.2).contains(&mean), "{mean}");
        // Rounding does not reach the upper bound.
        assert!(values("f32[100000]:0..1").iter().all(|x| (0.0..1.0).contains(x)));
        let bytes = values("u8[10000]:250..256");
        assert!((250..256).all(|b| bytes.contains(&f64::from(b))) && bytes.len() == 10_000);
        assert_eq!(values("i16[4]:-32768..-32767"), [-32768.0; 4]);
        let flags = values("bool[1000]");
        assert!(flags.contains(&0.0) && flags.contains(&1.0));
        assert_eq!(parse("c64[]").map(|r| r.shape), Ok(vec![]));
    }

    #[test]
    fn malformed_descriptions_are_rejected() {
        for (text, why) in [
            ("f64", "expected an array's type"),
            ("f64[3", "expected an array's type"),
            ("f16[3]", "no dtype"),
            ("f64[3,x]", "`x` is no extent"),
            ("f64[3]:1..1", "empty"),
            ("f64[3]:0..inf", "no finite number"),
            ("f64[3]:one", "no seed"),
            ("f64[3]:1:2", "twice"),
            ("u8[3]:0..257", "of u8 the range is within 0..256, as its end is not in it"),
            ("i8[3]:-129..5", "of i8 the range is within -128..128"),
        ] {
            let error = parse(text).err().unwrap_or_else(|| panic!("{text} is taken"));
            assert!(error.contains(why), "{text}: {error}");
        }
        let place = Random::parse("f64[3]:1..x", 7).map_err(|e| (e.at, e.len));
        assert_eq!(place, Err((14, 4)));
        let large = parse("f64[1000000, 1000000]").map(|r| r.array().is_err());
        assert_eq!(large, Ok(true));
    }
}
