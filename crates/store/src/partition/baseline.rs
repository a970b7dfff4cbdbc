//! From cumulative to delta (D8).
//!
//! A source that counts since its start is stored as what was added since its last profile. The values as sent are
//! kept as the *baseline* of the series, in memory and in the log, so that the difference after a crash is right. A
//! counter that fell, or a stack that is gone, says that the process started anew: then everything it has counted so
//! far is new. Columns that are a state (`inuse_*`, goroutines) are kept as sent.

use block::{Rows, Series};
use profile::{Link, Temporality, Timestamp};

use super::rows::RowBuffer;

/// The last values of a cumulative series.
#[derive(Clone, Debug)]
pub(crate) struct Baseline {
    /// Its rows as sent.
    pub(crate) rows: Box<[u8]>,
    /// Its time; an older profile cannot follow it.
    pub(crate) time: Timestamp,
    /// When it arrived; a process that has been silent for long is gone.
    pub(crate) arrival: Timestamp,
}

/// Which columns of a series count since the start.
pub(crate) fn counters(series: &Series) -> Vec<bool> {
    let kinds = 0..series.series_type.columns.len();
    kinds
        .map(|column| series.series_type.profile_type(column).is_some_and(|kind| !kind.is_instant()))
        .collect()
}

/// What a cumulative profile is kept as.
pub(crate) const KEPT_TEMPORALITY: Temporality = Temporality::Delta;

/// What tells rows apart, in the order in which they are sorted.
type RowKey = (u32, u32, [u8; 16], [u8; 8]);

fn current_key(rows: &RowBuffer, row: usize) -> RowKey {
    let label_set = rows.label_sets.get(row).copied().unwrap_or(0);
    key(rows.nodes[row], label_set, rows.links.get(row).copied().unwrap_or_default())
}

fn previous_key(rows: &Rows, row: usize) -> RowKey {
    let label_set = rows.label_sets.get(row).copied().unwrap_or(0);
    key(rows.nodes[row].wrapping_add(1), label_set, rows.links.get(row).copied().unwrap_or_default())
}

fn key(node: u32, label_set: u32, link: Link) -> RowKey {
    (node, label_set, link.trace_id, link.span_id)
}

/// For each row of `current`, the row of `previous` with the same key. `None` when the process started anew.
fn pair_up(current: &RowBuffer, previous: &Rows, counters: &[bool]) -> Option<Vec<Option<usize>>> {
    let width = counters.len();
    let counts = |row: usize| {
        let values = &previous.values[row * width..][..width];
        values.iter().zip(counters).any(|(&value, &counts)| counts && value != 0)
    };
    let mut pairs = Vec::with_capacity(current.nodes.len());
    let mut old = 0;
    for row in 0..current.nodes.len() {
        let wanted = current_key(current, row);
        while old < previous.nodes.len() && previous_key(previous, old) < wanted {
            if counts(old) {
                return None;
            }
            old += 1;
        }
        if old == previous.nodes.len() || previous_key(previous, old) != wanted {
            pairs.push(None);
            continue;
        }
        let fell = |(column, &is_counter): (usize, &bool)| {
            is_counter && current.columns[column][row] < previous.values[old * width + column]
        };
        if counters.iter().enumerate().any(fell) {
            return None;
        }
        pairs.push(Some(old));
        old += 1;
    }
    if (old..previous.nodes.len()).any(counts) { None } else { Some(pairs) }
}

/// Fills `out` with what `current` has more than `previous`; without a previous one counters are zero.
/// Rows in which nothing is left are dropped.
pub(crate) fn subtract(current: &RowBuffer, previous: Option<&Rows>, counters: &[bool], out: &mut RowBuffer) {
    let width = counters.len();
    out.clear(width);
    let pairs = previous.map(|previous| pair_up(current, previous, counters));
    for row in 0..current.nodes.len() {
        let value = |column: usize| {
            let sent = current.columns[column][row];
            match (&pairs, counters[column]) {
                (_, false) | (Some(None), true) => sent,
                (None, true) => 0,
                (Some(Some(pairs)), true) => {
                    let before =
                        pairs[row].zip(previous).map_or(0, |(old, rows)| rows.values[old * width + column]);
                    sent.saturating_sub(before)
                }
            }
        };
        if (0..width).all(|column| value(column) == 0) {
            continue;
        }
        out.nodes.push(current.nodes[row]);
        for column in 0..width {
            out.columns[column].push(value(column));
        }
        out.label_sets.extend(current.label_sets.get(row));
        out.links.extend(current.links.get(row));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn current(rows: &[(u32, i64, i64)]) -> RowBuffer {
        let mut buffer = RowBuffer::default();
        buffer.clear(2);
        for &(node, counter, state) in rows {
            buffer.nodes.push(node);
            buffer.columns[0].push(counter);
            buffer.columns[1].push(state);
        }
        buffer
    }

    fn previous(rows: &[(u32, i64, i64)]) -> Rows {
        Rows {
            nodes: rows.iter().map(|&(node, ..)| node - 1).collect(),
            values: rows.iter().flat_map(|&(_, counter, state)| [counter, state]).collect(),
            ..Rows::default()
        }
    }

    fn difference(before: Option<&[(u32, i64, i64)]>, now: &[(u32, i64, i64)]) -> Vec<(u32, i64, i64)> {
        let mut out = RowBuffer::default();
        subtract(&current(now), before.map(previous).as_ref(), &[true, false], &mut out);
        let row = |row: usize| (out.nodes[row], out.columns[0][row], out.columns[1][row]);
        (0..out.nodes.len()).map(row).collect()
    }

    #[test]
    fn c034_counters_are_subtracted_and_states_are_kept() {
        let before = [(1, 100, 50), (3, 7, 0)];
        assert_eq!(
            difference(Some(&before), &[(1, 150, 40), (2, 5, 0), (3, 7, 0)]),
            [(1, 50, 40), (2, 5, 0)]
        );
    }

    #[test]
    fn the_first_profile_shows_its_states_alone() {
        assert_eq!(difference(None, &[(1, 100, 50), (2, 9, 0)]), [(1, 0, 50)]);
    }

    #[test]
    fn a_counter_that_fell_means_a_new_process() {
        let before = [(1, 100, 0), (2, 10, 0)];
        assert_eq!(difference(Some(&before), &[(1, 30, 0), (2, 80, 0)]), [(1, 30, 0), (2, 80, 0)]);
    }

    #[test]
    fn a_stack_that_is_gone_means_a_new_process() {
        for before in [[(1, 100, 0), (2, 10, 0)], [(2, 10, 0), (9, 1, 0)]] {
            assert_eq!(difference(Some(&before), &[(2, 80, 0)]), [(2, 80, 0)]);
        }
        // A state that is gone is no sign of anything.
        assert_eq!(difference(Some(&[(1, 0, 9), (2, 10, 0)]), &[(2, 80, 0)]), [(2, 70, 0)]);
    }
}
