//! Congruence closure of terms: two terms are equal if an equality says so, or if they are the same op of
//! equal parts.
//!
//! The classes are a union-find structure. Each representative lists the users of its class, whose
//! signatures change when the class is merged into another. The smaller class is always merged into the
//! larger one, so n terms take O(n log n) updates of signatures for any number of equalities (Downey, Sethi,
//! Tarjan: "Variations on the Common Subexpression Problem", 1980).

use super::node::Head;
use super::terms::{TermId, TermTable};
use rustc_hash::FxHashMap;

/// Classes of equal terms. Terms that are added to the table later are included when a method is called.
#[derive(Default)]
pub(crate) struct Congruence {
    /// The parent of each term in the union-find forest; a representative is its own.
    parent: Vec<TermId>,
    /// For each representative, the terms of its class; for other terms nothing.
    members: Vec<Vec<TermId>>,
    /// For each representative, the terms with a part in its class; for other terms nothing.
    users: Vec<Vec<TermId>>,
    /// A term for each head and representatives of children.
    signatures: FxHashMap<(Head, Vec<TermId>), TermId>,
}

impl Congruence {
    /// Makes two terms equal, and all terms that follow to be equal.
    pub fn unite(&mut self, terms: &TermTable, a: TermId, b: TermId) {
        self.include(terms);
        self.merge(terms, vec![(a, b)]);
    }

    /// True if two terms are equal.
    pub fn are_equal(&mut self, terms: &TermTable, a: TermId, b: TermId) -> bool {
        self.include(terms);
        self.representative(a) == self.representative(b)
    }

    /// The terms that are equal to a term, with itself.
    pub fn class(&mut self, terms: &TermTable, term: TermId) -> &[TermId] {
        self.include(terms);
        let representative = self.representative(term);
        &self.members[representative]
    }

    /// Includes the terms that were added to the table.
    fn include(&mut self, terms: &TermTable) {
        for term in self.parent.len()..terms.len() {
            self.parent.push(term);
            self.members.push(vec![term]);
            self.users.push(Vec::new());
            for &child in terms.children(term) {
                let child = self.representative(child);
                self.users[child].push(term);
            }
            let equal = self.signed(terms, term);
            self.merge(terms, equal.into_iter().collect());
        }
    }

    /// Records the signature of a term. Returns the term and another one of the same signature, if there is
    /// one.
    fn signed(&mut self, terms: &TermTable, term: TermId) -> Option<(TermId, TermId)> {
        let children = terms.children(term).iter().map(|&child| self.representative(child)).collect();
        let other = *self.signatures.entry((terms.head(term).clone(), children)).or_insert(term);
        (other != term).then_some((other, term))
    }

    fn merge(&mut self, terms: &TermTable, mut pending: Vec<(TermId, TermId)>) {
        while let Some((a, b)) = pending.pop() {
            let (a, b) = (self.representative(a), self.representative(b));
            if a == b {
                continue;
            }
            let size = |term: TermId| self.members[term].len() + self.users[term].len();
            let (small, large) = if size(a) < size(b) { (a, b) } else { (b, a) };
            self.parent[small] = large;
            let (members, users) = (std::mem::take(&mut self.members[small]), std::mem::take(&mut self.users[small]));
            pending.extend(users.iter().filter_map(|&user| self.signed(terms, user)));
            self.members[large].extend(members);
            self.users[large].extend(users);
        }
    }

    /// The term that stands for the class of a term. Halves the path to it.
    fn representative(&mut self, mut term: TermId) -> TermId {
        while self.parent[term] != term {
            self.parent[term] = self.parent[self.parent[term]];
            term = self.parent[term];
        }
        term
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rewright_ir::{Scalar, registry};

    /// f(f(f(a))) = a and f(f(f(f(f(a))))) = a imply f(a) = a.
    #[test]
    fn equal_parts_make_equal_terms() {
        let neg = registry().op("neg").unwrap();
        let mut terms = TermTable::default();
        let mut chain = vec![terms.constant(Scalar::F64(1.0))];
        for n in 0..5 {
            chain.push(terms.term(Head::Op(neg), vec![chain[n]]));
        }
        let mut equal = Congruence::default();
        equal.unite(&terms, chain[3], chain[0]);
        assert!(equal.are_equal(&terms, chain[4], chain[1]) && !equal.are_equal(&terms, chain[1], chain[0]));
        equal.unite(&terms, chain[5], chain[0]);
        assert!(chain.iter().all(|&term| equal.are_equal(&terms, term, chain[0])));
        assert_eq!(equal.class(&terms, chain[2]).len(), 6);
        // Terms that are added later are included.
        let longer = terms.term(Head::Op(neg), vec![chain[5]]);
        assert!(equal.are_equal(&terms, longer, chain[0]));
    }
}
