//! `bulkhead kb import`: imports a source into the knowledge base.

use std::{fs, ops::RangeInclusive, path::PathBuf};

use anyhow::Context as _;
use bulkhead_cli::{exit::UsageError, output};
use bulkhead_config::{HostSpec, formats};
use bulkhead_knowledge::{ChunkSize, ImportOptions, ImportReport, Mode, Source, Zammad};
use serde_json::json;
use url::Url;

use super::{KnowledgeArgs, load_model, open, progress::ProgressDisplay};
use crate::knowledge::PromptEmbedder;

/// Range of a passage's maximum of characters: at least a sentence or two, and no more than models read.
const PASSAGE: RangeInclusive<usize> = 200..=10_000;

/// Arguments of `bulkhead kb import`.
#[derive(Debug, clap::Args)]
pub(in crate::command) struct Import {
    #[command(flatten)]
    args: KnowledgeArgs,
    /// A folder of Markdown, HTML and text files, or a file with a JSON object a line: `{id, title, text or html,
    /// url, categories, language}`.
    #[arg(required_unless_present_any = ["zammad", "reembed"], conflicts_with = "zammad")]
    source: Option<PathBuf>,
    #[command(flatten)]
    zammad: ZammadFlags,
    /// Keep the documents under this name instead of the source's path; an import replaces those of the same name.
    #[arg(long, value_parser = source_name)]
    name: Option<String>,
    /// The embedding model: its name or id, or its folder [default: the first that is configured].
    #[arg(long)]
    model: Option<String>,
    /// Embed every passage of the base again, to change to another model. Without a source nothing else changes.
    #[arg(long)]
    reembed: bool,
    /// Leave out documents that cannot be imported, or keep them as they were imported before. Otherwise nothing is
    /// imported if one is refused.
    #[arg(long)]
    skip_refused: bool,
    /// Maximum of characters of a passage.
    #[arg(long, value_name = "CHARACTERS", default_value_t = ChunkSize::default().most, value_parser = passage)]
    passage: usize,
    /// Maximum of characters that a passage repeats of the one before, less than half a passage.
    #[arg(long, value_name = "CHARACTERS", default_value_t = ChunkSize::default().overlap)]
    overlap: usize,
}

/// Flags for a knowledge base in Zammad as the source.
#[derive(Debug, clap::Args)]
struct ZammadFlags {
    /// Import the published answers of the knowledge base of the Zammad at this address, instead of files.
    #[arg(long, value_name = "URL", requires = "token_file", value_parser = formats::service_url)]
    zammad: Option<Url>,
    /// Number of the knowledge base in Zammad.
    #[arg(long, value_name = "ID", requires = "zammad", default_value_t = 1)]
    knowledge_base: u64,
    /// File with an access token of a user who may read the knowledge base.
    #[arg(long, value_name = "FILE", requires = "zammad")]
    token_file: Option<PathBuf>,
    /// Locales in the URLs of answers, each for the answers in its language [default: Zammad's name of the answer's
    /// language, such as de-de or en-us].
    #[arg(long = "locale", value_name = "LOCALE", value_delimiter = ',', requires = "zammad")]
    locales: Vec<String>,
    /// Import the answers that only agents may read, too.
    #[arg(long, requires = "zammad")]
    internal: bool,
}

impl ZammadFlags {
    /// Returns the source that the flags name, if they do.
    fn source(self) -> anyhow::Result<Option<Source>> {
        let Self { zammad, knowledge_base, token_file, locales, internal } = self;
        let Some((url, file)) = zammad.zip(token_file) else { return Ok(None) };
        let token = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let token = token.trim().to_owned();
        anyhow::ensure!(
            !token.is_empty(),
            "{} is empty; write an access token of Zammad into it",
            file.display()
        );
        Ok(Some(Source::Zammad(Zammad { url: url.into(), base: knowledge_base, token, locales, internal })))
    }
}

/// Reads a source's name, which lists show on one line.
fn source_name(text: &str) -> Result<String, String> {
    let shown = !text.trim().is_empty() && !text.chars().any(char::is_control);
    shown.then(|| text.to_owned()).ok_or_else(|| "give it a name that can be read on one line".to_owned())
}

/// Reads the maximum of characters of a passage.
fn passage(text: &str) -> Result<usize, String> {
    let fits = text.parse().ok().filter(|characters| PASSAGE.contains(characters));
    fits.ok_or_else(|| format!("must be from {} to {}", PASSAGE.start(), PASSAGE.end()))
}

impl Import {
    pub(super) async fn run(self, spec: &HostSpec) -> anyhow::Result<()> {
        if self.overlap * 2 >= self.passage {
            let text = format!("--overlap must be less than half of --passage, which is {}", self.passage);
            return Err(UsageError(text).into());
        }
        let config = self.args.config(spec)?;
        let source = match (self.zammad.source()?, self.source) {
            (Some(zammad), _) => Some(zammad),
            (None, Some(folder)) if folder.is_dir() => Some(Source::Folder(folder)),
            (None, Some(file)) if Source::is_page(&file) => {
                return Err(
                    UsageError(format!("{} is a page; name its folder instead", file.display())).into()
                );
            }
            (None, Some(file)) => Some(Source::Lines(file)),
            (None, None) if self.name.is_some() || self.skip_refused => {
                let text = "--name and --skip-refused are for a source; name a folder or a file, or --zammad";
                return Err(UsageError(text.to_owned()).into());
            }
            (None, None) => None,
        };
        let options = ImportOptions {
            name: self.name,
            skip_refused: self.skip_refused,
            reembed: self.reembed,
            size: ChunkSize { most: self.passage, overlap: self.overlap },
        };
        if source.is_none() {
            // It must exist: opened for writing, it would be made.
            open(&config, Mode::Read).await?;
        }
        let (inference, model) = load_model(&config, self.model.as_deref())?;
        let base = open(&config, Mode::Write).await?;
        let (embedder, progress) = (PromptEmbedder::for_passages(inference, model), ProgressDisplay::new());
        let report = match source {
            Some(source) => base.import(source, &embedder, options, &progress).await,
            None => base.reembed(&embedder, &progress).await,
        };
        progress.finish();
        if self.args.json {
            output::json(&as_json(&report?))?
        } else {
            print_report(&report?)?
        }
        Ok(())
    }
}

fn as_json(report: &ImportReport) -> serde_json::Value {
    let refused =
        report.refused.iter().map(|one| json!({ "name": one.name, "reason": one.reason, "kept": one.kept }));
    json!({
        "source": Some(&report.source).filter(|source| !source.is_empty()),
        "documents": report.documents,
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "kept": report.kept,
        "passages": report.passages,
        "embedded": report.embedded,
        "resumed": report.resumed,
        "passed_over": report.passed_over,
        "refused": refused.collect::<Vec<_>>(),
    })
}

/// Prints a report for people.
fn print_report(report: &ImportReport) -> anyhow::Result<()> {
    let ImportReport {
        source,
        documents,
        added,
        changed,
        removed,
        kept,
        passages,
        embedded,
        resumed,
        passed_over,
        refused,
    } = report;
    let left_out = refused.iter().filter(|one| !one.kept).count();
    output::line(if source.is_empty() { "all sources" } else { source.as_str() })?;
    output::line(format_args!(
        "{}: {added} added, {changed} changed, {removed} removed, {left_out} left out",
        output::counted(documents, "document")
    ))?;
    if *kept > 0 {
        let kept = output::counted(kept, "document");
        output::line(format_args!(
            "{kept} kept as before, because a document that cannot be read is not deleted"
        ))?;
    }
    let passages = output::counted(passages, "passage");
    output::line(format_args!("{passages}: {embedded} embedded, {resumed} from an earlier try"))?;
    if !passed_over.is_empty() {
        let count = output::counted(passed_over.values().sum::<usize>(), "file");
        let kinds: Vec<String> =
            passed_over.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
        output::line(format_args!("{count} skipped: {}", kinds.join(", ")))?;
    }
    for one in refused {
        let done = if one.kept { "kept as before" } else { "left out" };
        output::line(format_args!("{done} {}: {}", one.name, one.reason))?;
    }
    Ok(())
}
