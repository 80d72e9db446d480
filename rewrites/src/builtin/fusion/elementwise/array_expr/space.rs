//! Index spaces: which extents are certain to be equal, and how one space maps into a larger one.
//!
//! An extent is the NumPy broadcast of a set of *atoms*: constants, symbols, and unnamed extents.
//! Broadcasting is the union of sets, so two extents with the same set are equal whatever the atoms are at
//! run time. The empty set is the extent 1.

use rewright_ir::{Dim, Function, Name, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// An indivisible extent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum ExtentAtom {
    Const(u64),
    Sym(Name),
    /// The extent of a value's axis whose dim is `?`.
    Unnamed(Value, u32),
}

/// The extent of one axis.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Extent(SmallVec<[ExtentAtom; 2]>);

/// The most atoms of an extent: a larger union becomes unnamed.
const MAX_ATOMS: usize = 8;

impl Extent {
    /// True for the extent 1.
    pub fn is_one(&self) -> bool {
        self.0.is_empty()
    }

    fn of_dim(dim: Dim, value: Value, axis: u32) -> Self {
        match dim {
            Dim::Const(1) => Extent::default(),
            Dim::Const(c) => Extent(SmallVec::from_iter([ExtentAtom::Const(c)])),
            Dim::Sym(s) => Extent(SmallVec::from_iter([ExtentAtom::Sym(s)])),
            Dim::Any => Extent(SmallVec::from_iter([ExtentAtom::Unnamed(value, axis)])),
        }
    }

    /// The broadcast of two extents; `None` if the union has too many atoms.
    fn union(&self, other: &Extent) -> Option<Extent> {
        // Beside a constant other than 1 every atom is that constant or 1: the operation that made the union
        // checks it.
        if let Some(c) = self.constant().or(other.constant()) {
            return Some(Extent(SmallVec::from_iter([c])));
        }
        let mut atoms = self.0.clone();
        atoms.extend(other.0.iter().copied());
        atoms.sort_unstable();
        atoms.dedup();
        (atoms.len() <= MAX_ATOMS).then_some(Extent(atoms))
    }

    fn constant(&self) -> Option<ExtentAtom> {
        self.0.iter().copied().find(|a| matches!(a, ExtentAtom::Const(_)))
    }
}

/// The extents of a value's axes.
pub type ExtentSpace = SmallVec<[Extent; 4]>;

/// How the space of an operand maps into the space of its reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// The same points.
    Same,
    /// The operand is constant along inner axes: it is computed once, outside of their loops.
    Outer,
    /// The operand would be recomputed along some axis, or might be.
    Repeated,
}

/// The spaces of a block's values, propagated through elementwise instructions.
#[derive(Default)]
pub struct Spaces {
    known: FxHashMap<Value, ExtentSpace>,
}

impl Spaces {
    /// The space of a value: the recorded space, or the one that its type states.
    pub fn of(&self, func: &Function, value: Value) -> ExtentSpace {
        match self.known.get(&value) {
            Some(space) => space.clone(),
            None => {
                let dims = func.ty(value).dims();
                dims.iter().enumerate().map(|(axis, &dim)| Extent::of_dim(dim, value, axis as u32)).collect()
            }
        }
    }

    /// Records that `result` has the broadcast space of `operands`.
    pub fn record(&mut self, func: &Function, result: Value, operands: impl Iterator<Item = Value>) {
        let rank = func.ty(result).rank();
        let mut space = Some(ExtentSpace::from_elem(Extent::default(), rank));
        for operand in operands {
            let own = self.of(func, operand);
            space = space.and_then(|mut all| {
                let offset = rank.checked_sub(own.len())?;
                for (axis, extent) in own.iter().enumerate() {
                    all[offset + axis] = all[offset + axis].union(extent)?;
                }
                Some(all)
            });
        }
        if let Some(space) = space {
            self.known.insert(result, space);
        }
    }
}

/// How `inner` maps into `outer`, where axis `a` of `inner` is axis `map[a]` of `outer` (or index 0).
pub fn relate(inner: &ExtentSpace, outer: &ExtentSpace, map: &[Option<usize>]) -> Relation {
    let reads = |axis: usize| {
        let inner_axis = map.iter().position(|&m| m == Some(axis))?;
        (!inner[inner_axis].is_one() || outer[axis].is_one()).then_some(inner_axis)
    };
    let mut constant_from = outer.len();
    let mut same = true;
    for axis in 0..outer.len() {
        match reads(axis) {
            Some(inner_axis) if inner[inner_axis] == outer[axis] => {
                if constant_from < axis {
                    return Relation::Repeated;
                }
            }
            Some(_) => return Relation::Repeated,
            None => {
                constant_from = constant_from.min(axis);
                same = false;
            }
        }
    }
    // A permutation has the same points only if no axis is left out.
    if same && inner.len() == outer.len() { Relation::Same } else { Relation::Outer }
}

/// The map of NumPy broadcasting: axes aligned at the last one.
pub fn align(inner_rank: usize, outer_rank: usize) -> SmallVec<[Option<usize>; 4]> {
    (0..inner_rank).map(|axis| Some(axis + outer_rank - inner_rank)).collect()
}
