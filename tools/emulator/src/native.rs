//! Runs AVX-512 instructions as two AVX2 or FMA instructions, one for each half of a 512-bit register.
//! The processor computes the results, so NaNs, signed zeros and subnormals are its own.

use crate::operands::Vector;
use iced_x86::Mnemonic;
use std::arch::asm;

/// Runs an instruction twice, once per half. Registers 0, 1 and 2 hold the halves of three vectors;
/// register 0 receives the half of the result. `from` and `to` are the byte distances between halves in
/// the operands and in the result.
macro_rules! run {
    ($line:expr, $of:expr, $from:literal to $to:literal) => {{
        let of: [&Vector; 3] = $of;
        let mut to = Vector::ZERO;
        for half in 0..2 {
            let from = of.map(|vector| vector.0[half * $from..][..32].as_ptr());
            // SAFETY: each of the slices has 32 bytes; the crate's initializer has checked that the
            // processor has AVX2 and FMA.
            unsafe {
                asm!(
                    "vmovdqu ymm0, [{a}]",
                    "vmovdqu ymm1, [{b}]",
                    "vmovdqu ymm2, [{c}]",
                    $line,
                    "vmovdqu [{to}], ymm0",
                    a = in(reg) from[0],
                    b = in(reg) from[1],
                    c = in(reg) from[2],
                    to = in(reg) to.0[half * $to..][..32].as_mut_ptr(),
                    out("xmm0") _,
                    out("xmm1") _,
                    out("xmm2") _,
                    options(nostack, preserves_flags)
                );
            }
        }
        Some(to)
    }};
}

/// Defines two functions from a table of instructions by lane size: one returns the lane size, the other
/// runs an instruction.
macro_rules! instructions {
    (
        $size_of:ident, $(#[$doc:meta])* $run:ident($($param:ident),*): $of:expr, $operands:literal;
        $($size:literal: $($name:ident $word:literal)*;)*
    ) => {
        /// The lane size in bytes, if the instruction is in the table.
        pub fn $size_of(mnemonic: Mnemonic) -> Option<usize> {
            match mnemonic {
                $($(Mnemonic::$name)|* => Some($size),)*
                _ => None,
            }
        }

        $(#[$doc])*
        pub fn $run(mnemonic: Mnemonic, $($param: &Vector),*) -> Option<Vector> {
            match mnemonic {
                $($(Mnemonic::$name => run!(concat!($word, $operands), $of, 32 to 32),)*)*
                _ => None,
            }
        }
    };
}

instructions! {
    binary_size,
    /// Runs an instruction of two operands.
    binary(a, b): [a, b, b], " ymm0, ymm0, ymm1";
    1:
        Vpaddb "vpaddb" Vpsubb "vpsubb" Vpminsb "vpminsb" Vpmaxsb "vpmaxsb" Vpminub "vpminub" Vpmaxub "vpmaxub"
        Vpshufb "vpshufb";
    2:
        Vpaddw "vpaddw" Vpsubw "vpsubw" Vpminsw "vpminsw" Vpmaxsw "vpmaxsw" Vpminuw "vpminuw" Vpmaxuw "vpmaxuw"
        Vpmullw "vpmullw" Vpunpcklwd "vpunpcklwd" Vpunpckhwd "vpunpckhwd";
    4:
        Vaddps "vaddps" Vsubps "vsubps" Vmulps "vmulps" Vdivps "vdivps" Vminps "vminps" Vmaxps "vmaxps"
        Vandps "vandps" Vandnps "vandnps" Vorps "vorps" Vxorps "vxorps"
        Vpandd "vpand" Vpandnd "vpandn" Vpord "vpor" Vpxord "vpxor"
        Vpaddd "vpaddd" Vpsubd "vpsubd" Vpminsd "vpminsd" Vpmaxsd "vpmaxsd" Vpminud "vpminud" Vpmaxud "vpmaxud"
        Vpmulld "vpmulld" Vpsllvd "vpsllvd" Vpsrlvd "vpsrlvd" Vpsravd "vpsravd"
        Vpunpckldq "vpunpckldq" Vpunpckhdq "vpunpckhdq" Vunpcklps "vunpcklps" Vunpckhps "vunpckhps";
    8:
        Vaddpd "vaddpd" Vsubpd "vsubpd" Vmulpd "vmulpd" Vdivpd "vdivpd" Vminpd "vminpd" Vmaxpd "vmaxpd"
        Vandpd "vandpd" Vandnpd "vandnpd" Vorpd "vorpd" Vxorpd "vxorpd"
        Vpandq "vpand" Vpandnq "vpandn" Vporq "vpor" Vpxorq "vpxor"
        Vpand "vpand" Vpandn "vpandn" Vpor "vpor" Vpxor "vpxor"
        Vpaddq "vpaddq" Vpsubq "vpsubq" Vpmuludq "vpmuludq" Vpsadbw "vpsadbw" Vpsllvq "vpsllvq" Vpsrlvq "vpsrlvq"
        Vunpcklpd "vunpcklpd" Vunpckhpd "vunpckhpd";
}

instructions! {
    unary_size,
    /// Runs an instruction of one operand.
    unary(a): [a, a, a], " ymm0, ymm0";
    1: Vpabsb "vpabsb";
    2: Vpabsw "vpabsw";
    4: Vpabsd "vpabsd" Vsqrtps "vsqrtps" Vcvtdq2ps "vcvtdq2ps" Vcvttps2dq "vcvttps2dq" Vmovsldup "vmovsldup";
    8: Vsqrtpd "vsqrtpd";
}

instructions! {
    multiply_add_size,
    /// Runs an instruction of three operands that overwrites the first.
    multiply_add(a, b, c): [a, b, c], " ymm0, ymm1, ymm2";
    4:
        Vfmadd132ps "vfmadd132ps" Vfmadd213ps "vfmadd213ps" Vfmadd231ps "vfmadd231ps"
        Vfmsub132ps "vfmsub132ps" Vfmsub213ps "vfmsub213ps" Vfmsub231ps "vfmsub231ps"
        Vfnmadd132ps "vfnmadd132ps" Vfnmadd213ps "vfnmadd213ps" Vfnmadd231ps "vfnmadd231ps"
        Vfnmsub132ps "vfnmsub132ps" Vfnmsub213ps "vfnmsub213ps" Vfnmsub231ps "vfnmsub231ps";
    8:
        Vfmadd132pd "vfmadd132pd" Vfmadd213pd "vfmadd213pd" Vfmadd231pd "vfmadd231pd"
        Vfmsub132pd "vfmsub132pd" Vfmsub213pd "vfmsub213pd" Vfmsub231pd "vfmsub231pd"
        Vfnmadd132pd "vfnmadd132pd" Vfnmadd213pd "vfnmadd213pd" Vfnmadd231pd "vfnmadd231pd"
        Vfnmsub132pd "vfnmsub132pd" Vfnmsub213pd "vfnmsub213pd" Vfnmsub231pd "vfnmsub231pd";
}

/// True if a lane of the result depends on other lanes of the operands.
pub fn mixes_lanes(mnemonic: Mnemonic) -> bool {
    use Mnemonic as M;
    matches!(
        mnemonic,
        M::Vpshufb
            | M::Vmovsldup
            | M::Vpunpcklwd
            | M::Vpunpckhwd
            | M::Vpunpckldq
            | M::Vpunpckhdq
            | M::Vunpcklps
            | M::Vunpckhps
            | M::Vunpcklpd
            | M::Vunpckhpd
    )
}

/// Instructions that round to integers, by immediate.
macro_rules! roundings {
    ($run:ident, $word:literal: $($number:literal)*) => {
        /// Rounds to integers by the immediate; `None` for the immediates that are not listed, such as
        /// those that keep fraction bits.
        pub fn $run(a: &Vector, number: u8) -> Option<Vector> {
            match number {
                $($number => run!(concat!($word, " ymm0, ymm0, ", $number), [a; 3], 32 to 32),)*
                _ => None,
            }
        }
    };
}
roundings!(round_f32, "vroundps": 0 1 2 3 4 8 9 10 11 12);
roundings!(round_f64, "vroundpd": 0 1 2 3 4 8 9 10 11 12);

/// Widens lanes of four bytes to eight.
pub fn widen(mnemonic: Mnemonic, a: &Vector) -> Option<Vector> {
    match mnemonic {
        Mnemonic::Vcvtps2pd => run!("vcvtps2pd ymm0, xmm0", [a; 3], 16 to 32),
        Mnemonic::Vcvtdq2pd => run!("vcvtdq2pd ymm0, xmm0", [a; 3], 16 to 32),
        _ => None,
    }
}

/// Narrows lanes of eight bytes to four. The instruction zeroes the rest of register 0, and the second
/// half overwrites the zeros of the first.
pub fn narrow(mnemonic: Mnemonic, a: &Vector) -> Option<Vector> {
    match mnemonic {
        Mnemonic::Vcvtpd2ps => run!("vcvtpd2ps xmm0, ymm0", [a; 3], 32 to 16),
        Mnemonic::Vcvttpd2dq => run!("vcvttpd2dq xmm0, ymm0", [a; 3], 32 to 16),
        _ => None,
    }
}
