//! The multipart body that Pyroscope's Go and Node SDKs send to `/ingest`: file parts `profile` and
//! `sample_type_config`. `prev_profile` is refused (D17), so is the Java agent's `jfr`, and so is a second part of one name;
//! parts that are not known are skipped.

use std::collections::BTreeMap;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use serde::Deserialize;

use crate::{ApiError, ErrorKind, limits};

/// The parts that matter.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) profile: Option<Bytes>,
    /// Display names by sample type, where the part is there.
    pub(crate) display_names: Option<BTreeMap<String, String>>,
    /// The part speaks of `inuse-space`, by which old .NET profilers are known.
    pub(crate) is_of_old_dotnet: bool,
}

#[derive(Deserialize)]
struct SampleTypeConfig {
    #[serde(rename = "display-name", default)]
    display_name: String,
}

/// Reads all parts.
///
/// # Errors
/// 422 for a body that is no multipart or holds `prev_profile`, 415 for one with a JFR recording, 413 for a
/// `sample_type_config` that is larger than any.
pub(crate) async fn read(content_type: &str, body: Body) -> Result<Parts, ApiError> {
    let boundary = multer::parse_boundary(content_type).map_err(|error| malformed("Content-Type", &error))?;
    let mut multipart = multer::Multipart::new(body.into_data_stream(), boundary);
    let mut parts = Parts::default();
    while let Some(mut field) =
        multipart.next_field().await.map_err(|error| malformed("multipart", &error))?
    {
        let name = field.name().unwrap_or("").to_owned();
        let mut first: Option<Bytes> = None;
        let mut joined = BytesMut::new();
        while let Some(chunk) = field.chunk().await.map_err(|error| malformed(&name, &error))? {
            // One chunk is the usual case and needs no copy.
            match first.take() {
                None if joined.is_empty() => first = Some(chunk),
                None => joined.extend_from_slice(&chunk),
                Some(earlier) => {
                    joined.extend_from_slice(&earlier);
                    joined.extend_from_slice(&chunk);
                }
            }
        }
        let bytes = first.unwrap_or_else(|| joined.freeze());
        match name.as_str() {
            // the first would be dropped without a word
            "profile" if parts.profile.is_some() => return Err(twice(&name)),
            "sample_type_config" if parts.display_names.is_some() => return Err(twice(&name)),
            "profile" => parts.profile = Some(bytes),
            "jfr" => return Err(super::ingest::no_jfr("jfr")),
            "prev_profile" => {
                return Err(ApiError::new(
                    ErrorKind::Refused,
                    "prev_profile",
                    "pairs of cumulative profiles are not supported; update the client to one that sends deltas",
                ));
            }
            "sample_type_config" => {
                if bytes.len() > limits::SAMPLE_TYPE_CONFIG_BYTES_MAX {
                    let limit = limits::SAMPLE_TYPE_CONFIG_BYTES_MAX;
                    let message = format!("has {} bytes (limit {limit})", bytes.len());
                    return Err(ApiError::new(ErrorKind::TooLarge, name, message));
                }
                let configs = configs(&bytes)?;
                parts.is_of_old_dotnet = configs.contains_key("inuse-space");
                parts.display_names = Some(display_names(configs));
            }
            _ => {}
        }
    }
    Ok(parts)
}

/// By sample type.
type Configs = BTreeMap<String, SampleTypeConfig>;

fn configs(json: &[u8]) -> Result<Configs, ApiError> {
    serde_json::from_slice(json).map_err(|error| malformed("sample_type_config", &error))
}

fn display_names(configs: Configs) -> BTreeMap<String, String> {
    let named = configs.into_iter().filter(|(_, config)| !config.display_name.is_empty());
    named.map(|(kind, config)| (kind, config.display_name)).collect()
}

fn twice(part: &str) -> ApiError {
    ApiError::new(ErrorKind::Malformed, part, "the part is there more than once; send profiles one by one")
}

fn malformed(field: &str, error: &dyn std::error::Error) -> ApiError {
    ApiError::new(ErrorKind::Malformed, field, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=B";

    fn body(parts: &[(&str, &str)]) -> Body {
        let mut text = String::new();
        for (name, content) in parts {
            text += &format!(
                "--B\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"f\"\r\n\r\n{content}\r\n"
            );
        }
        Body::from(text + "--B--\r\n")
    }

    #[tokio::test]
    async fn parts_are_found_by_name() {
        let config =
            r#"{"contentions":{"units":"lock_samples","display-name":"block_count","cumulative":true}}"#;
        let parts = read(TYPE, body(&[("profile", "PPROF"), ("extra", "x"), ("sample_type_config", config)]))
            .await
            .unwrap();
        assert_eq!(parts.profile.as_deref(), Some(&b"PPROF"[..]));
        assert_eq!(parts.display_names.unwrap()["contentions"], "block_count");
    }

    #[tokio::test]
    async fn a_second_profile_is_refused_and_not_taken_for_the_first() {
        for name in ["profile", "sample_type_config"] {
            let error = read(TYPE, body(&[(name, "{}"), (name, "{}")])).await.unwrap_err();
            assert_eq!((error.ingest_status().as_u16(), error.field.as_str()), (422, name));
        }
    }

    #[tokio::test]
    async fn a_config_that_is_larger_than_any_is_413() {
        let config = |bytes: usize| format!("{{{}}}", " ".repeat(bytes - 2));
        let limit = limits::SAMPLE_TYPE_CONFIG_BYTES_MAX;
        assert!(read(TYPE, body(&[("sample_type_config", &config(limit))])).await.is_ok());
        let error = read(TYPE, body(&[("sample_type_config", &config(limit + 1))])).await.unwrap_err();
        assert_eq!((error.ingest_status().as_u16(), error.field.as_str()), (413, "sample_type_config"));
    }

    #[tokio::test]
    async fn prev_profile_and_nonsense_are_422() {
        let error = read(TYPE, body(&[("profile", "x"), ("prev_profile", "y")])).await.unwrap_err();
        assert_eq!((error.status().as_u16(), error.field.as_str()), (422, "prev_profile"));
        let error = read(TYPE, body(&[("sample_type_config", "{")])).await.unwrap_err();
        assert_eq!(error.ingest_status(), 422);
        let error = read("multipart/form-data", Body::empty()).await.unwrap_err();
        assert_eq!(error.ingest_status(), 422);
    }
}
