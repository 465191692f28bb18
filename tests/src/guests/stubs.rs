//! The interfaces of WASI that the host offers as stubs, as far as guests in WebAssembly text use them, and of older
//! versions than the host's.

use wit_parser::Resolve;

const CLI: &str = "
    package wasi:cli@0.2.0;
    interface environment {
        get-environment: func() -> list<tuple<string, string>>;
        get-arguments: func() -> list<string>;
        initial-cwd: func() -> option<string>;
    }
    interface exit {
        exit: func(status: result);
    }
    interface stdin {
        use wasi:io/streams@IO.{input-stream};
        get-stdin: func() -> input-stream;
    }
    interface stdout {
        use wasi:io/streams@IO.{output-stream};
        get-stdout: func() -> output-stream;
    }
    interface stderr {
        use wasi:io/streams@IO.{output-stream};
        get-stderr: func() -> output-stream;
    }
    interface terminal-output {
        resource terminal-output;
    }
    interface terminal-stdout {
        use terminal-output.{terminal-output};
        get-terminal-stdout: func() -> option<terminal-output>;
    }
";

const FILESYSTEM: &str = "
    package wasi:filesystem@0.2.3;
    interface types {
        resource descriptor;
    }
    interface preopens {
        use types.{descriptor};
        get-directories: func() -> list<tuple<descriptor, string>>;
    }
";

const SOCKETS: &str = "
    package wasi:sockets@0.2.3;
    interface network {
        enum error-code {
            unknown, access-denied, not-supported, invalid-argument, out-of-memory, timeout, concurrency-conflict,
            not-in-progress, would-block, invalid-state, new-socket-limit, address-not-bindable, address-in-use,
            remote-unreachable, connection-refused, connection-reset, connection-aborted, datagram-too-large,
            name-unresolvable, temporary-resolver-failure, permanent-resolver-failure,
        }
        enum ip-address-family { ipv4, ipv6 }
    }
    interface tcp {
        resource tcp-socket;
    }
    interface tcp-create-socket {
        use network.{error-code, ip-address-family};
        use tcp.{tcp-socket};
        create-tcp-socket: func(address-family: ip-address-family) -> result<tcp-socket, error-code>;
    }
";

/// Adds the packages to a resolve that has `wasi:io`, of whatever version.
pub fn push(resolve: &mut Resolve) {
    let mut names = resolve.packages.iter().map(|(_, package)| &package.name);
    let io = names.find(|name| name.namespace == "wasi" && name.name == "io").unwrap();
    let version = io.version.as_ref().unwrap().to_string();
    for (file, text) in [("cli.wit", CLI), ("filesystem.wit", FILESYSTEM), ("sockets.wit", SOCKETS)] {
        resolve.push_str(file, &text.replace("@IO", &format!("@{version}"))).unwrap();
    }
}
