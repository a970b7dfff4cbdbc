//! Why a rule cannot be made, changed or found.

/// Why a rule cannot be made, changed or found. Status codes are the API's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The rule is wrong: names the field and the reason (400).
    #[error("{field}: {reason}")]
    Invalid {
        /// Which part of the rule.
        field: String,
        /// Why.
        reason: String,
    },
    /// No rule of that id (404).
    #[error("id: there is no rule {0:?}")]
    NotFound(String),
    /// Somebody else changed the rule in between.
    #[error("generation: rule {id:?} is at generation {current}, not {asked}; read it again")]
    Changed {
        /// The rule.
        id: String,
        /// What it is at.
        current: i64,
        /// What the caller took it to be at.
        asked: i64,
    },
    /// The rule comes from the server's file and is changed there.
    #[error("id: rule {0:?} comes from the server's rules file and can only be changed there")]
    Provisioned(String),
    /// There are as many as there may be.
    #[error("there are {limit} rules already, which is the limit{}", if *.of_tenant { " of a tenant" } else { "" })]
    TooMany {
        /// How many there may be.
        limit: usize,
        /// Whether of this tenant or of all.
        of_tenant: bool,
    },
    /// The change could not be kept; it may or may not be there after a restart.
    #[error(transparent)]
    Store(#[from] store::StoreError),
}

impl RuleError {
    pub(crate) fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), reason: reason.into() }
    }
}

impl From<query::QueryError> for RuleError {
    fn from(error: query::QueryError) -> Self {
        match error {
            query::QueryError::Invalid { field, reason } => Self::Invalid { field, reason },
            other => Self::invalid("selector", other.to_string()),
        }
    }
}
