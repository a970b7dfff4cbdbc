//! Every limit of scraping, with unit and reason.

use std::time::Duration;

/// Bytes of a configuration, of a file of targets, and of an answer of HTTP discovery: tens of thousands of targets.
pub(crate) const TEXT_BYTES_MAX: usize = 16 << 20;

/// Values of one YAML text, those that aliases repeat included: what stands behind ten lines of aliases could
/// otherwise fill any memory.
pub(crate) const YAML_NODES_MAX: usize = 1 << 20;

/// How deep YAML may be nested; a configuration needs eight.
pub(crate) const YAML_DEPTH_MAX: usize = 64;

/// Keys of one section, which are held against each other.
pub(crate) const YAML_KEYS_MAX: usize = 1_024;

/// Jobs of one configuration; each has a task of its own.
pub(crate) const JOBS_MAX: usize = 1_000;

/// Rules of one job's relabelling.
pub(crate) const RULES_MAX: usize = 1_000;

/// Source labels of one rule, whose values are joined.
pub(crate) const SOURCES_MAX: usize = 64;

/// Bytes of what stands between joined values.
pub(crate) const SEPARATOR_BYTES_MAX: usize = 1_024;

/// Kinds of profiles of one job.
pub(crate) const KINDS_MAX: usize = 64;

/// Pairs of target and kind that are scraped at once, over all jobs: each has a task, a line in the listing, and a
/// socket while it is scraped.
pub(crate) const TARGETS_MAX: usize = 20_000;

/// Targets that one discovery may name. More are an error of the discovery, and its last answer stays in force.
pub(crate) const DISCOVERED_MAX: usize = 20_000;

/// Dropped targets of one job that are listed; the others are counted.
pub(crate) const DROPPED_LISTED_MAX: usize = 200;

/// Labels that a target may have while it is relabelled: `labelmap` can double them with each rule.
pub(crate) const RELABELLED_MAX: usize = 1_024;

/// Bytes of a label value while it is relabelled: `$1$1` can double it with each rule.
pub(crate) const VALUE_BYTES_MAX: usize = 64 << 10;

/// Bytes of a compiled regular expression (C089), as in selectors.
pub(crate) const REGEX_BYTES_MAX: usize = 1 << 20;

/// Bytes of the text of a regular expression or of a replacement.
pub(crate) const PATTERN_BYTES_MAX: usize = 16 << 10;

/// Bytes of a label's name, as the server has it for pushes.
pub(crate) const LABEL_NAME_BYTES_MAX: usize = 1_024;

/// Bytes of the value of a label that stays, as the server has it for pushes.
pub(crate) const LABEL_VALUE_BYTES_MAX: usize = 2_048;

/// Labels that stay, as the server has it for pushes.
pub(crate) const LABELS_MAX: usize = 30;

/// Bytes of a kind's name, which is the profile name.
pub(crate) const KIND_BYTES_MAX: usize = 256;

/// Time between two scrapes where nothing is said, as Parca has it.
pub(crate) const INTERVAL_DEFAULT: Duration = Duration::from_secs(10);

/// What a scrape may take beyond the interval where nothing is said, as Parca has it: a CPU profile takes the whole
/// interval before its first byte.
pub(crate) const TIMEOUT_BEYOND: Duration = Duration::from_secs(3);

/// Shortest and longest interval and time-out.
pub(crate) const INTERVAL_MIN: Duration = Duration::from_millis(100);
/// See [`INTERVAL_MIN`].
pub(crate) const INTERVAL_MAX: Duration = Duration::from_secs(7 * 86_400);

/// Bytes of one answer as received, where nothing is said: several times the largest profile seen from real programs.
pub(crate) const BODY_BYTES_DEFAULT: usize = 32 << 20;

/// The most that `body_size_limit` can ask for, as pushes have it.
pub(crate) const BODY_BYTES_MAX: usize = 64 << 20;

/// Bytes of bodies that all scrapes together may hold. Beyond it the largest one that is still being read is given up.
pub(crate) const BODIES_BYTES_MAX: usize = 256 << 20;

/// Bytes of the text of an error answer that is shown.
pub(crate) const ERROR_TEXT_BYTES: usize = 256;

/// Redirects that one scrape follows.
pub(crate) const REDIRECTS_MAX: usize = 5;

/// How long one address of a name is tried before the next.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the text of an error answer is waited for.
pub(crate) const ERROR_TEXT_WAIT: Duration = Duration::from_secs(2);

/// Buffer of a connection, bytes; hyper would let it grow to 400 KiB each.
pub(crate) const CONNECTION_BUFFER_BYTES: usize = 64 << 10;

/// Names that are looked up at once: each takes a thread of the pool that pushes and queries need too, and a name server
/// that is gone keeps it for half a minute.
pub(crate) const LOOKUPS_AT_ONCE: usize = 16;

/// How long addresses of a name are used without asking again.
pub(crate) const LOOKUP_FRESH: Duration = Duration::from_secs(30);

/// How long addresses of a name stay in use while the name server does not answer.
pub(crate) const LOOKUP_STALE: Duration = Duration::from_secs(3_600);

/// How long a new look-up is waited for where older addresses are known.
pub(crate) const LOOKUP_WAIT: Duration = Duration::from_secs(2);

/// Names whose addresses are remembered.
pub(crate) const LOOKUP_NAMES_MAX: usize = 20_000;

/// How long certificates are used before their files are read again.
pub(crate) const CERTIFICATES_FRESH: Duration = Duration::from_secs(60);

/// Time between two looks at files of targets.
pub(crate) const FILE_POLL: Duration = Duration::from_secs(5);

/// Files that one pattern of `file_sd_configs` may name.
pub(crate) const FILES_MAX: usize = 1_000;

/// Time between two questions of HTTP discovery where nothing is said, as Prometheus has it.
pub(crate) const HTTP_REFRESH_DEFAULT: Duration = Duration::from_secs(60);

/// Time between two questions of DNS discovery where nothing is said, as Prometheus has it.
pub(crate) const DNS_REFRESH_DEFAULT: Duration = Duration::from_secs(30);

/// Shortest time between two questions of a discovery.
pub(crate) const REFRESH_MIN: Duration = Duration::from_secs(1);

/// How long one question of a discovery may take.
pub(crate) const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long handing a profile on may take: the server's own wait for a turn and for the disk.
pub(crate) const DELIVERY_TIMEOUT: Duration = Duration::from_secs(60);

/// Bytes of a file with a secret.
pub(crate) const SECRET_BYTES_MAX: usize = 64 << 10;
