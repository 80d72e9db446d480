//! Sums, products and quotients of floats, regrouped or rounded once instead of twice.

use crate::rule;

rule! { "factor": (add (mul ?x:float ?y) (mul ?x ?z)) ~> (mul ?x (add ?y ?z)) liberties [reassociate, no_nan, no_inf, no_signed_zeros] }
rule! { "factor.sub": (sub (mul ?x:float ?y) (mul ?x ?z)) ~> (mul ?x (sub ?y ?z)) liberties [reassociate, no_nan, no_inf, no_signed_zeros] }
rule! { "factor.one": (add (mul ?x:float ?y) ?x) ~> (mul ?x (add ?y 1)) liberties [reassociate, no_nan, no_inf, no_signed_zeros] }
rule! { "factor.minus-one": (sub (mul ?x:float ?y) ?x) ~> (mul ?x (sub ?y 1)) liberties [reassociate, no_nan, no_inf, no_signed_zeros] }
rule! { "distribute": (mul ?x:float (add ?y ?z)) ~> (add (mul ?x ?y) (mul ?x ?z)) liberties [reassociate, no_nan, no_inf, no_signed_zeros] }
rule! { "distribute.sub": (mul ?x:float (sub ?y ?z)) ~> (sub (mul ?x ?y) (mul ?x ?z)) liberties [reassociate, no_nan, no_inf, no_signed_zeros] }
rule! { "div.common": (add (div ?x:float ?z) (div ?y ?z)) ~> (div (add ?x ?y) ?z) liberties [reassociate, no_nan, no_inf, no_signed_zeros] }
rule! { "div.common-sub": (sub (div ?x:float ?z) (div ?y ?z)) ~> (div (sub ?x ?y) ?z) liberties [reassociate, no_nan, no_inf, no_signed_zeros] }
rule! { "mul.constant-first": (mul (mul ?c:const ?x:float) ?y) ~> (mul ?c (mul ?x ?y)) liberties [reassociate] }
rule! { "mul.constants": (mul (mul ?x:float ?a:const) ?b:const) ~> (mul ?x [mul ?a ?b]) liberties [reassociate, no_inf] }
rule! { "add.constants": (add (add ?x:float ?a:const) ?b:const) ~> (add ?x [add ?a ?b]) liberties [reassociate, no_inf] }
rule! { "add.sub": (add (sub ?x:float ?y) ?y) ~> ?x liberties [reassociate, no_nan, no_inf, no_signed_zeros] }
rule! { "sub.add": (sub (add ?x:float ?y) ?y) ~> ?x liberties [reassociate, no_nan, no_inf, no_signed_zeros] }
rule! { "sub.sub": (sub ?x:float (sub ?y ?z)) ~> (add (sub ?x ?y) ?z) liberties [reassociate, no_nan, no_inf, no_signed_zeros] }
rule! { "distance": (add (sub (mul ?a:float ?a) (mul 2 (mul ?a ?b))) (mul ?b ?b)) ~> (mul (sub ?a ?b) (sub ?a ?b)) liberties [reassociate, no_nan, no_inf] }
rule! { "distance.sums-first": (sub (add (mul ?a:float ?a) (mul ?b ?b)) (mul 2 (mul ?a ?b))) ~> (mul (sub ?a ?b) (sub ?a ?b)) liberties [reassociate, no_nan, no_inf] }
rule! { "distance.sum": (add (add (mul ?a:float ?a) (mul 2 (mul ?a ?b))) (mul ?b ?b)) ~> (mul (add ?a ?b) (add ?a ?b)) liberties [reassociate, no_nan, no_inf] }
rule! { "difference-of-squares": (sub (mul ?a:float ?a) (mul ?b ?b)) ~> (mul (add ?a ?b) (sub ?a ?b)) liberties [reassociate, no_nan, no_inf, no_signed_zeros] }
rule! { "div.is-product": (div ?x:float ?y) ~> (mul ?x (div 1 ?y)) liberties [reciprocal] }
rule! { "div.constant": (div ?x:float ?c:const) ~> (mul ?x [div 1 ?c]) liberties [reciprocal] }
rule! { "div.div": (div (div ?x:float ?y) ?z) ~> (div ?x (mul ?y ?z)) liberties [reassociate, reciprocal, no_nan, no_inf] }
rule! { "div.by-div": (div ?x:float (div ?y ?z)) ~> (div (mul ?x ?z) ?y) liberties [reassociate, reciprocal, no_nan, no_inf] }
rule! { "mul.div": (mul (div ?x:float ?y) ?y) ~> ?x liberties [reassociate, no_nan, no_inf] }
rule! { "div.mul": (div (mul ?x:float ?y) ?y) ~> ?x liberties [reassociate, no_nan, no_inf] }
rule! { "fma": (add (mul ?x:float ?y) ?z) ~> (fma ?x ?y ?z) liberties [contract] }
rule! { "fma.sub": (sub (mul ?x:float ?y) ?z) ~> (fma ?x ?y (neg ?z)) liberties [contract] }
rule! { "fma.from": (sub ?z (mul ?x:float ?y)) ~> (fma (neg ?x) ?y ?z) liberties [contract] }
