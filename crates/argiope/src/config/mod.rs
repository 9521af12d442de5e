//! Configuration files. Text walks through the modules in this order: `yaml` (a tree with positions), `environment`
//! (`${VAR}`), `schema` with the tables of `keys` (every error at once, then plain values), `file` (types). `emit`
//! goes back to YAML for people. `settings` outside merges files and flags.

mod emit;
mod environment;
mod error;
pub(crate) mod file;
mod graph_file;
mod keys;
mod nearest;
mod politeness_keys;
mod schema;
mod sense;
mod value;
mod yaml;

pub(crate) use emit::{mask_secrets, mask_url, to_yaml};
pub(crate) use error::ConfigError;
pub(crate) use file::ConfigFile;
pub(crate) use graph_file::GraphFile;
pub(crate) use keys::resolver_address;
pub(crate) use value::pattern_problem;

use argiope_model::JobSpec;
use nearest::nearest;
use schema::{Checker, Key};
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::io::Read;
use std::path::Path;
use yaml::{Node, NodeValue};

/// A configuration longer than this is some other file.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// How many keys are looked at to tell what a file is.
const KEYS_THAT_TELL: usize = 100;

/// What a file is by its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Config,
    Job,
    Graph,
}

/// `job.yaml`: the keys of a job that it gives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JobFile {
    pub(crate) keys: Map<String, Value>,
    /// The file as it is: part of what identifies the job.
    pub(crate) content: Vec<u8>,
}

/// Reads environment variables.
pub(crate) type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

pub(crate) fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

pub(crate) fn read_config(path: &Path, environment: Environment<'_>) -> Result<ConfigFile, Vec<ConfigError>> {
    let name = path.display().to_string();
    let text = read_text(path, &name)?;
    config_from_text(&name, &text, environment)
}

fn config_from_text(
    name: &str,
    text: &str,
    environment: Environment<'_>,
) -> Result<ConfigFile, Vec<ConfigError>> {
    checked(name, text, Some(FileKind::Config), environment)?.config(name)
}

pub(crate) fn read_job(path: &Path, environment: Environment<'_>) -> Result<JobFile, Vec<ConfigError>> {
    let name = path.display().to_string();
    let text = read_text(path, &name)?;
    let checked = checked(&name, &text, Some(FileKind::Job), environment)?;
    // Types and sense are checked here, where the line is known; the values are merged later.
    checked.job(&name)?;
    Ok(JobFile { keys: checked.keys, content: text.into_bytes() })
}

/// `config.json` of the graph.
pub(crate) fn read_graph(path: &Path, environment: Environment<'_>) -> Result<GraphFile, Vec<ConfigError>> {
    let name = path.display().to_string();
    let text = read_text(path, &name)?;
    checked(&name, &text, Some(FileKind::Graph), environment)?.graph(&name)
}

/// Finds everything that is wrong with a file, whichever of the three it is.
pub(crate) fn check_file(path: &Path, environment: Environment<'_>) -> Result<FileKind, Vec<ConfigError>> {
    let name = path.display().to_string();
    let text = read_text(path, &name)?;
    let checked = checked(&name, &text, None, environment)?;
    match checked.kind {
        FileKind::Config => checked.config(&name).map(|_| FileKind::Config),
        FileKind::Job => checked.job(&name).map(|_| FileKind::Job),
        FileKind::Graph => checked.graph(&name).map(|_| FileKind::Graph),
    }
}

/// The names of the sections, in the order they are shown.
pub(crate) fn section_names() -> impl Iterator<Item = &'static str> {
    keys::CONFIG.iter().map(|key| key.name)
}

/// A file whose keys are all known and of their kinds.
struct Checked {
    kind: FileKind,
    keys: Map<String, Value>,
    /// Where everything stands; `None` for an empty file.
    root: Option<Node>,
}

impl Checked {
    fn config(&self, name: &str) -> Result<ConfigFile, Vec<ConfigError>> {
        let config: ConfigFile = self.typed(name)?;
        self.sensible(name, sense::of_config(&self.keys, &config))?;
        Ok(config)
    }

    fn job(&self, name: &str) -> Result<JobSpec, Vec<ConfigError>> {
        let spec: JobSpec = self.typed(name)?;
        self.sensible(name, sense::of_job(&spec))?;
        Ok(spec)
    }

    fn graph(&self, name: &str) -> Result<GraphFile, Vec<ConfigError>> {
        let file: GraphFile = self.typed(name)?;
        self.sensible(name, sense::of_graph(&file))?;
        Ok(file)
    }

    /// The tables and the types say the same; should they ever not, the file is still named.
    fn typed<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, Vec<ConfigError>> {
        serde_json::from_value(Value::Object(self.keys.clone()))
            .map_err(|error| vec![ConfigError::new(name, None, error.to_string())])
    }

    fn sensible(&self, name: &str, problems: Vec<sense::Problem>) -> Result<(), Vec<ConfigError>> {
        if problems.is_empty() {
            return Ok(());
        }
        let at = |path: &str| self.root.as_ref().map(|root| root.locate(path));
        Err(problems.into_iter().map(|p| ConfigError::new(name, at(&p.path), p.message)).collect())
    }
}

fn read_text(path: &Path, name: &str) -> Result<String, Vec<ConfigError>> {
    let problem = |message: String| vec![ConfigError::new(name, None, message)];
    let file = std::fs::File::open(path).map_err(|error| problem(format!("cannot be read: {error}")))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| problem(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(problem(format!(
            "is longer than {} and no configuration",
            crate::progress::numbers::bytes(MAX_BYTES)
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(valid).filter(|byte| **byte == b'\n').count() + 1;
        problem(format!("is not UTF-8 text (line {line})"))
    })
}

/// The file's keys as plain values, or all that is wrong with them. Without `kind` the keys tell what the file is.
fn checked(
    name: &str,
    text: &str,
    kind: Option<FileKind>,
    environment: Environment<'_>,
) -> Result<Checked, Vec<ConfigError>> {
    let Some(mut node) = yaml::parse(name, text).map_err(|error| vec![error])? else {
        return Ok(Checked { kind: kind.unwrap_or(FileKind::Config), keys: Map::new(), root: None });
    };
    let looks_like = kind_of(&node, kind);
    let kind = kind.unwrap_or(looks_like.unwrap_or(FileKind::Config));
    if let Some(other) = looks_like.filter(|other| *other != kind) {
        let message = match other {
            FileKind::Job => "this is a job file; give it to 'crawl' with -c",
            FileKind::Config => "this is a configuration file; give it with --config",
            FileKind::Graph => "this is a file for the graph of hosts; give it to 'graph' with -c",
        };
        return Err(vec![ConfigError::new(name, Some(node.at), message)]);
    }
    let table = match kind {
        FileKind::Config => keys::CONFIG,
        FileKind::Job => keys::JOB,
        FileKind::Graph => keys::GRAPH,
    };
    let mut checker = Checker { file: name, root: table, errors: Vec::new() };
    environment::substitute(name, &mut node, environment, &mut checker.errors);
    let keys = checker.section(&node, table, "");
    if checker.errors.is_empty() {
        return Ok(Checked { kind, keys, root: Some(node) });
    }
    checker.errors.sort_by_key(|error| error.at);
    Err(checker.errors)
}

/// By its top-level keys, where those it knows count more than those that are like one; `None` where they say nothing. The
/// kind it is given for needs as many as any other.
fn kind_of(node: &Node, given: Option<FileKind>) -> Option<FileKind> {
    let NodeValue::Map(entries) = &node.value else { return None };
    let score = |table: &'static [Key]| -> usize {
        let alike =
            |name: &str| nearest(name, table.iter().map(|key| key.name)).is_some_and(|found| found.near);
        let points = entries.iter().take(KEYS_THAT_TELL).map(|entry| {
            if table.iter().any(|key| key.is_called(&entry.key)) { 4 } else { usize::from(alike(&entry.key)) }
        });
        points.sum()
    };
    let (config, job, graph) = (score(keys::CONFIG), score(keys::JOB), score(keys::GRAPH));
    if given == Some(FileKind::Graph) && graph >= config.max(job) || graph > config.max(job) {
        return Some(FileKind::Graph);
    }
    match config.cmp(&job) {
        Ordering::Greater => Some(FileKind::Config),
        Ordering::Less => Some(FileKind::Job),
        Ordering::Equal => None,
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
