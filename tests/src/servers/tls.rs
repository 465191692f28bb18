//! A certificate for a server on 127.0.0.1.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SanType};

/// PEM files of a certificate and of the authority that signed it.
pub struct Certificate {
    /// The authority's certificate: what a client trusts.
    pub authority: PathBuf,
    /// The server's certificate.
    pub certificate: PathBuf,
    /// The server's private key.
    pub key: PathBuf,
}

impl Certificate {
    /// Issues one into a folder, by an authority of its own.
    ///
    /// # Panics
    /// When a file cannot be written.
    #[must_use]
    pub fn issue(folder: &Path) -> Self {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().expect("a key"))
            .expect("an authority");
        let mut server = CertificateParams::default();
        server.subject_alt_names = vec![SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST))];
        let key = KeyPair::generate().expect("a key");
        let certificate = server.signed_by(&key, &authority).expect("a certificate");
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            fs::write(&path, text).expect("the folder takes a file");
            path
        };
        Self {
            authority: write("authority.pem", authority.pem()),
            certificate: write("certificate.pem", certificate.pem()),
            key: write("key.pem", key.serialize_pem()),
        }
    }
}
