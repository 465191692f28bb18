//! Crashes, disks and databases that fail, and hosts that share what they should not.

mod address_space;
mod crash;
pub mod full_disk;
mod outage;
mod power_cut;
mod read_only;
mod shared_folder;
mod shared_state;
mod swap_crash;
