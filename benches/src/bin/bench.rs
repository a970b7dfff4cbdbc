//! `make bench`: prints one line per figure. `bench NAME…` measures only figures whose name begins so.
//!
//! Exit code 0 when every line is `ok`, 1 when one is `short`, 2 when a name is not known.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks on its streams")]

use std::process::ExitCode;

use benches::figures::{FAMILIES, Sets};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let only: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|prefix| name.starts_with(prefix.as_str()));
    let mut sets = Sets::default();
    let (mut lines, mut short) = (0, 0);
    for family in FAMILIES {
        let part_of_one = only.iter().any(|name| name.starts_with(family.name));
        if !wanted(family.name) && !part_of_one {
            continue;
        }
        match (family.measure)(&mut sets) {
            Ok(figures) => {
                for figure in figures.iter().filter(|figure| wanted(&figure.name)) {
                    println!("{figure}");
                    lines += 1;
                    short += u32::from(!figure.is_ok());
                }
            }
            Err(error) => {
                println!("{:32} could not be measured   short   {error}", family.name);
                lines += 1;
                short += 1;
            }
        }
    }
    if lines == 0 {
        let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
        eprintln!("bench: no figure begins with {}; there are {}", only.join(", "), names.join(", "));
        return ExitCode::from(2);
    }
    if short == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
