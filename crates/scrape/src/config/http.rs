//! Credentials, TLS and redirects: Prometheus's `http_config`, which stands beside the other keys of a job.

use std::path::Path;

use super::{
    ConfigError, Credentials, HttpSettings, Redirects, Secret, TlsSettings, TlsVersions, Verification,
    section::Section,
};

/// Reads the keys of a section.
pub(super) fn read(
    section: &mut Section<'_>,
    folder: &Path,
    notices: &mut Vec<String>,
) -> Result<HttpSettings, ConfigError> {
    section.refuse(
        &["proxy_url", "no_proxy", "proxy_connect_header"],
        "targets are reached directly; a proxy between is not supported",
    )?;
    if section.switch("proxy_from_environment")? == Some(true) {
        return Err(section.error(
            "proxy_from_environment",
            "targets are reached directly; a proxy between is not supported",
        ));
    }
    section.refuse(
        &["oauth2", "sigv4", "google_iam", "azuread"],
        "not yet; there are basic_auth and authorization",
    )?;
    section.refuse(&["http_headers"], "not yet; there are basic_auth and authorization")?;
    section.ignore(&["enable_http2"], "passed over; targets are asked by HTTP/1.1", notices);
    let redirects = match section.switch("follow_redirects")? {
        Some(false) => Redirects::Refused,
        _ => Redirects::Followed,
    };
    let credentials = credentials(section, folder)?;
    let tls = match section.section("tls_config")? {
        Some(tls) => self::tls(tls, folder)?,
        None => TlsSettings::default(),
    };
    Ok(HttpSettings { credentials, tls, redirects })
}

fn credentials(section: &mut Section<'_>, folder: &Path) -> Result<Option<Credentials>, ConfigError> {
    let mut given: Vec<(&str, Credentials)> = Vec::new();
    if let Some(mut basic) = section.section("basic_auth")? {
        let user = secret(&mut basic, "username", "username_file", folder)?;
        let password = secret(&mut basic, "password", "password_file", folder)?;
        basic.refuse(&["username_ref", "password_ref"], "not yet; write it into a file")?;
        basic.finish()?;
        let empty = || Secret::Text(String::new());
        let basic =
            Credentials::Basic { user: user.unwrap_or_else(empty), password: password.unwrap_or_else(empty) };
        given.push(("basic_auth", basic));
    }
    if let Some(mut authorization) = section.section("authorization")? {
        let scheme = authorization.text("type")?.unwrap_or("Bearer").trim().to_owned();
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if scheme.is_empty() || !scheme.bytes().all(is_word) {
            return Err(authorization.error("type", format!("{scheme:?} is no scheme")));
        }
        if scheme.eq_ignore_ascii_case("basic") {
            return Err(authorization.error("type", "for Basic there is basic_auth"));
        }
        let value = secret(&mut authorization, "credentials", "credentials_file", folder)?;
        authorization.refuse(&["credentials_ref"], "not yet; write it into a file")?;
        if let Some(value) = value {
            given.push(("authorization", Credentials::Scheme { scheme, value }));
        }
        authorization.finish()?;
    }
    if let Some(value) = secret(section, "bearer_token", "bearer_token_file", folder)? {
        given.push(("bearer_token", Credentials::Scheme { scheme: "Bearer".to_owned(), value }));
    }
    if given.len() > 1 {
        let (second, first) = (given[1].0, given[0].0);
        return Err(section.error(second, format!("is given beside {first}; only one can be sent")));
    }
    Ok(given.pop().map(|(_, credentials)| credentials))
}

/// A text or the file that holds it.
fn secret(
    section: &mut Section<'_>,
    text: &'static str,
    file: &'static str,
    folder: &Path,
) -> Result<Option<Secret>, ConfigError> {
    let given = section.text(text)?.map(|text| Secret::Text(text.to_owned()));
    let path = section.text(file)?.map(|path| Secret::File(within(folder, path)));
    match (given, path) {
        (Some(_), Some(_)) => Err(section.error(file, format!("is given beside {text}"))),
        (given, path) => Ok(given.or(path)),
    }
}

/// A path as the configuration means it: relative ones begin at its folder.
pub(super) fn within(folder: &Path, path: &str) -> String {
    folder.join(path).display().to_string()
}

fn tls(mut section: Section<'_>, folder: &Path) -> Result<TlsSettings, ConfigError> {
    section.refuse(&["ca_ref", "cert_ref", "key_ref"], "not yet; write it into a file")?;
    let authorities = secret(&mut section, "ca", "ca_file", folder)?;
    let certificate = secret(&mut section, "cert", "cert_file", folder)?;
    let key = secret(&mut section, "key", "key_file", folder)?;
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        (Some(_), None) => return Err(section.error("key_file", "is needed beside cert_file")),
        (None, Some(_)) => return Err(section.error("cert_file", "is needed beside key_file")),
    };
    let server_name = section.text("server_name")?.filter(|name| !name.is_empty()).map(str::to_owned);
    let verification = match section.switch("insecure_skip_verify")? {
        Some(true) => Verification::Skipped,
        _ => Verification::Required,
    };
    let word = |text: &str| match text {
        "TLS10" => Ok(10),
        "TLS11" => Ok(11),
        "TLS12" => Ok(12),
        "TLS13" => Ok(13),
        _ => Err(format!("{text:?} is none of TLS10, TLS11, TLS12, TLS13")),
    };
    let least = section.read("min_version", word)?.unwrap_or(10);
    let most = section.read("max_version", word)?.unwrap_or(13);
    if most < 12 {
        return Err(section.error("max_version", "TLS before 1.2 is not spoken"));
    }
    if least > most {
        return Err(section.error("min_version", "is above max_version"));
    }
    let versions = match (least, most) {
        (13, _) => TlsVersions::Only13,
        (_, 12) => TlsVersions::Only12,
        _ => TlsVersions::Both,
    };
    section.finish()?;
    Ok(TlsSettings { authorities, identity, server_name, verification, versions })
}
