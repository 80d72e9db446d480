//! Depth-first order for bodies with more live values than registers.
//!
//! Kernels list instructions in the order in which they were written, such as all leaves of a tree before
//! the sums of the first level. Then all leaves are live at once, most of them spilled. In depth-first order
//! an operand is computed right before its user; of several operands, the one that needs most registers
//! comes first (R. Sethi, J. Ullman, "The generation of optimal code for arithmetic expressions", 1970; here
//! for graphs, where a shared value counts once for each use).
//!
//! The order changes only if the register pressure exceeds the registers, and depth first lowers it by a
//! third. An out-of-order processor finds parallelism itself; only spills cost time.

use super::level::Level;
use crate::kernel::{KOp, Kernel};
use smallvec::SmallVec;

/// Registers that are left to constants and memory operands.
const FIXED: usize = 4;

/// The dependence graph of the instructions, by place.
struct Graph {
    /// The places of the instructions that define an instruction's operands.
    from: Vec<SmallVec<[u32; 4]>>,
    /// The number of uses of each result.
    uses: Vec<u32>,
    /// Whether a result takes a register.
    waits: Vec<bool>,
}

impl Graph {
    fn new(kernel: &Kernel, insts: &[usize]) -> Graph {
        let mut made_at = vec![u32::MAX; kernel.values.len()];
        for (at, &n) in (0..).zip(insts) {
            let inst = &kernel.insts[n];
            (0..inst.results).for_each(|r| made_at[(inst.first.0 + r) as usize] = at);
        }
        let operands = |&n: &usize| {
            let made = kernel.insts[n].args.iter().map(|v| made_at[v.0 as usize]);
            made.filter(|&at| at != u32::MAX).collect::<SmallVec<[u32; 4]>>()
        };
        let from: Vec<_> = insts.iter().map(operands).collect();
        let mut uses = vec![0; insts.len()];
        from.iter().flatten().for_each(|&at| uses[at as usize] += 1);
        let waits = |(&n, &uses): (&usize, &u32)| match kernel.insts[n].op {
            // With a single use, it is folded into that instruction.
            KOp::Load(..) | KOp::Bitcast => uses > 1,
            _ => kernel.insts[n].results > 0,
        };
        let waits = insts.iter().zip(&uses).map(waits).collect();
        Graph { from, uses, waits }
    }

    /// The greatest register pressure, in an order of places.
    fn most(&self, order: impl Iterator<Item = u32>) -> usize {
        let (mut left, mut live, mut most) = (self.uses.clone(), 0, 0);
        for at in order {
            live += usize::from(self.waits[at as usize]);
            most = most.max(live);
            for &from in &self.from[at as usize] {
                left[from as usize] -= 1;
                live -= usize::from(left[from as usize] == 0 && self.waits[from as usize]);
            }
        }
        most
    }

    /// For each place, the approximate number of registers that its computation needs.
    fn needs(&self) -> Vec<u32> {
        let mut needs: Vec<u32> = Vec::with_capacity(self.from.len());
        for (from, &waits) in self.from.iter().zip(&self.waits) {
            let mut of_operands: SmallVec<[u32; 4]> = from.iter().map(|&at| needs[at as usize]).collect();
            of_operands.sort_by_key(|&need| std::cmp::Reverse(need));
            let most = (0..).zip(&of_operands).map(|(held, need)| held + need).max().unwrap_or(0);
            needs.push(most.max(waits.into()));
        }
        needs
    }

    /// All places in depth-first postorder, from the roots, which have no uses here.
    fn depth_first(&self) -> Vec<u32> {
        let needs = self.needs();
        let (mut order, mut done) = (Vec::with_capacity(self.from.len()), vec![false; self.from.len()]);
        let mut stack: Vec<(u32, bool)> = Vec::new();
        for root in (0..self.from.len() as u32).filter(|&at| self.uses[at as usize] == 0) {
            stack.push((root, false));
            while let Some((at, are_operands_done)) = stack.pop() {
                if done[at as usize] {
                    continue;
                }
                if are_operands_done {
                    done[at as usize] = true;
                    order.push(at);
                    continue;
                }
                stack.push((at, true));
                let mut operands = self.from[at as usize].clone();
                // The stack pops the last one first; among equals, that is the first operand.
                operands.reverse();
                operands.sort_by_key(|&at| needs[at as usize]);
                stack.extend(operands.into_iter().filter(|&at| !done[at as usize]).map(|at| (at, false)));
            }
        }
        order
    }
}

/// Reorders instructions without stores, by number, depth first where that pays.
pub fn reorder(kernel: &Kernel, insts: &mut [usize], level: Level) {
    reorder_for(kernel, insts, level.values() - FIXED);
}

fn reorder_for(kernel: &Kernel, insts: &mut [usize], registers: usize) {
    if insts.len() <= registers {
        return;
    }
    let graph = Graph::new(kernel, insts);
    let most = graph.most(0..insts.len() as u32);
    if most <= registers {
        return;
    }
    let order = graph.depth_first();
    if 3 * graph.most(order.iter().copied()) <= 2 * most {
        let ordered: Vec<usize> = order.into_iter().map(|at| insts[at as usize]).collect();
        insts.copy_from_slice(&ordered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Binary, Buffer, KValue, KernelBuilder, Part};
    use rewright_ir::{DType, Scalar};

    /// A tree of sums over products of one number: all products first, then the sums level by level.
    fn tree(leaves: usize) -> Kernel {
        let mut k = KernelBuilder::new(1);
        let [x, r] = [false, true]
            .map(|written| k.buffer(Buffer { dtype: DType::F64, written, varies: [true].into_iter().collect() }));
        let x = k.load(x, Part::Re);
        let leaf = |n: usize, k: &mut KernelBuilder| {
            let c = k.constant(Scalar::F64(n as f64 + 0.5));
            k.binary(Binary::Mul, x, c)
        };
        let mut level: Vec<KValue> = (0..leaves).map(|n| leaf(n, &mut k)).collect();
        while level.len() > 1 {
            level = level.chunks(2).map(|pair| k.binary(Binary::Add, pair[0], pair[pair.len() - 1])).collect();
        }
        k.store(r, Part::Re, level[0]);
        k.finish()
    }

    fn inner(kernel: &Kernel) -> Vec<usize> {
        (0..kernel.insts.len())
            .filter(|&n| kernel.level(&kernel.insts[n]) == 1 && kernel.insts[n].results > 0)
            .collect()
    }

    #[test]
    fn trees_need_as_many_registers_as_they_have_levels() {
        let kernel = tree(64);
        let mut insts = inner(&kernel);
        let most = |insts: &[usize]| Graph::new(&kernel, insts).most(0..insts.len() as u32);
        assert_eq!(most(&insts), 65);
        let before = insts.clone();
        reorder_for(&kernel, &mut insts, 65);
        assert_eq!(insts, before, "there is room for all");
        reorder_for(&kernel, &mut insts, 24);
        // One sum for each level, a product, and the common factor.
        assert_eq!(most(&insts), 8);
        let mut sorted = insts.clone();
        sorted.sort();
        assert_eq!(sorted, before, "each one once");
        let mut known = vec![false; kernel.values.len()];
        for inst in insts.iter().map(|&n| &kernel.insts[n]) {
            assert!(
                inst.args.iter().all(|&v| known[v.0 as usize] || kernel.values[v.0 as usize].level == 0),
                "operands first"
            );
            known[inst.first.0 as usize] = true;
        }
    }
}
