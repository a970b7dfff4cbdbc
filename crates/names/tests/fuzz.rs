//! Seeded damage to names of functions, and mangled names put together from the tokens of their languages: no panic, work
//! and memory within their bounds (R1, D20, D33).
//!
//! `EVERFLAME_FUZZ_SEED` and `EVERFLAME_FUZZ_CASES` choose another run; the output names both.

use testkit::{CountingAllocator, FuzzRun, Random, fuzz_name, mutate, peak_of};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const SEEDS: [&str; 12] = [
    "_ZN4core3fmt5write17h0123456789abcdefE.llvm.1234",
    "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
    "_RNvXs_NtCs1234_7mycrate3fooINtB4_3BarTlReEENtNtCsabc_4core3fmt7Display3fmtCs1_3app",
    "_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantKj0_E",
    "_ZSt4swapIiENSt9enable_ifIXsr6__and_ISt6__not_ISt15__is_tuple_likeIT_EESt21is_move_constructibleIS3_EEE5valueEvE4typeERS3_SC_",
    "_ZNSt6vectorISt4pairImPKcESaIS3_EE17_M_realloc_insertIJS3_EEEvN9__gnu_cxx17__normal_iteratorIPS3_S5_EEDpOT_",
    "_ZZN3foo3barEvENKUlT_E_clIiEEDaS0_",
    "_Z1fIJidEEDTcl1gspfp_EEDpT_",
    "Foo$$Lambda$14/0x00000008000c2440.run",
    "app.Hidden+0x00000008000c2440/1234.apply",
    "a.(*C[go.shape.struct { X []int },go.shape.int_0]).M",
    "(anonymous namespace)::f<int>(std::vector<int> const&)",
];

/// What names are made of: two or three of them repeated are what demanglers have been brought down with.
const TOKENS: [&str; 95] = [
    "L",
    "DT",
    "Dt",
    "cv",
    "N",
    "Z",
    "I",
    "X",
    "J",
    "M",
    "P",
    "F",
    "A",
    "Dv",
    "Ul",
    "Lb",
    "T_",
    "S_",
    "St",
    "gs",
    "sr",
    "srN",
    "on",
    "dn",
    "1a",
    "E",
    "i",
    "cl",
    "il",
    "tl",
    "sZ",
    "sP",
    "so",
    "fl",
    "fLpl",
    "qu",
    "pl",
    "nw",
    "na",
    "_",
    "K",
    "U1a",
    "Do",
    "DO",
    "Dw",
    "TH",
    "C1",
    "D1",
    "Dp",
    "B1a",
    "GV",
    "T0_",
    "Tw",
    "Tc",
    "Th0_",
    "v",
    "DC",
    "Ut",
    "UlT",
    "W",
    "Q",
    "_Z",
    "_GLOBAL__I_",
    "___Z",
    "dc",
    "nx",
    "ix",
    "rc",
    "sp",
    "tr",
    "R",
    "Nv",
    "C1a",
    "Cs_1a",
    "B_",
    "B2_",
    "INv",
    "TB_",
    "RINv",
    "KB_",
    "Y",
    "G_",
    "+0x0",
    "/0x00000001",
    "0x",
    "[go.shape.",
    "$$Lambda",
    "jdk/proxy",
    "so",
    "mc",
    "rQ",
    "TL0__",
    "TyT_",
    "fp_",
    "DpT_",
];

const STARTS: [&str; 11] = [
    "_Z",
    "_Z1fIJiiEEv",
    "_ZZ1fIiEvT_ENKUlT_E_clI",
    "_Z1fI",
    "_Z1fIX",
    "_Z1fN",
    "_Z1f",
    "_ZN1a",
    "_RNv",
    "_RINvC1a1b",
    "",
];

/// A start, and one to three tokens again and again; now and then closed.
fn put_together(random: &mut Random) -> Vec<u8> {
    let mut unit = String::new();
    for _ in 0..=random.below(3) {
        unit.push_str(TOKENS[random.below(TOKENS.len())]);
    }
    // As long as is read at all, and the short lengths at which a depth is not yet what ends it.
    let bytes_max = [60, 120, 250, 1_000, 16_000][random.below(5)];
    let count = bytes_max / unit.len();
    let close = if random.below(2) == 0 { "E".repeat(random.below(count + 1)) } else { String::new() };
    format!("{}{}{close}", STARTS[random.below(STARTS.len())], unit.repeat(count)).into_bytes()
}

#[test]
fn fuzz_names_within_bounds() {
    let run @ FuzzRun { seed, cases } = FuzzRun::begin("names", 20_260_101, 8_000);
    let mut random = run.random(47);
    let mut mangled = 0;
    for case in 0..cases {
        let mut input = SEEDS[random.below(SEEDS.len())].as_bytes().to_vec();
        match case % 4 {
            0 => {}
            1 => mutate(&mut input, &mut random),
            _ => input = put_together(&mut random),
        }
        let (is_mangled, peak) = peak_of(|| fuzz_name(&input));
        mangled += u64::from(is_mangled);
        let limit = 8 * input.len() + (16 << 20);
        assert!(peak <= limit, "case {case} of seed {seed}: {peak} bytes at the peak (at most {limit})");
    }
    assert!(mangled > cases / 16, "only {mangled} names were undone");
}
