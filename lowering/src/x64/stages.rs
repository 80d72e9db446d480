//! Loop fission of the innermost loop into stages.
//!
//! An out-of-order processor picks instructions that are ready from a window of a hundred or so. The
//! instructions of one point depend on each other; the following points keep the processor busy meanwhile.
//! If the instructions of one or two points fill the window, the processor idles. Such a body is cut into
//! stages: each is a loop over a piece of the row, and stores values for later stages in the frame, in the
//! first-level cache. A stage has fewer instructions and shorter dependence chains, so that the gain exceeds
//! the cost of the stores and loads. [`cuts`](super::cuts) decides where to cut.

use super::cuts::{Cutting, Link, NOWHERE};
use super::depth_first::reorder;
use super::level::Level;
use crate::kernel::{Binary, Interleaved, KInst, KOp, KValue, Kernel, Unary};
use rewright_ir::DType;

/// The cycles to store or load a value between stages.
const CROSSING: f64 = 0.8;
/// The cycles to rematerialize a bool in another stage, which takes a register and reads operands.
const AGAIN: f64 = 2.4;

/// The instructions of the innermost level by stage, in order, and the rows that carry values between
/// stages.
#[derive(Debug, Default)]
pub struct Stages {
    /// The numbers of the instructions of each stage.
    pub list: Vec<Vec<usize>>,
    /// By value, its row between stages.
    pub places: Vec<Option<u32>>,
    /// The bytes of an element of each row between stages.
    pub sizes: Vec<usize>,
    /// The issue cost of the computation of all stages, in instructions.
    pub work: f64,
}

/// The latency of an instruction in cycles, and its issue cost in instructions.
fn cost(inst: &KInst) -> (f64, f64) {
    match &inst.op {
        KOp::Const(_) | KOp::Bitcast => (0.0, 0.0),
        KOp::Load(..) => (6.0, 0.5),
        KOp::Fma | KOp::Binary(Binary::Mul | Binary::Scale) => (4.0, 1.0),
        KOp::Binary(Binary::Div) => (15.0, 12.0),
        KOp::Unary(Unary::Sqrt) => (21.0, 20.0),
        KOp::Unary(Unary::Significand) => (4.0, 1.0),
        KOp::Binary(Binary::Exponent) => (7.0, 3.0),
        KOp::Choose(_) => (5.0, 1.0),
        KOp::Binary(Binary::Add | Binary::Sub) => (3.0, 1.0),
        KOp::Binary(Binary::Quot | Binary::Rem) => (40.0, 30.0),
        KOp::Compare(_) | KOp::Select | KOp::Convert => (3.0, 1.0),
        // A call ends all overlap.
        KOp::Math(_) | KOp::Reference(_) => (400.0, 300.0),
        KOp::Unary(Unary::Neg) => (1.0, 0.5),
        _ => (1.0, 1.0),
    }
}

/// The use of the multiplication units, in multiplications. Comparisons to masks and permutations of two
/// registers use the same units.
fn multiplications(inst: &KInst, single: bool) -> f64 {
    match &inst.op {
        KOp::Fma | KOp::Binary(Binary::Mul) | KOp::Compare(_) => 1.0,
        KOp::Choose(table) if !single && table.period(false) == 16 && table.upper_halves().is_none() => 1.0,
        KOp::Binary(Binary::Div) => 9.0,
        KOp::Unary(Unary::Sqrt) => 15.0,
        // With AVX-512, `Scale` is an instruction of the units for additions.
        _ => 0.0,
    }
}

/// For operations that only AVX-512 has instructions for: the latency, and the number of instructions with
/// AVX2.
fn cost_without_evex(inst: &KInst) -> Option<(f64, f64)> {
    match &inst.op {
        KOp::Unary(Unary::Significand) => Some((14.0, 8.0)),
        KOp::Binary(Binary::Exponent) => Some((14.0, 10.0)),
        KOp::Choose(_) => Some((9.0, 10.0)),
        _ => None,
    }
}

/// True for instructions that stages rematerialize instead of loading the value: bitcasts, which are free,
/// and instructions with bool results, which are in masks and would have to be converted to be in a row.
fn is_made_again(kernel: &Kernel, inst: &KInst) -> bool {
    match inst.op {
        KOp::Bitcast => true,
        KOp::Compare(_) | KOp::Unary(_) | KOp::Binary(_) | KOp::Select | KOp::Convert => {
            kernel.dtype(inst.first).is_bool()
        }
        _ => false,
    }
}

fn is_store(kernel: &Kernel, number: usize) -> bool {
    matches!(kernel.insts[number].op, KOp::Store(..))
}

impl Stages {
    /// The stages of a kernel. `live` says which instructions are live. Elements of interleaved buffers are
    /// loaded once.
    pub fn new(kernel: &Kernel, live: &[bool], level: Level, interleaved: &[&Interleaved]) -> Stages {
        let is_own = |n: usize| !kernel.is_of_fold(n) && !kernel.is_after_steps(n);
        let inner = |n: usize| kernel.level(&kernel.insts[n]) as usize == kernel.axes && is_own(n);
        let mut insts: Vec<usize> = (0..kernel.insts.len()).filter(|&n| live[n] && inner(n)).collect();
        let places = vec![None; kernel.values.len()];
        if kernel.steps.is_some() {
            return Stages { list: vec![insts], places, ..Stages::default() };
        }
        if kernel.fold.is_some() || kernel.axes == 0 {
            if !insts.iter().any(|&n| is_store(kernel, n)) {
                reorder(kernel, &mut insts, level);
            }
            return Stages { list: vec![insts], places, ..Stages::default() };
        }
        let body = Body::new(kernel, insts, level, interleaved);
        let cutting = Cutting { level, links: &body.links, crossing: &body.crossing(), last: body.stores };
        let cuts = cutting.cuts(kernel.wishes.stages.map_or(usize::MAX, |most| most as usize));
        let mut stages = Stages { list: body.stages(&cuts), places, sizes: Vec::new(), work: body.work() };
        stages.give_places(kernel, &body);
        stages
    }

    /// The number of instructions of the longest stage.
    pub fn longest(&self) -> usize {
        self.list.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Assigns a row to each value that a later stage uses. Rows are reused when their values are dead.
    fn give_places(&mut self, kernel: &Kernel, body: &Body<'_>) {
        let mut made_in = vec![usize::MAX; kernel.values.len()];
        let mut last_in = vec![0; kernel.values.len()];
        for (stage, insts) in self.list.iter().enumerate() {
            for inst in insts.iter().map(|&n| &kernel.insts[n]) {
                (0..inst.results).for_each(|r| made_in[(inst.first.0 + r) as usize] = stage);
                inst.args.iter().for_each(|a| last_in[a.0 as usize] = stage);
            }
        }
        // By stage, the values of earlier stages whose last use is in it.
        let mut ended = vec![Vec::new(); self.list.len()];
        for value in (0..kernel.values.len()).filter(|&v| made_in[v] < last_in[v]) {
            ended[last_in[value]].push(value);
        }
        let mut free: Vec<u32> = Vec::new();
        for (stage, insts) in self.list.iter().enumerate() {
            let results = insts.iter().map(|&n| &kernel.insts[n]).filter(|inst| inst.results > 0);
            for value in results.map(|inst| inst.first).filter(|v| last_in[v.0 as usize] > stage && body.crosses(*v)) {
                let size = kernel.dtype(value).size();
                let known = free.iter().position(|&place| self.sizes[place as usize] == size);
                let place = match known {
                    Some(at) => free.swap_remove(at),
                    None => {
                        self.sizes.push(size);
                        self.sizes.len() as u32 - 1
                    }
                };
                self.places[value.0 as usize] = Some(place);
            }
            free.extend(ended[stage].iter().filter_map(|&v| self.places[v]));
        }
    }
}

/// The innermost level.
struct Body<'k> {
    kernel: &'k Kernel,
    insts: Vec<usize>,
    /// By value, the place of its instruction in `insts`.
    made_at: Vec<usize>,
    /// The costs and dependences, by place.
    links: Vec<Link>,
    /// By value, the place of its last use, also by rematerialized instructions.
    last_use: Vec<usize>,
    /// The place of the first store. It and the instructions after it stay together, because stores may
    /// alias other loads.
    stores: usize,
    /// Buffers whose elements are permuted after they are loaded.
    permuted: Vec<u32>,
}

impl<'k> Body<'k> {
    fn new(kernel: &'k Kernel, mut insts: Vec<usize>, level: Level, interleaved: &[&Interleaved]) -> Body<'k> {
        let is_store = |n: &usize| is_store(kernel, *n);
        let loads_what_is_stored = |n: &usize| match kernel.insts[*n].op {
            KOp::Load(buffer, _) => kernel.buffers[buffer as usize].written,
            _ => false,
        };
        let may_move = !insts.iter().any(loads_what_is_stored);
        if may_move {
            insts.sort_by_key(is_store);
        }
        let stores = insts.iter().position(is_store).unwrap_or(insts.len());
        if may_move {
            reorder(kernel, &mut insts[..stores], level);
        }
        let mut made_at = vec![usize::MAX; kernel.values.len()];
        for (at, inst) in insts.iter().map(|&n| &kernel.insts[n]).enumerate() {
            (0..inst.results).for_each(|r| made_at[(inst.first.0 + r) as usize] = at);
        }
        let link = |&n: &usize| {
            let inst = &kernel.insts[n];
            let (latency, issue, count) = match cost_without_evex(inst).filter(|_| !level.is_evex()) {
                Some((latency, count)) => (latency, count, count),
                None => {
                    let (latency, issue) = cost(inst);
                    (latency, issue, issue.min(1.0))
                }
            };
            let mut from = [NOWHERE; 4];
            let made = inst.args.iter().map(|v| made_at[v.0 as usize]).filter(|&at| at != usize::MAX);
            from.iter_mut().zip(made).for_each(|(from, made)| *from = made as u32);
            let results = if matches!(inst.op, KOp::Bitcast) { 0 } else { inst.results };
            let single = inst.results > 0 && kernel.dtype(inst.first) == DType::F32;
            let multiplications = multiplications(inst, single);
            Link { latency, issue, multiplications, count, from, results, last_use: NOWHERE }
        };
        let links = insts.iter().map(link).collect();
        let permuted = interleaved.iter().flat_map(|group| group.buffers()).map(|(_, buffer)| buffer).collect();
        let mut body = Body { kernel, insts, made_at, links, last_use: Vec::new(), stores, permuted };
        body.last_use = body.last_uses();
        for (&made, &used) in body.made_at.iter().zip(&body.last_use).filter(|(made, used)| made < used) {
            body.links[made].last_use = used as u32;
        }
        body
    }

    /// True if a value that a later stage uses is kept in a row. Loads are repeated, unless elements are
    /// permuted, and some values are rematerialized (`with_again`).
    fn crosses(&self, value: KValue) -> bool {
        let at = self.made_at[value.0 as usize];
        let Some(inst) = self.insts.get(at).map(|&n| &self.kernel.insts[n]) else { return false };
        match inst.op {
            KOp::Const(_) => false,
            KOp::Load(buffer, _) => self.permuted.contains(&buffer),
            _ => !is_made_again(self.kernel, inst),
        }
    }

    /// Computes `last_use`, from the last instruction to the first.
    fn last_uses(&self) -> Vec<usize> {
        let mut last_use = vec![0; self.kernel.values.len()];
        for (at, inst) in self.insts.iter().map(|&n| &self.kernel.insts[n]).enumerate().rev() {
            let again = is_made_again(self.kernel, inst);
            let used = if again { at.max(last_use[inst.first.0 as usize]) } else { at };
            inst.args.iter().for_each(|a| last_use[a.0 as usize] = used.max(last_use[a.0 as usize]));
        }
        last_use
    }

    /// For each place, the cycles that a cut before it costs: to store and load the values that are live
    /// across it, and to rematerialize bools. `None` if no cut is possible.
    fn crossing(&self) -> Vec<Option<f64>> {
        // Values, bools that are rematerialized, and other bools, for which there are no rows.
        let mut change = vec![[0i32; 3]; self.insts.len() + 2];
        for (value, &end) in (0..).map(KValue).zip(&self.last_use) {
            let at = self.made_at[value.0 as usize];
            if at == usize::MAX || end <= at {
                continue;
            }
            let inst = &self.kernel.insts[self.insts[at]];
            let kind = match (self.kernel.dtype(value).is_bool(), self.crosses(value)) {
                (false, true) => 0,
                (true, false) if is_made_again(self.kernel, inst) => 1,
                (true, true) => 2,
                _ => continue,
            };
            change[at + 1][kind] += 1;
            change[end + 1][kind] -= 1;
        }
        let sums = change.into_iter().scan([0i32; 3], |sums, change| {
            sums.iter_mut().zip(change).for_each(|(sum, change)| *sum += change);
            Some(*sums)
        });
        sums.map(|[values, again, never]| {
            (never == 0).then_some(CROSSING * f64::from(values) + AGAIN * f64::from(again))
        })
        .collect()
    }

    /// The issue cost of all instructions but loads and stores.
    fn work(&self) -> f64 {
        let computes = |n: usize| !matches!(self.kernel.insts[n].op, KOp::Load(..) | KOp::Store(..));
        self.insts.iter().zip(&self.links).filter(|(n, _)| computes(**n)).map(|(_, link)| link.issue).sum()
    }

    fn stages(&self, cuts: &[usize]) -> Vec<Vec<usize>> {
        let begins = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([self.insts.len()]);
        // By value, the last stage that is known to use it, counted from 1.
        let mut used_in = vec![0; self.kernel.values.len()];
        let stage = |(number, (begin, end)): (u32, (usize, usize))| {
            let mut stage = self.with_again(begin, &self.insts[begin..end]);
            self.drop_for_others(&mut stage, number, &mut used_in);
            stage
        };
        (1..).zip(begins.zip(ends)).map(stage).collect()
    }

    /// Drops instructions whose results only later stages use, and rematerialize.
    fn drop_for_others(&self, stage: &mut Vec<usize>, number: u32, used_in: &mut [u32]) {
        let is_used = |&n: &usize| {
            let inst = &self.kernel.insts[n];
            let used = !is_made_again(self.kernel, inst) || used_in[inst.first.0 as usize] == number;
            if used {
                inst.args.iter().for_each(|a| used_in[a.0 as usize] = number);
            }
            used
        };
        stage.reverse();
        stage.retain(is_used);
        stage.reverse();
    }

    /// The instructions of the stage that begins at a place, after the rematerialized ones of earlier
    /// stages.
    fn with_again(&self, begin: usize, insts: &[usize]) -> Vec<usize> {
        let (mut stage, mut asked) = (insts.to_vec(), insts.to_vec());
        while let Some(n) = asked.pop() {
            for made in self.kernel.insts[n].args.iter().map(|a| self.made_at[a.0 as usize]).filter(|&at| at < begin) {
                let before = self.insts[made];
                if is_made_again(self.kernel, &self.kernel.insts[before]) && !stage.contains(&before) {
                    stage.push(before);
                    asked.push(before);
                }
            }
        }
        // Definitions precede uses.
        stage[insts.len()..].sort_unstable();
        stage.rotate_left(insts.len());
        stage
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Buffer, Compare, KernelBuilder, Part};
    use rewright_ir::{DType, Scalar};

    /// A kernel of one axis that reads an `f64` at each point; with that value, a constant, and the buffer
    /// of its results.
    fn begin(results: DType) -> (KernelBuilder, KValue, KValue, u32) {
        let mut k = KernelBuilder::new(1);
        let varies = || [true].into_iter().collect();
        let a = k.buffer(Buffer { dtype: DType::F64, written: false, varies: varies() });
        let out = k.buffer(Buffer { dtype: results, written: true, varies: varies() });
        let c = k.constant(Scalar::F64(0.75));
        let first = k.load(a, Part::Re);
        (k, first, c, out)
    }

    /// `out = f(a)`, with a chain of `links` multiply-adds, and a select after half of them.
    fn chain(links: usize) -> Kernel {
        let (mut k, first, c, out) = begin(DType::F64);
        let mut value = first;
        for link in 0..links {
            value = k.push(KOp::Fma, &[value, c, first], DType::F64);
            if link == links / 2 {
                let less = k.compare(Compare::Lt, value, first);
                let other = k.binary(Binary::Add, value, c);
                value = k.select(less, value, other);
            }
        }
        k.store(out, Part::Re, value);
        k.finish()
    }

    #[test]
    fn only_long_bodies_are_cut() {
        let stages = |links: usize| {
            let kernel = chain(links);
            let live = vec![true; kernel.insts.len()];
            (Stages::new(&kernel, &live, Level::Avx512, &[]), kernel)
        };
        assert_eq!(stages(8).0.list.len(), 1);
        let (long, kernel) = stages(100);
        assert!(long.list.len() > 2, "{long:?}");
        // All instructions in order, one value from each stage to the next, and the store at the end.
        let all: Vec<usize> = long.list.concat();
        assert!(all.is_sorted());
        assert_eq!(long.sizes, [8, 8], "a place is used again when what it held is not needed");
        let crossing = (0..).map(KValue).zip(&long.places).filter(|(_, place)| place.is_some());
        let crossing: Vec<KValue> = crossing.map(|(value, _)| value).collect();
        assert_eq!(crossing.len(), long.list.len() - 1);
        assert!(crossing.iter().all(|&v| kernel.dtype(v) == DType::F64));
        let last = long.list.last().and_then(|stage| stage.last()).map(|&n| &kernel.insts[n].op);
        assert!(matches!(last, Some(KOp::Store(..))));
    }

    #[test]
    fn bools_are_made_again_and_have_no_place() {
        let (mut k, first, c, out) = begin(DType::F64);
        let early = k.push(KOp::Fma, &[first, c, first], DType::F64);
        let [less, equal] = [Compare::Lt, Compare::Eq].map(|op| k.compare(op, early, first));
        let either = k.binary(Binary::Or, less, equal);
        let mut value = first;
        for _ in 0..100 {
            value = k.push(KOp::Fma, &[value, c, first], DType::F64);
        }
        let chosen = k.select(either, value, first);
        k.store(out, Part::Re, chosen);
        let kernel = k.finish();
        let live = vec![true; kernel.insts.len()];
        for level in [Level::Avx2, Level::Avx512] {
            let stages = Stages::new(&kernel, &live, level, &[]);
            let has_place = |v: KValue| stages.places[v.0 as usize].is_some();
            assert!(stages.list.len() > 2 && has_place(early), "{stages:?}");
            assert!([less, equal, either].iter().all(|&v| !has_place(v)), "{stages:?}");
            let made = |v: KValue| kernel.insts.iter().position(|inst| inst.results > 0 && inst.first == v).unwrap();
            let last = stages.list.last().unwrap();
            assert!(last.is_sorted() && [less, equal, either].iter().all(|&v| last.contains(&made(v))), "{stages:?}");
        }
    }

    #[test]
    fn bits_are_taken_again_and_have_no_place() {
        let (mut k, first, c, out) = begin(DType::U64);
        let early = k.push(KOp::Fma, &[first, c, first], DType::F64);
        let bits = k.bitcast(early, DType::U64);
        let mut value = early;
        for _ in 0..100 {
            value = k.push(KOp::Fma, &[value, early, first], DType::F64);
        }
        let last = k.bitcast(value, DType::U64);
        let both = k.binary(Binary::Xor, last, bits);
        k.store(out, Part::Re, both);
        let kernel = k.finish();
        let live = vec![true; kernel.insts.len()];
        let stages = Stages::new(&kernel, &live, Level::Avx512, &[]);
        let crossing = (0..).map(KValue).zip(&stages.places).filter(|(_, place)| place.is_some());
        assert!(stages.list.len() > 2 && crossing.clone().count() == stages.list.len(), "{stages:?}");
        assert!(crossing.clone().any(|(v, _)| v == early) && crossing.clone().all(|(v, _)| v != bits));
        let taken = kernel.insts.iter().position(|inst| inst.results > 0 && inst.first == bits).unwrap();
        let (begin, end) = (stages.list.first().unwrap(), stages.list.last().unwrap());
        assert!(!begin.contains(&taken) && end.contains(&taken) && end.is_sorted(), "{stages:?}");
    }
}
