//! TLS as a target: whom to trust, who we are, which versions.
//!
//! The cryptography is the one that the command line's client brings (ring), so that the program has it once.

use std::sync::Arc;

use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
        client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
        pki_types::{
            CertificateDer, PrivateKeyDer, ServerName, UnixTime,
            pem::{Error as PemError, PemObject},
        },
        version::{TLS12, TLS13},
    },
};

use super::error::{FailureKind, ScrapeError};
use crate::config::{Secret, TlsSettings, TlsVersions, Verification};

/// Where systems keep the authorities that they trust, in one file; the first that is there counts.
const SYSTEM_AUTHORITIES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The variable that names another such file.
const AUTHORITIES_VARIABLE: &str = "SSL_CERT_FILE";

/// Reads certificates and makes the settings of connections. Blocks on files.
pub(crate) fn client_config(settings: &TlsSettings) -> Result<Arc<ClientConfig>, ScrapeError> {
    let failed = |reason: String| ScrapeError::new(FailureKind::Settings, format!("tls_config: {reason}"));
    let provider = Arc::new(ring::default_provider());
    let versions: &[&rustls::SupportedProtocolVersion] = match settings.versions {
        TlsVersions::Both => &[&TLS13, &TLS12],
        TlsVersions::Only12 => &[&TLS12],
        TlsVersions::Only13 => &[&TLS13],
    };
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(|error| failed(error.to_string()))?;
    let builder = match settings.verification {
        Verification::Required => builder.with_root_certificates(authorities(settings).map_err(failed)?),
        Verification::Skipped => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        }
    };
    let config = match &settings.identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = certificates(&read(certificate).map_err(failed)?).map_err(failed)?;
            let key = PrivateKeyDer::from_pem_slice(read(key).map_err(failed)?.as_bytes())
                .map_err(|error| failed(format!("the key: {}", pem_words(&error))))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| failed(error.to_string()))?
        }
    };
    Ok(Arc::new(config))
}

/// A secret's text; blocks on its file.
pub(crate) fn read(secret: &Secret) -> Result<String, String> {
    match secret {
        Secret::Text(text) => Ok(text.clone()),
        Secret::File(path) => crate::files::read_text(path.as_ref(), crate::limits::SECRET_BYTES_MAX)
            .map_err(|reason| format!("{path}: {reason}")),
    }
}

fn pem_words(error: &PemError) -> String {
    match error {
        PemError::NoItemsFound => "there is none in PEM".to_owned(),
        other => other.to_string(),
    }
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match found {
        Ok(found) if found.is_empty() => Err("there is no certificate in PEM".to_owned()),
        Ok(found) => Ok(found),
        Err(error) => Err(format!("the certificate: {}", pem_words(&error))),
    }
}

fn authorities(settings: &TlsSettings) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    if let Some(given) = &settings.authorities {
        for certificate in certificates(&read(given)?)? {
            store.add(certificate).map_err(|error| format!("ca: {error}"))?;
        }
        return Ok(store);
    }
    let named = std::env::var(AUTHORITIES_VARIABLE).ok();
    let places = named.iter().map(String::as_str).chain(SYSTEM_AUTHORITIES);
    for place in places {
        let Ok(text) = crate::files::read_text(place.as_ref(), crate::limits::TEXT_BYTES_MAX) else {
            continue;
        };
        // Systems trust some that cannot be read here; one that is left out is no reason to trust nobody.
        let found = CertificateDer::pem_slice_iter(text.as_bytes()).filter_map(Result::ok);
        let (added, _) = store.add_parsable_certificates(found);
        if added > 0 {
            return Ok(store);
        }
    }
    store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    Ok(store)
}

/// Speaks TLS over a connection.
pub(crate) async fn connect<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(
    stream: S,
    config: &Arc<ClientConfig>,
    host: &str,
    server_name: Option<&str>,
) -> Result<TlsStream<S>, ScrapeError> {
    let failed = |reason: String| ScrapeError::new(FailureKind::Tls, format!("TLS: {reason}"));
    let name = ServerName::try_from(server_name.unwrap_or(host).to_owned())
        .map_err(|_| failed(format!("{host:?} is no name of a server")))?;
    TlsConnector::from(Arc::clone(config))
        .connect(name, stream)
        .await
        .map_err(|error| failed(error.to_string()))
}

/// `insecure_skip_verify`: takes any certificate, and still wants the target to have its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
