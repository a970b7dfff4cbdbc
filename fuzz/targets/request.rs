//! libFuzzer's way into `api::fuzz::FuzzServer`: whole requests to every API, Connect's and gRPC-Web's bodies and query
//! strings among them. A new server from time to time, so that what was pushed does not add up.
#![no_main]

use std::{cell::RefCell, sync::Arc};

use api::fuzz::FuzzServer;
use libfuzzer_sys::fuzz_target;
use testkit::ForgetfulDisk;

const REQUESTS_OF_A_SERVER: u32 = 5_000;

thread_local! {
    static SERVER: RefCell<Option<(FuzzServer, u32)>> = const { RefCell::new(None) };
}

fuzz_target!(|input: &[u8]| {
    SERVER.with_borrow_mut(|server| {
        if server.as_ref().is_none_or(|(_, asked)| *asked >= REQUESTS_OF_A_SERVER) {
            *server = None;
            let disk = Arc::new(ForgetfulDisk::new());
            *server = FuzzServer::start(disk).ok().map(|server| (server, 0));
        }
        if let Some((server, asked)) = server {
            *asked += 1;
            if let Some(status) = server.ask(input) {
                assert!(status < 500 || status == 501 || status == 503, "{status}");
            }
        }
    });
});
