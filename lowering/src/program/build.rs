//! Building loop programs: statements are appended to the innermost open scope.

use super::{BufferDecl, Condition, For, If, Linear, Location, Program, Stmt, Storage, Trip};
use crate::kernel::{KInst, KOp, KValue, KernelBuilder, Part, Section};
use rewright_ir::{DType, Loc};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Builds a loop program. Scalar instructions are appended with the [`KernelBuilder`] `k`, which shares equal
/// instructions within a scope.
pub struct ProgramBuilder {
    /// Appends scalar instructions.
    pub k: KernelBuilder,
    buffers: Vec<BufferDecl>,
    /// The dtypes of the parameters, and the instructions that read them.
    params: Vec<(DType, Stmt)>,
    /// The statements of the open scopes, the innermost last.
    scopes: Vec<Scope>,
    /// The number of instructions of `k` that are statements already.
    flushed: usize,
    /// Indices that are at least 0 and less than a number.
    below: FxHashMap<KValue, i64>,
}

struct Scope {
    stmts: Vec<Stmt>,
    /// The instructions of the scope around it. None in the outermost scope.
    outer: Option<Section>,
}

impl ProgramBuilder {
    /// An empty program.
    pub fn new() -> Self {
        let scopes = vec![Scope { stmts: Vec::new(), outer: None }];
        let (k, below) = (KernelBuilder::new(0), FxHashMap::default());
        ProgramBuilder { k, buffers: Vec::new(), params: Vec::new(), scopes, flushed: 0, below }
    }

    /// Adds a scalar parameter of a real dtype. Its value is defined in all scopes.
    pub fn param(&mut self, dtype: DType) -> KValue {
        let first = self.k.undefined(dtype, 0);
        let op = KOp::Param(self.params.len() as u32);
        let inst = KInst { op, args: SmallVec::new(), results: 1, first, loc: Loc::default() };
        self.params.push((dtype, Stmt::Inst(inst)));
        first
    }

    /// Adds a buffer of the caller.
    pub fn caller_buffer(&mut self, dtype: DType, rank: usize) -> u32 {
        self.buffer(dtype, Storage::Caller { rank, streamed: false })
    }

    /// Adds a local buffer, which exists to the end of the scope.
    pub fn local(&mut self, dtype: DType, extents: &[u32]) -> u32 {
        let buffer = self.buffer(dtype, Storage::Local { extents: extents.into() });
        self.push(Stmt::Local(buffer));
        buffer
    }

    fn buffer(&mut self, dtype: DType, storage: Storage) -> u32 {
        self.buffers.push(BufferDecl { dtype, storage });
        self.buffers.len() as u32 - 1
    }

    /// Loads one part of an element.
    pub fn load(&mut self, buffer: u32, part: Part, at: &[Linear]) -> KValue {
        let dtype = self.buffers[buffer as usize].dtype.real();
        let value = self.k.undefined(dtype, 0);
        self.push(Stmt::Load(value, Location { buffer, part, at: at.into() }));
        value
    }

    /// Stores one part of an element.
    pub fn store(&mut self, buffer: u32, part: Part, at: &[Linear], value: KValue) {
        self.push(Stmt::Store(Location { buffer, part, at: at.into() }, value));
    }

    /// Ends the program with an error.
    pub fn fail(&mut self) {
        self.push(Stmt::Fail);
    }

    /// Appends statements around a body: a loop over `lo..hi`.
    pub fn for_each(&mut self, lo: Linear, hi: &[Linear], body: impl FnOnce(&mut Self, Linear)) {
        self.for_each_of(Trip::Unknown, lo, hi, body);
    }

    /// Appends statements around a body: a loop over `lo..hi`, with a [`Trip`].
    pub fn for_each_of(&mut self, trip: Trip, lo: Linear, hi: &[Linear], body: impl FnOnce(&mut Self, Linear)) {
        let index = self.open_loop();
        body(self, index.into());
        self.close_loop(index, trip, lo, hi);
    }

    /// Appends statements that run if a condition holds, and others that run if it does not.
    pub fn when(&mut self, condition: Condition, then: impl FnOnce(&mut Self), otherwise: impl FnOnce(&mut Self)) {
        let ((then, ()), (otherwise, ())) = (self.scope(then), self.scope(otherwise));
        self.branch(condition, then, otherwise);
    }

    /// Appends statements that run if all conditions hold.
    pub fn when_all(&mut self, conditions: Vec<Condition>, body: impl FnOnce(&mut Self)) {
        let Some((first, rest)) = conditions.split_first() else { return body(self) };
        let (inner, ()) = self.scope(body);
        let nested = rest.iter().rev().fold(inner, |then, condition| {
            vec![Stmt::If(If { condition: condition.clone(), then, otherwise: Vec::new() })]
        });
        self.branch(first.clone(), nested, Vec::new());
    }

    /// States that an index is at least 0 and less than a number.
    pub fn set_below(&mut self, index: KValue, bound: i64) {
        self.below.insert(index, bound);
    }

    /// The quotient of a form by a positive number and the remainder, if the form is a multiple of the number
    /// plus an index that is known to be less.
    pub fn divided(&self, form: &Linear, by: i64) -> Option<(Linear, KValue)> {
        let mut quotient = Linear::constant(form.constant / by);
        let mut remainder = None;
        for &(value, coefficient) in form.terms() {
            match coefficient % by {
                0 => quotient = quotient.plus_term(value, coefficient / by),
                1 if coefficient == 1 && remainder.is_none() => remainder = Some(value),
                _ => return None,
            }
        }
        let is_below = |index: &KValue| self.below.get(index).is_some_and(|&bound| bound <= by);
        remainder.filter(is_below).filter(|_| form.constant % by == 0).map(|index| (quotient, index))
    }

    /// The buffers.
    pub fn buffers(&self) -> &[BufferDecl] {
        &self.buffers
    }

    /// Statements in a scope of their own.
    pub fn scope<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> (Vec<Stmt>, T) {
        self.open();
        let result = body(self);
        (self.close(), result)
    }

    /// Opens a scope, to which the statements that follow belong.
    pub fn open(&mut self) {
        self.flush();
        let outer = Some(self.k.begin_section());
        self.scopes.push(Scope { stmts: Vec::new(), outer });
    }

    /// Closes the scope that was opened last, and returns its statements.
    pub fn close(&mut self) -> Vec<Stmt> {
        self.flush();
        let Some(Scope { stmts, outer }) = self.scopes.pop() else { return Vec::new() };
        if let Some(section) = outer {
            self.k.end_section(section);
        }
        stmts
    }

    /// Opens the body of a loop, and returns the index.
    pub fn open_loop(&mut self) -> KValue {
        self.open();
        self.k.undefined(DType::I64, 0)
    }

    /// Closes the body of a loop over `lo..hi`, with `hi` the least of several forms. The bounds are values
    /// of the scope around the loop.
    pub fn close_loop(&mut self, index: KValue, trip: Trip, lo: Linear, hi: &[Linear]) {
        let body = self.close();
        self.push(Stmt::For(For { index, lo, hi: hi.into(), trip, body }));
    }

    /// Appends statements that run if a condition holds, and others that run if it does not.
    pub fn branch(&mut self, condition: Condition, then: Vec<Stmt>, otherwise: Vec<Stmt>) {
        self.push(Stmt::If(If { condition, then, otherwise }));
    }

    /// A program whose values and buffers are those of another one, so far without statements.
    pub fn resume(program: &Program) -> Self {
        let mut b = ProgramBuilder::new();
        program.values.iter().for_each(|&dtype| {
            b.k.undefined(dtype, 0);
        });
        b.buffers.clone_from(&program.buffers);
        b
    }

    /// The program of which this one was resumed, with this body.
    pub fn finish_with(self, program: &Program, body: Vec<Stmt>) -> Program {
        let values = self.k.finish().values.iter().map(|value| value.dtype).collect();
        let (buffers, params) = (self.buffers, program.params.clone());
        Program { buffers, params, values: Arc::new(values), body: Arc::new(body), lines: program.lines }
    }

    /// The program as it was built.
    pub fn finish(mut self) -> Program {
        self.flush();
        let body = self.scopes.pop().map(|scope| scope.stmts).unwrap_or_default();
        let kernel = self.k.finish();
        let (params, reads): (Vec<DType>, Vec<Stmt>) = self.params.into_iter().unzip();
        let body = reads.into_iter().chain(body).collect();
        Program {
            buffers: self.buffers,
            params,
            values: Arc::new(kernel.values.iter().map(|value| value.dtype).collect()),
            body: Arc::new(body),
            lines: None,
        }
    }

    /// Appends a statement.
    pub fn push(&mut self, stmt: Stmt) {
        self.flush();
        if let Some(scope) = self.scopes.last_mut() {
            scope.stmts.push(stmt);
        }
    }

    /// Makes statements of the instructions that were appended since the last statement.
    fn flush(&mut self) {
        let new = self.k.insts_from(self.flushed);
        self.flushed += new.len();
        if let Some(scope) = self.scopes.last_mut() {
            scope.stmts.extend(new.iter().cloned().map(Stmt::Inst));
        }
    }
}
