//! Every limit of the server that is no setting, with unit and reason. Settings stand in `config/keys.rs`, limits of
//! bodies and queries in `api`.

use std::time::Duration;

/// Bytes of a URL; the HTTP library's own limit, which cannot be raised.
pub(crate) const HTTP1_URL_MAX: usize = 65_534;

/// Bytes of an HTTP/1.1 request line with all headers: 50 headers of 8 KiB, more than any client or relay adds.
pub(crate) const HTTP1_HEAD_MAX: usize = 8_192 + 4_096 * 100;

/// Headers of an HTTP/1.1 request; the HTTP library's own limit, at which it needs no memory for them.
pub(crate) const HTTP1_HEADERS_MAX: usize = 100;

/// What is read and thrown away of a request that was refused unread, bytes; beyond, the client may not see why.
pub(crate) const REFUSED_BYTES_MAX: usize = 16 << 20;

/// Streams of one HTTP/2 connection at once; real agents open one, a relay opens some.
pub(crate) const HTTP2_STREAMS_MAX: u32 = 256;

/// Bytes that a client may send ahead on one HTTP/2 stream: a usual profile in one go.
pub(crate) const HTTP2_STREAM_WINDOW: u32 = 1 << 20;

/// The same for a whole HTTP/2 connection.
pub(crate) const HTTP2_CONNECTION_WINDOW: u32 = 4 << 20;

/// Bytes of all headers of an HTTP/2 request.
pub(crate) const HTTP2_HEADERS_MAX: u32 = 64 << 10;

/// An HTTP/2 peer that is silent is asked for a sign of life this often, and given the second time for it.
pub(crate) const HTTP2_PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));

/// Pause after an accept that failed, so that a process without free file descriptors does not spin.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A body may take this long for each KiB beside the time that it may stand still; the slowest mobile link is faster.
pub(crate) const MILLIS_PER_KIB: u64 = 1_000;

/// What is read of a body after its request was answered without it, bytes; beyond, the connection is closed.
pub(crate) const REST_BYTES_MAX: u64 = 1 << 20;

/// How long that reading may take: the answer waits for it.
pub(crate) const REST_TIMEOUT: Duration = Duration::from_secs(2);

/// Shortest secret that is taken, bytes: shorter ones can be guessed over the network.
pub(crate) const TOKEN_BYTES_MIN: usize = 16;

/// How long a stop waits for an HTTP/2 connection without requests: its client may send one before it has heard.
pub(crate) const STOP_IDLE: Duration = Duration::from_secs(1);

/// What a client is told to wait while the server starts, seconds: replaying the log of a full head takes less.
pub(crate) const START_RETRY_SECONDS: u32 = 1;

/// Threads for CPU work and file reads. Slots bound how many are busy; idle ones end by themselves.
pub(crate) const BLOCKING_THREADS_MAX: usize = 64;

/// How long background work may take to end once the store is closed.
pub(crate) const RUNTIME_STOP: Duration = Duration::from_secs(5);

/// Longest secret for remote write, bytes.
pub(crate) const SECRET_BYTES_MAX: usize = 8_192;

/// Requests of remote write that wait for the receiver, bytes: at 20 bytes a counter, hours of an outage.
pub(crate) const REMOTE_WRITE_QUEUE_BYTES_MAX: usize = 16 << 20;

/// Series of one request; what Prometheus itself sends.
pub(crate) const REMOTE_WRITE_SERIES_MAX: usize = 2_000;

/// Longest request of remote write.
pub(crate) const REMOTE_WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Shortest pause before a request is tried again.
pub(crate) const REMOTE_WRITE_RETRY_MIN: Duration = Duration::from_millis(500);

/// Longest pause before a request is tried again, also where the receiver asks for a longer one.
pub(crate) const REMOTE_WRITE_RETRY_MAX: Duration = Duration::from_secs(30);

/// How long the last requests may take while the server stops, all together.
pub(crate) const REMOTE_WRITE_STOP: Duration = Duration::from_secs(1);

/// What is read of an error of the receiver, bytes.
pub(crate) const REMOTE_WRITE_ERROR_BYTES_MAX: u64 = 4_096;

/// Largest file of `--ui-dir` that is served, bytes: ten times the whole page.
pub(crate) const UI_FILE_BYTES_MAX: u64 = 16 << 20;

/// Samples per second of CPU time: not in step with work that is done every 10 ms.
pub(crate) const PROFILE_FREQUENCY: i32 = 99;

/// Length of each profile that `everflame up` takes of itself: two or three are there ten seconds after the start.
pub(crate) const UP_INTERVAL: Duration = Duration::from_secs(3);

/// Length of a profile where the client names none, as Go has it.
pub(crate) const PROFILE_SECONDS_DEFAULT: u64 = 30;

/// Longest profile.
pub(crate) const PROFILE_SECONDS_MAX: u64 = 300;
