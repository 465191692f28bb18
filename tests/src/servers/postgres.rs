//! A PostgreSQL server.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

use super::{PASSWORD, end, free_port, signal, tls::Certificate, until_ready};

/// Where Debian's packages put one folder a version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The database's user and owner.
const USER: &str = "bulkhead";

/// A running server with one empty database. Dropping it kills the server and removes its folder.
pub struct Postgres {
    programs: PathBuf,
    folder: TempDir,
    owner: Option<Owner>,
    port: u16,
    certificate: Option<Certificate>,
    server: Option<Child>,
}

/// The unprivileged user that the server runs under, since it refuses to run as root.
#[derive(Clone, Copy)]
struct Owner {
    uid: u32,
    gid: u32,
}

impl Postgres {
    /// Starts a server with a fresh data folder.
    ///
    /// # Panics
    /// When PostgreSQL is not installed or does not start; the text holds its log.
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
        let owner = Owner::find();
        let folder = tempfile::Builder::new().prefix("bulkhead-postgres-").tempdir().expect("a folder");
        if let Some(owner) = owner {
            chown(folder.path(), Some(owner.uid), Some(owner.gid)).expect("the folder's owner can be set");
        }
        let certificate = certificate(folder.path());
        let mut postgres = Self { programs: programs(), folder, owner, port: 0, certificate, server: None };
        postgres.initialise();
        if let Some(certificate) = &postgres.certificate {
            postgres.demand_tls(certificate);
        }
        // Another process may take the port between the choice and the start.
        for _ in 0..5 {
            postgres.port = free_port();
            if postgres.launch().is_ok() {
                return postgres;
            }
        }
        panic!("PostgreSQL does not start:\n{}", postgres.log());
    }

    /// The database's URL, password included.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(self.port)
    }

    /// The same behind another port.
    #[must_use]
    pub fn url_at(&self, port: u16) -> String {
        let tls = match &self.certificate {
            Some(certificate) => {
                format!("?sslmode=verify-full&sslrootcert={}", certificate.authority.display())
            }
            None => String::new(),
        };
        format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{port}/postgres{tls}")
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

    /// Runs SQL; the rows as text, a line a row, columns separated by `|`.
    ///
    /// # Panics
    /// When the server refuses it.
    pub fn sql(&self, script: &str) -> String {
        let output = self.psql(script).output().expect("psql runs");
        assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Stops the server: open connections are closed, committed data is kept.
    pub fn stop(&mut self) {
        self.end("INT");
    }

    /// Kills the server as a crash would.
    pub fn crash(&mut self) {
        self.end("QUIT");
    }

    /// Starts a stopped server again, on the same port; stops a running one before.
    ///
    /// # Panics
    /// When it does not start; the text holds its log.
    pub fn restart(&mut self) {
        self.stop();
        if let Err(reason) = self.launch() {
            panic!("PostgreSQL does not start again: {reason}\n{}", self.log());
        }
    }

    /// Halts the server without closing a connection, as a network that swallows packets would.
    pub fn freeze(&self) {
        self.signal_all("STOP");
    }

    /// Lets a halted server go on.
    pub fn thaw(&self) {
        self.signal_all("CONT");
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        // The client looks for certificates at home, which is not its user's.
        command.current_dir(self.folder.path()).env("HOME", self.folder.path()).stdin(Stdio::null());
        if let Some(owner) = self.owner {
            command.uid(owner.uid).gid(owner.gid);
        }
        command
    }

    fn initialise(&self) {
        let password = self.folder.path().join("password");
        let mut file = fs::File::create(&password).expect("a password file");
        file.write_all(PASSWORD.as_bytes()).expect("a password file");
        let output = self
            .program("initdb")
            .args(["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"])
            .arg(format!("--username={USER}"))
            .arg(format!("--pwfile={}", password.display()))
            .arg("--pgdata")
            .arg(self.data())
            .output()
            .expect("initdb runs");
        assert!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// The server takes a key only that belongs to it and that nobody else can read.
    fn demand_tls(&self, certificate: &Certificate) {
        if let Some(owner) = self.owner {
            chown(&certificate.key, Some(owner.uid), Some(owner.gid)).expect("the key's owner can be set");
        }
        fs::set_permissions(&certificate.key, fs::Permissions::from_mode(0o600)).expect("a private key");
        let access = self.data().join("pg_hba.conf");
        let rules = fs::read_to_string(&access).expect("initdb has written its rules");
        let rules = rules.lines().filter(|line| !line.starts_with("local"));
        let rules = rules.map(|line| line.replacen("host ", "hostssl ", 1) + "\n").collect::<String>();
        fs::write(access, rules).expect("the rules can be written");
    }

    fn launch(&mut self) -> Result<(), String> {
        let log = fs::File::create(self.folder.path().join("log")).map_err(|error| error.to_string())?;
        let server = self
            .program("postgres")
            .arg("-D")
            .arg(self.data())
            .arg("-k")
            .arg(self.folder.path())
            .args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
            .args(self.certificate.iter().flat_map(|certificate| {
                [
                    "--ssl=on".to_owned(),
                    format!("--ssl_cert_file={}", certificate.certificate.display()),
                    format!("--ssl_key_file={}", certificate.key.display()),
                ]
            }))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|error| error.to_string())?;
        let answers = || self.psql("SELECT 1").output().is_ok_and(|output| output.status.success());
        self.server = Some(until_ready(server, answers)?);
        Ok(())
    }

    fn psql(&self, script: &str) -> Command {
        let mut command = self.program("psql");
        command
            .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"])
            .args(["--host=127.0.0.1", "--dbname=postgres", "--command", script])
            .args([format!("--port={}", self.port), format!("--username={USER}")])
            .env("PGPASSWORD", PASSWORD)
            .env("PGCONNECT_TIMEOUT", "5");
        command
    }

    /// Sends a signal to the server and waits until it has ended.
    fn end(&mut self, name: &str) {
        self.thaw();
        if let Some(server) = self.server.take() {
            end(server, name);
        }
    }

    /// Sends a signal to the server and all its processes.
    fn signal_all(&self, name: &str) {
        let Some(server) = &self.server else { return };
        let mut processes = vec![server.id()];
        let children = format!("/proc/{0}/task/{0}/children", server.id());
        let children = fs::read_to_string(children).unwrap_or_default();
        processes.extend(children.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
        signal(name, &processes);
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.crash();
    }
}

impl Owner {
    /// None when this process is unprivileged itself.
    fn find() -> Option<Self> {
        if id("-u", None) != Some(0) {
            return None;
        }
        let user = Some("postgres");
        let owner = id("-u", user).zip(id("-g", user)).map(|(uid, gid)| Self { uid, gid });
        Some(owner.expect("user postgres exists: apt-get install postgresql"))
    }
}

fn id(what: &str, user: Option<&str>) -> Option<u32> {
    let output = Command::new("id").arg(what).args(user).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// The newest version's programs.
fn programs() -> PathBuf {
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|version| {
            Some((version.file_name().to_str()?.parse::<u32>().ok()?, version.path().join("bin")))
        })
        .filter(|(_, programs)| Path::new(&programs.join("postgres")).exists())
        .max();
    newest.map(|(_, programs)| programs).expect("PostgreSQL is installed: apt-get install postgresql")
}
