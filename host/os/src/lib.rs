//! Access to the operating system: files that are written completely or not at all, the data folder, the time, random ids,
//! limits of control groups, priorities of threads, and the service manager.

pub mod cgroup;
pub mod clock;
pub mod damaged_files;
pub mod data_folder;
pub mod files;
pub mod ids;
pub mod priority;
pub mod systemd;
