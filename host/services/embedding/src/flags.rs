//! Flags of `serve` for the embedding service, with their names in the embedding server that Bulkhead replaces.

mod tei;

use bulkhead_config::Flag;
use bulkhead_service::ServiceFlags;
use clap::Args;

use self::tei::TeiFlags;

/// Flags that set keys of the embedding service.
#[derive(Debug, Args)]
#[command(next_help_heading = "Embedding")]
pub(super) struct Flags {
    /// A model's id or folder; repeatable, or a list with commas. The first is the default.
    #[arg(long, alias = "model-id", value_name = "MODEL", value_delimiter = ',')]
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
    /// Most texts of a request [default: 2048].
    #[arg(long, alias = "max-client-batch-size", value_name = "TEXTS")]
    max_batch_size: Option<usize>,
    /// Most tokens of a text [default: the model's own].
    #[arg(long, value_name = "TOKENS")]
    max_input_length: Option<usize>,
    /// A key that callers must send as a bearer token; repeatable, or file:PATH with a key a line.
    #[arg(long, value_name = "KEY", hide_env_values = true)]
    api_key: Vec<String>,
    /// Time limit of a request, its wait included [default: 30].
    #[arg(long, value_name = "SECONDS")]
    request_timeout_seconds: Option<u64>,
    /// Read text-embeddings-inference's environment variables, such as MODEL_ID, for keys that are not set.
    #[arg(long)]
    tei_env: bool,
    #[command(flatten)]
    tei: TeiFlags,
    /// Use this instruction set [default: the best of the processor].
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
}

impl ServiceFlags for Flags {
    fn flags(&self) -> Vec<Flag> {
        let one = |name: &str, path: &str, value: Option<String>| {
            value.map(|value| Flag { name: name.into(), path: path.into(), value })
        };
        let list = |values: &[String]| (!values.is_empty()).then(|| values.join(","));
        let text = |number: Option<usize>| number.map(|number| number.to_string());
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
        ];
        let tei_env = self.tei_env.then(|| Flag {
            name: "--tei-env".into(),
            path: "embedding.tei_env".into(),
            value: "true".into(),
        });
        keys.chain(others.into_iter().flatten()).chain(tei_env).chain(self.tei.flags()).collect()
    }
}
