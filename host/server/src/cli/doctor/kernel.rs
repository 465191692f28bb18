//! What a host needs of the kernel.

use std::fs::File;

use bulkhead_service::MachineFinding;
use rustix::{
    fs::{MemfdFlags, inotify, memfd_create},
    system::uname,
};

/// What a finding about the kernel is called.
pub(super) const CHECK: &str = "kernel";
/// The host's own program, which compiles components in a process of its own.
const PROGRAM: &str = "/proc/self/exe";

/// Checks what is used in any configuration.
pub(super) fn examine() -> Vec<MachineFinding> {
    let mut found = Vec::new();
    if let Err(error) = File::open(PROGRAM) {
        let text =
            format!("{PROGRAM} cannot be read, so that no component is compiled: {error}; mount /proc");
        found.push(MachineFinding::failure(CHECK, text));
    }
    if let Err(error) = memfd_create("bulkhead-doctor", MemfdFlags::CLOEXEC) {
        let text = format!(
            "memfd_create is refused, which components' memories are made with: {error}; allow the call in the sandbox of \
             the host"
        );
        found.push(MachineFinding::failure(CHECK, text));
    }
    if let Err(error) = inotify::init(inotify::CreateFlags::CLOEXEC) {
        let text = format!(
            "folders of components cannot be watched: {error}; raise fs.inotify.max_user_instances, or allow inotify_init1 \
             in the sandbox of the host"
        );
        found.push(MachineFinding::warning(CHECK, text));
    }
    if found.is_empty() {
        let release = uname().release().to_string_lossy().into_owned();
        found.push(MachineFinding::fine(CHECK, format!("Linux {release} has what a host needs")));
    }
    found
}

#[cfg(test)]
mod tests {
    use bulkhead_service::Severity;

    use super::*;

    #[test]
    fn kernel_of_tests_is_fine() {
        let found = examine();
        assert_eq!(found.iter().map(|finding| finding.severity).max(), Some(Severity::Fine), "{found:?}");
    }
}
