//! `bulkhead demo`: makes up data for demonstrations.

use std::path::PathBuf;

use bulkhead_appointments::{Clock, DatabaseLocation, Demo};
use bulkhead_cli::{Configuration, make_data_folder, output};
use bulkhead_config::{Flag, HostSpec};
use bulkhead_service::ServiceCommand;
use clap::Parser;

use crate::config::{AppointmentDatabase, StatusSettings, embedded_appointments};

/// Make up data to try services with.
#[derive(Debug, Parser)]
#[command(name = "demo")]
pub(super) enum Command {
    /// Make up an appointment system's database: bookings, bookable times, mails and users.
    Appointments {
        #[command(flatten)]
        configuration: Configuration,
        /// How many appointments.
        #[arg(long, value_name = "N", default_value_t = 5000)]
        rows: u32,
        /// Seed of the random data; the same seed at the same time gives the same rows.
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        /// The SQLite file to make [default: appointments.sqlite in the data folder, which `serve` reads].
        #[arg(long, value_name = "FILE", conflicts_with = "database")]
        file: Option<PathBuf>,
        /// The database to fill instead, as in `status.database`: a URL with mysql:// or postgres:// of a user who may
        /// create tables, sqlite:PATH, or file:PATH of a file that holds one of them.
        #[arg(long, value_name = "URL")]
        database: Option<String>,
        /// Folder for databases, generated secrets and compiled code.
        #[arg(long, value_name = "FOLDER")]
        data_dir: Option<PathBuf>,
    },
}

impl ServiceCommand for Command {
    fn run(self, spec: &HostSpec) -> anyhow::Result<()> {
        let Self::Appointments { configuration, rows, seed, file, database, data_dir } = self;
        let flag =
            |name: &str, path: &str, value: String| Flag { name: name.into(), path: path.into(), value };
        let folder = data_dir.map(|folder| flag("--data-dir", "data_dir", folder.display().to_string()));
        // A configured database is never written to.
        let is_named = database.is_some();
        let database = database.map(|url| flag("--database", "status.database", url));
        let config = configuration.load(spec, folder.into_iter().chain(database).collect())?.config;
        let status: &StatusSettings = config.table()?;
        let location = match &status.database {
            _ if !is_named => {
                DatabaseLocation::Sqlite(file.unwrap_or_else(|| embedded_appointments(&config)))
            }
            AppointmentDatabase::Embedded => DatabaseLocation::Sqlite(embedded_appointments(&config)),
            AppointmentDatabase::Sqlite(path) => DatabaseLocation::Sqlite(path.clone()),
            AppointmentDatabase::MariaDb(url) => DatabaseLocation::MariaDb(url.expose().to_owned()),
            AppointmentDatabase::Postgres(url) => DatabaseLocation::Postgres(url.expose().to_owned()),
        };
        if matches!(&location, DatabaseLocation::Sqlite(file) if file.starts_with(&config.data_dir)) {
            make_data_folder(&config.data_dir)?;
        }
        let clock = Clock::new(&status.time_zone)
            .ok_or_else(|| anyhow::anyhow!("status.time_zone names no time zone"))?;
        let demo = Demo { rows, seed, now: Clock::now(), clock };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(demo.create(&location))?;
        // Not the URL, which may hold a password.
        let filled = match &location {
            DatabaseLocation::Sqlite(file) => file.display().to_string(),
            DatabaseLocation::MariaDb(_) | DatabaseLocation::Postgres(_) => "the database".to_owned(),
        };
        Ok(output::line(format_args!("{rows} appointments in {filled}"))?)
    }
}
