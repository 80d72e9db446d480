//! Identities that hold bit for bit, of IEEE floats and of wrapping integers.

use crate::rule;

rule! { "neg.neg": (neg (neg ?x)) ~> ?x }
rule! { "add.neg": (add ?x (neg ?y)) <=> (sub ?x ?y) }
rule! { "sub.neg": (sub ?x (neg ?y)) ~> (add ?x ?y) }
rule! { "mul.minus-one": (mul ?x:real -1) ~> (neg ?x) }
rule! { "mul.neg-neg": (mul (neg ?x:real) (neg ?y)) ~> (mul ?x ?y) }
rule! { "mul.neg": (mul (neg ?x:real) ?y) <=> (neg (mul ?x ?y)) }
rule! { "div.neg": (div (neg ?x:float) ?y) <=> (neg (div ?x ?y)) }
rule! { "div.by-neg": (div ?x:float (neg ?y)) ~> (neg (div ?x ?y)) }
rule! { "mul.one": (mul ?x:real 1) ~> ?x }
rule! { "div.one": (div ?x:float 1) ~> ?x }
rule! { "add.negative-zero": (add ?x:float -0.0) ~> ?x }
rule! { "sub.zero": (sub ?x:real 0) ~> ?x }
rule! { "add.twice": (add ?x:real ?x) <=> (mul ?x 2) }
rule! { "div.power-of-two": (div ?x:float ?c:const) ~> (mul ?x [div 1 ?c]) if [power_of_two(?c)] }
rule! { "square.is-product": (square ?x) <=> (mul ?x ?x) }
rule! { "reciprocal.is-quotient": (reciprocal ?x:float) <=> (div 1 ?x) }
rule! { "power.two": (power ?x:float 2) ~> (mul ?x ?x) }
rule! { "power.one": (power ?x:float 1) ~> ?x }
rule! { "power.minus-one": (power ?x:float -1) ~> (div 1 ?x) }
rule! { "power.half": (power ?x:float 0.5) ~> (where (eq ?x -inf) inf (add (sqrt ?x) 0.0)) }
rule! { "power.half-nonneg": (power ?x:float 0.5) ~> (sqrt ?x) if [nonneg(?x), no_neg_zero(?x)] }
rule! { "abs.neg": (abs (neg ?x:float)) ~> (abs ?x) }
rule! { "abs.neg-signed": (abs (neg ?x:signed)) ~> (abs ?x) }
rule! { "abs.abs": (abs (abs ?x:real)) ~> (abs ?x) }
rule! { "abs.square": (abs (mul ?x:float ?x)) ~> (mul ?x ?x) }
rule! { "square.abs": (mul (abs ?x:real) (abs ?x)) ~> (mul ?x ?x) }
rule! { "abs.nonneg": (abs ?x:float) ~> ?x if [nonneg(?x), no_neg_zero(?x)] }
rule! { "minimum.itself": (minimum ?x ?x) ~> ?x }
rule! { "maximum.itself": (maximum ?x ?x) ~> ?x }
rule! { "minimum.neg": (minimum (neg ?x:float) (neg ?y)) <=> (neg (maximum ?x ?y)) }
