//! Builds the example components in other languages than Rust, with the tools that they need.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Outcome, capture, find, program};
use crate::install::npm::NpmPackages;
use crate::install::python::PythonPackages;
use crate::toolchain::rustc::Rustc;
use crate::{files, guests::components, install::apt, paths};

/// Builds components of JavaScript, with what it needs. Its API is used: jco's command line does not run on Node.js 20.
pub const NPM: NpmPackages = NpmPackages {
    manifest: include_str!("examples/package.json"),
    lock: include_str!("examples/package-lock.json"),
};

/// Builds components of Python.
pub const PYTHON: PythonPackages = PythonPackages(include_str!("examples/python.txt"));

/// The name of this step.
const STEP: &str = "examples";

/// An example, which is named after its folder in `components/examples`.
struct Example {
    name: &'static str,
    language: Language,
    /// The folder of its WIT, in the workspace.
    wit: &'static str,
}

/// What an example is written in.
#[derive(Clone, Copy)]
enum Language {
    C,
    JavaScript,
    /// With the world that is built for; files of the other languages name it.
    Python(&'static str),
}

/// The WIT of the examples of `wasi:http`.
const HELLO: &str = "components/examples/wit";

const EXAMPLES: [Example; 5] = [
    Example { name: "captcha-javascript", language: Language::JavaScript, wit: "wit/captcha" },
    Example { name: "hello-c", language: Language::C, wit: HELLO },
    Example { name: "hello-javascript", language: Language::JavaScript, wit: HELLO },
    Example { name: "hello-python", language: Language::Python("hello"), wit: HELLO },
    Example { name: "status-python", language: Language::Python("status"), wit: "wit/status" },
];

/// Installs the tools and builds each example whose sources, WIT or tools have changed.
pub fn build() -> Outcome {
    let _lock = files::lock(&paths::target())?;
    system_packages()?;
    NPM.install(STEP, &folder(Language::JavaScript))?;
    PYTHON.install(STEP, &folder(Language::Python("")))?;
    let linkers = components::linkers(&Rustc::ask("rustc")?)?;
    let mut built = Vec::new();
    for example in &EXAMPLES {
        if example.build(&linkers)? {
            built.push(example.name);
        }
    }
    let built = if built.is_empty() { "none".to_owned() } else { built.join(", ") };
    println!("{STEP}: {} here; built: {built}", EXAMPLES.len());
    Ok(())
}

/// Installs a compiler of C for WebAssembly.
fn system_packages() -> Outcome {
    let wanted: Vec<_> = ["clang", "make"].into_iter().filter(|name| find(name).is_none()).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    if !apt::is_here() {
        return Err(format!("{STEP}: install with your package manager: {}", wanted.join(" ")));
    }
    apt::install(STEP, &wanted)
}

/// Returns the folder of a language's tools. Examples are built below it, where Node.js finds its packages.
fn folder(language: Language) -> PathBuf {
    paths::target().join("test-tools").join(match language {
        Language::C => "clang",
        Language::JavaScript => "componentize-js",
        Language::Python(_) => "componentize-py",
    })
}

impl Example {
    /// Builds it, unless its inputs are those of the last build. Returns whether it was built.
    fn build(&self, linkers: &Path) -> Outcome<bool> {
        let sources = paths::workspace().join("components/examples").join(self.name);
        let wit = paths::workspace().join(self.wit);
        let output = paths::target().join("examples").join(format!("{}.wasm", self.name));
        let (stamp, inputs) = (output.with_extension("inputs"), self.inputs(&sources, &wit)?);
        if output.is_file() && files::holds(&stamp, &inputs) {
            return Ok(false);
        }
        println!("{STEP}: building {}", self.name);
        // The tools write beside the sources.
        let scratch = folder(self.language).join(self.name);
        files::remove_folder(&scratch)?;
        files::create_folder(&scratch)?;
        files::create_folder(&paths::target().join("examples"))?;
        for file in files::entries(&sources).iter().filter(|file| file.is_file()) {
            files::copy_into(file, &scratch)?;
        }
        capture(self.command(&wit, &output, linkers).current_dir(&scratch))?;
        files::write(&stamp, &inputs)?;
        Ok(true)
    }

    /// Returns the command that builds it in its folder.
    fn command(&self, wit: &Path, output: &Path, linkers: &Path) -> Command {
        let text = |path: &Path| path.display().to_string();
        match self.language {
            Language::C => {
                let (wit, output) = (format!("WIT={}", text(wit)), format!("OUTPUT={}", text(output)));
                program("make", ["--always-make", &wit, &output, &format!("LINKERS={}", text(linkers))])
            }
            Language::JavaScript => program("node", ["build.mjs", &text(wit), &text(output)]),
            Language::Python(world) => {
                let tool = folder(self.language).join("bin/componentize-py");
                let (wit, output) = (text(wit), text(output));
                let args = ["--quiet", "-d", &wit, "-w", world, "componentize", "app", "-o", &output];
                program(&text(&tool), args)
            }
        }
    }

    /// Returns all that its bytes depend on: its sources, its WIT and the versions of the tools.
    fn inputs(&self, sources: &Path, wit: &Path) -> Outcome<Vec<u8>> {
        let mut inputs = match self.language {
            Language::C => capture(&mut program("clang", ["--version"]))?,
            Language::JavaScript => NPM.lock.to_owned(),
            Language::Python(world) => format!("{world}\n{}", PYTHON.0),
        };
        for folder in [sources, wit] {
            append(folder, &mut inputs)?;
        }
        Ok(inputs.into_bytes())
    }
}

/// Adds the texts of a folder's files and of those in its folders, each after its path.
fn append(folder: &Path, texts: &mut String) -> Outcome {
    for path in files::entries(folder) {
        if path.is_dir() {
            append(&path, texts)?;
        } else {
            texts.push_str(&path.to_string_lossy());
            texts.push('\n');
            texts.push_str(&files::read(&path)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_has_a_build_file() {
        for example in &EXAMPLES {
            let file = match example.language {
                Language::C => "Makefile",
                Language::JavaScript => "build.mjs",
                Language::Python(_) => "app.py",
            };
            let folder = paths::workspace().join("components/examples").join(example.name);
            assert!(folder.join(file).is_file(), "{}", example.name);
        }
    }

    #[test]
    fn inputs_hold_sources_wit_and_tools() {
        for example in EXAMPLES.iter().filter(|example| !matches!(example.language, Language::C)) {
            let sources = paths::workspace().join("components/examples").join(example.name);
            let wit = paths::workspace().join(example.wit);
            let inputs = String::from_utf8(example.inputs(&sources, &wit).unwrap()).unwrap();
            for part in ["componentize-", "build.mjs\n", "app.py\n", "io.wit\n"] {
                let is_there = inputs.contains(part);
                let expected = match part {
                    "build.mjs\n" => matches!(example.language, Language::JavaScript),
                    "app.py\n" => matches!(example.language, Language::Python(_)),
                    "io.wit\n" => example.wit != "wit/status",
                    _ => true,
                };
                assert_eq!(is_there, expected, "{}: {part}", example.name);
            }
        }
    }
}
