//! Flags of the replaced embedding server, under their names there.

use std::{
    net::{IpAddr, ToSocketAddrs},
    path::PathBuf,
};

use clap::Args;

use crate::config::Flag;

/// Flags of `bulkhead serve` that concern the embedding service, and the old server's names for the shared listener.
#[derive(Debug, Args)]
#[command(next_help_heading = "Embedding")]
pub(super) struct Flags {
    /// A model's id or folder; repeatable, or a list with commas. The first is the default.
    #[arg(long, value_name = "MODEL", value_delimiter = ',')]
    model: Vec<String>,
    /// The model of `/embed` and `/info`, one of --model.
    #[arg(long, value_name = "MODEL")]
    default_model: Option<String>,
    /// A model's name in `/tei/{model_id}`; repeatable, or a list with commas.
    #[arg(long, value_name = "MODEL=ALIAS", value_delimiter = ',')]
    model_alias: Vec<String>,
    /// `owned_by` of every model [default: minishlab].
    #[arg(long, value_name = "NAME")]
    model_owner: Option<String>,
    /// Most texts of a request [default: 256].
    #[arg(long, value_name = "TEXTS")]
    max_batch_size: Option<usize>,
    /// Most tokens of a text [default: the model's own].
    #[arg(long, value_name = "TOKENS")]
    max_input_length: Option<usize>,
    /// A key that callers must send as a bearer token; repeatable, or file:PATH with a key a line.
    #[arg(long, value_name = "KEY", hide_env_values = true)]
    api_key: Vec<String>,
    /// Time for waiting and computing [default: 30].
    #[arg(long, value_name = "SECONDS")]
    request_timeout_seconds: Option<u64>,
    /// Forces an instruction set [default: the best of the processor].
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Host name or address of the shared listener, beside --listen.
    #[arg(long, value_name = "HOST", value_parser = resolve, conflicts_with = "listen")]
    host: Option<IpAddr>,
    /// Port of the shared listener, beside --listen.
    #[arg(long, value_name = "PORT", conflicts_with = "listen")]
    port: Option<u16>,
    /// Certificate chain of the public listeners, a PEM file; a new one is taken up without a restart.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate, a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

fn resolve(host: &str) -> Result<IpAddr, String> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = (bare, 0).to_socket_addrs().map_err(|error| error.to_string())?.next();
    found.map(|address| address.ip()).ok_or_else(|| "has no address".to_owned())
}

impl Flags {
    pub(super) fn flags(&self) -> Vec<Flag> {
        let one = |name: &str, path: &str, value: Option<String>| {
            value.map(|value| Flag { name: name.into(), path: path.into(), value })
        };
        let list = |values: &[String]| (!values.is_empty()).then(|| values.join(","));
        let text = |number: Option<usize>| number.map(|number| number.to_string());
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let keys = self.api_key.iter().enumerate().map(|(index, key)| Flag {
            name: "--api-key".into(),
            path: format!("embedding.api_keys.{index}"),
            value: key.clone(),
        });
        let others = [
            one("--model", "embedding.models", list(&self.model)),
            one("--model-alias", "embedding.aliases", list(&self.model_alias)),
            one("--default-model", "embedding.default_model", self.default_model.clone()),
            one("--model-owner", "embedding.model_owner", self.model_owner.clone()),
            one("--max-batch-size", "embedding.max_batch_size", text(self.max_batch_size)),
            one("--max-input-length", "embedding.max_input_length", text(self.max_input_length)),
            one(
                "--request-timeout-seconds",
                "embedding.request_timeout_seconds",
                self.request_timeout_seconds.map(|seconds| seconds.to_string()),
            ),
            one("--kernel", "embedding.kernel", self.kernel.clone()),
            one("--host", "server.listen.host", self.host.map(|host| host.to_string())),
            one("--port", "server.listen.port", self.port.map(|port| port.to_string())),
            one("--tls-cert", "server.tls.cert", path(&self.tls_cert)),
            one("--tls-key", "server.tls.key", path(&self.tls_key)),
        ];
        keys.chain(others.into_iter().flatten()).collect()
    }
}
