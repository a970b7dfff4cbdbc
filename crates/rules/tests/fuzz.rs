//! Seeded damage to files of rules and to what is kept of a rule book: nothing panics, memory stays within bounds (R1, D33).
//!
//! `EVERFLAME_FUZZ_SEED` and `EVERFLAME_FUZZ_CASES` choose another run; the output names both.

use rules::fuzz_rules;
use testkit::{CountingAllocator, FuzzRun, mutate, peak_of};

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

#[test]
fn fuzz_rules_within_bounds() {
    let run @ FuzzRun { seed, cases } = FuzzRun::begin("rules", 20_260_101, 6_000);
    let mut random = run.random(31);
    for case in 0..cases {
        let mut input = [FILE, KEPT][random.below(2)].as_bytes().to_vec();
        mutate(&mut input, &mut random);
        let ((), peak) = peak_of(|| fuzz_rules(&input));
        let limit = 2_048 * input.len() + (64 << 20);
        assert!(peak <= limit, "case {case} of seed {seed}: {peak} bytes at the peak (at most {limit})");
    }
}
