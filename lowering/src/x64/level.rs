//! Instruction set levels: the best level of the processor, or a lower one that the environment variable
//! `REWRIGHT_X64` selects. The variable serves to inspect, measure and test the code for other processors.

use crate::kernel::KernelError;
use std::sync::LazyLock;

/// An instruction set level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// AVX2, FMA and BMI2: 16 registers of 256 bits.
    Avx2,
    /// Also AVX-512 F, DQ, BW, VL and CD: 32 registers of 512 bits, and masks.
    Avx512,
}

/// The highest level that `REWRIGHT_X64` allows, `None` if it allows none, or an error if its value is
/// unknown.
type Allowed = Result<Option<Level>, String>;

impl Level {
    /// All levels, the lowest first.
    pub const ALL: [Level; 2] = [Level::Avx2, Level::Avx512];

    /// True if this processor supports the level and `REWRIGHT_X64` allows it: `avx512`, `avx2` or `none`.
    /// An unset variable allows all levels.
    pub fn is_available(self) -> bool {
        self.refusal().is_none()
    }

    /// An error if `REWRIGHT_X64` has an unknown value.
    pub(crate) fn check_environment() -> Result<(), KernelError> {
        allowed().as_ref().map(|_| ()).map_err(|why| super::unavailable(why.clone()))
    }

    /// The reason why the level can't be used.
    pub(super) fn refusal(self) -> Option<String> {
        match allowed() {
            Err(why) => Some(why.clone()),
            Ok(most) if *most < Some(self) => Some(format!("REWRIGHT_X64 forbids {self}")),
            Ok(_) if self.is_there() => None,
            Ok(_) => Some(match self {
                Level::Avx2 => "the processor has no AVX2 with FMA and BMI2".into(),
                Level::Avx512 => "the processor has no AVX-512".into(),
            }),
        }
    }

    /// True if the processor supports the level.
    fn is_there(self) -> bool {
        let avx2 =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2");
        let avx512 = || {
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512cd")
        };
        avx2 && (self == Level::Avx2 || avx512())
    }

    /// Bytes of a register.
    pub(super) fn register_bytes(self) -> usize {
        match self {
            Level::Avx2 => 32,
            Level::Avx512 => 64,
        }
    }

    /// Vector registers for values: all but the last one, which is the scratch register.
    pub(super) fn values(self) -> usize {
        match self {
            Level::Avx2 => 15,
            Level::Avx512 => 31,
        }
    }

    pub(super) fn is_evex(self) -> bool {
        self == Level::Avx512
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Level::Avx2 => "AVX2",
            Level::Avx512 => "AVX-512",
        })
    }
}

/// The value of the environment variable, which is read once.
fn allowed() -> &'static Allowed {
    static ALLOWED: LazyLock<Allowed> = LazyLock::new(|| parse(std::env::var_os("REWRIGHT_X64")));
    &ALLOWED
}

fn parse(word: Option<std::ffi::OsString>) -> Allowed {
    match word.as_ref().map(|word| word.to_string_lossy()).as_deref() {
        None | Some("avx512") => Ok(Some(Level::Avx512)),
        Some("avx2") => Ok(Some(Level::Avx2)),
        Some("none") => Ok(None),
        Some(other) => {
            Err(format!("the environment variable REWRIGHT_X64 is `{other}`: it may be avx512, avx2 or none"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_allows_up_to_a_level() {
        assert_eq!(parse(None), Ok(Some(Level::Avx512)));
        let said = ["avx512", "avx2", "none"].map(|word| parse(Some(word.into())));
        assert_eq!(said, [Ok(Some(Level::Avx512)), Ok(Some(Level::Avx2)), Ok(None)]);
        assert!(parse(Some("AVX".into())).unwrap_err().contains("`AVX`"));
        assert!(parse(Some("".into())).is_err());
    }
}
