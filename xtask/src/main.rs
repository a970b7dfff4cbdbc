//! Chores of the workspace that cargo does not know: `cargo xtask tidy`, `cargo xtask codegen`, `cargo xtask compat`.
//!
//! Each chore is a module with a `run` that gets the remaining arguments. Nothing here is part of the program.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks on its streams")]

mod codegen;
mod compat;
mod tidy;

use std::process::ExitCode;

/// A chore: its name, what it does, and the function that does it.
struct Chore {
    name: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Result<(), String>,
}

/// Every chore; the first word on the command line picks one.
const CHORES: &[Chore] = &[
    Chore {
        name: "codegen",
        help: "generate Rust from crates/api/proto; --check only says whether it is up to date",
        run: codegen::run,
    },
    Chore {
        name: "compat",
        help: "write docs/compat/pyroscope.md from its rows; --check only says whether it is up to date",
        run: compat::run,
    },
    Chore {
        name: "tidy",
        help: "check what neither the compiler nor clippy knows: crate edges, headers, licences, links, fixtures",
        run: tidy::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(chore) = arguments.first().and_then(|name| CHORES.iter().find(|chore| chore.name == name))
    else {
        eprintln!("usage: cargo xtask CHORE");
        for chore in CHORES {
            eprintln!("  {:10} {}", chore.name, chore.help);
        }
        return ExitCode::from(2);
    };
    match (chore.run)(&arguments[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask {}: {reason}", chore.name);
            ExitCode::FAILURE
        }
    }
}
