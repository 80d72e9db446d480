//! The same kernel with nothing that is read once a row.

use super::Kernel;

impl Kernel {
    /// Reads at each point what is read once for the points of the innermost loop, and computes there what was computed of that once.
    /// What does not change along any loop stays outside.
    pub fn by_point(&self) -> Kernel {
        let mut kernel = self.clone();
        let Some(inner) = kernel.axes.checked_sub(1) else { return kernel };
        for buffer in kernel.buffers.iter_mut().filter(|buffer| buffer.level() > 0) {
            buffer.varies[inner] = true;
        }
        kernel.find_levels();
        kernel
    }
}
