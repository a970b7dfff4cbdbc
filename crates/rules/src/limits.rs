//! Every limit of this crate, with its unit and its reason.

/// Rules of one tenant. Each is tried against every new series, and those that take it are asked of every profile.
pub const RULES_PER_TENANT_MAX: usize = 100;

/// Rules of all tenants together; some KB each.
pub const RULES_MAX: usize = 10_000;

/// Groups of one rule; what comes beyond is counted under [`crate::REST_LABEL`]. Each is a series of the monitoring
/// system, where a thousand per rule is already much.
pub const GROUPS_PER_RULE_MAX: usize = 1_000;

/// Groups of all rules together, some 300 bytes of memory and 100 of each state on disk each; beyond as above.
pub const GROUPS_MAX: usize = 50_000;

/// Labels grouped by; a series of Prometheus has seldom more than a dozen in all.
pub const GROUP_LABELS_MAX: usize = 16;

/// Fixed labels of one rule.
pub const EXTERNAL_LABELS_MAX: usize = 16;

/// Bytes of the name of a metric or label.
pub const NAME_BYTES_MAX: usize = 200;

/// Bytes of a label's value; a group with a longer one is counted under [`crate::REST_LABEL`].
pub const VALUE_BYTES_MAX: usize = 1_024;

/// Bytes of a function's name; those of C++ templates are long.
pub const FUNCTION_BYTES_MAX: usize = 4_096;

/// Bytes of all selectors of one rule: they are kept with the sums.
pub const SELECTOR_BYTES_MAX: usize = 8_192;

/// Bytes of an id that a client chooses.
pub const ID_BYTES_MAX: usize = 64;

/// Bytes of a file of rules.
pub const FILE_BYTES_MAX: u64 = 4 << 20;
