//! Calls out of the code: mathematical functions, and ops by their reference meaning.

use super::emit::{Emitter, plain};
use super::lanes::{Vector, vector_of};
use super::unsupported;
use crate::kernel::{KernelError, MathCall, MathPtr, Reference, Status};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, Block, InstBuilder, SigRef, Signature, Type, Value, types};
use rewright_ir::{DType, Eval, EvalError, Loc, Scalar};
use smallvec::SmallVec;

/// An instruction that calls an op by its reference meaning. The code contains its address.
pub struct Site {
    pub number: usize,
    pub loc: Loc,
    pub reference: Reference,
}

impl Site {
    /// Computes one point.
    fn run(&self, args: &[u64], results: &mut [u64]) -> Result<(), EvalError> {
        let r = &self.reference;
        let Eval::Elementwise { scalar, .. } = r.op.eval else {
            return Err(EvalError::unsupported("not elementwise"));
        };
        let mut words = args.iter().copied();
        let mut next = |dtype: DType| {
            let re = words.next().unwrap_or(0);
            let im = if dtype.is_complex() { words.next().unwrap_or(0) } else { 0 };
            Scalar::from_bits(dtype, (re, im))
        };
        let operands: SmallVec<[Scalar; 3]> = r.args.iter().map(|&d| next(d)).collect();
        let given = scalar(&operands, &r.attrs)?;
        if !given.iter().map(|s| s.dtype()).eq(r.results.iter().copied()) {
            let dtypes: Vec<_> = given.iter().map(|s| s.dtype()).collect();
            return Err(EvalError::unsupported(format!("gave results {dtypes:?} for {:?}", r.results)));
        }
        let words = given.iter().flat_map(|s| {
            let (re, im) = s.bits();
            std::iter::once(re).chain(s.dtype().is_complex().then_some(im))
        });
        results.iter_mut().zip(words).for_each(|(to, word)| *to = word);
        Ok(())
    }
}

/// Computes an op by its reference meaning; called by the code. Returns 0 on success.
///
/// # Safety
/// `site` is alive, `args` and `results` have a word for each operand and result part, `status` is the
/// call's.
unsafe extern "C" fn call_reference(
    site: *const Site,
    args: *const u64,
    results: *mut u64,
    status: *mut Status,
) -> u64 {
    // SAFETY: the code passes its own site, which the compiled kernel owns, and stack slots of the sizes
    // that the site needs. These do not overlap each other or other data.
    let (site, args, results) = unsafe {
        let site = &*site;
        let (ins, outs) = (parts(&site.reference.args), parts(&site.reference.results));
        (site, std::slice::from_raw_parts(args, ins), std::slice::from_raw_parts_mut(results, outs))
    };
    let Err(error) = site.run(args, results) else { return 0 };
    // SAFETY: the caller of the kernel gave a status that is valid for the call and that only this call
    // uses.
    let status = unsafe { &mut *status };
    if status.failed == 0 {
        status.failed = site.number as u64 + 1;
        status.error = Some(Box::new(error.at(site.reference.op.0.name, site.loc)));
    }
    1
}

/// The number of words for scalars of these dtypes; complex ones have two.
pub fn parts(dtypes: &[DType]) -> usize {
    dtypes.iter().map(|d| 1 + d.is_complex() as usize).sum()
}

impl Emitter<'_> {
    /// A signature of the processor's C calling convention.
    pub fn signature(&mut self, key: &'static str, params: &[Type], result: Option<Type>) -> SigRef {
        if let Some(&known) = self.signatures.get(key) {
            return known;
        }
        let mut signature = Signature::new(self.isa.default_call_conv());
        signature.params.extend(params.iter().map(|&t| AbiParam::new(t)));
        signature.returns.extend(result.map(AbiParam::new));
        let signature = self.b.import_signature(signature);
        self.signatures.insert(key, signature);
        signature
    }

    /// Calls a mathematical function.
    pub fn math(&mut self, call: &MathCall, args: &[Value]) -> Result<Value, KernelError> {
        let (key, ty, count, address) = match call.ptr {
            MathPtr::F64x1(f) => ("f64x1", types::F64, 1, f as usize),
            MathPtr::F64x2(f) => ("f64x2", types::F64, 2, f as usize),
            MathPtr::F32x1(f) => ("f32x1", types::F32, 1, f as usize),
            MathPtr::F32x2(f) => ("f32x2", types::F32, 2, f as usize),
        };
        let signature = self.signature(key, &[ty; 2][..count], Some(ty));
        let callee = self.int(types::I64, address as i64);
        let call = self.b.ins().call_indirect(signature, callee, args);
        Ok(self.b.inst_results(call)[0])
    }

    /// Calls a mathematical function if a condition holds.
    pub fn math_where(
        &mut self,
        call: &MathCall,
        c: Value,
        other: Value,
        args: &[Value],
    ) -> Result<Value, KernelError> {
        let ty = self.b.func.dfg.value_type(other);
        let (seldom, after) = (self.seldom_block(), self.block([ty]));
        self.branch(c, (seldom, &[]), (after, &[other]));
        self.b.switch_to_block(seldom);
        let value = self.math(call, args)?;
        self.jump(after, &[value]);
        self.b.switch_to_block(after);
        Ok(self.b.block_params(after)[0])
    }

    /// The same on vectors: calls for all lanes if the condition holds for any.
    pub fn vector_math_where(
        &mut self,
        call: &MathCall,
        condition: &Vector,
        otherwise: &Vector,
        args: &[Vector],
    ) -> Result<Vector, KernelError> {
        let elem = otherwise.elem;
        let Some(any) = condition.chunks.iter().copied().reduce(|a, b| self.b.ins().bor(a, b)) else {
            return Err(unsupported("a vector without lanes"));
        };
        let any = self.b.ins().vany_true(any);
        let (seldom, after) =
            (self.seldom_block(), self.block(std::iter::repeat_n(vector_of(elem), otherwise.chunks.len())));
        self.branch(any, (seldom, &[]), (after, &otherwise.chunks));
        self.b.switch_to_block(seldom);
        let mut results: SmallVec<[Value; 4]> = SmallVec::new();
        for (n, (&mask, &other)) in condition.chunks.iter().zip(&otherwise.chunks).enumerate() {
            let mut called = other;
            for lane in 0..vector_of(elem).lane_count() as u8 {
                let operands: SmallVec<[Value; 2]> =
                    args.iter().map(|a| self.b.ins().extractlane(a.chunks[n], lane)).collect();
                let value = self.math(call, &operands)?;
                called = self.b.ins().insertlane(called, value, lane);
            }
            results.push(self.blend(mask, called, other, elem));
        }
        self.jump(after, &results);
        self.b.switch_to_block(after);
        Ok(Vector { elem, chunks: self.b.block_params(after).iter().copied().collect() })
    }

    /// A cold block.
    fn seldom_block(&mut self) -> Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    /// Computes an op by its reference meaning, and leaves the kernel if that fails.
    pub fn reference(
        &mut self,
        number: usize,
        reference: &Reference,
        first: usize,
        args: &[Value],
    ) -> Result<(), KernelError> {
        let (Some((ins, outs)), Some(site)) = (self.slots, self.sites.iter().find(|s| s.number == number)) else {
            return Err(unsupported("a reference call without a site"));
        };
        let site = self.int(types::I64, std::ptr::from_ref::<Site>(site) as i64);
        let (ins, outs) = (self.b.ins().stack_addr(types::I64, ins, 0), self.b.ins().stack_addr(types::I64, outs, 0));
        let dtypes = |of: &[DType]| -> Vec<DType> {
            of.iter().flat_map(|d| std::iter::repeat_n(d.real(), parts(&[*d]))).collect()
        };
        for (n, (dtype, &value)) in dtypes(&reference.args).into_iter().zip(args).enumerate() {
            let word = self.value_to_word(dtype, value);
            self.b.ins().store(plain(), word, ins, n as i32 * 8);
        }
        let signature = self.signature("reference", &[types::I64; 4], Some(types::I64));
        let callee = self.int(types::I64, call_reference as *const () as i64);
        let status = self.args()?.status;
        let call = self.b.ins().call_indirect(signature, callee, &[site, ins, outs, status]);
        let failed = self.b.inst_results(call)[0];
        let (fine, exit) = (self.b.create_block(), self.exit()?);
        let zero = self.int(types::I64, 0);
        let fails = self.icmp(IntCC::NotEqual, failed, zero);
        self.branch(fails, (exit, &[]), (fine, &[]));
        self.b.switch_to_block(fine);
        for (n, dtype) in dtypes(&reference.results).into_iter().enumerate() {
            let word = self.b.ins().load(types::I64, plain(), outs, n as i32 * 8);
            self.scalars[first + n] = Some(self.word_to_value(dtype, word));
        }
        Ok(())
    }
}
