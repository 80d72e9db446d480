//! The vector instructions of the code generator, with their encodings by register width: VEX for AVX2 and
//! EVEX for AVX-512.

use super::machine::Width;
use iced_x86::Code;

/// One instruction at all widths. Missing encodings are `Code::INVALID`. Conversions are listed by the wider
/// one of their registers.
#[derive(Debug)]
pub struct Form {
    /// VEX at 128 and 256 bits, EVEX at 128, 256 and 512 bits.
    codes: [Code; 5],
    /// The bytes of the element that an EVEX memory operand can broadcast; 0 if it can't.
    pub broadcast: u8,
}

impl Form {
    pub const fn new(codes: [Code; 5], broadcast: u8) -> Form {
        Form { codes, broadcast }
    }
    /// The encoding at a width.
    pub fn code(&self, evex: bool, width: Width) -> Code {
        self.codes[if evex { 2 } else { 0 } + width as usize]
    }
}

/// The masked move to a register, with AVX-512, for lanes of `size` bytes.
pub fn masked_move(size: usize) -> &'static Form {
    match size {
        1 => &MOV_B_LOAD,
        2 => &MOV_W_LOAD,
        4 => &MOV_PS_LOAD,
        _ => &MOV_PD_LOAD,
    }
}

/// The masked move to memory.
pub fn masked_store(size: usize) -> &'static Form {
    match size {
        1 => &MOV_B_STORE,
        2 => &MOV_W_STORE,
        4 => &MOV_PS_STORE,
        _ => &MOV_PD_STORE,
    }
}

/// A form by its encodings.
macro_rules! form {
    ($broadcast:literal: $($code:ident)*) => {
        $crate::x64::codes::Form::new([$(iced_x86::Code::$code),*], $broadcast)
    };
}
pub(super) use form;

macro_rules! forms {
    ($($name:ident $broadcast:literal: $($code:ident)*;)*) => {$(
        pub static $name: Form = form!($broadcast: $($code)*);
    )*};
}

forms! {
    ADD_PS 4: VEX_Vaddps_xmm_xmm_xmmm128 VEX_Vaddps_ymm_ymm_ymmm256 EVEX_Vaddps_xmm_k1z_xmm_xmmm128b32 EVEX_Vaddps_ymm_k1z_ymm_ymmm256b32 EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er;
    ADD_PD 8: VEX_Vaddpd_xmm_xmm_xmmm128 VEX_Vaddpd_ymm_ymm_ymmm256 EVEX_Vaddpd_xmm_k1z_xmm_xmmm128b64 EVEX_Vaddpd_ymm_k1z_ymm_ymmm256b64 EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er;
    SUB_PS 4: VEX_Vsubps_xmm_xmm_xmmm128 VEX_Vsubps_ymm_ymm_ymmm256 EVEX_Vsubps_xmm_k1z_xmm_xmmm128b32 EVEX_Vsubps_ymm_k1z_ymm_ymmm256b32 EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er;
    SUB_PD 8: VEX_Vsubpd_xmm_xmm_xmmm128 VEX_Vsubpd_ymm_ymm_ymmm256 EVEX_Vsubpd_xmm_k1z_xmm_xmmm128b64 EVEX_Vsubpd_ymm_k1z_ymm_ymmm256b64 EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er;
    MUL_PS 4: VEX_Vmulps_xmm_xmm_xmmm128 VEX_Vmulps_ymm_ymm_ymmm256 EVEX_Vmulps_xmm_k1z_xmm_xmmm128b32 EVEX_Vmulps_ymm_k1z_ymm_ymmm256b32 EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er;
    MUL_PD 8: VEX_Vmulpd_xmm_xmm_xmmm128 VEX_Vmulpd_ymm_ymm_ymmm256 EVEX_Vmulpd_xmm_k1z_xmm_xmmm128b64 EVEX_Vmulpd_ymm_k1z_ymm_ymmm256b64 EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er;
    DIV_PS 4: VEX_Vdivps_xmm_xmm_xmmm128 VEX_Vdivps_ymm_ymm_ymmm256 EVEX_Vdivps_xmm_k1z_xmm_xmmm128b32 EVEX_Vdivps_ymm_k1z_ymm_ymmm256b32 EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er;
    DIV_PD 8: VEX_Vdivpd_xmm_xmm_xmmm128 VEX_Vdivpd_ymm_ymm_ymmm256 EVEX_Vdivpd_xmm_k1z_xmm_xmmm128b64 EVEX_Vdivpd_ymm_k1z_ymm_ymmm256b64 EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er;
    MIN_PS 4: VEX_Vminps_xmm_xmm_xmmm128 VEX_Vminps_ymm_ymm_ymmm256 EVEX_Vminps_xmm_k1z_xmm_xmmm128b32 EVEX_Vminps_ymm_k1z_ymm_ymmm256b32 EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae;
    MIN_PD 8: VEX_Vminpd_xmm_xmm_xmmm128 VEX_Vminpd_ymm_ymm_ymmm256 EVEX_Vminpd_xmm_k1z_xmm_xmmm128b64 EVEX_Vminpd_ymm_k1z_ymm_ymmm256b64 EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae;
    MAX_PS 4: VEX_Vmaxps_xmm_xmm_xmmm128 VEX_Vmaxps_ymm_ymm_ymmm256 EVEX_Vmaxps_xmm_k1z_xmm_xmmm128b32 EVEX_Vmaxps_ymm_k1z_ymm_ymmm256b32 EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae;
    MAX_PD 8: VEX_Vmaxpd_xmm_xmm_xmmm128 VEX_Vmaxpd_ymm_ymm_ymmm256 EVEX_Vmaxpd_xmm_k1z_xmm_xmmm128b64 EVEX_Vmaxpd_ymm_k1z_ymm_ymmm256b64 EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae;
    SCALEF_PS 4: INVALID INVALID EVEX_Vscalefps_xmm_k1z_xmm_xmmm128b32 EVEX_Vscalefps_ymm_k1z_ymm_ymmm256b32 EVEX_Vscalefps_zmm_k1z_zmm_zmmm512b32_er;
    SCALEF_PD 8: INVALID INVALID EVEX_Vscalefpd_xmm_k1z_xmm_xmmm128b64 EVEX_Vscalefpd_ymm_k1z_ymm_ymmm256b64 EVEX_Vscalefpd_zmm_k1z_zmm_zmmm512b64_er;
    AND_PS 4: VEX_Vandps_xmm_xmm_xmmm128 VEX_Vandps_ymm_ymm_ymmm256 EVEX_Vandps_xmm_k1z_xmm_xmmm128b32 EVEX_Vandps_ymm_k1z_ymm_ymmm256b32 EVEX_Vandps_zmm_k1z_zmm_zmmm512b32;
    AND_PD 8: VEX_Vandpd_xmm_xmm_xmmm128 VEX_Vandpd_ymm_ymm_ymmm256 EVEX_Vandpd_xmm_k1z_xmm_xmmm128b64 EVEX_Vandpd_ymm_k1z_ymm_ymmm256b64 EVEX_Vandpd_zmm_k1z_zmm_zmmm512b64;
    AND_D 4: VEX_Vpand_xmm_xmm_xmmm128 VEX_Vpand_ymm_ymm_ymmm256 EVEX_Vpandd_xmm_k1z_xmm_xmmm128b32 EVEX_Vpandd_ymm_k1z_ymm_ymmm256b32 EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
    AND_Q 8: VEX_Vpand_xmm_xmm_xmmm128 VEX_Vpand_ymm_ymm_ymmm256 EVEX_Vpandq_xmm_k1z_xmm_xmmm128b64 EVEX_Vpandq_ymm_k1z_ymm_ymmm256b64 EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64;
    ANDN_PS 4: VEX_Vandnps_xmm_xmm_xmmm128 VEX_Vandnps_ymm_ymm_ymmm256 EVEX_Vandnps_xmm_k1z_xmm_xmmm128b32 EVEX_Vandnps_ymm_k1z_ymm_ymmm256b32 EVEX_Vandnps_zmm_k1z_zmm_zmmm512b32;
    ANDN_PD 8: VEX_Vandnpd_xmm_xmm_xmmm128 VEX_Vandnpd_ymm_ymm_ymmm256 EVEX_Vandnpd_xmm_k1z_xmm_xmmm128b64 EVEX_Vandnpd_ymm_k1z_ymm_ymmm256b64 EVEX_Vandnpd_zmm_k1z_zmm_zmmm512b64;
    ANDN_D 4: VEX_Vpandn_xmm_xmm_xmmm128 VEX_Vpandn_ymm_ymm_ymmm256 EVEX_Vpandnd_xmm_k1z_xmm_xmmm128b32 EVEX_Vpandnd_ymm_k1z_ymm_ymmm256b32 EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32;
    OR_PS 4: VEX_Vorps_xmm_xmm_xmmm128 VEX_Vorps_ymm_ymm_ymmm256 EVEX_Vorps_xmm_k1z_xmm_xmmm128b32 EVEX_Vorps_ymm_k1z_ymm_ymmm256b32 EVEX_Vorps_zmm_k1z_zmm_zmmm512b32;
    OR_PD 8: VEX_Vorpd_xmm_xmm_xmmm128 VEX_Vorpd_ymm_ymm_ymmm256 EVEX_Vorpd_xmm_k1z_xmm_xmmm128b64 EVEX_Vorpd_ymm_k1z_ymm_ymmm256b64 EVEX_Vorpd_zmm_k1z_zmm_zmmm512b64;
    OR_D 4: VEX_Vpor_xmm_xmm_xmmm128 VEX_Vpor_ymm_ymm_ymmm256 EVEX_Vpord_xmm_k1z_xmm_xmmm128b32 EVEX_Vpord_ymm_k1z_ymm_ymmm256b32 EVEX_Vpord_zmm_k1z_zmm_zmmm512b32;
    OR_Q 8: VEX_Vpor_xmm_xmm_xmmm128 VEX_Vpor_ymm_ymm_ymmm256 EVEX_Vporq_xmm_k1z_xmm_xmmm128b64 EVEX_Vporq_ymm_k1z_ymm_ymmm256b64 EVEX_Vporq_zmm_k1z_zmm_zmmm512b64;
    XOR_PS 4: VEX_Vxorps_xmm_xmm_xmmm128 VEX_Vxorps_ymm_ymm_ymmm256 EVEX_Vxorps_xmm_k1z_xmm_xmmm128b32 EVEX_Vxorps_ymm_k1z_ymm_ymmm256b32 EVEX_Vxorps_zmm_k1z_zmm_zmmm512b32;
    XOR_PD 8: VEX_Vxorpd_xmm_xmm_xmmm128 VEX_Vxorpd_ymm_ymm_ymmm256 EVEX_Vxorpd_xmm_k1z_xmm_xmmm128b64 EVEX_Vxorpd_ymm_k1z_ymm_ymmm256b64 EVEX_Vxorpd_zmm_k1z_zmm_zmmm512b64;
    XOR_D 4: VEX_Vpxor_xmm_xmm_xmmm128 VEX_Vpxor_ymm_ymm_ymmm256 EVEX_Vpxord_xmm_k1z_xmm_xmmm128b32 EVEX_Vpxord_ymm_k1z_ymm_ymmm256b32 EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32;
    XOR_Q 8: VEX_Vpxor_xmm_xmm_xmmm128 VEX_Vpxor_ymm_ymm_ymmm256 EVEX_Vpxorq_xmm_k1z_xmm_xmmm128b64 EVEX_Vpxorq_ymm_k1z_ymm_ymmm256b64 EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64;
    ADD_B 0: VEX_Vpaddb_xmm_xmm_xmmm128 VEX_Vpaddb_ymm_ymm_ymmm256 EVEX_Vpaddb_xmm_k1z_xmm_xmmm128 EVEX_Vpaddb_ymm_k1z_ymm_ymmm256 EVEX_Vpaddb_zmm_k1z_zmm_zmmm512;
    ADD_W 0: VEX_Vpaddw_xmm_xmm_xmmm128 VEX_Vpaddw_ymm_ymm_ymmm256 EVEX_Vpaddw_xmm_k1z_xmm_xmmm128 EVEX_Vpaddw_ymm_k1z_ymm_ymmm256 EVEX_Vpaddw_zmm_k1z_zmm_zmmm512;
    ADD_D 4: VEX_Vpaddd_xmm_xmm_xmmm128 VEX_Vpaddd_ymm_ymm_ymmm256 EVEX_Vpaddd_xmm_k1z_xmm_xmmm128b32 EVEX_Vpaddd_ymm_k1z_ymm_ymmm256b32 EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
    ADD_Q 8: VEX_Vpaddq_xmm_xmm_xmmm128 VEX_Vpaddq_ymm_ymm_ymmm256 EVEX_Vpaddq_xmm_k1z_xmm_xmmm128b64 EVEX_Vpaddq_ymm_k1z_ymm_ymmm256b64 EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64;
    SUB_B 0: VEX_Vpsubb_xmm_xmm_xmmm128 VEX_Vpsubb_ymm_ymm_ymmm256 EVEX_Vpsubb_xmm_k1z_xmm_xmmm128 EVEX_Vpsubb_ymm_k1z_ymm_ymmm256 EVEX_Vpsubb_zmm_k1z_zmm_zmmm512;
    SUB_W 0: VEX_Vpsubw_xmm_xmm_xmmm128 VEX_Vpsubw_ymm_ymm_ymmm256 EVEX_Vpsubw_xmm_k1z_xmm_xmmm128 EVEX_Vpsubw_ymm_k1z_ymm_ymmm256 EVEX_Vpsubw_zmm_k1z_zmm_zmmm512;
    SUB_D 4: VEX_Vpsubd_xmm_xmm_xmmm128 VEX_Vpsubd_ymm_ymm_ymmm256 EVEX_Vpsubd_xmm_k1z_xmm_xmmm128b32 EVEX_Vpsubd_ymm_k1z_ymm_ymmm256b32 EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32;
    SUB_Q 8: VEX_Vpsubq_xmm_xmm_xmmm128 VEX_Vpsubq_ymm_ymm_ymmm256 EVEX_Vpsubq_xmm_k1z_xmm_xmmm128b64 EVEX_Vpsubq_ymm_k1z_ymm_ymmm256b64 EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64;
    MUL_W 0: VEX_Vpmullw_xmm_xmm_xmmm128 VEX_Vpmullw_ymm_ymm_ymmm256 EVEX_Vpmullw_xmm_k1z_xmm_xmmm128 EVEX_Vpmullw_ymm_k1z_ymm_ymmm256 EVEX_Vpmullw_zmm_k1z_zmm_zmmm512;
    MUL_D 4: VEX_Vpmulld_xmm_xmm_xmmm128 VEX_Vpmulld_ymm_ymm_ymmm256 EVEX_Vpmulld_xmm_k1z_xmm_xmmm128b32 EVEX_Vpmulld_ymm_k1z_ymm_ymmm256b32 EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32;
    MUL_Q 8: INVALID INVALID EVEX_Vpmullq_xmm_k1z_xmm_xmmm128b64 EVEX_Vpmullq_ymm_k1z_ymm_ymmm256b64 EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64;
    MUL_UDQ 8: VEX_Vpmuludq_xmm_xmm_xmmm128 VEX_Vpmuludq_ymm_ymm_ymmm256 EVEX_Vpmuludq_xmm_k1z_xmm_xmmm128b64 EVEX_Vpmuludq_ymm_k1z_ymm_ymmm256b64 EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64;
    MINS_B 0: VEX_Vpminsb_xmm_xmm_xmmm128 VEX_Vpminsb_ymm_ymm_ymmm256 EVEX_Vpminsb_xmm_k1z_xmm_xmmm128 EVEX_Vpminsb_ymm_k1z_ymm_ymmm256 EVEX_Vpminsb_zmm_k1z_zmm_zmmm512;
    MINS_W 0: VEX_Vpminsw_xmm_xmm_xmmm128 VEX_Vpminsw_ymm_ymm_ymmm256 EVEX_Vpminsw_xmm_k1z_xmm_xmmm128 EVEX_Vpminsw_ymm_k1z_ymm_ymmm256 EVEX_Vpminsw_zmm_k1z_zmm_zmmm512;
    MINS_D 4: VEX_Vpminsd_xmm_xmm_xmmm128 VEX_Vpminsd_ymm_ymm_ymmm256 EVEX_Vpminsd_xmm_k1z_xmm_xmmm128b32 EVEX_Vpminsd_ymm_k1z_ymm_ymmm256b32 EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32;
    MINS_Q 8: INVALID INVALID EVEX_Vpminsq_xmm_k1z_xmm_xmmm128b64 EVEX_Vpminsq_ymm_k1z_ymm_ymmm256b64 EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64;
    MINU_B 0: VEX_Vpminub_xmm_xmm_xmmm128 VEX_Vpminub_ymm_ymm_ymmm256 EVEX_Vpminub_xmm_k1z_xmm_xmmm128 EVEX_Vpminub_ymm_k1z_ymm_ymmm256 EVEX_Vpminub_zmm_k1z_zmm_zmmm512;
    MINU_W 0: VEX_Vpminuw_xmm_xmm_xmmm128 VEX_Vpminuw_ymm_ymm_ymmm256 EVEX_Vpminuw_xmm_k1z_xmm_xmmm128 EVEX_Vpminuw_ymm_k1z_ymm_ymmm256 EVEX_Vpminuw_zmm_k1z_zmm_zmmm512;
    MINU_D 4: VEX_Vpminud_xmm_xmm_xmmm128 VEX_Vpminud_ymm_ymm_ymmm256 EVEX_Vpminud_xmm_k1z_xmm_xmmm128b32 EVEX_Vpminud_ymm_k1z_ymm_ymmm256b32 EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32;
    MINU_Q 8: INVALID INVALID EVEX_Vpminuq_xmm_k1z_xmm_xmmm128b64 EVEX_Vpminuq_ymm_k1z_ymm_ymmm256b64 EVEX_Vpminuq_zmm_k1z_zmm_zmmm512b64;
    MAXS_B 0: VEX_Vpmaxsb_xmm_xmm_xmmm128 VEX_Vpmaxsb_ymm_ymm_ymmm256 EVEX_Vpmaxsb_xmm_k1z_xmm_xmmm128 EVEX_Vpmaxsb_ymm_k1z_ymm_ymmm256 EVEX_Vpmaxsb_zmm_k1z_zmm_zmmm512;
    MAXS_W 0: VEX_Vpmaxsw_xmm_xmm_xmmm128 VEX_Vpmaxsw_ymm_ymm_ymmm256 EVEX_Vpmaxsw_xmm_k1z_xmm_xmmm128 EVEX_Vpmaxsw_ymm_k1z_ymm_ymmm256 EVEX_Vpmaxsw_zmm_k1z_zmm_zmmm512;
    MAXS_D 4: VEX_Vpmaxsd_xmm_xmm_xmmm128 VEX_Vpmaxsd_ymm_ymm_ymmm256 EVEX_Vpmaxsd_xmm_k1z_xmm_xmmm128b32 EVEX_Vpmaxsd_ymm_k1z_ymm_ymmm256b32 EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32;
    MAXS_Q 8: INVALID INVALID EVEX_Vpmaxsq_xmm_k1z_xmm_xmmm128b64 EVEX_Vpmaxsq_ymm_k1z_ymm_ymmm256b64 EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64;
    MAXU_B 0: VEX_Vpmaxub_xmm_xmm_xmmm128 VEX_Vpmaxub_ymm_ymm_ymmm256 EVEX_Vpmaxub_xmm_k1z_xmm_xmmm128 EVEX_Vpmaxub_ymm_k1z_ymm_ymmm256 EVEX_Vpmaxub_zmm_k1z_zmm_zmmm512;
    MAXU_W 0: VEX_Vpmaxuw_xmm_xmm_xmmm128 VEX_Vpmaxuw_ymm_ymm_ymmm256 EVEX_Vpmaxuw_xmm_k1z_xmm_xmmm128 EVEX_Vpmaxuw_ymm_k1z_ymm_ymmm256 EVEX_Vpmaxuw_zmm_k1z_zmm_zmmm512;
    MAXU_D 4: VEX_Vpmaxud_xmm_xmm_xmmm128 VEX_Vpmaxud_ymm_ymm_ymmm256 EVEX_Vpmaxud_xmm_k1z_xmm_xmmm128b32 EVEX_Vpmaxud_ymm_k1z_ymm_ymmm256b32 EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32;
    MAXU_Q 8: INVALID INVALID EVEX_Vpmaxuq_xmm_k1z_xmm_xmmm128b64 EVEX_Vpmaxuq_ymm_k1z_ymm_ymmm256b64 EVEX_Vpmaxuq_zmm_k1z_zmm_zmmm512b64;
    SLLV_W 0: INVALID INVALID EVEX_Vpsllvw_xmm_k1z_xmm_xmmm128 EVEX_Vpsllvw_ymm_k1z_ymm_ymmm256 EVEX_Vpsllvw_zmm_k1z_zmm_zmmm512;
    SLLV_D 4: VEX_Vpsllvd_xmm_xmm_xmmm128 VEX_Vpsllvd_ymm_ymm_ymmm256 EVEX_Vpsllvd_xmm_k1z_xmm_xmmm128b32 EVEX_Vpsllvd_ymm_k1z_ymm_ymmm256b32 EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32;
    SLLV_Q 8: VEX_Vpsllvq_xmm_xmm_xmmm128 VEX_Vpsllvq_ymm_ymm_ymmm256 EVEX_Vpsllvq_xmm_k1z_xmm_xmmm128b64 EVEX_Vpsllvq_ymm_k1z_ymm_ymmm256b64 EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64;
    SRLV_W 0: INVALID INVALID EVEX_Vpsrlvw_xmm_k1z_xmm_xmmm128 EVEX_Vpsrlvw_ymm_k1z_ymm_ymmm256 EVEX_Vpsrlvw_zmm_k1z_zmm_zmmm512;
    SRLV_D 4: VEX_Vpsrlvd_xmm_xmm_xmmm128 VEX_Vpsrlvd_ymm_ymm_ymmm256 EVEX_Vpsrlvd_xmm_k1z_xmm_xmmm128b32 EVEX_Vpsrlvd_ymm_k1z_ymm_ymmm256b32 EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32;
    SRLV_Q 8: VEX_Vpsrlvq_xmm_xmm_xmmm128 VEX_Vpsrlvq_ymm_ymm_ymmm256 EVEX_Vpsrlvq_xmm_k1z_xmm_xmmm128b64 EVEX_Vpsrlvq_ymm_k1z_ymm_ymmm256b64 EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64;
    SRAV_W 0: INVALID INVALID EVEX_Vpsravw_xmm_k1z_xmm_xmmm128 EVEX_Vpsravw_ymm_k1z_ymm_ymmm256 EVEX_Vpsravw_zmm_k1z_zmm_zmmm512;
    SRAV_D 4: VEX_Vpsravd_xmm_xmm_xmmm128 VEX_Vpsravd_ymm_ymm_ymmm256 EVEX_Vpsravd_xmm_k1z_xmm_xmmm128b32 EVEX_Vpsravd_ymm_k1z_ymm_ymmm256b32 EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32;
    SRAV_Q 8: INVALID INVALID EVEX_Vpsravq_xmm_k1z_xmm_xmmm128b64 EVEX_Vpsravq_ymm_k1z_ymm_ymmm256b64 EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64;
    SLL_Q 8: VEX_Vpsllq_xmm_xmm_imm8 VEX_Vpsllq_ymm_ymm_imm8 EVEX_Vpsllq_xmm_k1z_xmmm128b64_imm8 EVEX_Vpsllq_ymm_k1z_ymmm256b64_imm8 EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8;
    SRL_W 0: VEX_Vpsrlw_xmm_xmm_imm8 VEX_Vpsrlw_ymm_ymm_imm8 EVEX_Vpsrlw_xmm_k1z_xmmm128_imm8 EVEX_Vpsrlw_ymm_k1z_ymmm256_imm8 EVEX_Vpsrlw_zmm_k1z_zmmm512_imm8;
    SRL_Q 8: VEX_Vpsrlq_xmm_xmm_imm8 VEX_Vpsrlq_ymm_ymm_imm8 EVEX_Vpsrlq_xmm_k1z_xmmm128b64_imm8 EVEX_Vpsrlq_ymm_k1z_ymmm256b64_imm8 EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8;
    CMPEQ_B 0: VEX_Vpcmpeqb_xmm_xmm_xmmm128 VEX_Vpcmpeqb_ymm_ymm_ymmm256 INVALID INVALID INVALID;
    CMPEQ_W 0: VEX_Vpcmpeqw_xmm_xmm_xmmm128 VEX_Vpcmpeqw_ymm_ymm_ymmm256 INVALID INVALID INVALID;
    CMPEQ_D 0: VEX_Vpcmpeqd_xmm_xmm_xmmm128 VEX_Vpcmpeqd_ymm_ymm_ymmm256 INVALID INVALID INVALID;
    CMPEQ_Q 0: VEX_Vpcmpeqq_xmm_xmm_xmmm128 VEX_Vpcmpeqq_ymm_ymm_ymmm256 INVALID INVALID INVALID;
    CMPGT_B 0: VEX_Vpcmpgtb_xmm_xmm_xmmm128 VEX_Vpcmpgtb_ymm_ymm_ymmm256 INVALID INVALID INVALID;
    CMPGT_W 0: VEX_Vpcmpgtw_xmm_xmm_xmmm128 VEX_Vpcmpgtw_ymm_ymm_ymmm256 INVALID INVALID INVALID;
    CMPGT_D 0: VEX_Vpcmpgtd_xmm_xmm_xmmm128 VEX_Vpcmpgtd_ymm_ymm_ymmm256 INVALID INVALID INVALID;
    CMPGT_Q 0: VEX_Vpcmpgtq_xmm_xmm_xmmm128 VEX_Vpcmpgtq_ymm_ymm_ymmm256 INVALID INVALID INVALID;
    CMP_PS 4: VEX_Vcmpps_xmm_xmm_xmmm128_imm8 VEX_Vcmpps_ymm_ymm_ymmm256_imm8 EVEX_Vcmpps_kr_k1_xmm_xmmm128b32_imm8 EVEX_Vcmpps_kr_k1_ymm_ymmm256b32_imm8 EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
    CMP_PD 8: VEX_Vcmppd_xmm_xmm_xmmm128_imm8 VEX_Vcmppd_ymm_ymm_ymmm256_imm8 EVEX_Vcmppd_kr_k1_xmm_xmmm128b64_imm8 EVEX_Vcmppd_kr_k1_ymm_ymmm256b64_imm8 EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae;
    CMP_B 0: INVALID INVALID EVEX_Vpcmpb_kr_k1_xmm_xmmm128_imm8 EVEX_Vpcmpb_kr_k1_ymm_ymmm256_imm8 EVEX_Vpcmpb_kr_k1_zmm_zmmm512_imm8;
    CMP_W 0: INVALID INVALID EVEX_Vpcmpw_kr_k1_xmm_xmmm128_imm8 EVEX_Vpcmpw_kr_k1_ymm_ymmm256_imm8 EVEX_Vpcmpw_kr_k1_zmm_zmmm512_imm8;
    CMP_D 4: INVALID INVALID EVEX_Vpcmpd_kr_k1_xmm_xmmm128b32_imm8 EVEX_Vpcmpd_kr_k1_ymm_ymmm256b32_imm8 EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
    CMP_Q 8: INVALID INVALID EVEX_Vpcmpq_kr_k1_xmm_xmmm128b64_imm8 EVEX_Vpcmpq_kr_k1_ymm_ymmm256b64_imm8 EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8;
    CMP_UB 0: INVALID INVALID EVEX_Vpcmpub_kr_k1_xmm_xmmm128_imm8 EVEX_Vpcmpub_kr_k1_ymm_ymmm256_imm8 EVEX_Vpcmpub_kr_k1_zmm_zmmm512_imm8;
    CMP_UW 0: INVALID INVALID EVEX_Vpcmpuw_kr_k1_xmm_xmmm128_imm8 EVEX_Vpcmpuw_kr_k1_ymm_ymmm256_imm8 EVEX_Vpcmpuw_kr_k1_zmm_zmmm512_imm8;
    CMP_UD 4: INVALID INVALID EVEX_Vpcmpud_kr_k1_xmm_xmmm128b32_imm8 EVEX_Vpcmpud_kr_k1_ymm_ymmm256b32_imm8 EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
    CMP_UQ 8: INVALID INVALID EVEX_Vpcmpuq_kr_k1_xmm_xmmm128b64_imm8 EVEX_Vpcmpuq_kr_k1_ymm_ymmm256b64_imm8 EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8;
    TEST_B 0: INVALID INVALID EVEX_Vptestmb_kr_k1_xmm_xmmm128 EVEX_Vptestmb_kr_k1_ymm_ymmm256 EVEX_Vptestmb_kr_k1_zmm_zmmm512;
    TEST_W 0: INVALID INVALID EVEX_Vptestmw_kr_k1_xmm_xmmm128 EVEX_Vptestmw_kr_k1_ymm_ymmm256 EVEX_Vptestmw_kr_k1_zmm_zmmm512;
    TEST_D 4: INVALID INVALID EVEX_Vptestmd_kr_k1_xmm_xmmm128b32 EVEX_Vptestmd_kr_k1_ymm_ymmm256b32 EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
    TEST_Q 8: INVALID INVALID EVEX_Vptestmq_kr_k1_xmm_xmmm128b64 EVEX_Vptestmq_kr_k1_ymm_ymmm256b64 EVEX_Vptestmq_kr_k1_zmm_zmmm512b64;
    TESTN_B 0: INVALID INVALID EVEX_Vptestnmb_kr_k1_xmm_xmmm128 EVEX_Vptestnmb_kr_k1_ymm_ymmm256 EVEX_Vptestnmb_kr_k1_zmm_zmmm512;
    TESTN_W 0: INVALID INVALID EVEX_Vptestnmw_kr_k1_xmm_xmmm128 EVEX_Vptestnmw_kr_k1_ymm_ymmm256 EVEX_Vptestnmw_kr_k1_zmm_zmmm512;
    TESTN_D 4: INVALID INVALID EVEX_Vptestnmd_kr_k1_xmm_xmmm128b32 EVEX_Vptestnmd_kr_k1_ymm_ymmm256b32 EVEX_Vptestnmd_kr_k1_zmm_zmmm512b32;
    TESTN_Q 8: INVALID INVALID EVEX_Vptestnmq_kr_k1_xmm_xmmm128b64 EVEX_Vptestnmq_kr_k1_ymm_ymmm256b64 EVEX_Vptestnmq_kr_k1_zmm_zmmm512b64;
    BLENDV_PS 0: VEX_Vblendvps_xmm_xmm_xmmm128_xmm VEX_Vblendvps_ymm_ymm_ymmm256_ymm INVALID INVALID INVALID;
    BLENDV_PD 0: VEX_Vblendvpd_xmm_xmm_xmmm128_xmm VEX_Vblendvpd_ymm_ymm_ymmm256_ymm INVALID INVALID INVALID;
    BLENDV_B 0: VEX_Vpblendvb_xmm_xmm_xmmm128_xmm VEX_Vpblendvb_ymm_ymm_ymmm256_ymm INVALID INVALID INVALID;
    BLENDM_PS 4: INVALID INVALID EVEX_Vblendmps_xmm_k1z_xmm_xmmm128b32 EVEX_Vblendmps_ymm_k1z_ymm_ymmm256b32 EVEX_Vblendmps_zmm_k1z_zmm_zmmm512b32;
    BLENDM_PD 8: INVALID INVALID EVEX_Vblendmpd_xmm_k1z_xmm_xmmm128b64 EVEX_Vblendmpd_ymm_k1z_ymm_ymmm256b64 EVEX_Vblendmpd_zmm_k1z_zmm_zmmm512b64;
    BLENDM_B 0: INVALID INVALID EVEX_Vpblendmb_xmm_k1z_xmm_xmmm128 EVEX_Vpblendmb_ymm_k1z_ymm_ymmm256 EVEX_Vpblendmb_zmm_k1z_zmm_zmmm512;
    BLENDM_W 0: INVALID INVALID EVEX_Vpblendmw_xmm_k1z_xmm_xmmm128 EVEX_Vpblendmw_ymm_k1z_ymm_ymmm256 EVEX_Vpblendmw_zmm_k1z_zmm_zmmm512;
    BLENDM_D 4: INVALID INVALID EVEX_Vpblendmd_xmm_k1z_xmm_xmmm128b32 EVEX_Vpblendmd_ymm_k1z_ymm_ymmm256b32 EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32;
    BLENDM_Q 8: INVALID INVALID EVEX_Vpblendmq_xmm_k1z_xmm_xmmm128b64 EVEX_Vpblendmq_ymm_k1z_ymm_ymmm256b64 EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64;
    SHUFFLE_B 0: VEX_Vpshufb_xmm_xmm_xmmm128 VEX_Vpshufb_ymm_ymm_ymmm256 EVEX_Vpshufb_xmm_k1z_xmm_xmmm128 EVEX_Vpshufb_ymm_k1z_ymm_ymmm256 EVEX_Vpshufb_zmm_k1z_zmm_zmmm512;
    SQRT_PS 4: VEX_Vsqrtps_xmm_xmmm128 VEX_Vsqrtps_ymm_ymmm256 EVEX_Vsqrtps_xmm_k1z_xmmm128b32 EVEX_Vsqrtps_ymm_k1z_ymmm256b32 EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er;
    ROUND_PS 4: VEX_Vroundps_xmm_xmmm128_imm8 VEX_Vroundps_ymm_ymmm256_imm8 EVEX_Vrndscaleps_xmm_k1z_xmmm128b32_imm8 EVEX_Vrndscaleps_ymm_k1z_ymmm256b32_imm8 EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae;
    SQRT_PD 8: VEX_Vsqrtpd_xmm_xmmm128 VEX_Vsqrtpd_ymm_ymmm256 EVEX_Vsqrtpd_xmm_k1z_xmmm128b64 EVEX_Vsqrtpd_ymm_k1z_ymmm256b64 EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er;
    ROUND_PD 8: VEX_Vroundpd_xmm_xmmm128_imm8 VEX_Vroundpd_ymm_ymmm256_imm8 EVEX_Vrndscalepd_xmm_k1z_xmmm128b64_imm8 EVEX_Vrndscalepd_ymm_k1z_ymmm256b64_imm8 EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae;
    GETEXP_PS 4: INVALID INVALID EVEX_Vgetexpps_xmm_k1z_xmmm128b32 EVEX_Vgetexpps_ymm_k1z_ymmm256b32 EVEX_Vgetexpps_zmm_k1z_zmmm512b32_sae;
    GETEXP_PD 8: INVALID INVALID EVEX_Vgetexppd_xmm_k1z_xmmm128b64 EVEX_Vgetexppd_ymm_k1z_ymmm256b64 EVEX_Vgetexppd_zmm_k1z_zmmm512b64_sae;
    GETMANT_PS 4: INVALID INVALID EVEX_Vgetmantps_xmm_k1z_xmmm128b32_imm8 EVEX_Vgetmantps_ymm_k1z_ymmm256b32_imm8 EVEX_Vgetmantps_zmm_k1z_zmmm512b32_imm8_sae;
    GETMANT_PD 8: INVALID INVALID EVEX_Vgetmantpd_xmm_k1z_xmmm128b64_imm8 EVEX_Vgetmantpd_ymm_k1z_ymmm256b64_imm8 EVEX_Vgetmantpd_zmm_k1z_zmmm512b64_imm8_sae;
    ABS_B 0: VEX_Vpabsb_xmm_xmmm128 VEX_Vpabsb_ymm_ymmm256 EVEX_Vpabsb_xmm_k1z_xmmm128 EVEX_Vpabsb_ymm_k1z_ymmm256 EVEX_Vpabsb_zmm_k1z_zmmm512;
    ABS_W 0: VEX_Vpabsw_xmm_xmmm128 VEX_Vpabsw_ymm_ymmm256 EVEX_Vpabsw_xmm_k1z_xmmm128 EVEX_Vpabsw_ymm_k1z_ymmm256 EVEX_Vpabsw_zmm_k1z_zmmm512;
    ABS_D 4: VEX_Vpabsd_xmm_xmmm128 VEX_Vpabsd_ymm_ymmm256 EVEX_Vpabsd_xmm_k1z_xmmm128b32 EVEX_Vpabsd_ymm_k1z_ymmm256b32 EVEX_Vpabsd_zmm_k1z_zmmm512b32;
    ABS_Q 8: INVALID INVALID EVEX_Vpabsq_xmm_k1z_xmmm128b64 EVEX_Vpabsq_ymm_k1z_ymmm256b64 EVEX_Vpabsq_zmm_k1z_zmmm512b64;
    LZCNT_D 4: INVALID INVALID EVEX_Vplzcntd_xmm_k1z_xmmm128b32 EVEX_Vplzcntd_ymm_k1z_ymmm256b32 EVEX_Vplzcntd_zmm_k1z_zmmm512b32;
    LZCNT_Q 8: INVALID INVALID EVEX_Vplzcntq_xmm_k1z_xmmm128b64 EVEX_Vplzcntq_ymm_k1z_ymmm256b64 EVEX_Vplzcntq_zmm_k1z_zmmm512b64;
    SIGN_BW 0: VEX_Vpmovsxbw_xmm_xmmm64 VEX_Vpmovsxbw_ymm_xmmm128 EVEX_Vpmovsxbw_xmm_k1z_xmmm64 EVEX_Vpmovsxbw_ymm_k1z_xmmm128 EVEX_Vpmovsxbw_zmm_k1z_ymmm256;
    SIGN_BD 0: VEX_Vpmovsxbd_xmm_xmmm32 VEX_Vpmovsxbd_ymm_xmmm64 EVEX_Vpmovsxbd_xmm_k1z_xmmm32 EVEX_Vpmovsxbd_ymm_k1z_xmmm64 EVEX_Vpmovsxbd_zmm_k1z_xmmm128;
    SIGN_BQ 0: VEX_Vpmovsxbq_xmm_xmmm16 VEX_Vpmovsxbq_ymm_xmmm32 EVEX_Vpmovsxbq_xmm_k1z_xmmm16 EVEX_Vpmovsxbq_ymm_k1z_xmmm32 EVEX_Vpmovsxbq_zmm_k1z_xmmm64;
    SIGN_WD 0: VEX_Vpmovsxwd_xmm_xmmm64 VEX_Vpmovsxwd_ymm_xmmm128 EVEX_Vpmovsxwd_xmm_k1z_xmmm64 EVEX_Vpmovsxwd_ymm_k1z_xmmm128 EVEX_Vpmovsxwd_zmm_k1z_ymmm256;
    SIGN_WQ 0: VEX_Vpmovsxwq_xmm_xmmm32 VEX_Vpmovsxwq_ymm_xmmm64 EVEX_Vpmovsxwq_xmm_k1z_xmmm32 EVEX_Vpmovsxwq_ymm_k1z_xmmm64 EVEX_Vpmovsxwq_zmm_k1z_xmmm128;
    SIGN_DQ 0: VEX_Vpmovsxdq_xmm_xmmm64 VEX_Vpmovsxdq_ymm_xmmm128 EVEX_Vpmovsxdq_xmm_k1z_xmmm64 EVEX_Vpmovsxdq_ymm_k1z_xmmm128 EVEX_Vpmovsxdq_zmm_k1z_ymmm256;
    ZERO_BW 0: VEX_Vpmovzxbw_xmm_xmmm64 VEX_Vpmovzxbw_ymm_xmmm128 EVEX_Vpmovzxbw_xmm_k1z_xmmm64 EVEX_Vpmovzxbw_ymm_k1z_xmmm128 EVEX_Vpmovzxbw_zmm_k1z_ymmm256;
    ZERO_BD 0: VEX_Vpmovzxbd_xmm_xmmm32 VEX_Vpmovzxbd_ymm_xmmm64 EVEX_Vpmovzxbd_xmm_k1z_xmmm32 EVEX_Vpmovzxbd_ymm_k1z_xmmm64 EVEX_Vpmovzxbd_zmm_k1z_xmmm128;
    ZERO_BQ 0: VEX_Vpmovzxbq_xmm_xmmm16 VEX_Vpmovzxbq_ymm_xmmm32 EVEX_Vpmovzxbq_xmm_k1z_xmmm16 EVEX_Vpmovzxbq_ymm_k1z_xmmm32 EVEX_Vpmovzxbq_zmm_k1z_xmmm64;
    ZERO_WD 0: VEX_Vpmovzxwd_xmm_xmmm64 VEX_Vpmovzxwd_ymm_xmmm128 EVEX_Vpmovzxwd_xmm_k1z_xmmm64 EVEX_Vpmovzxwd_ymm_k1z_xmmm128 EVEX_Vpmovzxwd_zmm_k1z_ymmm256;
    ZERO_WQ 0: VEX_Vpmovzxwq_xmm_xmmm32 VEX_Vpmovzxwq_ymm_xmmm64 EVEX_Vpmovzxwq_xmm_k1z_xmmm32 EVEX_Vpmovzxwq_ymm_k1z_xmmm64 EVEX_Vpmovzxwq_zmm_k1z_xmmm128;
    ZERO_DQ 0: VEX_Vpmovzxdq_xmm_xmmm64 VEX_Vpmovzxdq_ymm_xmmm128 EVEX_Vpmovzxdq_xmm_k1z_xmmm64 EVEX_Vpmovzxdq_ymm_k1z_xmmm128 EVEX_Vpmovzxdq_zmm_k1z_ymmm256;
    NARROW_WB 0: INVALID INVALID EVEX_Vpmovwb_xmmm64_k1z_xmm EVEX_Vpmovwb_xmmm128_k1z_ymm EVEX_Vpmovwb_ymmm256_k1z_zmm;
    NARROW_DB 0: INVALID INVALID EVEX_Vpmovdb_xmmm32_k1z_xmm EVEX_Vpmovdb_xmmm64_k1z_ymm EVEX_Vpmovdb_xmmm128_k1z_zmm;
    NARROW_QB 0: INVALID INVALID EVEX_Vpmovqb_xmmm16_k1z_xmm EVEX_Vpmovqb_xmmm32_k1z_ymm EVEX_Vpmovqb_xmmm64_k1z_zmm;
    NARROW_DW 0: INVALID INVALID EVEX_Vpmovdw_xmmm64_k1z_xmm EVEX_Vpmovdw_xmmm128_k1z_ymm EVEX_Vpmovdw_ymmm256_k1z_zmm;
    NARROW_QW 0: INVALID INVALID EVEX_Vpmovqw_xmmm32_k1z_xmm EVEX_Vpmovqw_xmmm64_k1z_ymm EVEX_Vpmovqw_xmmm128_k1z_zmm;
    NARROW_QD 0: INVALID INVALID EVEX_Vpmovqd_xmmm64_k1z_xmm EVEX_Vpmovqd_xmmm128_k1z_ymm EVEX_Vpmovqd_ymmm256_k1z_zmm;
    CVTDQ2PS 4: VEX_Vcvtdq2ps_xmm_xmmm128 VEX_Vcvtdq2ps_ymm_ymmm256 EVEX_Vcvtdq2ps_xmm_k1z_xmmm128b32 EVEX_Vcvtdq2ps_ymm_k1z_ymmm256b32 EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er;
    CVTUDQ2PS 4: INVALID INVALID EVEX_Vcvtudq2ps_xmm_k1z_xmmm128b32 EVEX_Vcvtudq2ps_ymm_k1z_ymmm256b32 EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er;
    CVTTPS2DQ 4: VEX_Vcvttps2dq_xmm_xmmm128 VEX_Vcvttps2dq_ymm_ymmm256 EVEX_Vcvttps2dq_xmm_k1z_xmmm128b32 EVEX_Vcvttps2dq_ymm_k1z_ymmm256b32 EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae;
    CVTTPS2UDQ 4: INVALID INVALID EVEX_Vcvttps2udq_xmm_k1z_xmmm128b32 EVEX_Vcvttps2udq_ymm_k1z_ymmm256b32 EVEX_Vcvttps2udq_zmm_k1z_zmmm512b32_sae;
    CVTQQ2PD 8: INVALID INVALID EVEX_Vcvtqq2pd_xmm_k1z_xmmm128b64 EVEX_Vcvtqq2pd_ymm_k1z_ymmm256b64 EVEX_Vcvtqq2pd_zmm_k1z_zmmm512b64_er;
    CVTUQQ2PD 8: INVALID INVALID EVEX_Vcvtuqq2pd_xmm_k1z_xmmm128b64 EVEX_Vcvtuqq2pd_ymm_k1z_ymmm256b64 EVEX_Vcvtuqq2pd_zmm_k1z_zmmm512b64_er;
    CVTTPD2QQ 8: INVALID INVALID EVEX_Vcvttpd2qq_xmm_k1z_xmmm128b64 EVEX_Vcvttpd2qq_ymm_k1z_ymmm256b64 EVEX_Vcvttpd2qq_zmm_k1z_zmmm512b64_sae;
    CVTTPD2UQQ 8: INVALID INVALID EVEX_Vcvttpd2uqq_xmm_k1z_xmmm128b64 EVEX_Vcvttpd2uqq_ymm_k1z_ymmm256b64 EVEX_Vcvttpd2uqq_zmm_k1z_zmmm512b64_sae;
    CVTPS2PD 4: VEX_Vcvtps2pd_xmm_xmmm64 VEX_Vcvtps2pd_ymm_xmmm128 EVEX_Vcvtps2pd_xmm_k1z_xmmm64b32 EVEX_Vcvtps2pd_ymm_k1z_xmmm128b32 EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae;
    CVTDQ2PD 4: VEX_Vcvtdq2pd_xmm_xmmm64 VEX_Vcvtdq2pd_ymm_xmmm128 EVEX_Vcvtdq2pd_xmm_k1z_xmmm64b32 EVEX_Vcvtdq2pd_ymm_k1z_xmmm128b32 EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er;
    CVTUDQ2PD 4: INVALID INVALID EVEX_Vcvtudq2pd_xmm_k1z_xmmm64b32 EVEX_Vcvtudq2pd_ymm_k1z_xmmm128b32 EVEX_Vcvtudq2pd_zmm_k1z_ymmm256b32_er;
    CVTTPS2QQ 4: INVALID INVALID EVEX_Vcvttps2qq_xmm_k1z_xmmm64b32 EVEX_Vcvttps2qq_ymm_k1z_xmmm128b32 EVEX_Vcvttps2qq_zmm_k1z_ymmm256b32_sae;
    CVTTPS2UQQ 4: INVALID INVALID EVEX_Vcvttps2uqq_xmm_k1z_xmmm64b32 EVEX_Vcvttps2uqq_ymm_k1z_xmmm128b32 EVEX_Vcvttps2uqq_zmm_k1z_ymmm256b32_sae;
    CVTPD2PS 8: VEX_Vcvtpd2ps_xmm_xmmm128 VEX_Vcvtpd2ps_xmm_ymmm256 EVEX_Vcvtpd2ps_xmm_k1z_xmmm128b64 EVEX_Vcvtpd2ps_xmm_k1z_ymmm256b64 EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er;
    CVTTPD2DQ 8: VEX_Vcvttpd2dq_xmm_xmmm128 VEX_Vcvttpd2dq_xmm_ymmm256 EVEX_Vcvttpd2dq_xmm_k1z_xmmm128b64 EVEX_Vcvttpd2dq_xmm_k1z_ymmm256b64 EVEX_Vcvttpd2dq_ymm_k1z_zmmm512b64_sae;
    CVTTPD2UDQ 8: INVALID INVALID EVEX_Vcvttpd2udq_xmm_k1z_xmmm128b64 EVEX_Vcvttpd2udq_xmm_k1z_ymmm256b64 EVEX_Vcvttpd2udq_ymm_k1z_zmmm512b64_sae;
    CVTQQ2PS 8: INVALID INVALID EVEX_Vcvtqq2ps_xmm_k1z_xmmm128b64 EVEX_Vcvtqq2ps_xmm_k1z_ymmm256b64 EVEX_Vcvtqq2ps_ymm_k1z_zmmm512b64_er;
    CVTUQQ2PS 8: INVALID INVALID EVEX_Vcvtuqq2ps_xmm_k1z_xmmm128b64 EVEX_Vcvtuqq2ps_xmm_k1z_ymmm256b64 EVEX_Vcvtuqq2ps_ymm_k1z_zmmm512b64_er;
    TERNLOG_D 4: INVALID INVALID EVEX_Vpternlogd_xmm_k1z_xmm_xmmm128b32_imm8 EVEX_Vpternlogd_ymm_k1z_ymm_ymmm256b32_imm8 EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8;
    TERNLOG_Q 8: INVALID INVALID EVEX_Vpternlogq_xmm_k1z_xmm_xmmm128b64_imm8 EVEX_Vpternlogq_ymm_k1z_ymm_ymmm256b64_imm8 EVEX_Vpternlogq_zmm_k1z_zmm_zmmm512b64_imm8;
    BROADCAST_B 0: VEX_Vpbroadcastb_xmm_xmmm8 VEX_Vpbroadcastb_ymm_xmmm8 EVEX_Vpbroadcastb_xmm_k1z_xmmm8 EVEX_Vpbroadcastb_ymm_k1z_xmmm8 EVEX_Vpbroadcastb_zmm_k1z_xmmm8;
    BROADCAST_W 0: VEX_Vpbroadcastw_xmm_xmmm16 VEX_Vpbroadcastw_ymm_xmmm16 EVEX_Vpbroadcastw_xmm_k1z_xmmm16 EVEX_Vpbroadcastw_ymm_k1z_xmmm16 EVEX_Vpbroadcastw_zmm_k1z_xmmm16;
    BROADCAST_D 0: VEX_Vpbroadcastd_xmm_xmmm32 VEX_Vpbroadcastd_ymm_xmmm32 EVEX_Vpbroadcastd_xmm_k1z_xmmm32 EVEX_Vpbroadcastd_ymm_k1z_xmmm32 EVEX_Vpbroadcastd_zmm_k1z_xmmm32;
    BROADCAST_Q 0: VEX_Vpbroadcastq_xmm_xmmm64 VEX_Vpbroadcastq_ymm_xmmm64 EVEX_Vpbroadcastq_xmm_k1z_xmmm64 EVEX_Vpbroadcastq_ymm_k1z_xmmm64 EVEX_Vpbroadcastq_zmm_k1z_xmmm64;
    MOV_PS_LOAD 0: VEX_Vmovups_xmm_xmmm128 VEX_Vmovups_ymm_ymmm256 EVEX_Vmovups_xmm_k1z_xmmm128 EVEX_Vmovups_ymm_k1z_ymmm256 EVEX_Vmovups_zmm_k1z_zmmm512;
    MOV_PS_STORE 0: VEX_Vmovups_xmmm128_xmm VEX_Vmovups_ymmm256_ymm EVEX_Vmovups_xmmm128_k1z_xmm EVEX_Vmovups_ymmm256_k1z_ymm EVEX_Vmovups_zmmm512_k1z_zmm;
    STREAM_STORE 0: VEX_Vmovntps_m128_xmm VEX_Vmovntps_m256_ymm EVEX_Vmovntps_m128_xmm EVEX_Vmovntps_m256_ymm EVEX_Vmovntps_m512_zmm;
    MOV_PD_LOAD 0: INVALID INVALID EVEX_Vmovupd_xmm_k1z_xmmm128 EVEX_Vmovupd_ymm_k1z_ymmm256 EVEX_Vmovupd_zmm_k1z_zmmm512;
    MOV_PD_STORE 0: INVALID INVALID EVEX_Vmovupd_xmmm128_k1z_xmm EVEX_Vmovupd_ymmm256_k1z_ymm EVEX_Vmovupd_zmmm512_k1z_zmm;
    MOV_B_LOAD 0: INVALID INVALID EVEX_Vmovdqu8_xmm_k1z_xmmm128 EVEX_Vmovdqu8_ymm_k1z_ymmm256 EVEX_Vmovdqu8_zmm_k1z_zmmm512;
    MOV_B_STORE 0: INVALID INVALID EVEX_Vmovdqu8_xmmm128_k1z_xmm EVEX_Vmovdqu8_ymmm256_k1z_ymm EVEX_Vmovdqu8_zmmm512_k1z_zmm;
    MOV_W_LOAD 0: INVALID INVALID EVEX_Vmovdqu16_xmm_k1z_xmmm128 EVEX_Vmovdqu16_ymm_k1z_ymmm256 EVEX_Vmovdqu16_zmm_k1z_zmmm512;
    MOV_W_STORE 0: INVALID INVALID EVEX_Vmovdqu16_xmmm128_k1z_xmm EVEX_Vmovdqu16_ymmm256_k1z_ymm EVEX_Vmovdqu16_zmmm512_k1z_zmm;
    MASKMOV_PS_LOAD 0: VEX_Vmaskmovps_xmm_xmm_m128 VEX_Vmaskmovps_ymm_ymm_m256 INVALID INVALID INVALID;
    MASKMOV_PS_STORE 0: VEX_Vmaskmovps_m128_xmm_xmm VEX_Vmaskmovps_m256_ymm_ymm INVALID INVALID INVALID;
    MASKMOV_PD_LOAD 0: VEX_Vmaskmovpd_xmm_xmm_m128 VEX_Vmaskmovpd_ymm_ymm_m256 INVALID INVALID INVALID;
    MASKMOV_PD_STORE 0: VEX_Vmaskmovpd_m128_xmm_xmm VEX_Vmaskmovpd_m256_ymm_ymm INVALID INVALID INVALID;
    UNPACKLO_DQ 4: VEX_Vpunpckldq_xmm_xmm_xmmm128 VEX_Vpunpckldq_ymm_ymm_ymmm256 EVEX_Vpunpckldq_xmm_k1z_xmm_xmmm128b32 EVEX_Vpunpckldq_ymm_k1z_ymm_ymmm256b32 EVEX_Vpunpckldq_zmm_k1z_zmm_zmmm512b32;
    UNPACKLO_WD 0: VEX_Vpunpcklwd_xmm_xmm_xmmm128 VEX_Vpunpcklwd_ymm_ymm_ymmm256 EVEX_Vpunpcklwd_xmm_k1z_xmm_xmmm128 EVEX_Vpunpcklwd_ymm_k1z_ymm_ymmm256 EVEX_Vpunpcklwd_zmm_k1z_zmm_zmmm512;
    UNPACKLO_PD 8: VEX_Vunpcklpd_xmm_xmm_xmmm128 VEX_Vunpcklpd_ymm_ymm_ymmm256 INVALID INVALID EVEX_Vunpcklpd_zmm_k1z_zmm_zmmm512b64;
    UNPACKHI_PD 8: VEX_Vunpckhpd_xmm_xmm_xmmm128 VEX_Vunpckhpd_ymm_ymm_ymmm256 INVALID INVALID EVEX_Vunpckhpd_zmm_k1z_zmm_zmmm512b64;
    UNPACKLO_PS 4: VEX_Vunpcklps_xmm_xmm_xmmm128 VEX_Vunpcklps_ymm_ymm_ymmm256 INVALID INVALID INVALID;
    UNPACKHI_PS 4: VEX_Vunpckhps_xmm_xmm_xmmm128 VEX_Vunpckhps_ymm_ymm_ymmm256 INVALID INVALID INVALID;
    SHUFFLE_PS 4: VEX_Vshufps_xmm_xmm_xmmm128_imm8 VEX_Vshufps_ymm_ymm_ymmm256_imm8 INVALID INVALID EVEX_Vshufps_zmm_k1z_zmm_zmmm512b32_imm8;
    SHUFFLE_X 8: INVALID INVALID INVALID INVALID EVEX_Vshuff64x2_zmm_k1z_zmm_zmmm512b64_imm8;
    SUM_BYTES 0: VEX_Vpsadbw_xmm_xmm_xmmm128 VEX_Vpsadbw_ymm_ymm_ymmm256 EVEX_Vpsadbw_xmm_xmm_xmmm128 EVEX_Vpsadbw_ymm_ymm_ymmm256 EVEX_Vpsadbw_zmm_zmm_zmmm512;
    PICK_PS 4: INVALID INVALID EVEX_Vpermt2ps_xmm_k1z_xmm_xmmm128b32 EVEX_Vpermt2ps_ymm_k1z_ymm_ymmm256b32 EVEX_Vpermt2ps_zmm_k1z_zmm_zmmm512b32;
    PICK_PD 8: INVALID INVALID EVEX_Vpermt2pd_xmm_k1z_xmm_xmmm128b64 EVEX_Vpermt2pd_ymm_k1z_ymm_ymmm256b64 EVEX_Vpermt2pd_zmm_k1z_zmm_zmmm512b64;
    PERM_PD 8: INVALID INVALID INVALID EVEX_Vpermpd_ymm_k1z_ymm_ymmm256b64 EVEX_Vpermpd_zmm_k1z_zmm_zmmm512b64;
    PERM_PS 4: INVALID VEX_Vpermps_ymm_ymm_ymmm256 INVALID EVEX_Vpermps_ymm_k1z_ymm_ymmm256b32 EVEX_Vpermps_zmm_k1z_zmm_zmmm512b32;
    EVEN_PS 0: VEX_Vmovsldup_xmm_xmmm128 VEX_Vmovsldup_ymm_ymmm256 INVALID INVALID INVALID;
    PERM_X 0: INVALID VEX_Vperm2f128_ymm_ymm_ymmm256_imm8 INVALID INVALID INVALID;
    PERM_Q 0: INVALID VEX_Vpermq_ymm_ymmm256_imm8 INVALID INVALID INVALID;
    EXTRACT_HIGH 0: INVALID VEX_Vextracti128_xmmm128_ymm_imm8 INVALID INVALID INVALID;
    MOVE4_LOAD 0: VEX_Vmovd_xmm_rm32 INVALID EVEX_Vmovd_xmm_rm32 INVALID INVALID;
    MOVE8_LOAD 0: VEX_Vmovq_xmm_xmmm64 INVALID EVEX_Vmovq_xmm_xmmm64 INVALID INVALID;
    EXTRACT_B 0: VEX_Vpextrb_r32m8_xmm_imm8 INVALID EVEX_Vpextrb_r32m8_xmm_imm8 INVALID INVALID;
    EXTRACT_W 0: VEX_Vpextrw_r32m16_xmm_imm8 INVALID EVEX_Vpextrw_r32m16_xmm_imm8 INVALID INVALID;
    MOVE4_STORE 0: VEX_Vmovd_rm32_xmm INVALID EVEX_Vmovd_rm32_xmm INVALID INVALID;
    MOVE8_STORE 0: VEX_Vmovq_xmmm64_xmm INVALID EVEX_Vmovq_xmmm64_xmm INVALID INVALID;
    KAND 0: INVALID INVALID INVALID INVALID VEX_Kandq_kr_kr_kr;
    KOR 0: INVALID INVALID INVALID INVALID VEX_Korq_kr_kr_kr;
    KXOR 0: INVALID INVALID INVALID INVALID VEX_Kxorq_kr_kr_kr;
    KANDN 0: INVALID INVALID INVALID INVALID VEX_Kandnq_kr_kr_kr;
    SHIFT_BYTES 0: VEX_Vpsrldq_xmm_xmm_imm8 VEX_Vpsrldq_ymm_ymm_imm8 EVEX_Vpsrldq_xmm_xmmm128_imm8 EVEX_Vpsrldq_ymm_ymmm256_imm8 EVEX_Vpsrldq_zmm_zmmm512_imm8;
    ALIGN_Q 8: INVALID INVALID EVEX_Valignq_xmm_k1z_xmm_xmmm128b64_imm8 EVEX_Valignq_ymm_k1z_ymm_ymmm256b64_imm8 EVEX_Valignq_zmm_k1z_zmm_zmmm512b64_imm8;
    KSHIFT 0: INVALID INVALID INVALID INVALID VEX_Kshiftrq_kr_kr_imm8;
    KNOT 0: INVALID INVALID INVALID INVALID VEX_Knotq_kr_kr;
}
