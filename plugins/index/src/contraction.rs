//! Contraction order: the cheapest way to multiply factors pairwise and to sum out indices on the way.
//!
//! `X[a,b] * Y[b,c] * Z[c,d]`, summed over `b` and `c`, is one loop nest over four indices, or two products
//! of matrices over three. The cost of a pair is the number of points of its indices, and of an intermediate
//! array its size. Up to [`EXACT`] factors, dynamic programming over subsets finds the cheapest tree (as in
//! opt_einsum, Smith and Gray, 2018); beyond, the pair that saves the most memory comes first.

/// The most factors for which all trees are tried.
const EXACT: usize = 10;

/// The cost of an element of an intermediate array, in points.
const ELEMENT: f64 = 2.0;

/// The least gain for which factors are contracted pairwise, and the least cost of the nest as it is.
const GAIN: f64 = 1.5;
const LEAST: f64 = 4096.0;

/// A set of indices.
pub(crate) type Indices = u64;

/// A tree of pairwise products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    Factor(usize),
    Pair(Box<(Tree, Tree)>),
}

/// An order that is worth its intermediate arrays.
#[derive(Clone, Debug)]
pub(crate) struct ContractionOrder {
    pub tree: Tree,
    /// Its cost, and that of one loop nest.
    pub cost: f64,
    pub nest_cost: f64,
}

/// Products with index sets and extents.
pub(crate) struct Factors<'a> {
    /// The indices of each factor.
    pub factors: &'a [Indices],
    /// The indices of the result.
    pub result: Indices,
    /// The extent of each index.
    pub extents: &'a [f64],
}

impl Factors<'_> {
    /// The number of points of some indices.
    pub(crate) fn points(&self, indices: Indices) -> f64 {
        self.extents.iter().enumerate().filter(|(n, _)| indices & (1 << n) != 0).map(|(_, extent)| extent).product()
    }

    /// The indices of the factors of a set.
    fn all(&self, set: u64) -> Indices {
        self.factors.iter().enumerate().filter(|(n, _)| set & (1 << n) != 0).fold(0, |all, (_, own)| all | own)
    }

    /// The indices that the product of a set of factors keeps: those of the result and of other factors.
    pub(crate) fn kept(&self, set: u64) -> Indices {
        self.all(set) & (self.result | self.all(!set))
    }

    /// The cost of a factor, with the sum over the indices that it alone has.
    fn factor_cost(&self, n: usize) -> f64 {
        let kept = self.kept(1 << n);
        if kept == self.factors[n] { 0.0 } else { self.points(self.factors[n]) + ELEMENT * self.points(kept) }
    }

    /// The cost of the product of two sets, without that of the sets.
    fn pair_cost(&self, a: u64, b: u64) -> f64 {
        let is_last = (a | b).count_ones() as usize == self.factors.len();
        let stored = if is_last { 0.0 } else { ELEMENT * self.points(self.kept(a | b)) };
        self.points(self.kept(a) | self.kept(b)) + stored
    }

    /// How often the result's indices, in order, change between those of a set of factors and those of the
    /// other factors. With one change, the last product is one of matrices whose rows and columns are
    /// adjacent indices of the result.
    fn turns(&self, set: u64) -> usize {
        let (ours, theirs) = (self.all(set), self.all(!set));
        let alone = (0..self.extents.len()).map(|n| 1 << n).filter(|index| self.result & index != 0);
        let sides = alone.filter(|index| (ours & index == 0) != (theirs & index == 0)).map(|index| ours & index != 0);
        let sides: Vec<bool> = sides.collect();
        sides.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    /// The cheapest order, if it gains enough.
    pub(crate) fn order(&self) -> Option<ContractionOrder> {
        let count = self.factors.len();
        if !(2..=64).contains(&count) {
            return None;
        }
        let nest_cost = self.points(self.all(u64::MAX >> (64 - count)) | self.result) * (count as f64 - 1.0);
        if nest_cost < LEAST {
            return None;
        }
        let (tree, cost) = if count <= EXACT { self.exact() } else { self.greedy() };
        (nest_cost > GAIN * cost).then_some(ContractionOrder { tree, cost, nest_cost })
    }

    /// The cheapest tree, by subsets in increasing order.
    fn exact(&self) -> (Tree, f64) {
        let count = self.factors.len();
        let full = (1u64 << count) - 1;
        // For each set its least cost, and one part of its best split; 0 for a single factor.
        let mut best: Vec<(f64, u64)> = vec![(f64::INFINITY, 0); 1 << count];
        for set in 1..=full {
            if set.count_ones() == 1 {
                best[set as usize] = (self.factor_cost(set.trailing_zeros() as usize), 0);
                continue;
            }
            // Each split once: the part with the first factor.
            let first = set & set.wrapping_neg();
            let others = set & !first;
            let mut part = others;
            while part != 0 {
                let (a, b) = (set & !part, part);
                let cost = best[a as usize].0 + best[b as usize].0 + self.pair_cost(a, b);
                let (least, other) = best[set as usize];
                let is_straighter = || other == 0 || set != full || self.turns(a) <= self.turns(other);
                if cost < least || (cost == least && is_straighter()) {
                    best[set as usize] = (cost, a);
                }
                part = (part - 1) & others;
            }
        }
        (tree(&best, full), best[full as usize].0)
    }

    /// A tree by pairs: first those whose product is smallest beside its factors.
    fn greedy(&self) -> (Tree, f64) {
        let mut parts: Vec<(u64, Tree)> = (0..self.factors.len()).map(|n| (1 << n, Tree::Factor(n))).collect();
        let mut cost: f64 = (0..self.factors.len()).map(|n| self.factor_cost(n)).sum();
        while parts.len() > 1 {
            let saved =
                |a: u64, b: u64| self.points(self.kept(a)) + self.points(self.kept(b)) - self.points(self.kept(a | b));
            let mut found = (f64::NEG_INFINITY, 0, 1);
            for a in 0..parts.len() {
                for b in a + 1..parts.len() {
                    let gain = saved(parts[a].0, parts[b].0);
                    if gain > found.0 {
                        found = (gain, a, b);
                    }
                }
            }
            let (right, left) = (parts.remove(found.2), parts.remove(found.1));
            cost += self.pair_cost(left.0, right.0);
            parts.push((left.0 | right.0, Tree::Pair(Box::new((left.1, right.1)))));
        }
        let tree = parts.pop().map_or(Tree::Factor(0), |(_, tree)| tree);
        (tree, cost)
    }
}

fn tree(best: &[(f64, u64)], set: u64) -> Tree {
    match best[set as usize].1 {
        0 => Tree::Factor(set.trailing_zeros() as usize),
        part => Tree::Pair(Box::new((tree(best, part), tree(best, set & !part)))),
    }
}

impl Tree {
    /// The factors in it.
    pub(crate) fn set(&self) -> u64 {
        match self {
            Tree::Factor(n) => 1 << n,
            Tree::Pair(parts) => parts.0.set() | parts.1.set(),
        }
    }
    /// As text, with the text of each factor and the sign of the product.
    pub(crate) fn shown(&self, sign: char, factor: &dyn Fn(usize) -> String) -> String {
        match self {
            Tree::Factor(n) => factor(*n),
            Tree::Pair(parts) => format!("({} {sign} {})", parts.0.shown(sign, factor), parts.1.shown(sign, factor)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(tree: &Tree) -> String {
        tree.shown('*', &|n| n.to_string())
    }

    #[test]
    fn chains_are_products_of_pairs() {
        // X[a,b] * Y[b,c] * Z[c,d].
        let factors = Factors { factors: &[0b0011, 0b0110, 0b1100], result: 0b1001, extents: &[100.0; 4] };
        let order = factors.order().expect("worth it");
        assert_eq!((shown(&order.tree), order.nest_cost), ("((0 * 1) * 2)".into(), 2e8));
        assert!(order.cost < 3e6, "{}", order.cost);
        // The last index is short, so the other order is cheaper.
        let factors =
            Factors { factors: &[0b0011, 0b0110, 0b1100], result: 0b1001, extents: &[100.0, 100.0, 100.0, 1.0] };
        assert_eq!(factors.order().map(|order| shown(&order.tree)), Some("(0 * (1 * 2))".into()));
    }

    #[test]
    fn of_equally_cheap_orders_the_last_product_is_one_of_matrices() {
        // X[i,r] * Y[j,r] * Z[k,r] for [i,j,k]: not (X * Z) * Y, whose result has `j` between `i` and `k`.
        let factors =
            Factors { factors: &[0b1001, 0b1010, 0b1100], result: 0b0111, extents: &[100.0, 100.0, 100.0, 20.0] };
        let order = factors.order().expect("worth it");
        assert_eq!(factors.turns(0b101), 2);
        assert!(["((0 * 1) * 2)", "(0 * (1 * 2))"].contains(&&*shown(&order.tree)), "{}", shown(&order.tree));
    }

    #[test]
    fn two_factors_and_small_ones_stay() {
        let product = Factors { factors: &[0b011, 0b110], result: 0b101, extents: &[100.0; 3] };
        assert!(product.order().is_none());
        let small = Factors { factors: &[0b0011, 0b0110, 0b1100], result: 0b1001, extents: &[3.0; 4] };
        assert!(small.order().is_none());
        // Indices of one factor alone are summed first.
        let sums = Factors { factors: &[0b01, 0b10], result: 0, extents: &[1000.0; 2] };
        assert_eq!(sums.order().map(|order| shown(&order.tree)), Some("(0 * 1)".into()));
    }

    /// The least cost of all trees.
    fn least(factors: &Factors<'_>, set: u64) -> f64 {
        if set.count_ones() == 1 {
            return factors.factor_cost(set.trailing_zeros() as usize);
        }
        let mut found = f64::INFINITY;
        for part in 1..set {
            if part & !set == 0 && part != 0 {
                let (a, b) = (part, set & !part);
                found = found.min(least(factors, a) + least(factors, b) + factors.pair_cost(a, b));
            }
        }
        found
    }

    #[test]
    fn no_tree_is_cheaper_than_the_exact_one() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..60 {
            let count = random.usize(2..6);
            let sets: Vec<Indices> = (0..count).map(|_| random.u64(1..64)).collect();
            let extents: Vec<f64> = (0..6).map(|_| f64::from(random.u32(1..40))).collect();
            let factors = Factors { factors: &sets, result: random.u64(0..64), extents: &extents };
            let full = (1u64 << count) - 1;
            let (tree, cost) = factors.exact();
            assert_eq!(tree.set(), full);
            assert!((cost - least(&factors, full)).abs() <= 1e-9 * cost, "{sets:?} {extents:?}");
            let (tree, greedy) = factors.greedy();
            assert_eq!(tree.set(), full);
            assert!(greedy >= cost * (1.0 - 1e-9), "{greedy} {cost}");
        }
    }
}
