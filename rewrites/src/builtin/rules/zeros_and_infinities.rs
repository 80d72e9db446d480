//! Identities of floats that hold except for NaN, infinities or the signs of zeros.

use crate::rule;

rule! { "float.add-zero": (add ?x:float 0) ~> ?x liberties [no_signed_zeros] }
rule! { "float.zero-minus": (sub 0 ?x:float) <=> (neg ?x) liberties [no_signed_zeros] }
rule! { "float.neg-sub": (neg (sub ?x:float ?y)) <=> (sub ?y ?x) liberties [no_signed_zeros] }
rule! { "float.neg-add": (neg (add ?x:float ?y)) <=> (sub (neg ?x) ?y) liberties [no_signed_zeros] }
rule! { "float.sub-itself": (sub ?x:float ?x) ~> 0 liberties [no_nan] }
rule! { "float.mul-zero": (mul ?x:float 0) ~> 0 liberties [no_nan, no_signed_zeros] }
rule! { "float.div-itself": (div ?x:float ?x) ~> 1 liberties [no_nan] }
rule! { "float.not-lt": (not (lt ?x:float ?y)) <=> (ge ?x ?y) liberties [no_nan] }
rule! { "float.not-le": (not (le ?x:float ?y)) <=> (gt ?x ?y) liberties [no_nan] }
rule! { "float.abs-of-nonneg": (abs ?x:float) ~> ?x if [nonneg(?x)] liberties [no_signed_zeros, no_nan] }
rule! { "float.fmin": (fmin ?x:float ?y) <=> (minimum ?x ?y) liberties [no_nan, no_signed_zeros] }
rule! { "float.fmax": (fmax ?x:float ?y) <=> (maximum ?x ?y) liberties [no_nan, no_signed_zeros] }
rule! { "float.power-half": (power ?x:float 0.5) ~> (sqrt ?x) liberties [no_inf, no_signed_zeros] }
