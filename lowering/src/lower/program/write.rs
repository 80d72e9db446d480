//! Writes of results.

use super::positions::is_read_from_array;
use super::{ProgramBuffer, ProgramLowering, ProgramParam};
use crate::kernel::Part;
use crate::lower::NotLowered;
use crate::lower::monoid::combined_scalars;
use crate::program::{Condition, Linear};
use crate::scalar::Elem;
use rewright_ir::expr::{Mode, Out, Write};
use rewright_ir::{DType, Scalar};
use smallvec::SmallVec;

/// The position of a write, one form for each dim.
type WriteAt = SmallVec<[Linear; 3]>;

impl ProgramLowering<'_> {
    /// Writes the value of a result at the current point.
    pub(super) fn write(&mut self, number: u32, out: &Out, value: Elem) -> Result<(), NotLowered> {
        let value = self.cx().cast(value, out.dtype);
        let at = self.write_position(number, out)?;
        let buffer = self.buffer(ProgramBuffer::Result(number), out.dtype, at.len());
        if !self.checks.writes {
            let value = match out.write {
                Write::Combine(monoid) if out.fill.is_some() => {
                    let old = self.b.load_elem(buffer, out.dtype, &at);
                    combined_scalars(monoid, &mut self.cx(), old, value)?
                }
                _ => value,
            };
            self.b.store_elem(buffer, &at, value);
            return Ok(());
        }
        let flags = self.flags(number, at.len());
        let again = self.b.load(flags, Part::Re, &at);
        let yes = self.cx().bool(true);
        match out.write {
            Write::Unique => self.when(
                Condition::Value(again),
                |this| {
                    this.b.fail();
                    Ok(())
                },
                |_| Ok(()),
            )?,
            Write::LastWins => {}
            Write::Combine(monoid) => {
                let again = if out.fill.is_some() { yes } else { again };
                self.when(
                    Condition::Value(again),
                    |this| {
                        let old = this.b.load_elem(buffer, out.dtype, &at);
                        let both = combined_scalars(monoid, &mut this.cx(), old, value)?;
                        this.b.store_elem(buffer, &at, both);
                        Ok(())
                    },
                    |this| {
                        this.b.store_elem(buffer, &at, value);
                        Ok(())
                    },
                )?;
            }
        }
        if !matches!(out.write, Write::Combine(_)) {
            self.b.store_elem(buffer, &at, value);
        }
        self.b.store(flags, Part::Re, &at, yes);
        Ok(())
    }

    /// Where the current point writes a result.
    pub(super) fn write_position(&mut self, number: u32, out: &Out) -> Result<WriteAt, NotLowered> {
        let mut at = WriteAt::new();
        for (dim, position) in out.index.iter().enumerate() {
            let extent = self.param(ProgramParam::ResultExtent(number, dim));
            let form = self.position(position, extent, Mode::Check)?;
            at.push(self.in_bounds(form, extent, is_read_from_array(position))?);
        }
        Ok(at)
    }

    /// Ends the program if an element of a result without a fill was not written.
    pub(super) fn all_written(&mut self, number: u32, out: &Out) -> Result<(), NotLowered> {
        if !self.checks.writes || out.fill.is_some() {
            return Ok(());
        }
        self.written_along(number, out.index.len(), WriteAt::new())
    }

    fn written_along(&mut self, number: u32, rank: usize, at: WriteAt) -> Result<(), NotLowered> {
        if at.len() < rank {
            let extent = self.param(ProgramParam::ResultExtent(number, at.len()));
            return self.for_each(Linear::default(), &[extent.into()], |this, index| {
                let at = at.into_iter().chain([index]).collect();
                this.written_along(number, rank, at)
            });
        }
        let flags = self.flags(number, rank);
        let written = self.b.load(flags, Part::Re, &at);
        self.fail_unless(&[Condition::Value(written)])
    }

    fn flags(&mut self, number: u32, rank: usize) -> u32 {
        self.buffer(ProgramBuffer::Written(number), DType::Bool, rank)
    }

    /// The elements of operands where the current point writes, from which accumulators start.
    pub(super) fn existing(
        &mut self,
        outs: &[Out],
        (args, dtypes): (&[u32], &[DType]),
        first: usize,
    ) -> Result<Vec<Elem>, NotLowered> {
        let mut found = Vec::new();
        for (k, (&arg, &dtype)) in args.iter().zip(dtypes).enumerate() {
            let number = (first + k).min(outs.len().saturating_sub(1));
            let Some(out) = outs.get(number) else { return NotLowered::because("it has no results") };
            let at = self.write_position(number as u32, out)?;
            let own = self.args[arg as usize].dtype();
            let buffer = self.buffer(ProgramBuffer::Arg(arg), own, at.len());
            let element = self.b.load_elem(buffer, own, &at);
            found.push(self.cx().cast(element, dtype));
        }
        Ok(found)
    }

    /// Scalars as values.
    pub(super) fn constants(&mut self, scalars: &[Scalar]) -> Vec<Elem> {
        scalars.iter().map(|&scalar| self.cx().constant(scalar)).collect()
    }
}
