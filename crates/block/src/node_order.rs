//! Sorting rows by their nodes.
//!
//! A key is a row's or sample's position (low 32 bits) and its node (high 32 bits). Nodes of one profile lie in the small
//! range of ids that their tree has, so putting keys into buckets needs two passes where comparing needs a dozen.
//!
//! Not for keys whose low halves do not rise: only keys of few rows are compared as a whole.

/// Sorts keys, whose low halves rise, by their high halves, in a few passes that put each key into one of many buckets.
/// `spare` is memory for it; what it holds afterwards means nothing.
pub fn sort_by_node(keys: &mut Vec<u64>, spare: &mut Vec<u64>) {
    const BITS: u32 = 11;
    const BUCKETS: usize = 1 << BITS;
    /// Below this many keys emptying the buckets costs more than comparing keys.
    const KEYS_MIN: usize = 200;
    if keys.len() < KEYS_MIN {
        keys.sort_unstable();
        return;
    }
    let largest = keys.iter().fold(0, |all, &key| all | key) >> 32;
    spare.clear();
    spare.resize(keys.len(), 0);
    let mut shift = 0;
    while shift < 32 && largest >> shift != 0 {
        let bucket_of = |key: u64| (key >> 32 >> shift) as usize & (BUCKETS - 1);
        let mut ends = [0u32; BUCKETS];
        for &key in &*keys {
            ends[bucket_of(key)] += 1;
        }
        let mut begin = 0;
        for end in &mut ends {
            begin += std::mem::replace(end, begin);
        }
        for &key in &*keys {
            let place = &mut ends[bucket_of(key)];
            spare[*place as usize] = key;
            *place += 1;
        }
        std::mem::swap(keys, spare);
        shift += BITS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_by_node_and_then_by_position() {
        for (count, nodes) in [(0u32, 1u32), (150, 7), (1_000, 5), (5_000, 3_000_000), (300, u32::MAX)] {
            let node = |position: u32| position.wrapping_mul(2_654_435_769) % nodes;
            let mut keys: Vec<u64> =
                (0..count).map(|position| u64::from(node(position)) << 32 | u64::from(position)).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            sort_by_node(&mut keys, &mut Vec::new());
            assert_eq!(keys, expected, "{count} keys below {nodes}");
        }
    }
}
