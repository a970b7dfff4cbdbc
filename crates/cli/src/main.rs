//! The program `everflame`: the server, and commands that ask it or read profile files by themselves.
//!
//! Data goes to stdout, talk to stderr; exit codes are 0 done, 1 failed, 2 wrong usage (D28). Start-up is kept light:
//! no runtime, no threads and no sockets before a command needs them.
//!
//! Not here: anything that a server answers (`api`), and how profiles are read and merged (`formats`, `query`).

mod alike;
mod allocator;
mod commands;
mod failure;

mod output;
mod progress;
mod render;
mod source;
mod time;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let command_line = match commands::CommandLine::try_parse() {
        Ok(command_line) => command_line,
        Err(error) => {
            // Help and version are data on stdout, wrong usage is talk on stderr; clap knows which is which.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    match command_line.command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if failure.code() != 0 {
                output::say(&failure.to_string());
            }
            ExitCode::from(failure.code())
        }
    }
}
