//! Steps that assemble arrays of storage styles from components, and that extract a component.

use super::by_reference::Why;
use super::frame::Frame;
use super::machine::{Activation, Machine};
use super::plan::{ArrayEval, Def, DimCheck, Step};
use super::value::{Held, Shape};
use rewright_ir::{Components, Datum, EvalError, Style, StyledLayout};
use std::sync::{Arc, Mutex, PoisonError};

/// The reason for which the evaluator assembles components whose style needs the extents of the whole array.
const UNKNOWN: Why =
    Why::Unfit("its extents are known from its components only: name each dim of its type by a symbol of a parameter");

/// Assembles arrays of a storage style.
#[derive(Debug)]
pub struct Assemble {
    /// The style.
    pub style: Style,
    /// The latest layout. Computing the components that a style needs may take long, and extents seldom
    /// change.
    latest: Mutex<Option<Arc<StyledLayout>>>,
}

impl Assemble {
    /// For a style.
    pub fn new(style: Style) -> Assemble {
        Assemble { style, latest: Mutex::default() }
    }

    /// The layout of an array whose extents the symbols of a frame give; `None` if they are not known, or if
    /// there is no such array.
    pub fn layout(&self, def: &Def, frame: &Frame) -> Option<Arc<StyledLayout>> {
        let extent = |check: &DimCheck| match *check {
            DimCheck::Any => None,
            DimCheck::Const(n) => usize::try_from(n).ok(),
            DimCheck::Symbol(symbol) => frame.symbols[symbol as usize].and_then(|(n, _)| usize::try_from(n).ok()),
        };
        let shape: Shape = def.dims.iter().map(extent).collect::<Option<_>>()?;
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(layout) = latest.as_ref().filter(|layout| *layout.shape() == *shape) {
            return Some(layout.clone());
        }
        let layout = Arc::new(StyledLayout::new(self.style, def.ty.dtype(), &shape).ok()?);
        *latest = Some(layout.clone());
        Some(layout)
    }
}

impl Machine<'_> {
    /// Extracts a component of an array of a storage style.
    pub(super) fn component(&self, act: &mut Activation<'_, '_>, step: &Step, number: usize) -> Result<(), EvalError> {
        let component = match self.operand(act, step, 0) {
            Held::Styled(styled) => styled.components().get(number).cloned(),
            _ => None,
        };
        let (Some(component), [def]) = (component, &step.defs[..]) else {
            return self.array(act, step, ArrayEval::Op, Why::WRONG);
        };
        self.put(act.frame, def.slot, Held::Array(component))?;
        self.admit(act, def, "result")
    }

    /// Assembles the array of a storage style that has these components.
    pub(super) fn assemble(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        assemble: &Assemble,
    ) -> Result<(), EvalError> {
        let [def] = &step.defs[..] else { return Err(EvalError::shape("has one result")) };
        let Some(layout) = assemble.layout(def, act.frame) else {
            return self.array(act, step, ArrayEval::Op, UNKNOWN);
        };
        let held = |number| {
            let operand = self.operand(act, step, number).to_datum(&mut self.buffers.borrow_mut());
            operand.map(|datum| datum.to_array())
        };
        let components: Components = (0..step.args.len()).map(held).collect::<Result<_, _>>()?;
        // The style checks the components' elements, which counts as work.
        components.iter().try_for_each(|component| self.spend(component.len() as u64))?;
        match layout.assemble(components) {
            Ok(whole) => self.put(act.frame, def.slot, Held::from(Datum::from(whole))),
            // The evaluator reports the error.
            Err(_) => self.array(act, step, ArrayEval::Op, Why::WRONG),
        }
    }
}
