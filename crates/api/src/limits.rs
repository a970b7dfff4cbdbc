//! Every limit of the APIs, with unit and reason (D19). What a decoder or the store limits stands there.

use std::time::Duration;

/// Bytes of a request body as received. Ten times the largest profile that real programs were seen to send; also the
/// largest gRPC message.
pub const BODY_BYTES_MAX: usize = 64 << 20;

/// Pieces of a request body below this size are put together, bytes: each is kept with some 30 bytes beside it until the
/// body is whole, and a client chooses how small they are.
pub const BODY_PIECE_BYTES_MIN: usize = 4 << 10;

/// Small pieces of a request body are handed on together from this size on, bytes.
pub const BODY_GATHERED_BYTES: usize = 16 << 10;

/// Bytes of one profile after inflation. Four times the body limit; larger ones are decompression bombs (C024).
pub const INFLATED_BYTES_MAX: usize = 256 << 20;

/// Bytes of bodies, as received and inflated, that all requests together may hold; beyond it pushes get 503. Keeps the
/// process small when many large pushes come at once.
pub const IN_FLIGHT_BYTES_MAX: usize = 512 << 20;

/// Bytes of decoded tables that all requests together may hold, beside [`IN_FLIGHT_BYTES_MAX`]; beyond it large pushes
/// get 503. Tables of real profiles take two to four times the inflated body, made-up ones six times, so bodies alone do
/// not bound the process. Also the most that one profile may have (413).
pub const TABLES_IN_FLIGHT_BYTES_MAX: usize = 512 << 20;

/// Bytes of all answers that their clients have not read yet; beyond it further ones are 503. A hundred flame graphs of
/// the default size at once take half of it.
pub const ANSWERS_IN_FLIGHT_BYTES_MAX: usize = 256 << 20;

/// Answers below this size are not counted, bytes: as many as there may be connections take less than the limit above.
pub const ANSWER_BYTES_FREE: usize = 16 << 10;

/// Bytes that the profiles of one request may inflate to together: a full body of profiles that are compressed as well
/// as the best of them (10 to 15 times). Without it one request could keep a core busy for an hour.
pub const INFLATED_BYTES_PER_REQUEST_MAX: u64 = 1 << 30;

/// Frames of one stack. Far above any sane recursion limit, low enough that one stack cannot fill the tree.
pub const STACK_DEPTH_MAX: usize = 16_384;

/// Bytes of one string of a profile; what fits in 16 bits, as clients and servers of this field keep to.
pub const STRING_BYTES_MAX: usize = 65_535;

/// Bytes of a label name, as Pyroscope.
pub const LABEL_NAME_BYTES_MAX: usize = 1024;

/// Bytes of a label value, as Pyroscope.
pub const LABEL_VALUE_BYTES_MAX: usize = 2048;

/// Labels of one series, as Pyroscope. Reserved names (`__…__`) do not count.
pub const LABELS_MAX: usize = 30;

/// Bytes of a profile name.
pub const PROFILE_NAME_BYTES_MAX: usize = 256;

/// Bytes of a multipart body's `sample_type_config`: a hundred bytes for each sample type, of which no client has more than
/// eight. Read, each of its bytes may become ten.
pub const SAMPLE_TYPE_CONFIG_BYTES_MAX: usize = 64 << 10;

/// Values of one RPC message in JSON: a push of 16,384 profiles with 20 labels each. Each takes [`JSON_VALUE_BYTES`].
pub const JSON_VALUES_MAX: usize = 1 << 20;

/// Memory of one value of a JSON message while it is decoded, bytes, as measured.
pub const JSON_VALUE_BYTES: usize = 128;

/// Profiles in one push request; the message limit alone would allow millions of empty ones.
pub const PROFILES_PER_PUSH_MAX: usize = 16_384;

/// How far ahead of our clock a profile may start (D11).
pub const FUTURE_NANOS_MAX: i64 = 10 * 60 * 1_000_000_000;

/// Nodes of a flame graph where the client names no number (D23).
pub const NODES_DEFAULT: usize = 8_192;

/// The same for the binary flame reply, which is for pictures that are searched and turned over on the spot (D23).
pub const NODES_DEFAULT_BINARY: usize = 200_000;

/// Answers from this size on are compressed for clients that can read that, bytes: smaller ones fit in one packet.
pub const COMPRESSED_FROM_BYTES: usize = 1_400;

/// How hard zstd tries: its own default, a millisecond per 300 kB.
pub const ZSTD_LEVEL: i32 = 3;

/// Nodes that a client may ask for; larger numbers are lowered to this (C086).
pub const NODES_MAX: usize = 1_048_576;

/// Steps of a timeline; more points than this cannot be drawn and cost memory per series.
pub const STEPS_MAX: u64 = 50_000;

/// How long a push waits for its turn before it gets 503: shorter than the time-outs of the SDKs (10 to 30 s), so that
/// a client learns why instead of giving up, and tries again.
pub const PUSH_WAIT_MAX: Duration = Duration::from_secs(8);

/// Queries that run at once; the others wait. Bounds memory: each holds one dense sum per node.
pub const QUERIES_AT_ONCE: usize = 2;

/// How long a query may take where the client names no deadline.
pub const QUERY_TIME_MAX: Duration = Duration::from_secs(300);

/// Range of a query that names none: the last hour (D12).
pub const QUERY_RANGE_DEFAULT: Duration = Duration::from_secs(3600);

/// What `Retry-After` says when memory or a slot is short, seconds.
pub const RETRY_AFTER_SECONDS: u32 = 1;

/// Rows of a table where the client names no number; `limit=0` gives all.
pub const TABLE_ROWS_DEFAULT: u64 = 1_000;

/// Points of a timeline where the client names no step: as many as a wide screen can show well.
pub const STEPS_DEFAULT: i64 = 240;

/// Numbers of all groups of a timeline of `/pyroscope/render`, which has one for each step whether or not there is anything
/// in it: 2,800 groups over a day. They are in memory as numbers and as text.
pub const DENSE_POINTS_MAX: usize = 4 << 20;

/// Finest step, ns.
pub const STEP_NANOS_MIN: i64 = 1_000_000;

/// Profiles of a listing where the client names no number.
pub const LISTED_DEFAULT: u64 = 100;

/// Most profiles of a listing; who wants more narrows the range.
pub const LISTED_MAX: u64 = 10_000;

/// Selectors of one listing: they are alternatives, and each is a listing of its own.
pub const SELECTORS_MAX: usize = 64;

/// Ids that one query may name: more are better said by labels, and each is looked for.
pub const IDS_MAX: usize = 1024;

/// Tenants of which it is kept what was refused or changed; the one not heard of for longest goes first.
pub const EXPLAINED_TENANTS_MAX: usize = 256;

/// Entries kept for one tenant. With the texts below a tenant takes at most 96 KiB, all together 24 MiB.
pub const EXPLAINED_ENTRIES_MAX: usize = 64;

/// Bytes of the names of a service or client in such an entry.
pub const EXPLAINED_NAME_BYTES_MAX: usize = 160;

/// Bytes of the example sentence of such an entry, and of its request's first line.
pub const EXPLAINED_EXAMPLE_BYTES_MAX: usize = 512;

/// Settings of one tenant; the Drilldown app keeps one.
pub const SETTINGS_MAX: usize = 256;

/// Bytes of a setting's name.
pub const SETTING_NAME_BYTES_MAX: usize = 256;

/// Bytes of a setting's value; the Drilldown app's are below 2 KiB.
pub const SETTING_VALUE_BYTES_MAX: usize = 256 << 10;

/// Bytes of all settings of a tenant: they are read and written as one file.
pub const SETTINGS_BYTES_MAX: usize = 1 << 20;

/// Tenants that may keep settings. With the limit above they take at most 4 GiB, and far less in truth.
pub const SETTINGS_TENANTS_MAX: usize = 4096;

/// Bytes of an ad hoc upload after base64: four times what Pyroscope takes.
pub const AD_HOC_BYTES_MAX: usize = 16 << 20;

/// Bytes of an ad hoc upload after inflation. Both sides of a difference are in memory at once.
pub const AD_HOC_INFLATED_BYTES_MAX: usize = 64 << 20;

/// Uploads that are kept of one tenant; beyond it its oldest go.
pub const AD_HOC_UPLOADS_MAX: usize = 200;

/// Bytes of uploads that are kept of one tenant; beyond it its oldest go.
pub const AD_HOC_TENANT_BYTES_MAX: u64 = 256 << 20;

/// Bytes of uploads that are kept of all tenants; beyond it further ones are refused, so that no tenant drives out
/// those of another.
pub const AD_HOC_ALL_BYTES_MAX: u64 = 2 << 30;

/// Bytes of an upload's name: with its id before it the name of a file may have 255.
pub const AD_HOC_NAME_BYTES_MAX: usize = 200;

/// Frames that all stacks of an uploaded flame graph may have together; deep and wide ones grow with the square.
pub const AD_HOC_FRAMES_MAX: usize = 16 << 20;

/// Highest number of samples per second that is believable.
pub const SAMPLE_RATE_MAX: u64 = 1_000_000;

/// The decoder's limits as the APIs use them.
#[must_use]
pub fn decoder() -> formats::Limits {
    formats::Limits {
        body_bytes_max: BODY_BYTES_MAX,
        inflated_bytes_max: INFLATED_BYTES_MAX,
        stack_depth_max: STACK_DEPTH_MAX,
        string_bytes_max: STRING_BYTES_MAX,
        strict_utf8: false,
        keep_negative: false,
        without_dashes: false,
        table_bytes_max: TABLES_IN_FLIGHT_BYTES_MAX,
        table_memory: None,
    }
}

/// Largest body that is kept as an example, bytes: most profiles, and nothing that would push out all others.
pub const EXPLAINED_BODY_BYTES_MAX: usize = 256 << 10;

/// All such bodies of all tenants together, bytes; the oldest goes first.
pub const EXPLAINED_BODIES_BYTES_MAX: usize = 8 << 20;

/// Clients kept for one tenant, each with texts of at most 1 KiB.
pub const EXPLAINED_CLIENTS_MAX: usize = 64;

/// Age at its arrival from which a profile is called late: a query without a range looks back so far (D12).
pub const LATE_AFTER: Duration = Duration::from_secs(3600);

/// Values of each label that a report of cardinality names where nothing else is asked for.
pub const TOP_VALUES_DEFAULT: u64 = 5;

/// Values of each label that it names at most: more is what the label's values are for.
pub const TOP_VALUES_MAX: u64 = 100;
