//! Compiles a component for a machine, and writes it as a pack.

use std::path::PathBuf;

use anyhow::Context as _;
use bulkhead_cli::{Configuration, exit::UsageError, output};
use bulkhead_os::files;
use bulkhead_runtime::{
    compile::{PackSigner, compile_pack},
    engine::CodeTarget,
    slots,
};
use clap::Args;

use crate::distribution::Distribution;

/// `bulkhead component compile`.
#[derive(Debug, Args)]
pub(in crate::cli) struct CompileArgs {
    /// The component, a file.
    file: PathBuf,
    /// The machine that it is for, x86_64-unknown-linux-gnu or aarch64-unknown-linux-gnu; without it, one like this.
    #[arg(long, value_name = "TRIPLE", value_parser = CodeTarget::parse)]
    target: Option<CodeTarget>,
    /// File of a secret key of minisign without a password (`minisign -G -W`). Hosts take the pack whose configuration
    /// names the public key in `sandbox.pack_keys`. A pack that is not signed can only be built into a program.
    #[arg(long, value_name = "KEY")]
    sign: Option<PathBuf>,
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    configuration: Configuration,
}

impl CompileArgs {
    pub(super) fn run(self, distribution: &Distribution) -> anyhow::Result<()> {
        let sandbox = self.configuration.load(&distribution.spec(), Vec::new())?.config.sandbox;
        let target = self.target.or_else(CodeTarget::of_this_program);
        let target = target.ok_or_else(|| UsageError("name the machine with --target".to_owned()))?;
        let signer = self.sign.as_deref().map(PackSigner::read).transpose()?;
        let wasm = slots::read_component(&self.file, sandbox.component_bytes)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let pack = runtime.block_on(compile_pack(wasm, target, &sandbox, signer.as_ref()))?;
        let named = self.output.display();
        files::output_path(&self.output)
            .and_then(|path| files::replace(&path, &[&pack]))
            .with_context(|| format!("cannot write {named}"))?;
        let signed = match signer {
            Some(signer) => format!("signed, sandbox.pack_keys = [\"{}\"]", signer.public_key()),
            None => "not signed".to_owned(),
        };
        Ok(output::line(format_args!("{named}: {} bytes for {}, {signed}", pack.len(), target.triple()))?)
    }
}
