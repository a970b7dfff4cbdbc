//! The identity of a profile (D2).

/// 128 bits written as a UUID: 48 bits milliseconds of the profile's time, then 80 bits of a digest.
///
/// Ids sort by time, the same push gives the same id, and clients that want a UUID take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProfileId(pub u128);

/// A text that is no profile id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("profile id {0:?} is not of the form xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")]
pub struct ParseProfileIdError(pub String);

impl ProfileId {
    /// Joins a time in ms (its low 48 bits) and the low 80 bits of a digest.
    #[must_use]
    pub fn new(time_millis: u64, digest: u128) -> Self {
        let time = u128::from(time_millis & 0xffff_ffff_ffff) << 80;
        Self(time | (digest & ((1 << 80) - 1)))
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub fn time_millis(self) -> u64 {
        (self.0 >> 80) as u64
    }

    /// The 80 bits that tell profiles of one millisecond apart.
    #[must_use]
    pub fn digest(self) -> u128 {
        self.0 & ((1 << 80) - 1)
    }

    /// Reads the UUID form; hyphens may be left out, letters may be upper case.
    ///
    /// # Errors
    /// For anything but 32 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, ParseProfileIdError> {
        let digits: String = text.chars().filter(|&character| character != '-').collect();
        let wrong = || ParseProfileIdError(text.chars().take(64).collect());
        if digits.len() != 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        u128::from_str_radix(&digits, 16).map(Self).map_err(|_| wrong())
    }
}

impl std::fmt::Display for ProfileId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hex = format!("{:032x}", self.0);
        write!(formatter, "{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips() {
        let id = ProfileId::new(1_700_000_000_123, 0x1234_5678_9abc_def0_1122);
        assert_eq!(ProfileId::parse(&id.to_string()), Ok(id));
        assert_eq!(id.time_millis(), 1_700_000_000_123);
        assert!(ProfileId::parse("../../etc/passwd").is_err());
        assert!(ProfileId::parse("").is_err());
    }
}
