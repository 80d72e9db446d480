//! The variant of a kernel that loads everything at each point.

use super::Kernel;

impl Kernel {
    /// Moves all loads, and the instructions that depend on them, to the innermost level. Values that are
    /// invariant along all loops stay outside.
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
