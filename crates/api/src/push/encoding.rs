//! `Content-Encoding` of pushes that are no RPC: only what we can inflate is taken (R4, C040).
//!
//! Which of them it is, and whether it is there at all, the first bytes tell (C021); a coding that we do not know is
//! refused, because its bytes might pass for text.

use http::{HeaderMap, header};

use crate::{ApiError, ErrorKind};

const KNOWN: [&str; 4] = ["identity", "gzip", "x-gzip", "zstd"];

/// Refuses codings that are not known.
///
/// # Errors
/// 415 naming the coding.
pub(crate) fn check_content_encoding(headers: &HeaderMap) -> Result<(), ApiError> {
    for value in headers.get_all(header::CONTENT_ENCODING) {
        let text = String::from_utf8_lossy(value.as_bytes());
        let mut codings = text.split(',').map(str::trim).filter(|coding| !coding.is_empty());
        if let Some(unknown) =
            codings.find(|coding| !KNOWN.iter().any(|known| known.eq_ignore_ascii_case(coding)))
        {
            let unknown: String = unknown.chars().take(64).collect();
            let message = format!("{unknown:?} is not supported; send gzip, zstd or no compression");
            return Err(ApiError::new(ErrorKind::Unsupported, "Content-Encoding", message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn c040_an_unknown_encoding_is_415() {
        let check = |text: &'static str| {
            let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, HeaderValue::from_static(text))]);
            check_content_encoding(&headers)
        };
        for known in ["gzip", "GZIP", "x-gzip", "zstd", "identity", "", "gzip, gzip"] {
            assert!(check(known).is_ok(), "{known}");
        }
        for unknown in ["br", "deflate", "nonsense", "gzip, br", "gzip;q=1"] {
            let error = check(unknown).unwrap_err();
            assert_eq!(
                (error.status().as_u16(), error.field.as_str()),
                (415, "Content-Encoding"),
                "{unknown}"
            );
        }
        assert!(check_content_encoding(&HeaderMap::new()).is_ok());
    }
}
