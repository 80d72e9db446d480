//! Rules: a product with the identity matrix is the other factor.
//!
//! For integers and bools this is exact. For floats, 0 times infinity is NaN, and -0.0 + 0.0 is 0.0, so
//! the rules need the liberties to ignore both. A rule preserves types and extents, so the matrix is
//! square. If the identity is the right factor, the other factor must be a matrix: at higher ranks the
//! product has its axes in another order.

use rewright::rewrites::rule;

rule! { "eye.int": (dot_general (eye dims=@d dtype=@t) ?x:int lhs_contract=[1] rhs_contract=[0]) => ?x }
rule! { "eye.bool": (dot_general (eye dims=@d dtype=@t) ?x:bool lhs_contract=[1] rhs_contract=[0]) => ?x }
rule! { "eye.inexact": (dot_general (eye dims=@d dtype=@t) ?x:inexact lhs_contract=[1] rhs_contract=[0]) => ?x liberties [no_nan, no_inf, no_signed_zeros] }
rule! { "matrix-eye.int": (dot_general ?x:int (eye dims=@d dtype=@t) lhs_contract=[1] rhs_contract=[0]) => ?x if [matrix(?x)] }
rule! { "matrix-eye.bool": (dot_general ?x:bool (eye dims=@d dtype=@t) lhs_contract=[1] rhs_contract=[0]) => ?x if [matrix(?x)] }
rule! { "matrix-eye.inexact": (dot_general ?x:inexact (eye dims=@d dtype=@t) lhs_contract=[1] rhs_contract=[0]) => ?x if [matrix(?x)] liberties [no_nan, no_inf, no_signed_zeros] }
