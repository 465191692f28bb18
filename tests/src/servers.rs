//! Servers that tests need, each on a port and in a folder of its own.

pub mod fake_registry;
pub mod llm;
pub mod mariadb;
pub mod postgres;
pub mod proxy;
pub mod registry;
pub mod tls;

use std::net::{Ipv4Addr, TcpListener};

/// The password of every server's user: a text that must never turn up in a log or an answer.
const PASSWORD: &str = "do-not-print-me";

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("the listener's address").port()
}
