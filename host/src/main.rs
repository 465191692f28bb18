//! The `bulkhead` binary: the platform with its four services.

use std::process::ExitCode;

use bulkhead::services::list::BULKHEAD;
use bulkhead_server::cli;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    cli::run(&BULKHEAD)
}
