//! The macros that define elementwise ops.

use crate::error::EvalError;
use crate::scalar::{Scalar, Scalars};
use num_complex::{Complex32, Complex64};

/// The result of an op's case: one element, or two.
pub(super) trait IntoResults {
    fn into_results(self) -> Scalars;
}

macro_rules! one_result {
    ($($ty:ty)*) => {$(
        impl IntoResults for $ty {
            fn into_results(self) -> Scalars {
                Scalars::from_slice(&[self.into()])
            }
        }
    )*};
}
one_result!(bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 Complex32 Complex64 Scalar);

impl<A: Into<Scalar>, B: Into<Scalar>> IntoResults for (A, B) {
    fn into_results(self) -> Scalars {
        Scalars::from_buf([self.0.into(), self.1.into()])
    }
}

/// The error of operands for which the op has no loop. A caller that casts to the loop first never gets it.
pub(super) fn no_loop(args: &[Scalar]) -> EvalError {
    let dtypes: Vec<_> = args.iter().map(|a| a.dtype().name()).collect();
    EvalError::unsupported(format!("no loop computes at {}", dtypes.join(", ")))
}

/// Returns the body's value if all `$args` have this variant.
macro_rules! case {
    ($args:ident, $variant:ident, ($($x:ident),+), $body:expr) => {
        if let [$($crate::scalar::Scalar::$variant($x)),+] = *$args {
            return Ok($crate::ops::define::IntoResults::into_results($body));
        }
    };
}

/// One case of an op; `int(a, b) => a & b` expands to a case for each integer dtype.
macro_rules! cases {
    ($args:ident, bool, $x:tt, $body:expr) => {
        case!($args, Bool, $x, $body)
    };
    ($args:ident, f32, $x:tt, $body:expr) => {
        case!($args, F32, $x, $body)
    };
    ($args:ident, f64, $x:tt, $body:expr) => {
        case!($args, F64, $x, $body)
    };
    ($args:ident, c64, $x:tt, $body:expr) => {
        case!($args, C64, $x, $body)
    };
    ($args:ident, c128, $x:tt, $body:expr) => {
        case!($args, C128, $x, $body)
    };
    ($args:ident, signed, $x:tt, $body:expr) => {
        case!($args, I8, $x, $body);
        case!($args, I16, $x, $body);
        case!($args, I32, $x, $body);
        case!($args, I64, $x, $body);
    };
    ($args:ident, unsigned, $x:tt, $body:expr) => {
        case!($args, U8, $x, $body);
        case!($args, U16, $x, $body);
        case!($args, U32, $x, $body);
        case!($args, U64, $x, $body);
    };
    ($args:ident, int, $x:tt, $body:expr) => {
        cases!($args, signed, $x, $body);
        cases!($args, unsigned, $x, $body);
    };
    ($args:ident, float, $x:tt, $body:expr) => {
        case!($args, F32, $x, $body);
        case!($args, F64, $x, $body);
    };
    ($args:ident, complex, $x:tt, $body:expr) => {
        case!($args, C64, $x, $body);
        case!($args, C128, $x, $body);
    };
    ($args:ident, real, $x:tt, $body:expr) => {
        cases!($args, int, $x, $body);
        cases!($args, float, $x, $body);
    };
    // Operands of different dtypes: the body gets the slice.
    ($args:ident, any, ($all:pat), $body:expr) => {
        if let $all = $args {
            return Ok($crate::ops::define::IntoResults::into_results($body));
        }
    };
}

/// Defines and registers elementwise ops. The first doc line is the op's documentation, and the rule selects
/// the loop. Then follows a case for each dtype, or family of dtypes, at which the loop may compute.
///
/// ```text
/// elementwise! {
///     /// Sum; of bools, logical or.
///     ADD = "add"(2), loops::all, is COMMUTATIVE {
///         bool(a, b) => a | b;
///         int(a, b) => a.wrapping_add(b);
///         float(a, b) => a + b;
///         complex(a, b) => a + b;
///     }
/// }
/// ```
macro_rules! elementwise {
    ($(
        #[doc = $doc:literal]
        $(#[doc = $more:literal])*
        $NAME:ident = $name:literal($arity:literal), $rule:path $(, is $trait:ident)* $(, literals $literals:path)? $(, attrs [$($attr:expr),*])? $(, cycles $cycles:literal)?
        { $($(| $attrs:ident |)? $kind:ident $x:tt => $body:expr;)+ }
    )*) => {$(
        #[doc = $doc]
        $(#[doc = $more])*
        pub static $NAME: $crate::op::OpDef = {
            fn scalar(
                args: &[$crate::scalar::Scalar],
                attrs: &$crate::attr::Attrs,
            ) -> Result<$crate::scalar::Scalars, $crate::error::EvalError> {
                let _ = attrs;
                $($(let $attrs = attrs;)? cases!(args, $kind, $x, $body);)+
                #[allow(unreachable_code, reason = "an op with an `any` case has returned")]
                Err($crate::ops::define::no_loop(args))
            }
            $crate::op::OpDef::elementwise($name, $doc.trim_ascii(), $arity, $rule, scalar)
                $(.traits($crate::op::Traits::$trait))*
                $(.literals($literals))?
                $(.attrs(&[$($attr),*]))?
        };
        $crate::register_op!($NAME);
        $($crate::register_interface!($name, $crate::registry::Cost, &$crate::registry::Cost { cycles: $cycles });)?
    )*};
}
