//! Flags of text-embeddings-inference: those that are understood set keys, the others are answered with what to use here.

use bulkhead_config::Flag;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, error::ErrorKind};

/// Flags that set a key.
const UNDERSTOOD: [(&str, &str); 6] = [
    ("auto-truncate", "embedding.auto_truncate"),
    ("cors-allow-origin", "embedding.cors_origins"),
    ("default-prompt", "embedding.default_prompt"),
    ("dtype", "embedding.dtype"),
    ("payload-limit", "embedding.body_bytes"),
    ("pooling", "embedding.pooling"),
];

/// Other flags, with what to do instead.
const ANSWERED: [(&str, &str); 18] = [
    ("dense-path", "modules are found in the model's folder"),
    ("default-prompt-name", "set embedding.default_prompts"),
    ("disable-spans", "see --log-format and log.level"),
    ("hf-api-token", "set HF_TOKEN in the environment"),
    ("hf-token", "set HF_TOKEN in the environment"),
    ("hostname", "use --host with an address"),
    ("huggingface-hub-cache", "set HF_HUB_CACHE in the environment"),
    ("json-output", "use --log-format json"),
    ("max-batch-requests", "batches need no limit"),
    ("max-batch-tokens", "batches need no limit"),
    ("max-concurrent-requests", "set embedding.queue_texts"),
    ("otlp-endpoint", "metrics are at /metrics"),
    ("otlp-service-name", "metrics are at /metrics"),
    ("prometheus-port", "metrics are at /metrics"),
    ("revision", "name it as --model ORG/NAME@REVISION"),
    ("served-model-name", "use --model-alias MODEL=NAME"),
    ("tokenization-workers", "set embedding.threads"),
    ("uds-path", "use --listen with an address"),
];

/// The keys that flags of text-embeddings-inference set.
#[derive(Clone, Debug, Default)]
pub(super) struct TeiFlags(Vec<(&'static str, &'static str, String)>);

impl TeiFlags {
    pub(super) fn flags(&self) -> impl Iterator<Item = Flag> {
        self.0.iter().map(|(name, path, value)| Flag {
            name: format!("--{name}"),
            path: (*path).to_owned(),
            value: value.clone(),
        })
    }
}

impl Args for TeiFlags {
    fn augment_args(command: Command) -> Command {
        let flag = |name: &'static str| {
            // A flag of its own in text-embeddings-inference may have no value.
            Arg::new(name).long(name).hide(true).num_args(0..=1).default_missing_value("true")
        };
        let command = UNDERSTOOD.into_iter().fold(command, |command, (name, _)| command.arg(flag(name)));
        ANSWERED.into_iter().fold(command, |command, (name, _)| command.arg(flag(name)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TeiFlags {
    fn from_arg_matches(given: &ArgMatches) -> Result<Self, Error> {
        for (name, remedy) in ANSWERED {
            if given.contains_id(name) {
                let text = format!("--{name} is a flag of text-embeddings-inference; here {remedy}\n");
                return Err(Error::raw(ErrorKind::UnknownArgument, text));
            }
        }
        let value = |(name, path): (&'static str, &'static str)| {
            given.get_one::<String>(name).map(|value| (name, path, value.clone()))
        };
        Ok(Self(UNDERSTOOD.into_iter().filter_map(value).collect()))
    }

    fn update_from_arg_matches(&mut self, given: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(given)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read(arguments: &[&str]) -> Result<TeiFlags, Error> {
        let command = TeiFlags::augment_args(Command::new("serve"));
        let given = ["serve"].into_iter().chain(arguments.iter().copied());
        TeiFlags::from_arg_matches(&command.try_get_matches_from(given)?)
    }

    #[test]
    fn flags_of_tei_set_keys() {
        let flags = read(&["--pooling", "cls", "--auto-truncate", "--payload-limit=2000000"]).unwrap();
        let set: Vec<_> = flags.flags().map(|flag| (flag.name, flag.path, flag.value)).collect();
        let text = |texts: [&str; 3]| texts.map(str::to_owned).into();
        let wanted: [(String, String, String); 3] = [
            text(["--auto-truncate", "embedding.auto_truncate", "true"]),
            text(["--payload-limit", "embedding.body_bytes", "2000000"]),
            text(["--pooling", "embedding.pooling", "cls"]),
        ];
        assert_eq!(set, wanted);
        assert_eq!(read(&[]).unwrap().flags().count(), 0);
    }

    #[test]
    fn other_flags_are_answered_with_ours() {
        for (name, remedy) in ANSWERED {
            for given in [vec![format!("--{name}")], vec![format!("--{name}"), "1".to_owned()]] {
                let given: Vec<&str> = given.iter().map(String::as_str).collect();
                let error = read(&given).unwrap_err().to_string();
                assert!(error.contains(remedy), "{name}: {error}");
            }
        }
    }
}
