//! TLS material as PEM, made into a configuration.

use std::sync::Arc;

use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::failure::AccessError;

/// What TLS with a server needs. Nothing of it is ever shown.
#[derive(Clone)]
pub struct Material {
    /// Certificates of the authorities to trust, PEM; the system's where there are none.
    pub authority: Option<Vec<u8>>,
    /// The client's certificate with what leads to its authority, PEM.
    pub certificate: Option<Vec<u8>>,
    /// The client's private key, PEM: PKCS#8, PKCS#1 or SEC1, unencrypted.
    pub key: Option<Vec<u8>>,
    /// Whether the server must prove who it is.
    pub verify: bool,
}

impl std::fmt::Debug for Material {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Material")
            .field("verify", &self.verify)
            .finish_non_exhaustive()
    }
}

impl Material {
    /// The configuration for it.
    pub(crate) fn config(&self) -> Result<ClientConfig, AccessError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| AccessError::new(error.to_string()))?;
        let builder = if self.verify {
            builder.with_root_certificates(self.roots()?)
        } else {
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Unverified(provider)))
        };
        let mut config = match self.identity()? {
            Some((chain, key)) => builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| client_error(&error.to_string()))?,
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }

    fn roots(&self) -> Result<RootCertStore, AccessError> {
        let mut roots = RootCertStore::empty();
        let Some(pem) = &self.authority else {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                return Err(authority_error("the system has no authorities"));
            }
            return Ok(roots);
        };
        let mut last = "there is no certificate in it".to_owned();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            match certificate {
                Ok(certificate) => {
                    if let Err(error) = roots.add(certificate) {
                        last = error.to_string();
                    }
                }
                Err(error) => return Err(authority_error(&error.to_string())),
            }
        }
        if roots.is_empty() {
            return Err(authority_error(&last));
        }
        Ok(roots)
    }

    fn identity(
        &self,
    ) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>, AccessError> {
        let Some(pem) = &self.certificate else {
            return Ok(None);
        };
        let chain: Vec<_> = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<_, _>>()
            .map_err(|error| client_error(&error.to_string()))?;
        if chain.is_empty() {
            return Err(client_error("there is no certificate in it"));
        }
        // A file may hold both.
        let key_pem = self.key.as_ref().unwrap_or(pem);
        if key_pem.windows(ENCRYPTED.len()).any(|window| window == ENCRYPTED) {
            return Err(client_error(
                "its key is encrypted; give one without a passphrase",
            ));
        }
        let key = PrivateKeyDer::from_pem_slice(key_pem)
            .map_err(|_| client_error("there is no private key (PKCS#8, PKCS#1 or SEC1) in it"))?;
        Ok(Some((chain, key)))
    }
}

const ENCRYPTED: &[u8] = b"ENCRYPTED";

fn authority_error(reason: &str) -> AccessError {
    AccessError::new(format!("the certificate authority cannot be used: {reason}"))
}

fn client_error(reason: &str) -> AccessError {
    AccessError::new(format!("the client certificate cannot be used: {reason}"))
}

/// Takes any server for the right one; the handshake itself is still checked.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
