//! Facts about the machine that schedules depend on.

use std::sync::LazyLock;

/// Facts about the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The number of hardware threads. The environment variable `RAYON_NUM_THREADS` can lower it.
    pub cores: u32,
    /// The bytes of the second-level cache of a core.
    pub level2: u64,
    /// The bytes of the last-level cache that this process can expect to use.
    pub last_level: u64,
    /// The bytes of the whole last-level cache, including the shares of other processes.
    pub shared: u64,
}

/// The upper bound of last-level cache per hardware thread. A virtual machine reports the size of a cache
/// that it shares with other machines.
const MOST_OF_LAST_LEVEL: u64 = 16 << 20;

/// The facts of this machine.
pub fn facts() -> &'static Facts {
    static FACTS: LazyLock<Facts> = LazyLock::new(|| {
        let available = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        let most = std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse().ok()).filter(|&n: &u32| n > 0);
        let cores = most.map_or(available, |most| available.min(most));
        let (level2, shared) = cache_sizes().unwrap_or((1 << 20, 32 << 20));
        let last_level = shared.min(u64::from(available) * MOST_OF_LAST_LEVEL).max(level2);
        Facts { cores, level2, last_level, shared }
    });
    &FACTS
}

/// The sizes of the second-level and the last-level cache of the first processor.
#[cfg(target_os = "linux")]
fn cache_sizes() -> Option<(u64, u64)> {
    let (mut level2, mut last) = (None, (0, 0));
    for index in 0..8 {
        let read = |what: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}");
            std::fs::read_to_string(path).ok()
        };
        let Some(level) = read("level").and_then(|text| text.trim().parse::<u32>().ok()) else { break };
        let Some(size) = read("size").and_then(|text| size(&text)) else { continue };
        if level == 2 {
            level2 = Some(size);
        }
        last = last.max((level, size));
    }
    Some((level2?, last.1))
}

#[cfg(not(target_os = "linux"))]
fn cache_sizes() -> Option<(u64, u64)> {
    None
}

/// Parses a size such as `32768K`, in bytes.
#[cfg(target_os = "linux")]
fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, unit) = match text.strip_suffix(['K', 'M']) {
        Some(digits) if text.ends_with('K') => (digits, 10),
        Some(digits) => (digits, 20),
        None => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_shl(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_grow_with_their_level() {
        let facts = facts();
        assert!(facts.cores > 0 && facts.level2 > 0 && facts.level2 <= facts.last_level, "{facts:?}");
    }
}
