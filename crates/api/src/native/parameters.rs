//! Query strings of the native API: known names only, each once unless it may repeat (C092: what was encoded comes out
//! as it went in).

use axum::extract::{FromRequestParts, Path, Query, rejection::PathRejection};
use http::{HeaderMap, request};

use super::NativeError;
use crate::ApiError;

/// Decoded pairs of a query string, with the request's headers beside them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameters {
    pairs: Vec<(String, String)>,
    /// Headers of the request: tenants, accepted types.
    pub headers: HeaderMap,
}

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = NativeError;

    async fn from_request_parts(parts: &mut request::Parts, _state: &S) -> Result<Self, NativeError> {
        Ok(Self::read(parts)?)
    }
}

impl Parameters {
    /// Reads the query string of a request.
    pub(crate) fn read(parts: &request::Parts) -> Result<Self, ApiError> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
            .map_err(|error| ApiError::invalid("query string", error.to_string()))?;
        Ok(Self { pairs, headers: parts.headers.clone() })
    }

    #[cfg(test)]
    pub(crate) fn of(pairs: &[(&str, &str)]) -> Self {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { pairs, headers: HeaderMap::new() }
    }

    /// Refuses names that this operation does not know: a mistyped filter must not silently answer for everything.
    pub(crate) fn allow(&self, known: &[&[&str]]) -> Result<(), ApiError> {
        let is_known = |name: &str| known.iter().any(|group| group.contains(&name));
        match self.pairs.iter().find(|(name, _)| !is_known(name)) {
            None => Ok(()),
            Some((name, _)) => {
                let mut names: Vec<&str> = known.concat();
                names.sort_unstable();
                let message = format!("is no parameter of this operation (known: {})", names.join(", "));
                Err(ApiError::invalid(cut(name), message))
            }
        }
    }

    /// The value of a parameter; `None` where it is not there or empty.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let mut values =
            self.pairs.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let first = values.next();
        if values.next().is_some() {
            return Err(ApiError::invalid(name, "is given more than once"));
        }
        Ok(first.filter(|value| !value.is_empty()))
    }

    /// The value of a parameter that must be there.
    pub(crate) fn required(&self, name: &str) -> Result<&str, ApiError> {
        self.one(name)?.ok_or_else(|| ApiError::invalid(name, "is required"))
    }

    /// The first value of a parameter, for compatible APIs that take the first of several.
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All values of a parameter that may repeat.
    pub(crate) fn many<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All items of a parameter that may repeat and whose values are lists with commas.
    pub(crate) fn list<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.many(name).flat_map(|value| value.split(',')).map(str::trim).filter(|item| !item.is_empty())
    }

    /// A whole number of at least 0; numbers beyond 64 bits are as good as the largest (C086).
    pub(crate) fn count(&self, name: &str) -> Result<Option<u64>, ApiError> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(Some(text.parse().unwrap_or(u64::MAX)));
        }
        Err(ApiError::invalid(name, format!("{:?} is no whole number of at least 0", cut(text))))
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, ApiError> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => {
                let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                Err(ApiError::invalid(name, format!("{:?} is none of {}", cut(text), known.join(", "))))
            }
        }
    }
}

/// The decoded part of a path, or an error of this API: axum's own is text without a field.
pub(crate) fn path_part(part: Result<Path<String>, PathRejection>, field: &str) -> Result<String, ApiError> {
    match part {
        Ok(Path(text)) => Ok(text),
        Err(_) => Err(ApiError::invalid(field, "this part of the path is not valid UTF-8 once decoded")),
    }
}

/// The beginning of a text, for messages.
pub(crate) fn cut(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_refused_by_name() {
        let parameters = Parameters::of(&[("q", "cpu"), ("form", "now-1h")]);
        let error = parameters.allow(&[&["q"], &["from", "to"]]).unwrap_err();
        assert_eq!(error.field, "form");
        assert!(error.message.contains("from, q, to"), "{error}");
        assert!(parameters.allow(&[&["q", "form"]]).is_ok());
    }

    #[test]
    fn c086_counts_are_clamped_or_refused() {
        let count = |text| Parameters::of(&[("n", text)]).count("n");
        assert_eq!(count("9223372036854775807").unwrap(), Some(i64::MAX as u64));
        assert_eq!(count("99999999999999999999999").unwrap(), Some(u64::MAX));
        assert_eq!(count("0").unwrap(), Some(0));
        assert_eq!(count("").unwrap(), None);
        for bad in ["-1", "abc", "1.5", "+1"] {
            assert_eq!(count(bad).unwrap_err().status(), 400, "{bad}");
        }
    }

    #[test]
    fn c092_what_was_encoded_comes_out_as_it_went_in() {
        let text = "/x?q=%7Ba%3D%22starts_with%28%5C%22std%3A%3Avec%3C%26T%3E%5C%22%29%22%7D&a=1%2B1+2";
        let (parts, ()) = http::Request::get(text).body(()).unwrap().into_parts();
        let parameters = Parameters::read(&parts).unwrap();
        assert_eq!(parameters.one("q").unwrap(), Some(r#"{a="starts_with(\"std::vec<&T>\")"}"#));
        assert_eq!(parameters.one("a").unwrap(), Some("1+1 2"));
    }

    #[test]
    fn twice_is_refused_unless_it_may_repeat() {
        let parameters = Parameters::of(&[("by", "a,b"), ("by", "c"), ("by", "")]);
        assert!(parameters.one("by").is_err());
        assert_eq!(parameters.list("by").collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
