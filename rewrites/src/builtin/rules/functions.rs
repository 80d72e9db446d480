//! Functions that are equal in real arithmetic.

use crate::rule;

rule! { "log.exp": (log (exp ?x:float)) ~> ?x liberties [approximate, no_inf] }
rule! { "exp.log": (exp (log ?x:float)) ~> ?x liberties [approximate, no_nan] }
rule! { "exp.product": (mul (exp ?x:float) (exp ?y)) ~> (exp (add ?x ?y)) liberties [approximate, no_nan, no_inf] }
rule! { "exp.quotient": (div (exp ?x:float) (exp ?y)) ~> (exp (sub ?x ?y)) liberties [approximate, no_nan, no_inf] }
rule! { "exp.reciprocal": (div 1 (exp ?x:float)) ~> (exp (neg ?x)) liberties [approximate, no_nan, no_inf] }
rule! { "exp.square": (mul (exp ?x:float) (exp ?x)) ~> (exp (mul ?x 2)) liberties [approximate, no_nan, no_inf] }
rule! { "log.sum": (add (log ?x:float) (log ?y)) ~> (log (mul ?x ?y)) liberties [approximate, no_nan, no_inf] }
rule! { "log.difference": (sub (log ?x:float) (log ?y)) ~> (log (div ?x ?y)) liberties [approximate, no_nan, no_inf] }
rule! { "log.power": (log (power ?x:float ?y)) ~> (mul ?y (log ?x)) if [nonneg(?x), nonzero(?x)] liberties [approximate, no_nan, no_inf] }
rule! { "log1p": (log (add ?x:float 1)) ~> (log1p ?x) liberties [approximate] }
rule! { "expm1": (sub (exp ?x:float) 1) ~> (expm1 ?x) liberties [approximate] }
rule! { "sqrt.product": (mul (sqrt ?x:float) (sqrt ?y)) ~> (sqrt (mul ?x ?y)) liberties [approximate, no_nan, no_inf] }
rule! { "sqrt.quotient": (div (sqrt ?x:float) (sqrt ?y)) ~> (sqrt (div ?x ?y)) liberties [approximate, no_nan, no_inf] }
rule! { "sqrt.square": (mul (sqrt ?x:float) (sqrt ?x)) ~> ?x liberties [approximate, no_nan, no_signed_zeros] }
rule! { "sqrt.of-square": (sqrt (mul ?x:float ?x)) ~> (abs ?x) liberties [approximate] }
rule! { "div.sqrt": (div ?x:float (sqrt ?x)) ~> (sqrt ?x) if [nonneg(?x)] liberties [approximate, no_nan] }
rule! { "power.three": (power ?x:float 3) ~> (mul (mul ?x ?x) ?x) liberties [approximate] }
rule! { "power.four": (power ?x:float 4) ~> (mul (mul ?x ?x) (mul ?x ?x)) liberties [approximate] }
rule! { "power.sum": (mul (power ?x:float ?y) (power ?x ?z)) ~> (power ?x (add ?y ?z)) liberties [approximate, no_nan, no_inf] }
rule! { "sin.cos": (add (mul (sin ?x:float) (sin ?x)) (mul (cos ?x) (cos ?x))) ~> 1 liberties [approximate, no_nan] }
rule! { "tan": (div (sin ?x:float) (cos ?x)) ~> (tan ?x) liberties [approximate, no_nan] }
rule! { "tanh": (div (sinh ?x:float) (cosh ?x)) ~> (tanh ?x) liberties [approximate, no_nan, no_inf] }
