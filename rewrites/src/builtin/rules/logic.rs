//! Identities of bools, comparisons and selections.

use crate::rule;

rule! { "not.not": (not (not ?x:bool)) ~> ?x }
rule! { "and.itself": (and ?x:bool ?x) ~> ?x }
rule! { "or.itself": (or ?x:bool ?x) ~> ?x }
rule! { "and.or": (and ?x:bool (or ?x ?y)) ~> ?x }
rule! { "or.and": (or ?x:bool (and ?x ?y)) ~> ?x }
rule! { "not.and": (not (and ?x:bool ?y)) <=> (or (not ?x) (not ?y)) }
rule! { "not.or": (not (or ?x:bool ?y)) <=> (and (not ?x) (not ?y)) }
rule! { "and.factor": (or (and ?x:bool ?y) (and ?x ?z)) <=> (and ?x (or ?y ?z)) }
rule! { "and.not": (and ?x:bool (not ?x)) ~> false }
rule! { "or.not": (or ?x:bool (not ?x)) ~> true }
rule! { "not.eq": (not (eq ?x ?y)) <=> (ne ?x ?y) }
rule! { "not.lt": (not (lt ?x:int ?y)) <=> (ge ?x ?y) }
rule! { "not.le": (not (le ?x:int ?y)) <=> (gt ?x ?y) }
rule! { "gt.turned": (gt ?x ?y) ~> (lt ?y ?x) }
rule! { "ge.turned": (ge ?x ?y) ~> (le ?y ?x) }
rule! { "lt.or-eq": (or (lt ?x:real ?y) (eq ?x ?y)) ~> (le ?x ?y) }
rule! { "where.same": (where ?c:bool ?x ?x) ~> ?x if [scalar(?c)] }
rule! { "where.not": (where (not ?c:bool) ?x ?y) <=> (where ?c ?y ?x) }
rule! { "where.where": (where ?c:bool (where ?c ?x ?y) ?z) ~> (where ?c ?x ?z) if [scalar(?y)] }
