//! Identities of wrapping integers, which form a ring.

use crate::rule;

rule! { "int.add-zero": (add ?x:int 0) ~> ?x }
rule! { "int.mul-zero": (mul ?x:int 0) ~> 0 }
rule! { "int.sub-itself": (sub ?x:int ?x) ~> 0 }
rule! { "int.neg-sub": (neg (sub ?x:int ?y)) <=> (sub ?y ?x) }
rule! { "int.neg-add": (neg (add ?x:int ?y)) ~> (sub (neg ?x) ?y) }
rule! { "int.add-sub": (add (sub ?x:int ?y) ?y) ~> ?x }
rule! { "int.sub-add": (sub (add ?x:int ?y) ?y) ~> ?x }
rule! { "int.sub-sub": (sub ?x:int (sub ?y ?z)) ~> (add (sub ?x ?y) ?z) }
rule! { "int.distribute": (mul ?x:int (add ?y ?z)) ~> (add (mul ?x ?y) (mul ?x ?z)) }
rule! { "int.factor": (add (mul ?x:int ?y) (mul ?x ?z)) ~> (mul ?x (add ?y ?z)) }
rule! { "int.factor-one": (add (mul ?x:int ?y) ?x) ~> (mul ?x (add ?y 1)) }
rule! { "int.factor-sub": (sub (mul ?x:int ?y) (mul ?x ?z)) <=> (mul ?x (sub ?y ?z)) }
rule! { "int.add-constants": (add (add ?x:int ?a:const) ?b:const) ~> (add ?x [add ?a ?b]) }
rule! { "int.mul-constants": (mul (mul ?x:int ?a:const) ?b:const) ~> (mul ?x [mul ?a ?b]) }
rule! { "int.shift-is-product": (left_shift ?x:int ?n:const) ~> (mul ?x [left_shift 1 ?n]) if [below_width(?n)] }
rule! { "int.bitand-bitor": (bitand ?x:int (bitor ?x ?y)) ~> ?x }
rule! { "int.bitor-bitand": (bitor ?x:int (bitand ?x ?y)) ~> ?x }
rule! { "int.invert-invert": (invert (invert ?x:int)) ~> ?x }
rule! { "int.invert-bitand": (invert (bitand ?x:int ?y)) <=> (bitor (invert ?x) (invert ?y)) }
rule! { "int.invert-bitor": (invert (bitor ?x:int ?y)) <=> (bitand (invert ?x) (invert ?y)) }
rule! { "int.bitxor-itself": (bitxor ?x:int ?x) ~> 0 }
rule! { "int.bitxor-twice": (bitxor (bitxor ?x:int ?y) ?y) ~> ?x }
rule! { "int.invert-is-bitxor": (invert ?x:signed) <=> (sub -1 ?x) }
