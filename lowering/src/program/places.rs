//! Places of local buffers in memory: buffers that never exist at the same time share memory, as the
//! variables of blocks do on a stack.

use super::{BufferDecl, Program, Stmt, Storage};

/// The alignment of each place, in bytes: a cache line.
pub const ALIGN: usize = 64;

/// Where local buffers are.
pub struct Places {
    /// For each buffer its offset in bytes, if it is local and in memory.
    pub offsets: Vec<Option<usize>>,
    /// The bytes of all places.
    pub bytes: usize,
}

impl Program {
    /// The places of local buffers. A scalar that no kernel accesses needs none. `None` if there are too many
    /// bytes to count.
    pub fn places(&self) -> Option<Places> {
        let by_kernels = self.nest_buffers();
        let in_memory = |(number, buffer): (u32, &BufferDecl)| match &buffer.storage {
            Storage::Caller { .. } => false,
            Storage::Local { extents } => !extents.is_empty() || by_kernels.contains(&number),
        };
        let mut placing = Placing {
            program: self,
            in_memory: (0..).zip(&self.buffers).map(in_memory).collect(),
            places: Places { offsets: vec![None; self.buffers.len()], bytes: 0 },
        };
        placing.scope(&self.body, 0)?;
        Some(placing.places)
    }
}

struct Placing<'p> {
    program: &'p Program,
    in_memory: Vec<bool>,
    places: Places,
}

impl Placing<'_> {
    /// Places the buffers of a scope, from this offset on.
    fn scope(&mut self, stmts: &[Stmt], mut free: usize) -> Option<()> {
        for stmt in stmts {
            match stmt {
                Stmt::Local(buffer) if self.in_memory[*buffer as usize] => {
                    let BufferDecl { dtype, storage: Storage::Local { extents } } =
                        &self.program.buffers[*buffer as usize]
                    else {
                        continue;
                    };
                    let extents = extents.iter().map(|&extent| extent as usize);
                    let bytes = extents.into_iter().try_fold(dtype.size(), usize::checked_mul)?;
                    self.places.offsets[*buffer as usize] = Some(free);
                    free = free.checked_add(bytes)?.checked_next_multiple_of(ALIGN)?;
                    self.places.bytes = self.places.bytes.max(free);
                }
                Stmt::For(nest) => self.scope(&nest.body, free)?,
                Stmt::If(branch) => {
                    self.scope(&branch.then, free)?;
                    self.scope(&branch.otherwise, free)?;
                }
                _ => {}
            }
        }
        Some(())
    }
}
