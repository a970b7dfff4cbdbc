//! Whose data a request is about: tenants from `X-Scope-OrgID` (D18, C099, C100).
//!
//! With tenancy off every request belongs to `anonymous` and the header is ignored. With `--multi-tenant` it is
//! required; a read may name several tenants separated by `|`, a write exactly one. Tokens are checked by `server`.

use http::HeaderMap;
use profile::Tenant;

use crate::{ApiError, ErrorKind};

/// The header that names the tenant.
pub const TENANT_HEADER: &str = "x-scope-orgid";

/// Whether requests name their tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tenancy {
    /// Everything belongs to `anonymous` (D18).
    #[default]
    Single,
    /// The header is required.
    Multi,
}

/// The tenant of a write.
///
/// # Errors
/// 401 without a header while tenancy is on, 400 for a bad name or several of them.
pub fn write_tenant(headers: &HeaderMap, tenancy: Tenancy) -> Result<Tenant, ApiError> {
    one_tenant(headers, tenancy, "a write belongs to one tenant, not to a list")
}

/// The tenant of what each tenant has for itself, such as settings, read or written.
///
/// # Errors
/// 401 without a header while tenancy is on, 400 for a bad name or several of them.
pub fn own_tenant(headers: &HeaderMap, tenancy: Tenancy) -> Result<Tenant, ApiError> {
    one_tenant(headers, tenancy, "each tenant has its own; name one, not a list")
}

fn one_tenant(headers: &HeaderMap, tenancy: Tenancy, no_list: &str) -> Result<Tenant, ApiError> {
    let Some(text) = header_text(headers, tenancy)? else { return Ok(Tenant::anonymous()) };
    if text.contains('|') {
        return Err(ApiError::invalid("X-Scope-OrgID", no_list));
    }
    Ok(Tenant::parse(text)?)
}

/// The tenants of a read: sorted, each once.
///
/// # Errors
/// 401 without a header while tenancy is on, 400 for a bad name.
pub fn read_tenants(headers: &HeaderMap, tenancy: Tenancy) -> Result<Vec<Tenant>, ApiError> {
    let Some(text) = header_text(headers, tenancy)? else { return Ok(vec![Tenant::anonymous()]) };
    let mut tenants = text.split('|').map(Tenant::parse).collect::<Result<Vec<_>, _>>()?;
    tenants.sort();
    tenants.dedup();
    Ok(tenants)
}

/// The header's text; `None` while tenancy is off.
fn header_text(headers: &HeaderMap, tenancy: Tenancy) -> Result<Option<&str>, ApiError> {
    if tenancy == Tenancy::Single {
        return Ok(None);
    }
    let mut values = headers.get_all(TENANT_HEADER).iter();
    let Some(value) = values.next() else {
        let message =
            "the header is missing; this server has several tenants, and it names the one that is meant";
        return Err(ApiError::new(ErrorKind::Unauthenticated, "X-Scope-OrgID", message));
    };
    if values.next().is_some() {
        return Err(ApiError::invalid("X-Scope-OrgID", "the header is given more than once"));
    }
    let text =
        value.to_str().map_err(|_| ApiError::invalid("X-Scope-OrgID", "the header is not plain text"))?;
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(TENANT_HEADER, http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
        headers
    }

    #[test]
    fn c099_bad_names_are_refused() {
        for bad in ["../x", "a/b", "..", ".", "", "a%2Fb", "🔥", &"x".repeat(151)] {
            let error = write_tenant(&headers(bad), Tenancy::Multi).unwrap_err();
            assert_eq!(error.status(), 400, "{bad:?}");
            assert_eq!(write_tenant(&headers(bad), Tenancy::Single).unwrap(), Tenant::anonymous());
        }
        assert_eq!(write_tenant(&HeaderMap::new(), Tenancy::Multi).unwrap_err().status(), 401);
    }

    #[test]
    fn c100_lists_are_for_reads() {
        let read = read_tenants(&headers("b|a|b"), Tenancy::Multi).unwrap();
        assert_eq!(read.iter().map(Tenant::as_str).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(write_tenant(&headers("b|a|b"), Tenancy::Multi).unwrap_err().status(), 400);
    }
}
