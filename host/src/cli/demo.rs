use std::path::PathBuf;

use clap::Subcommand;

use super::{Configuration, output};
use crate::{
    appointments::{Clock, Demo},
    config::Flag,
};

/// `bulkhead demo`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make up an appointment system's database, in SQLite: bookings, bookable times, mails and users.
    Appointments {
        #[command(flatten)]
        configuration: Configuration,
        /// Appointments.
        #[arg(long, value_name = "N", default_value_t = 5000)]
        rows: u32,
        /// The same seed at the same time gives the same rows.
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        /// The file to make [default: appointments.sqlite in the data folder, which `serve` reads].
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Folder for databases, generated secrets and compiled code.
        #[arg(long, value_name = "FOLDER")]
        data_dir: Option<PathBuf>,
    },
}

impl Command {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let Self::Appointments { configuration, rows, seed, file, data_dir } = self;
        let folder = data_dir.map(|folder| Flag {
            name: "--data-dir".into(),
            path: "data_dir".into(),
            value: folder.display().to_string(),
        });
        let config = configuration.load(folder.into_iter().collect())?.config;
        let file = file.unwrap_or_else(|| config.embedded_appointments());
        let clock = Clock::new(&config.status.time_zone)
            .ok_or_else(|| anyhow::anyhow!("status.time_zone names no time zone"))?;
        let demo = Demo { rows, seed, now: Clock::now(), clock };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(demo.create(&file))?;
        Ok(output::line(format_args!("{rows} appointments in {}", file.display()))?)
    }
}
