//! From the samples of a profile, whose nodes are known, to rows: sorted, and equal ones added up.
//!
//! A key is a sample's position (low word) and its node plus one (high word); 0 there is the empty stack.
//!
//! Not here: finding nodes (`stacks`), writing rows (`rows`).

use profile::Profile;

use super::{intern::index, rows::RowBuffer};
use crate::hash::{high_word, low_word};

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
