//! Steps and points.

use profile::Timestamp;

use super::{super::select::MilliRange, series::Grid};

const SECOND: i64 = 1_000_000_000;

#[test]
fn points_lie_on_the_grid_and_cover_the_step_before() {
    let range = MilliRange { start: 1_000_000, end: 1_031_000 };
    let grid = Grid::new(range, 15.0).unwrap();
    assert_eq!(grid.steps.step_nanos, 15 * SECOND);
    assert_eq!(grid.steps.range.from, Timestamp(985 * SECOND + 1));
    assert_eq!(grid.steps.range.to, Timestamp(1030 * SECOND + 1));
    assert_eq!([0, 2].map(|step| grid.timestamp(step)), [1_000_000, 1_030_000]);
}

#[test]
fn a_range_shorter_than_a_step_has_the_point_after_it() {
    let range = MilliRange { start: 1_000_000, end: 1_010_000 };
    let grid = Grid::new(range, 15.0).unwrap();
    assert_eq!(grid.steps.range.from, Timestamp(985 * SECOND + 1));
    assert_eq!(grid.steps.range.to, Timestamp(1010 * SECOND + 1), "nothing beyond the range");
    assert_eq!(grid.timestamp(1), 1_015_000);
    // As long as a step: its end is a point. One moment: it is the point.
    let whole = Grid::new(MilliRange { end: 1_015_000, ..range }, 15.0).unwrap();
    assert_eq!(whole.steps.range.to, Timestamp(1015 * SECOND + 1));
    let moment = Grid::new(MilliRange { end: 1_000_000, ..range }, 15.0).unwrap();
    assert_eq!(moment.steps.range.to, Timestamp(1000 * SECOND + 1));
}

#[test]
fn odd_steps_are_400() {
    let range = MilliRange { start: 1_000_000, end: 2_000_000_000 };
    for step in [0.0, -1.0, f64::NAN, f64::INFINITY, 0.0001, 0.001] {
        assert_eq!(Grid::new(range, step).unwrap_err().field, "step", "{step}");
    }
    let all = MilliRange { start: i64::MIN, end: i64::MAX };
    assert_eq!(Grid::new(all, 1e9).unwrap_err().field, "start");
    let later = Grid::new(MilliRange { start: 1, ..all }, 1e9).unwrap();
    assert_eq!(later.steps.range.from, Timestamp(1_000_001 - 1_000_000_000 * SECOND));
    assert!(later.steps.range.to > Timestamp(9_000_000_000 * SECOND));
}
