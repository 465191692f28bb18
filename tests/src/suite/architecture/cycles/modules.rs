//! Reads the modules of a crate from its source files, and which module names which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::paths::{self, Import};
use crate::architecture::source::Source;

/// Words before the name of an item.
const ITEMS: &[&str] = &["struct", "enum", "union", "trait", "fn", "type", "const", "static"];

/// Modules of a crate without those for tests only; the first is the crate itself.
pub struct Crate {
    modules: Vec<Module>,
}

struct Module {
    /// Names of the modules from the top of the crate to this one.
    path: Vec<String>,
    /// The file that holds it.
    file: PathBuf,
    parent: usize,
    children: BTreeMap<String, usize>,
    /// Names that `use` declarations bring in, with their paths.
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// Names of items that it defines.
    items: BTreeSet<String>,
    /// Paths that its code names outside of `use` declarations.
    named: Vec<Vec<String>>,
}

/// Names that were looked for in modules, so that imports in a circle end.
type Seen = BTreeSet<(usize, String)>;

/// What a name or a path leads to.
enum Found {
    Module(usize),
    /// An item of a module that was touched, or of another crate.
    Item,
    Nothing,
}

/// One module names another that has the same parent.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Folder of the parent.
    pub folder: PathBuf,
    pub from: String,
    pub to: String,
    /// The file and the path that it names.
    pub reason: String,
}

impl Crate {
    /// Reads the crate whose top is the file `root`, among `sources`.
    pub fn read(root: &Path, sources: &[Source]) -> Self {
        let mut read = Self { modules: Vec::new() };
        read.add(0, None, root);
        read.file(0, sources);
        read
    }

    /// Every edge between two modules of one parent, in order.
    pub fn edges(&self) -> BTreeSet<Edge> {
        let mut edges = BTreeSet::new();
        for (from, module) in self.modules.iter().enumerate() {
            let imports = module.imports.values().chain(&module.globs);
            // A bare name can come from another module only by a declaration, which counts itself, or by a glob.
            let named = module.named.iter().filter(|path| path.len() > 1 || !module.globs.is_empty());
            for path in imports.chain(named) {
                let mut touched = BTreeSet::new();
                self.follow(from, path, &mut BTreeSet::new(), &mut touched);
                edges.extend(touched.into_iter().filter_map(|to| self.edge(from, to, path)));
            }
        }
        edges
    }

    /// The edge between the two siblings that hold `from` and `to`, if they are in two of them.
    fn edge(&self, from: usize, to: usize, path: &[String]) -> Option<Edge> {
        let file = &self.modules[from].file;
        let (from, to) = (&self.modules[from].path, &self.modules[to].path);
        let shared = from.iter().zip(to).take_while(|(from, to)| from == to).count();
        let top = self.modules[0].file.parent().unwrap();
        Some(Edge {
            folder: from[..shared].iter().fold(top.to_owned(), |folder, name| folder.join(name)),
            from: from.get(shared)?.clone(),
            to: to.get(shared)?.clone(),
            reason: format!("{} names {}", file.display(), path.join("::")),
        })
    }

    /// Follows a path that the module `from` names. `touched` gets the module that holds each name on the way from one
    /// declaration to the next, so that an item which a parent imports is found where it is defined.
    fn follow(&self, from: usize, path: &[String], seen: &mut Seen, touched: &mut BTreeSet<usize>) -> Found {
        let [first, rest @ ..] = path else { return Found::Nothing };
        let mut at = match first.as_str() {
            "crate" => 0,
            "self" => from,
            "super" => self.modules[from].parent,
            name => match self.find(from, name, seen, touched) {
                Found::Module(module) => module,
                other => return other,
            },
        };
        for name in rest {
            let found = match name.as_str() {
                "super" => Found::Module(self.modules[at].parent),
                name => self.find(at, name, seen, touched),
            };
            match found {
                Found::Module(module) => at = module,
                Found::Item => return Found::Item,
                // Made by a macro.
                Found::Nothing => break,
            }
        }
        touched.insert(at);
        Found::Module(at)
    }

    /// Finds what `name` is in the module `at`.
    fn find(&self, at: usize, name: &str, seen: &mut Seen, touched: &mut BTreeSet<usize>) -> Found {
        let module = &self.modules[at];
        if let Some(child) = module.children.get(name) {
            return Found::Module(*child);
        }
        if !seen.insert((at, name.to_owned())) {
            return Found::Nothing;
        }
        if let Some(path) = module.imports.get(name) {
            touched.insert(at);
            return match self.follow(at, path, seen, touched) {
                Found::Nothing => Found::Item,
                found => found,
            };
        }
        if module.items.contains(name) {
            touched.insert(at);
            return Found::Item;
        }
        for glob in &module.globs {
            let mut touched_there = BTreeSet::new();
            let Found::Module(target) = self.follow(at, glob, &mut seen.clone(), &mut BTreeSet::new()) else {
                continue;
            };
            match self.find(target, name, seen, &mut touched_there) {
                Found::Nothing => {}
                found => {
                    touched.extend(touched_there);
                    return found;
                }
            }
        }
        Found::Nothing
    }

    /// Adds an empty module, and returns its number.
    fn add(&mut self, parent: usize, name: Option<&str>, file: &Path) -> usize {
        let added = self.modules.len();
        let mut path = Vec::new();
        if let Some(name) = name {
            path.clone_from(&self.modules[parent].path);
            path.push(name.to_owned());
            self.modules[parent].children.insert(name.to_owned(), added);
        }
        self.modules.push(Module {
            path,
            file: file.to_owned(),
            parent,
            children: BTreeMap::new(),
            imports: BTreeMap::new(),
            globs: Vec::new(),
            items: BTreeSet::new(),
            named: Vec::new(),
        });
        added
    }

    /// Reads the file of a module.
    fn file(&mut self, module: usize, sources: &[Source]) {
        let file = self.modules[module].file.clone();
        let source = sources.iter().find(|source| source.path == file);
        let code = source.unwrap_or_else(|| panic!("no file {}", file.display())).code();
        self.body(module, &paths::tokens(&code), sources);
    }

    /// Reads a module's tokens up to the brace that ends it, and returns how many they are.
    fn body(&mut self, module: usize, tokens: &[&str], sources: &[Source]) -> usize {
        let (mut at, mut depth) = (0, 0_u32);
        let mut attributes = Attributes::default();
        while at < tokens.len() {
            at += match &tokens[at..] {
                ["#", "[", ..] => attributes.read(&tokens[at..]),
                ["}", ..] if depth == 0 => return at + 1,
                [brace @ ("{" | "}" | ";"), ..] => {
                    depth = if *brace == "{" { depth + 1 } else { depth - u32::from(*brace == "}") };
                    attributes = Attributes::default();
                    1
                }
                ["mod", name, end @ (";" | "{"), ..] => {
                    let attributes = std::mem::take(&mut attributes);
                    3 + self.child(module, name, attributes, *end == "{", &tokens[at + 3..], sources)
                }
                ["use", next, ..] if *next != "<" => {
                    let (mut imports, length) = paths::imports(&tokens[at + 1..]);
                    imports.retain(|_| !attributes.for_tests);
                    for Import { name, path } in imports {
                        match name {
                            Some(name) => drop(self.modules[module].imports.insert(name, path)),
                            None => self.modules[module].globs.push(path),
                        }
                    }
                    1 + length
                }
                [word, name, ..] if ITEMS.contains(word) && paths::is_name(name) => {
                    self.modules[module].items.insert((*name).to_owned());
                    2
                }
                [word, ..] if paths::is_name(word) => {
                    let (path, length) = paths::path(&tokens[at..]);
                    // A field, a method, and a path from outside of the crate.
                    if at == 0 || !matches!(tokens[at - 1], "." | "::") {
                        self.modules[module].named.push(path);
                    }
                    length
                }
                _ => 1,
            };
        }
        at
    }

    /// Reads a module that `parent` declares, given the tokens after its `;` or `{`. Returns how many were read.
    fn child(
        &mut self,
        parent: usize,
        name: &str,
        attributes: Attributes,
        inline: bool,
        tokens: &[&str],
        sources: &[Source],
    ) -> usize {
        match (inline, attributes) {
            (true, Attributes { for_tests: true, .. }) => block(tokens),
            (true, _) => {
                let file = self.modules[parent].file.clone();
                let child = self.add(parent, Some(name), &file);
                self.body(child, tokens, sources)
            }
            (false, Attributes { for_tests: false, elsewhere: false }) => {
                let top = self.modules[0].file.parent().unwrap();
                let folder = self.modules[parent].path.iter().fold(top.to_owned(), |at, name| at.join(name));
                let child = self.add(parent, Some(name), &folder.join(name).with_extension("rs"));
                self.file(child, sources);
                0
            }
            (false, _) => 0,
        }
    }
}

/// What the attributes before a declaration say.
#[derive(Clone, Copy, Default)]
struct Attributes {
    /// It is compiled for tests only.
    for_tests: bool,
    /// Its file is named by a path.
    elsewhere: bool,
}

impl Attributes {
    /// Reads an attribute, and returns how many tokens it takes.
    fn read(&mut self, tokens: &[&str]) -> usize {
        let mut depth = 0_u32;
        let end = tokens.iter().position(|token| {
            depth = if *token == "[" { depth + 1 } else { depth - u32::from(*token == "]") };
            *token == "]" && depth == 0
        });
        let length = end.map_or(tokens.len(), |end| end + 1);
        let words = &tokens[2..length];
        self.for_tests |= words.starts_with(&["cfg"]) && words.contains(&"test") && !words.contains(&"not");
        self.elsewhere |= words.starts_with(&["path"]);
        length
    }
}

/// How many tokens a block takes, given what follows its brace.
fn block(tokens: &[&str]) -> usize {
    let mut depth = 1_u32;
    let end = tokens.iter().position(|token| {
        depth = if *token == "{" { depth + 1 } else { depth - u32::from(*token == "}") };
        depth == 0
    });
    end.map_or(tokens.len(), |end| end + 1)
}
