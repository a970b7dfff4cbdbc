//! The shape that limits of the benches refer to, and that bodies are what they say.

use super::*;

/// Share of new rows in the profile with this number (from 1).
fn new_share(shapes: &[Shape], number: usize) -> f64 {
    let shape = &shapes[number - 1];
    shape.new_rows as f64 / shape.rows as f64
}

#[test]
fn heavy_tail_has_the_shape_of_real_services() {
    let mut fleet = Fleet::new(FleetOptions { intervals: 16, ..FleetOptions::one() });
    let shapes: Vec<Shape> = std::iter::from_fn(|| fleet.next_shape()).collect();
    assert_eq!(shapes.len(), 1024);
    assert!(shapes.iter().all(|shape| shape.rows >= 645), "every profile has at least 645 rows");
    for (number, share) in [(2, 0.66), (4, 0.51), (8, 0.39), (16, 0.33)] {
        let found = new_share(&shapes, number);
        assert!((found - share).abs() < 0.05, "profile {number}: {found:.2} new rows, wanted about {share}");
    }
    let (stacks, once) = fleet.stacks_of(0);
    let share = once as f64 / stacks as f64;
    println!(
        "new rows: {:?}; {stacks} stacks, {share:.3} seen once",
        [2, 4, 8, 16].map(|number| (number, new_share(&shapes, number)))
    );
    assert!((share - 0.70).abs() < 0.04, "{share:.3} of {stacks} stacks seen once, wanted about 0.70");
}

#[test]
fn equal_seeds_give_equal_bodies() {
    let options = FleetOptions { intervals: 1, pods: 2, ..FleetOptions::mix() };
    let bodies = |options: &FleetOptions| -> Vec<Vec<u8>> {
        Fleet::new(options.clone()).map(|profile| profile.body).collect()
    };
    assert_eq!(bodies(&options), bodies(&options));
    assert_ne!(bodies(&options), bodies(&FleetOptions { seed: 2, ..options.clone() }));
}

#[test]
fn bodies_hold_what_they_say() {
    let limits = formats::Limits::default();
    let mut decoder = formats::Decoder::new();
    for drawn in Fleet::new(FleetOptions { intervals: 2, pods: 2, ..FleetOptions::mix() }) {
        let (profile, found) = decoder.pprof(&drawn.body, &limits).unwrap();
        assert_eq!(profile.text.len(), drawn.raw_bytes);
        assert_eq!(profile.columns.header.time_nanos, drawn.time_nanos);
        let mut totals = vec![0; drawn.totals.len()];
        for sample in profile.samples() {
            for (total, value) in totals.iter_mut().zip(sample.values) {
                *total += value;
            }
        }
        assert_eq!(totals, drawn.totals, "{:?} {:?}", drawn.labels, found.altered);
    }
}
