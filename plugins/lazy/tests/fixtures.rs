//! Checks the fixtures.

use rewright_lazy as _;

#[test]
fn fixtures_hold() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    rewright_passdump::fixture::assert_all(folder);
}
