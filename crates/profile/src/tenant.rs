//! Whose data it is. A type from the first day, so that no path or query is ever built from a raw header.

/// A tenant's name, already checked: 1–150 bytes of letters, digits and `!-_.*'()`, not `.` or `..` (C099).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tenant(std::sync::Arc<str>);

/// Why a name is no tenant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TenantError {
    /// Nothing was given.
    #[error("tenant is empty")]
    Empty,
    /// Too long.
    #[error("tenant has {length} bytes (at most {limit})")]
    TooLong {
        /// Bytes given.
        length: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// `.` and `..` would be paths.
    #[error("tenant {0:?} is not allowed")]
    Reserved(String),
    /// A character that is not allowed.
    #[error("tenant has the character {character:?} at byte {position} (allowed: letters, digits, !-_.*'())")]
    Character {
        /// The character.
        character: char,
        /// Where it stands.
        position: usize,
    },
}

impl Tenant {
    /// Longest name in bytes; what Grafana's multi-tenant clients keep to.
    pub const LENGTH_MAX: usize = 150;

    /// The tenant of everything while tenancy is off (D18).
    #[must_use]
    pub fn anonymous() -> Self {
        Self("anonymous".into())
    }

    /// Checks a name.
    ///
    /// # Errors
    /// Says which rule the name breaks.
    pub fn parse(name: &str) -> Result<Self, TenantError> {
        if name.is_empty() {
            return Err(TenantError::Empty);
        }
        if name.len() > Self::LENGTH_MAX {
            return Err(TenantError::TooLong { length: name.len(), limit: Self::LENGTH_MAX });
        }
        if name == "." || name == ".." {
            return Err(TenantError::Reserved(name.into()));
        }
        for (position, character) in name.char_indices() {
            if !(character.is_ascii_alphanumeric() || "!-_.*'()".contains(character)) {
                return Err(TenantError::Character { character, position });
            }
        }
        Ok(Self(name.into()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Tenant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c099_tenant_path_tricks() {
        for bad in ["../x", "a/b", "..", ".", "", "a\0b", "a%2Fb", "🔥", &"x".repeat(151)] {
            assert!(Tenant::parse(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "team-1", "x.y", "(a)'*!_", &"x".repeat(150)] {
            assert_eq!(Tenant::parse(good).map(|tenant| tenant.as_str().to_owned()), Ok(good.to_owned()));
        }
    }
}
