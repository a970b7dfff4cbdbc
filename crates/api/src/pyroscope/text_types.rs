//! What a text profile measures: the last part of its application name, `app.alloc_space`.

use crate::{ApiError, push::TextType};

/// Service, profile name and type of a text profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextProfile {
    pub(super) service: String,
    pub(super) name: &'static str,
    pub(super) typed: TextType,
}

/// Reads the suffix; without a dot the profile is `cpu`.
///
/// # Errors
/// 400 for a suffix that names no type.
pub(super) fn text_profile(application: &str, sample_rate: u32) -> Result<TextProfile, ApiError> {
    let (service, suffix) = application.rsplit_once('.').unwrap_or((application, "cpu"));
    let plain = TextType::plain;
    let sampled = |kind| TextType::sampled(kind, sample_rate);
    let (name, typed) = match suffix {
        "cpu" | "itimer" => ("process_cpu", sampled("cpu")),
        "wall" | "seconds" | "nanoseconds" | "microseconds" | "milliseconds" => ("wall", sampled("wall")),
        "inuse_objects" | "alloc_objects" => ("memory", plain(suffix, "count")),
        "inuse_space" | "alloc_space" => ("memory", plain(suffix, "bytes")),
        "goroutines" => ("goroutine", plain("goroutines", "count")),
        "mutex_count" => ("mutex", plain("contentions", "count")),
        "mutex_duration" => ("mutex", plain("delay", "nanoseconds")),
        "block_count" | "lock_count" => ("block", plain("contentions", "count")),
        "block_duration" | "lock_duration" => ("block", plain("delay", "nanoseconds")),
        "alloc_in_new_tlab_objects" | "alloc_outside_tlab_objects" => ("memory", plain(suffix, "count")),
        "alloc_in_new_tlab_bytes" | "alloc_outside_tlab_bytes" => ("memory", plain(suffix, "bytes")),
        "live" => ("memory", plain("live", "count")),
        "exceptions" => ("exceptions", plain("samples", "count")),
        "bytes" => ("memory", plain("samples", "bytes")),
        _ => {
            let position = application.len() - suffix.len();
            return Err(ApiError::invalid(
                "name",
                format!(
                    "{:?} at byte {position} is no profile type; a text profile's name ends in .cpu, .wall, \
                     .alloc_space or the like",
                    suffix.chars().take(64).collect::<String>()
                ),
            ));
        }
    };
    if service.is_empty() {
        return Err(ApiError::invalid("name", "the application name is empty (byte 0)"));
    }
    Ok(TextProfile { service: service.to_owned(), name, typed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_names_the_type() {
        let profile = text_profile("team/app.cpu", 100).unwrap();
        assert_eq!((profile.service.as_str(), profile.name), ("team/app", "process_cpu"));
        assert_eq!((profile.typed.sample_type(), profile.typed.sample_unit()), ("cpu", "nanoseconds"));
        let profile = text_profile("a.b.alloc_space", 100).unwrap();
        assert_eq!((profile.service.as_str(), profile.name), ("a.b", "memory"));
        assert_eq!(profile.typed.sample_unit(), "bytes");
        assert_eq!(text_profile("app", 100).unwrap().service, "app");
    }

    #[test]
    fn c082_an_unknown_suffix_is_400_with_its_position() {
        let error = text_profile("team/app.v2", 100).unwrap_err();
        assert_eq!(error.status(), 400);
        assert!(error.message.contains("byte 9"), "{error}");
    }
}
