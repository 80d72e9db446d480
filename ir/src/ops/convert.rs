//! Conversion between dtypes, and between complex numbers and their parts.

use super::loops;
use crate::attr::{Attr, AttrDef, AttrKind, Attrs};
use crate::dtype::DType;
use crate::error::EvalError;
use crate::expr::{Body, BodyOp, BodyRef};
use crate::loc::Loc;
use crate::math::{double, single};
use crate::op::Op;
use num_complex::Complex;

elementwise! {
    /// Converts to dtype `to`: integers wrap; floats to integers saturate, NaN gives 0; to bool is "not 0".
    CAST = "cast"(1), loops::conversion, attrs [AttrDef::required("to", AttrKind::DType, "the dtype of the result")] {
        |attrs| any([x]) => {
            let to = attrs.dtype("to").ok_or_else(|| EvalError::value("attribute `to` names the dtype of the result"))?;
            x.cast(to)
        };
    }
    /// The real part; of a real number itself.
    REAL = "real"(1), loops::all_to_real, is IDEMPOTENT {
        bool(x) => x;
        real(x) => x;
        complex(z) => z.re;
    }
    /// The imaginary part; of a real number 0.
    IMAG = "imag"(1), loops::all_to_real {
        bool(_x) => false;
        complex(z) => z.im;
        any([x]) => crate::scalar::Scalar::zero(x.dtype());
    }
    /// The complex conjugate; of a real number itself.
    CONJ = "conj"(1), loops::numbers {
        real(x) => x;
        complex(z) => z.conj();
    }
    /// The angle of a complex number in the plane, in radians; of a real number 0 or pi.
    ANGLE = "angle"(1), loops::inexact_to_real, cycles 40 {
        f32(x) => single::atan2(0.0, x);
        f64(x) => double::atan2(0.0, x);
        c64(z) => single::atan2(z.im, z.re);
        c128(z) => double::atan2(z.im, z.re);
    }
    /// The complex number of a real and an imaginary part.
    COMPLEX = "complex"(2), loops::floats_to_complex {
        float(re, im) => Complex::new(re, im);
    }
}

impl Body {
    /// Casts a value to another dtype: returns the value, another constant, or an appended `cast`.
    pub fn cast(&mut self, value: BodyRef, from: DType, to: DType, loc: Loc) -> BodyRef {
        match value {
            _ if from == to => value,
            BodyRef::Const(s) => BodyRef::Const(s.cast(to)),
            _ => {
                let op = BodyOp::Op(Op(&CAST), Attrs::new().with("to", Attr::DType(to)));
                self.push(op, [value], [to], loc)[0]
            }
        }
    }
}
