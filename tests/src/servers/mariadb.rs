//! A MariaDB server.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use super::{PASSWORD, end, free_port, kill, tls::Certificate, until_ready};

/// The database, and the user who may only read it.
const DATABASE: &str = "zms";
const READER: &str = "reader";

/// A running server with one empty database. Dropping it kills the server and removes its folder.
pub struct MariaDb {
    folder: TempDir,
    port: u16,
    certificate: Option<Certificate>,
    server: Option<Child>,
}

impl MariaDb {
    /// Starts a server with a fresh data folder.
    ///
    /// # Panics
    /// When MariaDB is not installed or does not start; the text holds its log.
    #[must_use]
    pub fn start() -> Self {
        Self::start_as(|_| None)
    }

    /// The same, taking connections over TLS only.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_with_tls() -> Self {
        Self::start_as(|folder| Some(Certificate::issue(folder)))
    }

    fn start_as(certificate: impl FnOnce(&Path) -> Option<Certificate>) -> Self {
        let folder = tempfile::Builder::new().prefix("bulkhead-mariadb-").tempdir().expect("a folder");
        let certificate = certificate(folder.path());
        let mut mariadb = Self { folder, port: 0, certificate, server: None };
        mariadb.initialise();
        // Another process may take the port between the choice and the start.
        for _ in 0..5 {
            mariadb.port = free_port();
            if mariadb.launch().is_ok() {
                mariadb.sql_in(
                    "",
                    &format!(
                        "CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4;
                        CREATE USER {READER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';
                        GRANT SELECT ON {DATABASE}.* TO {READER}@'127.0.0.1'"
                    ),
                );
                return mariadb;
            }
        }
        panic!("MariaDB does not start:\n{}", mariadb.log());
    }

    /// The reader's URL, password included.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(self.port)
    }

    /// The same behind another port.
    #[must_use]
    pub fn url_at(&self, port: u16) -> String {
        let tls = match &self.certificate {
            Some(certificate) => {
                format!("VERIFY_IDENTITY&ssl-ca={}", certificate.authority.display())
            }
            None => "DISABLED".to_owned(),
        };
        format!("mysql://{READER}:{PASSWORD}@127.0.0.1:{port}/{DATABASE}?ssl-mode={tls}")
    }

    /// The password in the URL.
    #[must_use]
    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    /// The server's TCP port on 127.0.0.1; it stays the same across restarts.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Runs SQL as the owner; the rows as text, a line a row, columns separated by tabs.
    ///
    /// # Panics
    /// When the server refuses it.
    pub fn sql(&self, script: &str) -> String {
        self.sql_in(DATABASE, script)
    }

    /// Runs a statement as the owner and keeps its session until the guard is dropped.
    ///
    /// # Panics
    /// When the client does not start.
    #[must_use]
    pub fn hold(&self, statement: &str) -> Held {
        let mut client = self.client(DATABASE);
        client.args(["--execute", &format!("{statement}; SELECT 'held'; SELECT SLEEP(600)")]);
        let child = client.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("mariadb runs");
        Held(child)
    }

    /// Stops the server: open connections are closed, committed data is kept.
    pub fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            end(server, "TERM");
        }
    }

    /// Starts a stopped server again, on the same port.
    ///
    /// # Panics
    /// When it does not start; the text holds its log.
    pub fn restart(&mut self) {
        self.stop();
        if let Err(reason) = self.launch() {
            panic!("MariaDB does not start again: {reason}\n{}", self.log());
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The owner is the user who runs the tests, known by the socket.
    fn initialise(&self) {
        let output = Command::new(program("mariadb-install-db"))
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
            .arg(format!("--datadir={}", self.data().display()))
            .args(user())
            // Names of temporary tables are those of others that start at the same time.
            .env("TMPDIR", self.folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("MariaDB is installed: apt-get install mariadb-server");
        assert!(output.status.success(), "mariadb-install-db: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn launch(&mut self) -> Result<(), String> {
        let log = fs::File::create(self.folder.path().join("log")).map_err(|error| error.to_string())?;
        let server = Command::new(program("mariadbd"))
            .args(["--no-defaults", "--bind-address=127.0.0.1", "--innodb-flush-log-at-trx-commit=0"])
            .args(["--innodb-buffer-pool-size=64M", "--skip-name-resolve"])
            .args([format!("--datadir={}", self.data().display()), format!("--port={}", self.port)])
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--pid-file={}", self.folder.path().join("pid").display()))
            .args(self.certificate.iter().flat_map(|certificate| {
                [
                    "--require-secure-transport=ON".to_owned(),
                    format!("--ssl-cert={}", certificate.certificate.display()),
                    format!("--ssl-key={}", certificate.key.display()),
                ]
            }))
            .args(user())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|error| error.to_string())?;
        let answers = || {
            let asked = self.client("").args(["--execute", "SELECT 1"]).output();
            asked.is_ok_and(|output| output.status.success())
        };
        self.server = Some(until_ready(server, answers)?);
        Ok(())
    }

    fn sql_in(&self, database: &str, script: &str) -> String {
        let output = self.client(database).args(["--execute", script]).output().expect("mariadb runs");
        assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn client(&self, database: &str) -> Command {
        let mut command = Command::new(program("mariadb"));
        command
            .args(["--no-defaults", "--batch", "--skip-column-names", "--user=root"])
            .arg(format!("--socket={}", self.socket().display()))
            .stdin(Stdio::null());
        if !database.is_empty() {
            command.arg(database);
        }
        command
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            kill(&mut server);
        }
    }
}

/// A session that stays open until this is dropped.
pub struct Held(Child);

impl Drop for Held {
    fn drop(&mut self) {
        kill(&mut self.0);
    }
}

/// As root the server needs an option to run as root.
fn user() -> Option<&'static str> {
    rustix::process::geteuid().is_root().then_some("--user=root")
}

/// Debian keeps the server out of an ordinary user's `PATH`.
fn program(name: &str) -> PathBuf {
    let folders = ["/usr/sbin", "/usr/bin"].map(Path::new);
    let found = folders.into_iter().map(|folder| folder.join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is missing: apt-get install mariadb-server"))
}
