//! Limits that the control groups of a process set, in both versions of control groups.

use std::{fs, path::Path};

/// Where control groups are mounted.
const MOUNT: &str = "/sys/fs/cgroup";
/// A version 1 control group without a limit shows a number near this.
const NO_LIMIT: u64 = 1 << 62;

/// A limited resource.
#[derive(Clone, Copy, Debug)]
pub struct LimitedResource {
    /// The controller of version 1.
    controller: &'static str,
    /// The file of version 2.
    file: &'static str,
    /// The file of version 1.
    old_file: &'static str,
}

/// Memory, bytes.
pub const MEMORY: LimitedResource =
    LimitedResource { controller: "memory", file: "memory.max", old_file: "memory.limit_in_bytes" };
/// Processes and threads.
pub const PROCESSES: LimitedResource =
    LimitedResource { controller: "pids", file: "pids.max", old_file: "pids.max" };

/// Returns the lowest limit that a control group of this process sets, or one above it.
pub fn lowest_limit(resource: LimitedResource) -> Option<u64> {
    lowest_limit_of("self", resource)
}

/// Returns the same of another process, given its id. `None` also where its control groups cannot be read.
pub fn lowest_limit_of(process: &str, resource: LimitedResource) -> Option<u64> {
    lowest(Path::new(MOUNT), &fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?, resource)
}

/// Returns the same, given the text of `/proc/PID/cgroup`: a line for each hierarchy, with its number, its controllers
/// (version 2 names no controller) and the path of the group.
fn lowest(mount: &Path, groups: &str, resource: LimitedResource) -> Option<u64> {
    let of_hierarchy = |line: &str| {
        let [_, controllers, group] = line.splitn(3, ':').collect::<Vec<_>>()[..] else { return None };
        let (top, file) = match controllers {
            "" => (mount.to_owned(), resource.file),
            some if some.split(',').any(|one| one == resource.controller) => {
                (mount.join(resource.controller), resource.old_file)
            }
            _ => return None,
        };
        let group = top.join(group.trim_start_matches('/'));
        let groups = group.ancestors().take_while(|folder| folder.starts_with(&top));
        let limit = |folder: &Path| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
        groups.filter_map(limit).filter(|limit| *limit < NO_LIMIT).min()
    };
    groups.lines().filter_map(of_hierarchy).min()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tempfile::TempDir;

    use super::*;

    /// Returns a mount with these files.
    fn mount(files: &[(&str, &str)]) -> TempDir {
        let mount = TempDir::new().unwrap();
        for (file, text) in files {
            let file = mount.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        mount
    }

    #[test]
    fn group_above_may_be_lower() {
        let mount = mount(&[
            ("memory.max", "1000\n"),
            ("a.slice/memory.max", "500\n"),
            ("a.slice/b.service/memory.max", "max\n"),
            ("c/memory.max", "7\n"),
        ]);
        for (group, limit) in
            [("/a.slice/b.service", 500), ("/a.slice", 500), ("/", 1000), ("/../else", 1000)]
        {
            assert_eq!(lowest(mount.path(), &format!("0::{group}\n"), MEMORY), Some(limit), "{group}");
        }
        assert_eq!(lowest(mount.path(), "0::/a.slice\n", PROCESSES), None);
    }

    #[test]
    fn old_hierarchies_are_read_by_controller() {
        let mount = mount(&[
            ("memory/job/memory.limit_in_bytes", "300\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("pids/job/pids.max", "20\n"),
        ]);
        let groups = "8:pids:/job\n4:cpu,memory:/job\n0::/\n";
        assert_eq!(lowest(mount.path(), groups, MEMORY), Some(300));
        assert_eq!(lowest(mount.path(), groups, PROCESSES), Some(20));
        assert_eq!(lowest(mount.path(), "4:memory:/\n", MEMORY), None);
    }
}
