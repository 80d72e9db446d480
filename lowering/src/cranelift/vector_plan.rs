//! The plan of the innermost loop: lanes, unrolling, and the instructions that are vectorized.

use super::Features;
use super::fold::LANES;
use super::staging::room;
use super::vector_divide::dividing_dtype;
use crate::kernel::{Binary, KInst, KOp, Kernel, Unary};
use rewright_ir::DType;
use rewright_ir::expr::Order;

/// A round is unrolled up to this many vector instructions.
const ENOUGH: usize = 256;
/// If a group has more vector instructions, it has only as many points as fill one vector of the widest
/// dtype.
const MANY: usize = 4000;
/// With more instructions there is no vector loop.
const TOO_MANY: usize = 20_000;

/// See the module's page.
#[derive(Clone, Debug)]
pub struct VectorPlan {
    /// The points of a group: a value of the widest dtype fills up to four vectors, one of the narrowest at
    /// most one. 1 if there is no vector loop.
    pub lanes: usize,
    /// The groups of a round (unroll factor).
    pub groups: usize,
    /// For each instruction of the innermost level, whether it is vectorized; else it is computed lane by
    /// lane.
    pub vector: Vec<bool>,
}

impl VectorPlan {
    /// The plan of a kernel.
    pub fn new(kernel: &Kernel, features: Features) -> Self {
        let inner = kernel.axes as u32;
        let after = |number: &usize| kernel.fold.as_ref().is_some_and(|fold| fold.after.contains(number));
        let insts: Vec<(usize, &KInst)> =
            kernel.insts.iter().enumerate().filter(|(n, i)| kernel.level(i) == inner && !after(n)).collect();
        let scalar = VectorPlan { lanes: 1, groups: 1, vector: Vec::new() };
        // An op by its reference meaning may fail, and the first point that fails must be the one reported.
        let point_by_point = insts.iter().any(|(_, i)| matches!(i.op, KOp::Reference(_)));
        if kernel.axes == 0 || !features.vectors || point_by_point || insts.len() > TOO_MANY {
            return scalar;
        }
        let vector = forms(kernel, &insts, features);
        if let Some(fold) = &kernel.fold {
            return match fold.order {
                // The area for copies of rows must have room for a leaf.
                Order::Tree { lanes, leaf, .. } if lanes.is_multiple_of(LANES) && room(kernel) >= leaf => {
                    VectorPlan { lanes: LANES, groups: 1, vector }
                }
                _ => scalar,
            };
        }
        let sizes = insts.iter().flat_map(|&(n, i)| sizes(kernel, i, vector[n]));
        let (least, most) = sizes.fold((16, 1), |(least, most), size| (size.min(least), size.max(most)));
        let (most, fewest) = (most.min(8), 16 / most.min(8));
        let mut lanes = (16 / least.min(most)).min(64 / most);
        if insts.len() * (lanes * most / 16).max(1) > MANY {
            lanes = fewest;
        }
        let chunks = (lanes * most / 16).max(1);
        let calls = insts.iter().any(|(_, i)| matches!(i.op, KOp::Math(_)));
        let groups = if calls { 1 } else { (4 / chunks).min(ENOUGH / (insts.len() * chunks).max(1)).max(1) };
        VectorPlan { lanes, groups, vector }
    }
}

impl VectorPlan {
    /// A description for users.
    pub fn describe(&self, kernel: &Kernel) -> String {
        let loops = match kernel.axes {
            0 => return "no loop".to_string(),
            1 => "one loop".to_string(),
            axes => format!("{axes} loops"),
        };
        if self.lanes == 1 {
            let combined = if kernel.fold.is_some() { ", combined" } else { "" };
            return format!("{loops}, one point after the other{combined}");
        }
        let inner = kernel.axes as u32;
        let computes = |inst: &KInst| kernel.level(inst) == inner && !matches!(inst.op, KOp::Store(..));
        let flags = kernel.insts.iter().zip(&self.vector).filter(|(inst, _)| computes(inst)).map(|(_, &vector)| vector);
        let (count, vectors) =
            flags.fold((0, 0), |(count, vectors), vector| (count + 1, vectors + usize::from(vector)));
        if kernel.fold.is_some() {
            return format!(
                "{loops}; the innermost combined on {} lanes, {vectors} of {count} instructions on vectors",
                self.lanes
            );
        }
        let points = self.lanes * self.groups;
        let groups = if self.groups == 1 { String::new() } else { format!(" in {} groups", self.groups) };
        format!(
            "{loops}; the innermost by {points} points a round{groups}, {vectors} of {count} instructions on vectors"
        )
    }
}

/// The sizes of the lanes that an instruction needs on vectors.
fn sizes(kernel: &Kernel, inst: &KInst, vector: bool) -> Vec<usize> {
    match &inst.op {
        KOp::Load(buffer, _) | KOp::Store(buffer, _) => vec![kernel.buffers[*buffer as usize].dtype.real().size()],
        _ if !vector => Vec::new(),
        KOp::Binary(Binary::Quot | Binary::Rem) => {
            let dtype = kernel.dtype(inst.first);
            vec![dtype.size(), dividing_dtype(dtype).size()]
        }
        _ => {
            let results = (0..inst.results).map(|r| kernel.values[(inst.first.0 + r) as usize].dtype);
            let dtypes = inst.args.iter().map(|&a| kernel.dtype(a)).chain(results);
            // A bool has the lane size of the values that it is used with.
            dtypes.filter(|d| !d.is_bool()).map(DType::size).collect()
        }
    }
}

/// Whether an instruction can be vectorized.
fn vectorizes(kernel: &Kernel, inst: &KInst, features: Features) -> bool {
    let from = inst.args.last().map(|&a| kernel.dtype(a));
    let to = (inst.results > 0).then(|| kernel.dtype(inst.first));
    let wide_int = |d: Option<DType>| matches!(d, Some(DType::I64 | DType::U64));
    match &inst.op {
        KOp::Unary(Unary::PopCount | Unary::LeadingZeros) => false,
        KOp::Binary(Binary::Quot | Binary::Rem) => !wide_int(to),
        // All lanes must have one count.
        KOp::Binary(Binary::Shl | Binary::Shr) => kernel.values[inst.args[1].0 as usize].level < kernel.axes as u32,
        KOp::Convert => {
            let rounds_once = !(wide_int(from) && to == Some(DType::F32));
            let saturates = !(wide_int(to) && from.is_some_and(DType::is_float));
            rounds_once && saturates
        }
        KOp::Fma => features.fma,
        KOp::Math(_) | KOp::Reference(_) => false,
        _ => true,
    }
}

/// The form in which a value is computed.
#[derive(Clone, Copy, PartialEq)]
enum Nature {
    /// Any form: it is loaded, an index, or uniform.
    Either,
    Vectors,
    Lanes,
}

/// Chooses the instructions to vectorize: all that can be, except those between instructions that can't,
/// where packing lanes into vectors and unpacking them would cost more than vectors save.
fn forms(kernel: &Kernel, insts: &[(usize, &KInst)], features: Features) -> Vec<bool> {
    let mut nature = vec![Nature::Either; kernel.values.len()];
    let mut vector = vec![true; kernel.insts.len()];
    for &(n, inst) in insts {
        let mut operands = inst.args.iter().map(|a| nature[a.0 as usize]).filter(|&k| k != Nature::Either);
        let own = match inst.op {
            KOp::Load(..) | KOp::Index(_) | KOp::Const(_) | KOp::Param(_) => Nature::Either,
            _ if !vectorizes(kernel, inst, features) => Nature::Lanes,
            _ => match operands.next() {
                Some(Nature::Lanes) if operands.all(|k| k == Nature::Lanes) => Nature::Lanes,
                _ => Nature::Vectors,
            },
        };
        vector[n] = vectorizes(kernel, inst, features);
        for r in 0..inst.results {
            nature[(inst.first.0 + r) as usize] = own;
        }
    }
    let mut wanted_as_vector = vec![false; kernel.values.len()];
    let mut wanted_as_lanes = vec![false; kernel.values.len()];
    for &(n, inst) in insts.iter().rev() {
        let first = inst.first.0 as usize;
        match inst.op {
            // A store takes either form.
            KOp::Store(..) => continue,
            _ if !vector[n] => {}
            _ => {
                let lanes_only = wanted_as_lanes[first] && !wanted_as_vector[first];
                vector[n] = match nature[first] {
                    Nature::Lanes => wanted_as_vector[first],
                    Nature::Either => !lanes_only,
                    Nature::Vectors => true,
                };
            }
        }
        let wanted = if vector[n] { &mut wanted_as_vector } else { &mut wanted_as_lanes };
        inst.args.iter().for_each(|a| wanted[a.0 as usize] = true);
    }
    vector
}
