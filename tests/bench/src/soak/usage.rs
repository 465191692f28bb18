//! What a process takes of the machine.

use std::{fmt::Write as _, fs, path::Path, time::Duration};

/// What is sampled: resident memory in MiB but for mapped files, which the system can take back; open handles; threads;
/// files and folders in the data folder.
pub const NAMES: [&str; 4] = ["memory", "handles", "threads", "files"];

/// One sample.
pub struct Usage {
    /// Since the first.
    pub seconds: f64,
    /// In the order of [`NAMES`].
    pub figures: [f64; NAMES.len()],
}

impl Usage {
    /// Of a process and its data folder.
    pub fn of(process: u32, data: &Path, since: Duration) -> Self {
        let folder = Path::new("/proc").join(process.to_string());
        let status = fs::read_to_string(folder.join("status")).expect("the host runs");
        let number = |name: &str| -> f64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
        };
        let memory = (number("RssAnon") + number("RssShmem") + number("VmSwap")) / 1024.0;
        let handles = fs::read_dir(folder.join("fd")).unwrap().count() as f64;
        Self {
            seconds: since.as_secs_f64(),
            figures: [memory, handles, number("Threads"), entries(data) as f64],
        }
    }
}

/// Files and folders below a folder; what goes away meanwhile is not counted.
fn entries(folder: &Path) -> usize {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    let below = |path: &Path| if path.is_dir() && !path.is_symlink() { entries(path) } else { 0 };
    found.map(|entry| 1 + below(&entry.path())).sum()
}

/// The samples, a line each.
pub fn csv(samples: &[Usage]) -> String {
    let mut text = format!("seconds,{}\n", NAMES.join(","));
    for Usage { seconds, figures: [memory, handles, threads, files] } in samples {
        let _ = writeln!(text, "{seconds:.1},{memory:.2},{handles},{threads},{files}");
    }
    text
}
