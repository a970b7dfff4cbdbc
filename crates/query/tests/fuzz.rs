//! Seeded damage to selectors: no panic, memory within its bounds, and what parses says the same when written (R1, D20, D33).
//!
//! `EVERFLAME_FUZZ_SEED` and `EVERFLAME_FUZZ_CASES` choose another run; the output names both.

use query::fuzz_selector;
use testkit::{CountingAllocator, FuzzRun, mutate, peak_of};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const SEEDS: [&str; 6] = [
    r#"process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="api",pod=~"a.*|b",x!~"[a-z]+"}"#,
    "{\"服务\"=\"a\",k8s-app!='\\u6e29\\x41'}",
    r#"{a=`\d`,"b"="c"}"#,
    r#"{a=~"(a+)+$"}"#,
    r#"{a=~"(x{1,30}){1,30}|[\\p{L}--[a-f]]+",b!~".*.*.*.*"}"#,
    "cpu",
];

/// What damage mostly misses: signs that the language itself uses.
const SIGNS: &[u8] = br#"{}",=~!\()[]`'*+|"#;

#[test]
fn fuzz_selectors_within_bounds() {
    let run @ FuzzRun { seed, cases } = FuzzRun::begin("selectors", 20_260_101, 20_000);
    let mut random = run.random(43);
    for case in 0..cases {
        let mut input = SEEDS[random.below(SEEDS.len())].as_bytes().to_vec();
        if random.below(2) == 0 {
            mutate(&mut input, &mut random);
        } else {
            for _ in 0..=random.below(4) {
                let at = random.below(input.len() + 1);
                input.insert(at, SIGNS[random.below(SIGNS.len())]);
            }
        }
        let ((), peak) = peak_of(|| fuzz_selector(&input));
        let limit = 8 * input.len() + (16 << 20);
        assert!(peak <= limit, "case {case} of seed {seed}: {peak} bytes at the peak (at most {limit})");
    }
}
