//! Chooses the direction in which kernels traverse long rows.
//!
//! The elements that a kernel read last are still in the caches. A following kernel that reads the same
//! array from its beginning evicts them before it reaches them. Where a kernel may (`x64/tree.rs`), it
//! traverses its rows from the end, and the next one from the beginning again.

use crate::kernel::Kernel;
use rewright_ir::Value;
use rewright_ir::expr::Order;
use smallvec::SmallVec;

/// The arrays that the latest kernel read from the beginning on.
#[derive(Debug, Default)]
pub struct Direction {
    ahead: SmallVec<[Value; 4]>,
}

impl Direction {
    /// Whether the next kernel, which reads these arrays, should traverse its rows from the end. Only tree
    /// reductions can do so.
    pub fn is_back(&mut self, kernel: &Kernel, reads: impl Iterator<Item = Value> + Clone) -> bool {
        let is_tree = kernel.fold.as_ref().is_some_and(|f| !f.any_order && matches!(f.order, Order::Tree { .. }));
        let back = is_tree && reads.clone().any(|v| self.ahead.contains(&v));
        self.ahead = if back { SmallVec::new() } else { reads.collect() };
        back
    }
}

#[cfg(test)]
mod tests {
    use crate::exec::plan::StepKind;
    use crate::exec::replay::compile;
    use crate::exec::{Backend, Options};

    #[test]
    fn every_second_kernel_that_reads_the_same_goes_back() {
        let body = "  %0 = sum %x
  %1 = sub %x, %0
  %2 = sum %x
  %3 = max %x
  %4 = sum %x
  %5 = sum %y
  %6 = sum %1
  ret %2, %3, %4, %5, %6";
        let text = format!("func @f(%x: f64[n], %y: f64[n]) -> f64, f64, f64, f64, f64 {{\nentry:\n{body}\n}}");
        let f = compile(&text, Options { backend: Backend::Interp, ..Options::default() });
        let kernels = f.inner.plan.functions[0].steps.iter().filter_map(|step| match &step.kind {
            StepKind::Kernel(kernel) => Some(kernel.launch.lowered.kernel.wishes.backwards),
            _ => None,
        });
        // Elementwise kernels and maxima run forward. After one of them, the first kernel that can run
        // backward does.
        assert_eq!(kernels.collect::<Vec<_>>(), [false, false, true, false, true, false, false]);
    }
}
