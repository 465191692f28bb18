//! `bulkhead man`: writes the manual pages, which are made of the help of the commands.

use std::{fs, path::PathBuf};

use anyhow::Context as _;
use clap::Args;

use crate::distribution::Distribution;

/// `bulkhead man`.
#[derive(Debug, Args)]
pub(super) struct ManualArgs {
    /// The folder that the pages are written to, such as `man1`. It is made if only it is missing.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

impl ManualArgs {
    pub(super) fn run(self, distribution: &Distribution) -> anyhow::Result<()> {
        let Self { folder } = self;
        let cannot = || format!("cannot write manual pages to {}", folder.display());
        anyhow::ensure!(folder.is_dir() || !folder.exists(), "{} is a file; name a folder", folder.display());
        if !folder.is_dir() {
            fs::create_dir(&folder).with_context(cannot)?;
        }
        clap_mangen::generate_to(super::command(distribution), &folder).with_context(cannot)
    }
}
