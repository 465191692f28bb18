//! What the commands of the binary do and say.

mod bundle;
mod captcha_import;
mod captcha_sites;
mod command_line;
mod doctor;
mod environment;
mod health;
mod inspect;
mod manual;
mod models;
pub mod operate;
