//! From the samples of a profile, whose nodes are known, to rows: sorted, and equal ones added up.
//!
//! A key is a sample's position (low word) and its node plus one (high word); 0 there is the empty stack.
//!
//! Not here: finding nodes (`stacks`), writing rows (`rows`).

use profile::Profile;

use super::{intern::index, rows::RowBuffer};
use crate::hash::{high_word, low_word};

/// Sorts keys, whose low words rise, by their high words: a few passes that put each key into one of many buckets.
pub(super) fn sort_by_node(keys: &mut Vec<u64>, sorted: &mut Vec<u64>) {
    const BITS: u32 = 11;
    const BUCKETS: usize = 1 << BITS;
    /// Below this many keys emptying the buckets costs more than comparing keys.
    const KEYS_MIN: usize = 200;
    if keys.len() < KEYS_MIN {
        keys.sort_unstable();
        return;
    }
    let largest = keys.iter().fold(0, |all, &key| all | high_word(key));
    sorted.clear();
    sorted.resize(keys.len(), 0);
    let mut shift = 0;
    while shift < 32 && largest >> shift != 0 {
        let bucket_of = |key: u64| (high_word(key) >> shift) as usize & (BUCKETS - 1);
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
            sorted[*place as usize] = key;
            *place += 1;
        }
        std::mem::swap(keys, sorted);
        shift += BITS;
    }
}

/// Rows of samples that have neither labels nor links nor times.
pub(super) fn plain_rows(profile: &Profile<'_>, keys: &[u64], rows: &mut RowBuffer) {
    let columns = profile.columns;
    let width = columns.sample_types.len();
    rows.nodes.reserve(keys.len());
    rows.nodes.extend(keys.iter().map(|&key| high_word(key)));
    let all_different = rows.nodes.windows(2).all(|pair| pair[0] != pair[1]);
    if all_different {
        for (column, values) in rows.columns.iter_mut().enumerate() {
            values.extend(keys.iter().map(|&key| columns.values[low_word(key) as usize * width + column]));
        }
        return;
    }
    for (column, values) in rows.columns.iter_mut().enumerate() {
        let mut last = None;
        for (&key, &node) in keys.iter().zip(&rows.nodes) {
            let value = columns.values[low_word(key) as usize * width + column];
            match values.last_mut() {
                Some(sum) if last == Some(node) => *sum += value,
                _ => values.push(value),
            }
            last = Some(node);
        }
    }
    rows.nodes.dedup();
}

/// Rows of samples of any kind.
pub(super) fn full_rows(profile: &Profile<'_>, keys: &mut [u64], label_sets: &[u32], rows: &mut RowBuffer) {
    let columns = profile.columns;
    let detail = |key: u64| {
        let position = low_word(key) as usize;
        let label_set = label_sets.get(position).copied().unwrap_or(0);
        let link = columns.links.get(position).copied().unwrap_or_default();
        (high_word(key), label_set, link.trace_id, link.span_id)
    };
    keys.sort_by_key(|&key| detail(key));
    let mut last = None;
    for &key in &*keys {
        let sample = profile.sample(low_word(key) as usize);
        let identity = detail(key);
        let is_new = last != Some(identity);
        last = Some(identity);
        for (values, &value) in rows.columns.iter_mut().zip(sample.values) {
            match values.last_mut() {
                Some(sum) if !is_new => *sum += value,
                _ => values.push(value),
            }
        }
        rows.timestamps.extend_from_slice(sample.timestamps);
        if !is_new {
            if let Some(end) = rows.timestamp_ends.last_mut() {
                *end = index(rows.timestamps.len());
            }
            continue;
        }
        rows.nodes.push(identity.0);
        if !label_sets.is_empty() {
            rows.label_sets.push(identity.1);
        }
        if !columns.links.is_empty() {
            rows.links.push(sample.link);
        }
        if !columns.timestamp_ends.is_empty() {
            rows.timestamp_ends.push(index(rows.timestamps.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::join_words;

    #[test]
    fn keys_are_sorted_by_node_and_then_by_position() {
        for (count, nodes) in [(0u32, 1u32), (150, 7), (1_000, 5), (5_000, 3_000_000), (300, u32::MAX)] {
            let node = |position: u32| position.wrapping_mul(2_654_435_769) % nodes;
            let mut keys: Vec<u64> =
                (0..count).map(|position| join_words(position, node(position))).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            sort_by_node(&mut keys, &mut Vec::new());
            assert_eq!(keys, expected, "{count} keys below {nodes}");
        }
    }
}
