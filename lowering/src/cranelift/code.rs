//! Compiled kernels and loop programs: machine code in memory.

use super::emit::Emitter;
use super::program::ProgramEmitter;
use super::runtime::Site;
use super::vector_plan::VectorPlan;
use super::{Cranelift, unsupported};
use crate::kernel::{CompiledKernel, KOp, Kernel, KernelArgs, KernelError, fence};
use crate::program::{ALIGN, BufferDecl, Program, Storage};
use crate::scratch::with_scratch;
use cranelift_codegen::Context;
use cranelift_codegen::ir::{AbiParam, LibCall, UserFuncName, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::Module;
use std::alloc::Layout;
use std::borrow::Cow;
use std::sync::{Mutex, OnceLock};

/// The signature of the code: the arguments, and scratch memory.
type Entry = unsafe extern "C" fn(*const KernelArgs, *mut u8);

/// A compiled kernel or loop program.
///
/// Its memory is first writable and not executable, then executable and not writable.
pub struct Code {
    entry: Entry,
    /// The layout of the scratch memory that a call needs for local buffers.
    scratch: Layout,
    /// The owner of the memory, which is freed on drop. The mutex is never locked; it only makes the type
    /// `Sync`.
    module: Mutex<Option<JITModule>>,
    /// The code contains the addresses of these.
    _sites: Box<[Site]>,
    /// For the listing, which is made on demand.
    codegen: Cranelift,
    /// Whether a kernel of the program writes past the caches.
    streams: bool,
    source: Source,
    listing: OnceLock<Option<String>>,
}

/// The IR that is compiled.
pub enum Source {
    /// A kernel.
    Kernel(Box<Kernel>),
    /// A loop program without reductions, the kernels that it calls, and the program with reductions.
    Program(Program, Box<[Box<dyn CompiledKernel>]>, Program),
}

impl Source {
    fn streams(&self) -> bool {
        let Source::Program(program, kernels, _) = self else { return false };
        let is_streamed = |buffer: &BufferDecl| matches!(buffer.storage, Storage::Caller { streamed: true, .. });
        program.buffers.iter().any(is_streamed) || kernels.iter().any(|kernel| kernel.streams())
    }

    /// The kernel, or the scalar instructions of the program as one.
    fn kernel(&self) -> Cow<'_, Kernel> {
        match self {
            Source::Kernel(kernel) => Cow::Borrowed(kernel),
            Source::Program(program, ..) => Cow::Owned(program.scalar_kernel()),
        }
    }
}

impl Cranelift {
    fn isa_for(&self, source: &Source) -> &OwnedTargetIsa {
        match source {
            Source::Kernel(_) => &self.isa,
            Source::Program(..) => &self.optimizing,
        }
    }
}

impl Code {
    /// Compiles a kernel or a loop program.
    pub fn new(codegen: &Cranelift, source: Source) -> Result<Self, KernelError> {
        let sites = sites(&source.kernel());
        let mut builder =
            JITBuilder::with_isa(codegen.isa_for(&source).clone(), Box::new(|call| libcall_name(call).to_owned()));
        for (name, address) in LIBCALLS {
            builder.symbol(*name, address.0);
        }
        let mut module = JITModule::new(builder);
        let (mut context, bytes) = function(codegen, &source, &sites)?;
        let scratch = Layout::from_size_align(bytes, ALIGN).map_err(unsupported)?;
        let id = module.declare_anonymous_function(&context.func.signature).map_err(unsupported)?;
        let mut define = || -> Result<(), KernelError> {
            module.define_function(id, &mut context).map_err(|why| unsupported(format!("{why:?}")))?;
            module.finalize_definitions().map_err(unsupported)
        };
        if let Err(why) = define() {
            free(module);
            return Err(why);
        }
        let entry = module.get_finalized_function(id);
        // SAFETY: the code at `entry` was made with this signature: two pointers, no result, the C
        // convention of this machine.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(entry) };
        Ok(Code {
            entry,
            scratch,
            module: Mutex::new(Some(module)),
            _sites: sites,
            codegen: codegen.clone(),
            streams: source.streams(),
            source,
            listing: OnceLock::new(),
        })
    }
}

impl CompiledKernel for Code {
    // No point is in two groups, in two copied pieces, or in a group and the rest of a row. All loads of a
    // group or piece precede its stores.
    fn overwrites(&self) -> bool {
        true
    }

    unsafe fn call(&self, args: &KernelArgs) {
        // SAFETY: the caller vouches for the memory that `args` points to, as the trait demands. The code is
        // alive as long as `self`. It changes registers, its stack, scratch memory of this layout, written
        // buffers and the call's status only.
        with_scratch(self.scratch, |scratch| unsafe { (self.entry)(args, scratch) });
        if self.streams {
            fence();
        }
    }

    fn streams(&self) -> bool {
        self.streams
    }

    fn schedule(&self) -> String {
        match &self.source {
            Source::Kernel(kernel) => VectorPlan::new(kernel, self.codegen.features).describe(kernel),
            Source::Program(_, kernels, _) => {
                let own = kernels.iter().map(|kernel| kernel.schedule());
                ["one point after the other".to_string()].into_iter().chain(own).collect::<Vec<_>>().join("; kernel: ")
            }
        }
    }

    fn program(&self) -> Option<&Program> {
        match &self.source {
            Source::Program(.., outlined) => Some(outlined),
            Source::Kernel(_) => None,
        }
    }

    fn disassembly(&self) -> Option<&str> {
        let listing = self.listing.get_or_init(|| {
            let (mut context, _) = function(&self.codegen, &self.source, &sites(&self.source.kernel())).ok()?;
            context.set_disasm(true);
            let code = context.compile(&**self.codegen.isa_for(&self.source), &mut Default::default()).ok()?;
            code.vcode.clone()
        });
        listing.as_deref()
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        let module = self.module.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(module) = module.take() {
            free(module);
        }
    }
}

/// Frees code that is not running.
fn free(module: JITModule) {
    // SAFETY: the only pointer to the code is `Code::entry`, which either was never made, or is private and
    // used only during `call`. A call borrows the `Code`, so that none runs during or after the drop.
    unsafe { module.free_memory() }
}

fn sites(kernel: &Kernel) -> Box<[Site]> {
    let site = |(number, inst): (usize, &crate::kernel::KInst)| match &inst.op {
        KOp::Reference(r) => Some(Site { number, loc: inst.loc, reference: (**r).clone() }),
        _ => None,
    };
    kernel.insts.iter().enumerate().filter_map(site).collect()
}

/// The function of a kernel or a loop program, not yet compiled, and the bytes of scratch memory that it
/// needs.
fn function(codegen: &Cranelift, source: &Source, sites: &[Site]) -> Result<(Context, usize), KernelError> {
    let mut context = Context::new();
    context.func.signature.call_conv = codegen.isa.default_call_conv();
    context.func.signature.params.extend([AbiParam::new(types::I64); 2]);
    context.func.name = UserFuncName::user(0, 0);
    let mut parts = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut parts);
    let kernel = source.kernel();
    let mut emitter = Emitter::new(builder, &kernel, &*codegen.isa, sites, codegen.features)?;
    let mut scratch = 0;
    match source {
        Source::Kernel(_) => emitter.kernel()?,
        Source::Program(program, kernels, _) => {
            (emitter, scratch) = ProgramEmitter::new(emitter, (program, kernels), &kernel).emit()?;
        }
    }
    emitter.b.finalize(codegen.isa.frontend_config());
    Ok((context, scratch))
}

struct Address(*const u8);
// SAFETY: the addresses of functions, which are only copied.
unsafe impl Sync for Address {}

/// The functions that are called on processors without an instruction for the operation.
static LIBCALLS: &[(&str, Address)] = &[
    ("ceilf", Address(libm_ceilf as *const u8)),
    ("ceil", Address(libm_ceil as *const u8)),
    ("floorf", Address(libm_floorf as *const u8)),
    ("floor", Address(libm_floor as *const u8)),
    ("truncf", Address(libm_truncf as *const u8)),
    ("trunc", Address(libm_trunc as *const u8)),
    ("nearbyintf", Address(libm_rintf as *const u8)),
    ("nearbyint", Address(libm_rint as *const u8)),
    ("fmaf", Address(libm_fmaf as *const u8)),
    ("fma", Address(libm_fma as *const u8)),
];

fn libcall_name(call: LibCall) -> &'static str {
    match call {
        LibCall::CeilF32 => "ceilf",
        LibCall::CeilF64 => "ceil",
        LibCall::FloorF32 => "floorf",
        LibCall::FloorF64 => "floor",
        LibCall::TruncF32 => "truncf",
        LibCall::TruncF64 => "trunc",
        LibCall::NearestF32 => "nearbyintf",
        LibCall::NearestF64 => "nearbyint",
        LibCall::FmaF32 => "fmaf",
        LibCall::FmaF64 => "fma",
        _ => "unexpected",
    }
}

macro_rules! libm_functions {
    ($($name:ident = $function:ident($($arg:ident),*) $ty:ty;)*) => {$(
        extern "C" fn $name($($arg: $ty),*) -> $ty {
            libm::$function($($arg),*)
        }
    )*};
}
libm_functions! {
    libm_ceilf = ceilf(x) f32;
    libm_ceil = ceil(x) f64;
    libm_floorf = floorf(x) f32;
    libm_floor = floor(x) f64;
    libm_truncf = truncf(x) f32;
    libm_trunc = trunc(x) f64;
    libm_rintf = rintf(x) f32;
    libm_rint = rint(x) f64;
    libm_fmaf = fmaf(x, y, z) f32;
    libm_fma = fma(x, y, z) f64;
}
