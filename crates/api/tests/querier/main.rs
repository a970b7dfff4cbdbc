//! Pyroscope's querier in process: the whole router over a store on a disk in memory, asked as clients ask it, judged by a
//! slow and obvious model of what was pushed.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]
#![allow(clippy::print_stdout, reason = "a run says what it was made of")]

mod corpus;
mod grafana;
mod hostile;
mod methods;
mod model;
mod server;
mod wire;
