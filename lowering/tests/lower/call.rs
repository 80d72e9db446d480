//! Calling the kernel of an expression with arrays.

use rewright_ir::{Array, ArrayExpr, Datum, EvalError, Scalar, Type, with_array};
use rewright_lowering::internals::Cranelift;
use rewright_lowering::internals::Interp;
use rewright_lowering::internals::kernel::{CodeGen, CompiledKernel};
#[cfg(target_arch = "x86_64")]
use rewright_lowering::internals::kernel::{KOp, Kernel};
use rewright_lowering::internals::lower::{Lowered, Strided, lower};

/// A kernel by `x64` at all levels of this processor; none of one with ops by their reference meaning, which it refuses.
#[cfg(target_arch = "x86_64")]
fn wide(kernel: &Kernel) -> Vec<(&'static str, Box<dyn CompiledKernel>)> {
    use rewright_lowering::internals::x64::{Level, X64};
    let refers = kernel.insts.iter().any(|inst| matches!(inst.op, KOp::Reference(_)));
    let compile = |x64: X64| {
        let code = x64.compile(kernel);
        (x64.name(), code.unwrap_or_else(|why| panic!("{}: {why}\n{kernel}", x64.name())))
    };
    Level::ALL.into_iter().filter_map(|level| X64::at(level).ok()).filter(|_| !refers).map(compile).collect()
}

/// An expression compiled by all code generators.
pub struct Compiled {
    pub lowered: Lowered,
    pub codes: Vec<(&'static str, Box<dyn CompiledKernel>)>,
}

impl Compiled {
    pub fn new(expr: &ArrayExpr, args: &[Type]) -> Compiled {
        let lowered = lower(expr, args).unwrap_or_else(|why| panic!("{why}"));
        let vectors = Cranelift::new().unwrap();
        let scalars = vectors.clone().without_vectors();
        let generators: [(&'static str, &dyn CodeGen); 3] =
            [("interp", &Interp), ("vectors", &vectors), ("scalars", &scalars)];
        let compile = |(name, generator): (&'static str, &dyn CodeGen)| {
            let code = generator.compile(&lowered.kernel);
            (name, code.unwrap_or_else(|why| panic!("{name}: {why}\n{}", lowered.kernel)))
        };
        #[cfg(target_arch = "x86_64")]
        let wide = wide(&lowered.kernel);
        #[cfg(not(target_arch = "x86_64"))]
        let wide = Vec::new();
        let codes = generators.into_iter().map(compile).chain(wide).collect();
        Compiled { lowered, codes }
    }

    /// Runs one of the codes; `None` where the reference evaluator is to be asked.
    pub fn run(&self, code: &dyn CompiledKernel, args: &[Datum]) -> Option<Result<Vec<Datum>, EvalError>> {
        let unbound = |_| None;
        let views: Vec<Strided<'_>> = args.iter().map(strided).collect();
        let space = self.lowered.space(&views, &unbound)?;
        let mut results = Vec::new();
        for (number, map) in self.lowered.results.iter().enumerate() {
            let shape = self.lowered.result_shape(number, &space, &unbound)?;
            let before = shape.fill.unwrap_or(Scalar::one(map.dtype));
            results.push(Datum::Array(Array::full(before, &shape.shape)?));
        }
        let outs: Vec<Strided<'_>> = results.iter().map(strided).collect();
        let bound = self.lowered.bind(&space, &views, &outs, &unbound)?;
        let params = self.lowered.param_words(&space, |n| args[n as usize].as_scalar())?;
        let mut pointers = Vec::new();
        for (access, &offset) in self.lowered.accesses.iter().zip(&bound.offsets) {
            let first = match access.place {
                rewright_lowering::internals::lower::Place::Arg(n) => read_pointer(&args[n as usize]),
                rewright_lowering::internals::lower::Place::Result(n) => write_pointer(&mut results[n as usize]),
            };
            pointers.push(first.wrapping_byte_offset(offset));
        }
        // SAFETY: the arrays have the shapes and strides that were bound, the results are written by this call alone, and nothing
        // else has a share in their buffers.
        let status = unsafe { code.run(&bound.extents, &pointers, &bound.strides, &params) };
        Some(match status.error {
            Some(error) => Err(*error),
            None => Ok(results),
        })
    }
}

fn strided(datum: &Datum) -> Strided<'_> {
    match datum {
        Datum::Array(a) => Strided { shape: a.shape(), strides: a.strides(), unit: a.dtype().size() as isize },
        _ => Strided::default(),
    }
}

fn read_pointer(datum: &Datum) -> *mut u8 {
    match datum {
        Datum::Array(a) => with_array!(a, |a| a.as_ptr().cast_mut().cast()),
        _ => std::ptr::null_mut(),
    }
}

fn write_pointer(datum: &mut Datum) -> *mut u8 {
    match datum {
        Datum::Array(a) => with_array!(a, |a| a.as_mut_ptr().cast()),
        _ => std::ptr::null_mut(),
    }
}

/// Asserts that results are the same bits, NaN being NaN.
pub fn assert_same(want: &Datum, got: &Datum, describe: impl FnOnce(usize) -> String) {
    let (want, got) = (want.to_array(), got.to_array());
    assert_eq!((want.dtype(), want.shape()), (got.dtype(), got.shape()), "{}", describe(0));
    let mut pairs = want.iter().zip(got.iter()).enumerate();
    if let Some((at, (want, got))) = pairs.find(|(_, (w, g))| one_nan(*w) != one_nan(*g)) {
        panic!("element {at}: want {want:?}, got {got:?}\n{}", describe(at));
    }
}

/// The same scalar with all NaNs made one.
fn one_nan(scalar: Scalar) -> Scalar {
    let double = |x: f64| if x.is_nan() { f64::NAN } else { x };
    let single = |x: f32| if x.is_nan() { f32::NAN } else { x };
    match scalar {
        Scalar::F32(x) => single(x).into(),
        Scalar::F64(x) => double(x).into(),
        Scalar::C64(z) => rewright_ir::Complex32::new(single(z.re), single(z.im)).into(),
        Scalar::C128(z) => rewright_ir::Complex64::new(double(z.re), double(z.im)).into(),
        other => other,
    }
}
