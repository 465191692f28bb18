//! Loads the configuration from layers in rising precedence: defaults, the TOML file, the replaced services' variables,
//! `BULKHEAD_*`, flags.

pub mod alias;
mod environment;
mod file;
mod host_spec;
mod reference;

use std::{
    collections::BTreeMap,
    env, fs, io,
    net::SocketAddr,
    path::{self, Path, PathBuf},
};

use bulkhead_os::{cgroup, files};

use super::{
    Config,
    problems::{Origin, Problem, Problems},
    reader::{
        Reader,
        tree::{self, Table},
    },
    registries,
    sandbox::Sandbox,
    server::{Admin, Log, Server},
    services::Services,
    sharing::Sharing,
    slots::Slots,
    tables::{Context, ReadBefore, ReadTables},
};
use alias::AliasLayer;
pub use host_spec::HostSpec;
pub use reference::reference;

/// The data folder of a host that runs as root.
const SYSTEM_DATA_DIR: &str = "/var/lib/bulkhead";

/// A configuration file.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// The name that problems show.
    pub name: String,
    /// Its TOML text.
    pub text: String,
}

/// A value from the command line.
#[derive(Clone, Debug)]
pub struct Flag {
    /// The flag as it is typed, such as `--listen`.
    pub name: String,
    /// The key it sets, in dotted form.
    pub path: String,
    /// The value as text.
    pub value: String,
}

/// Everything that a configuration is read from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The configuration file, if any.
    pub file: Option<ConfigFile>,
    /// Environment variables, all of them.
    pub environment: Vec<(String, String)>,
    /// Flags, later ones win.
    pub flags: Vec<Flag>,
    /// Whether the host runs as root, which decides where data goes by default.
    pub root: bool,
    /// Memory that a control group leaves to the host, bytes, if it limits memory. Some defaults are lower with little.
    pub memory: Option<u64>,
}

impl Sources {
    /// Returns the process's environment, and a file if one is named.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of_process(file: Option<&Path>, flags: Vec<Flag>) -> Result<Self, Problems> {
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        Ok(Self {
            file: file.map(ConfigFile::open).transpose()?,
            environment: env::vars_os().map(|(name, value)| (text(name), text(value))).collect(),
            flags,
            root: rustix::process::geteuid().is_root(),
            memory: cgroup::lowest_limit(cgroup::MEMORY),
        })
    }
}

impl ConfigFile {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: &Path) -> Result<Self, Problems> {
        Self::of(path, fs::read_to_string(path))
    }

    /// Reads a file that is to be changed, which must be a plain file because writing replaces it.
    ///
    /// # Errors
    /// When it cannot be read, or is not a plain file. Never waits for a pipe.
    pub fn open_plain(path: &Path) -> Result<Self, Problems> {
        Self::of(path, files::read_text(path))
    }

    fn of(path: &Path, read: io::Result<String>) -> Result<Self, Problems> {
        let name = path.display().to_string();
        match read {
            Ok(text) => Ok(Self { name, text }),
            Err(error) => {
                let origin = Origin::File { name: name.into(), line: 0 };
                let reason = match error.kind() {
                    io::ErrorKind::NotFound => "the file does not exist".to_owned(),
                    _ => format!("cannot be read: {error}"),
                };
                let text = format!("{reason}; check the path given with --config or BULKHEAD_CONFIG");
                Err(Problems::new(vec![Problem::new(origin, "", text)]))
            }
        }
    }
}

/// A valid configuration.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Warnings for the operator, sorted.
    pub warnings: Vec<Problem>,
    /// Keys that a layer has set, with digests of their values, because some are secrets.
    pub set: BTreeMap<String, [u8; 32]>,
}

/// Reads a configuration for a host with the services of `spec`.
///
/// # Errors
/// Every problem of all layers at once; in the file, a syntax error hides problems below it.
pub fn load(sources: Sources, spec: &HostSpec) -> Result<Loaded, Problems> {
    let Sources { file, mut environment, flags, root, memory } = sources;
    environment.sort();
    let (mut problems, mut warnings) = (Vec::new(), Vec::new());
    let names = spec.chosen_names();
    let read_file = |file: ConfigFile| file::read(&file.name, &file.text, &names, &mut problems);
    let mut tree = file.map_or_else(Table::new, read_file);
    environment::drop_service_links(&mut environment, &mut warnings);
    let layer = AliasLayer {
        tree: &mut tree,
        names: &names,
        environment: &environment,
        problems: &mut problems,
        warnings: &mut warnings,
    };
    alias::apply(layer, &spec.aliases);
    environment::apply(&mut tree, &names, &environment);
    for Flag { name, path, value } in &flags {
        match path.strip_prefix("server.listen.") {
            None => environment::apply_flag(&mut tree, name, path, value),
            Some(part) => {
                let origin = Origin::Flag(name.clone());
                problems.extend(alias::set_listen_part(&mut tree, origin, part, value));
            }
        }
    }
    let set = tree::digests(&tree, &spec.settings_files());
    let mut reader = Reader::new(tree);
    reader.memory = memory;
    let config = read(&mut reader, &DefaultDirs::new(root, &environment), &environment, spec);
    let broken = problems.iter().filter(|p| p.key.is_empty()).map(|p| p.origin.clone()).min();
    reader.problems.retain(|problem| is_reliable(problem, broken.as_ref()));
    problems.append(&mut reader.problems);
    warnings.append(&mut reader.warnings);
    if problems.is_empty() {
        warnings.sort();
        return Ok(Loaded { config, warnings, set });
    }
    Err(Problems::new(problems))
}

/// Returns whether a problem exists regardless of the file's first syntax error.
fn is_reliable(problem: &Problem, broken: Option<&Origin>) -> bool {
    match (&problem.origin, broken) {
        (Origin::File { .. }, Some(broken)) => problem.origin < *broken,
        _ => true,
    }
}

/// The default data folder, as the environment gives it.
#[derive(Default)]
struct DefaultDirs {
    data_dir: Option<PathBuf>,
}

impl DefaultDirs {
    fn new(root: bool, environment: &[(String, String)]) -> Self {
        let folder = |name: &str| {
            let found = environment.iter().find(|(known, _)| known == name)?;
            Some(PathBuf::from(&found.1)).filter(|path| path.is_absolute())
        };
        let home = || Some(folder("HOME")?.join(".local/share"));
        let user = || folder("XDG_DATA_HOME").or_else(home).map(|path| path.join("bulkhead"));
        Self { data_dir: if root { Some(PathBuf::from(SYSTEM_DATA_DIR)) } else { user() } }
    }
}

/// Reads every key.
fn read(
    reader: &mut Reader,
    dirs: &DefaultDirs,
    environment: &[(String, String)],
    spec: &HostSpec,
) -> Config {
    let data_dir = read_data_dir(reader, dirs);
    let demo = reader.key("demo", "Bring a demonstration site for every service").flag(false);
    let server = Server::read(reader);
    let admin = Admin::read(reader);
    let log = Log::read(reader);
    let sandbox = Sandbox::read(reader);
    let offers = spec.offers();
    let mut slots = Slots::read(reader, offers);
    let sharing = Sharing::read(reader);
    let registries = registries::read(reader);
    slots.check_registries(reader, &registries);
    let services = Services::read(reader, &spec.services);
    let read =
        ReadBefore { offers, server: &server, services: &services, registries: &registries, environment };
    let mut context = Context::new(read);
    for table in &spec.tables {
        table.read(reader, &mut context);
    }
    let ReadTables { tables, listeners: opened, slots: added } = context.finish();
    slots.set_added(added);
    let config = Config {
        data_dir,
        demo,
        server,
        admin,
        log,
        sandbox,
        slots,
        sharing,
        registries,
        services,
        tables,
        opened,
    };
    check_listeners(reader, &config);
    reader.finish();
    config
}

fn read_data_dir(reader: &mut Reader, dirs: &DefaultDirs) -> PathBuf {
    let written = reader
        .key("data_dir", "Folder for everything the host writes")
        .default_text("/var/lib/bulkhead as root, else $XDG_DATA_HOME/bulkhead")
        .path();
    let Some(folder) = written.or_else(|| dirs.data_dir.clone()) else {
        if !reader.is_set("data_dir") {
            reader.problem("data_dir", "has no default without HOME or XDG_DATA_HOME; set it");
        }
        return PathBuf::new();
    };
    path::absolute(&folder).unwrap_or_else(|error| {
        reader.problem("data_dir", format!("cannot be made absolute: {error}; give it absolute"));
        folder
    })
}

/// Rejects two listeners at one address, and an unprotected admin listener.
fn check_listeners(reader: &mut Reader, config: &Config) {
    let listeners = config.listeners();
    for (index, (key, address)) in listeners.iter().enumerate() {
        let earlier = listeners.iter().take(index).find(|(_, other)| clash(*other, *address));
        if let Some((other, _)) = earlier {
            let text = format!("{address} is taken by {other}; give one of them another port");
            reader.problem(key, text);
        }
    }
    let Config { server, admin, .. } = config;
    if !server.admin_listen.ip().is_loopback() && admin.tls.is_none() && !admin.allow_remote {
        let text = "is reachable from other machines; add admin.tls, or set admin.allow_remote = \
                    true if the network guards it";
        reader.problem("server.admin_listen", text);
    }
}

fn clash(a: SocketAddr, b: SocketAddr) -> bool {
    let everywhere = a.ip().is_unspecified() || b.ip().is_unspecified();
    a.port() != 0 && a.port() == b.port() && (a.ip() == b.ip() || everywhere)
}
