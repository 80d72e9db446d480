//! Pitfalls of e-graphs, each by the name that it has among those who build them.

use super::{remarks, saturate_with};

/// P2, U3: a rule that always matches what it made ends by a limit, and the report names it.
#[test]
fn growth_without_end_is_cut_and_named() {
    let rules = [("grow", "(cos ?x:float) ~> (cos (abs ?x))")];
    let (lines, report) = saturate_with(&rules, "(%x: f64) -> f64", "%a = cos %x\nret %a");
    assert_eq!(lines, ["%a = cos %x", "ret %a"]);
    let [remark] = &remarks(&report)[..] else { panic!("{report:?}") };
    assert!(remark.starts_with("cut (iterations)") && remark.contains("grow (+"), "{remark}");
}
