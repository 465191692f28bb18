//! Stubs: the interfaces of WASI that runtimes of languages import whether their programs call them or not, from
//! wasmtime-wasi with a context that allows nothing.
//!
//! There are no files, no sockets and no names to look up; standard input is closed; the variables of the environment are
//! the slot's `config`; [standard output and standard error](super::stdio) go to the slot's log; and a guest that exits
//! traps.

use wasmtime::component::{HasData, HasSelf, ResourceTable};
use wasmtime_wasi::{
    WasiCtx,
    cli::{WasiCli, WasiCliCtxView},
    filesystem::{WasiFilesystem, WasiFilesystemCtxView},
    p2::bindings::{
        cli::{self, environment, exit},
        filesystem, sockets,
    },
    sockets::{WasiSockets, WasiSocketsCtxView},
};
use wasmtime_wasi_io::bindings::wasi::io;

use super::{Capabilities, StoreData, Stub, http_stub};

/// The version of all stubs.
const VERSION: &str = "0.2.12";

/// Returns a stub: its name, the module of its bindings, the type of its data, and where its data are.
macro_rules! stub {
    ($name:literal, $($module:ident)::+, $data:ty, $view:expr) => {
        Stub {
            name: $name,
            version: VERSION,
            add_to_linker: |instance| $($module)::+::add_to_linker_instance::<_, $data>(instance, $view),
        }
    };
}

/// Every stub.
pub(super) const STUBS: &[Stub] = &[
    stub!("wasi:cli/environment", cli::environment, HasSelf<Capabilities>, |guest| &mut guest.capabilities),
    stub!("wasi:cli/exit", cli::exit, HasSelf<Capabilities>, |guest| &mut guest.capabilities),
    stub!("wasi:cli/stdin", cli::stdin, WasiCli, command),
    stub!("wasi:cli/stdout", cli::stdout, HasSelf<Capabilities>, |guest| &mut guest.capabilities),
    stub!("wasi:cli/stderr", cli::stderr, HasSelf<Capabilities>, |guest| &mut guest.capabilities),
    stub!("wasi:cli/terminal-input", cli::terminal_input, WasiCli, command),
    stub!("wasi:cli/terminal-output", cli::terminal_output, WasiCli, command),
    stub!("wasi:cli/terminal-stdin", cli::terminal_stdin, WasiCli, command),
    stub!("wasi:cli/terminal-stdout", cli::terminal_stdout, WasiCli, command),
    stub!("wasi:cli/terminal-stderr", cli::terminal_stderr, WasiCli, command),
    stub!("wasi:filesystem/types", filesystem::types, WasiFilesystem, files),
    stub!("wasi:filesystem/preopens", filesystem::preopens, WasiFilesystem, files),
    http_stub::OUTGOING_HANDLER,
    http_stub::TYPES,
    stub!("wasi:io/error", io::error, Streams, table),
    stub!("wasi:io/streams", io::streams, Streams, table),
    Stub {
        name: "wasi:sockets/network",
        version: VERSION,
        add_to_linker: |instance| {
            let stable = sockets::network::LinkOptions::default();
            sockets::network::add_to_linker_instance::<_, WasiSockets>(instance, &stable, network)
        },
    },
    stub!("wasi:sockets/instance-network", sockets::instance_network, WasiSockets, network),
    stub!("wasi:sockets/ip-name-lookup", sockets::ip_name_lookup, WasiSockets, network),
    stub!("wasi:sockets/tcp", sockets::tcp, WasiSockets, network),
    stub!("wasi:sockets/tcp-create-socket", sockets::tcp_create_socket, WasiSockets, network),
    stub!("wasi:sockets/udp", sockets::udp, WasiSockets, network),
    stub!("wasi:sockets/udp-create-socket", sockets::udp_create_socket, WasiSockets, network),
];

/// Returns the context of a store, which is created on first use, and its table.
fn context(guest: &mut StoreData) -> (&mut WasiCtx, &mut ResourceTable) {
    let Capabilities { stubs, table, .. } = &mut guest.capabilities;
    let context: &mut WasiCtx = stubs.get_or_insert_with(|| Box::new(nothing()));
    (context, table)
}

/// Returns a context that allows nothing.
fn nothing() -> WasiCtx {
    WasiCtx::builder().allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false).build()
}

fn command(guest: &mut StoreData) -> WasiCliCtxView<'_> {
    let (context, table) = context(guest);
    WasiCliCtxView { ctx: context.cli(), table }
}

fn files(guest: &mut StoreData) -> WasiFilesystemCtxView<'_> {
    let (context, table) = context(guest);
    WasiFilesystemCtxView { ctx: context.filesystem(), table }
}

fn network(guest: &mut StoreData) -> WasiSocketsCtxView<'_> {
    let (context, table) = context(guest);
    WasiSocketsCtxView { ctx: context.sockets(), table }
}

const fn table(guest: &mut StoreData) -> &mut ResourceTable {
    &mut guest.capabilities.table
}

struct Streams;

impl HasData for Streams {
    type Data<'a> = &'a mut ResourceTable;
}

impl environment::Host for Capabilities {
    fn get_environment(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(self.settings.config.clone().into_iter().collect())
    }

    fn get_arguments(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn initial_cwd(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(None)
    }
}

/// The trap of a guest that exits.
#[derive(Debug, thiserror::Error)]
#[error("the component exited with code {0} before it returned")]
struct Exited(u8);

impl exit::Host for Capabilities {
    fn exit(&mut self, status: Result<(), ()>) -> wasmtime::Result<()> {
        Err(Exited(u8::from(status.is_err())).into())
    }

    fn exit_with_code(&mut self, status_code: u8) -> wasmtime::Result<()> {
        Err(Exited(status_code).into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_config::slots::{Limits, SlotId, SlotSpec};
    use wasmtime::{Engine, component::Linker};

    use super::*;
    use crate::capabilities::general;

    #[test]
    fn stubs_are_linked_beside_what_is_offered() {
        let slot = SlotSpec {
            id: SlotId::new("slot"),
            service: "service",
            limits: &Limits::DEFAULT,
            grants: &["bulkhead:host/keys"],
            uses_models: false,
            component: None,
        };
        let mut linker = Linker::new(&Engine::default());
        general().add_to_linker(&mut linker, &slot, &[]).unwrap();
        for stub in general().stubs() {
            assert!(general().find(stub.name).is_none(), "{stub:?} is offered otherwise");
        }
    }

    #[test]
    fn exit_says_its_code() {
        let said = wasmtime::Error::from(Exited(3)).to_string();
        assert_eq!(said, "the component exited with code 3 before it returned");
    }
}
