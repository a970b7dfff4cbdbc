//! Seeded damage to files of rules and to what is kept of a rule book: nothing panics, memory stays within bounds (R1, D33).
//!
//! `EVERFLAME_FUZZ_SEED` and `EVERFLAME_FUZZ_CASES` choose another run; the output names both.

#![allow(clippy::print_stdout, reason = "a run says what it was made of")]

use rules::fuzz_rules;
use testkit::{CountingAllocator, Random, mutate, peak_of};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const FILE: &str = r#"
[[rule]]
metric = "profiles_recorded_checkout_cpu"
selector = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="checkout",pod=~"a.*"}'
group_by = ["namespace", "pod"]
function = "main.(*Cart).Total"
labels = { team = "shop" }
tenant = "anonymous"
"#;

const KEPT: &str = r#"{"version":1,"rules":[{"tenant":"a","id":"x","generation":1,"is_provisioned":false,"spec":{"metric":"profiles_recorded_x","selectors":["{__profile_type__=\"process_cpu:cpu:nanoseconds:cpu:nanoseconds\"}"],"group_by":["pod"],"function":null,"labels":{}},"since":[1,2],"groups":[[["p"],"170141183460469231731687303715884105727"]],"rest":"-1"}]}"#;

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn fuzz_rules_within_bounds() {
    let seed = setting("EVERFLAME_FUZZ_SEED", 20_260_101);
    let cases = setting("EVERFLAME_FUZZ_CASES", 6_000);
    println!("rules: {cases} cases, seed {seed}");
    let mut random = Random::new(seed, 31);
    for case in 0..cases {
        let mut input = [FILE, KEPT][random.below(2)].as_bytes().to_vec();
        mutate(&mut input, &mut random);
        let ((), peak) = peak_of(|| fuzz_rules(&input));
        let limit = 2_048 * input.len() + (64 << 20);
        assert!(peak <= limit, "case {case} of seed {seed}: {peak} bytes at the peak (at most {limit})");
    }
}
