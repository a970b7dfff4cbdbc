//! `make bench-server`: drives the release binary as its users do and prints one line per figure.

fn main() {}
