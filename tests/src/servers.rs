//! Servers that tests need, each on a port and in a folder of its own.

pub mod mariadb;
pub mod postgres;
