//! An OCI registry: Debian's `docker-registry`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use reqwest::{Certificate as Authority, Client, RequestBuilder, header};
use tempfile::TempDir;

use super::{PASSWORD, PATIENCE, free_port, kill, tls::Certificate};
use crate::artifact::{Artifact, IMAGE, digest};

const USER: &str = "eva";
/// What the registry knows of the user: bcrypt of [`PASSWORD`].
const HTPASSWD: &str = "eva:$2b$05$315jMXIF.tYlarA75FDc4OEyhpQfTLzOGkcQnUfm3i4EwD/vbJ0Lu\n";

/// A running registry. Dropping it kills the server and removes its folder.
pub struct Registry {
    folder: TempDir,
    port: u16,
    certificate: Option<Certificate>,
    server: Option<Child>,
}

impl Registry {
    /// Starts one that anybody may use, without TLS.
    ///
    /// # Panics
    /// When it is not installed or does not start; the text holds its log.
    pub async fn start() -> Self {
        Self::start_as(|_| None).await
    }

    /// One with TLS and a user.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub async fn start_guarded() -> Self {
        Self::start_as(|folder| Some(Certificate::issue(folder))).await
    }

    async fn start_as(certificate: impl FnOnce(&Path) -> Option<Certificate>) -> Self {
        let folder = tempfile::Builder::new().prefix("bulkhead-registry-").tempdir().expect("a folder");
        let certificate = certificate(folder.path());
        let mut registry = Self { folder, port: 0, certificate, server: None };
        // Another process may take the port between the choice and the start.
        for _ in 0..5 {
            registry.port = free_port();
            if registry.launch().await {
                return registry;
            }
        }
        panic!("the registry does not start:\n{}", registry.log());
    }

    /// What references call it.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The user and the user's password.
    pub fn user(&self) -> (&'static str, &'static str) {
        (USER, PASSWORD)
    }

    /// The certificate that vouches for it.
    pub fn authority(&self) -> PathBuf {
        self.certificate.as_ref().expect("a registry with TLS").authority.clone()
    }

    /// Pushes an artifact; its digest.
    pub async fn push(&self, repository: &str, tag: &str, artifact: &Artifact) -> String {
        for blob in [&artifact.config, &artifact.layer] {
            self.push_blob(repository, blob).await;
        }
        let url = self.url(&format!("/v2/{repository}/manifests/{tag}"));
        let put = self.client().put(url).header(header::CONTENT_TYPE, IMAGE).body(artifact.text());
        let answer = self.logged_in(put).send().await.unwrap();
        let stated = answer.headers().get("docker-content-digest").cloned();
        assert_eq!(answer.status(), 201, "{}", answer.text().await.unwrap());
        assert_eq!(stated.unwrap().to_str().unwrap(), artifact.digest());
        artifact.digest()
    }

    async fn push_blob(&self, repository: &str, blob: &[u8]) {
        let begun = self.client().post(self.url(&format!("/v2/{repository}/blobs/uploads/")));
        let begun = self.logged_in(begun).send().await.unwrap();
        assert_eq!(begun.status(), 202);
        let place = begun.headers()[header::LOCATION].to_str().unwrap().to_owned();
        let mut place = begun.url().join(&place).unwrap();
        place.query_pairs_mut().append_pair("digest", &digest(blob));
        let put = self.client().put(place).body(blob.to_vec());
        let answer = self.logged_in(put).send().await.unwrap();
        assert_eq!(answer.status(), 201, "{}", answer.text().await.unwrap());
    }

    /// Ends it; nothing answers at its port any more.
    pub fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            kill(&mut server);
        }
    }

    /// Everything that it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn url(&self, path: &str) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.host())
    }

    fn client(&self) -> Client {
        let mut client = Client::builder().timeout(PATIENCE);
        if let Some(certificate) = &self.certificate {
            let pem = fs::read(&certificate.authority).unwrap();
            client = client.add_root_certificate(Authority::from_pem(&pem).unwrap());
        }
        client.build().unwrap()
    }

    fn logged_in(&self, request: RequestBuilder) -> RequestBuilder {
        match self.certificate {
            Some(_) => request.basic_auth(USER, Some(PASSWORD)),
            None => request,
        }
    }

    fn config(&self) -> String {
        let folder = self.folder.path().display();
        let mut config = format!(
            "version: 0.1\nlog:\n  level: info\nstorage:\n  filesystem:\n    rootdirectory: {folder}/data\nhttp:\n  \
             addr: {}\n  secret: a-secret-of-the-tests\n",
            self.host()
        );
        if let Some(certificate) = &self.certificate {
            let (certificate, key) = (certificate.certificate.display(), certificate.key.display());
            config += &format!("  tls:\n    certificate: {certificate}\n    key: {key}\n");
            config += &format!("auth:\n  htpasswd:\n    realm: tests\n    path: {folder}/htpasswd\n");
        }
        config
    }

    async fn launch(&mut self) -> bool {
        let file = |name: &str| self.folder.path().join(name);
        fs::write(file("htpasswd"), HTPASSWD).unwrap();
        fs::write(file("config.yml"), self.config()).unwrap();
        let log = fs::File::create(file("log")).unwrap();
        let server = Command::new("docker-registry")
            .arg("serve")
            .arg(file("config.yml"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("docker-registry is installed: apt-get install docker-registry");
        self.server = Some(server);
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let ended = self.server.as_mut().and_then(|server| server.try_wait().ok().flatten());
            if ended.is_some() {
                self.server = None;
                return false;
            }
            if self.client().get(self.url("/v2/")).send().await.is_ok() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop();
    }
}
