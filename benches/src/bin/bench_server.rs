//! `make bench-server`: drives the release binary as its users do and prints one line per figure. `bench-server NAME…`
//! measures only the families that are named.
//!
//! Exit code 0 when every line is `ok` or everything was skipped, 1 when one is `short`, 2 when a name is not known.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks on its streams")]

use std::process::ExitCode;

use benches::{
    BenchError,
    server::{Bench, FAMILIES, everflame::Binary, sidebyside::SideBySide},
};

fn main() -> ExitCode {
    let only: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = only.iter().find(|name| !FAMILIES.iter().any(|family| family.name == **name)) {
        let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
        eprintln!("bench-server: there is no `{unknown}`, there are {}", names.join(", "));
        return ExitCode::from(2);
    }
    match run(&only) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench-server: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures and returns the number of short lines.
fn run(only: &[String]) -> Result<usize, BenchError> {
    let Some(generator) = SideBySide::build()? else { return Ok(0) };
    let bench = Bench { binary: Binary::find()?, generator };
    let mut short = 0;
    for family in
        FAMILIES.iter().filter(|family| only.is_empty() || only.iter().any(|name| name == family.name))
    {
        match (family.measure)(&bench) {
            Ok(figures) => {
                for figure in figures {
                    println!("server: {figure}");
                    short += usize::from(!figure.is_ok());
                }
            }
            Err(error) => {
                println!("server: {:24} could not be measured   short   {error}", family.name);
                short += 1;
            }
        }
    }
    Ok(short)
}
