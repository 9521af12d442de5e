//! Reads a file of any of the three kinds, and reports everything that is wrong with it.

use crate::error::{ConfigError, Position};
use crate::file::ConfigFile;
use crate::graph_file::GraphFile;
use crate::nearest::nearest;
use crate::schema::{self, Checker, Key, Kind, Unset};
use crate::yaml::{Node, NodeValue};
use crate::{environment, keys, place, validation, yaml};
use argiope_model::JobSpec;
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::io::Read;
use std::path::Path;

/// Longer files are refused.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Number of keys that the kind of a file is detected by.
const KEYS_THAT_TELL: usize = 100;

/// The kind of a file, detected by its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Config,
    Job,
    Graph,
}

impl FileKind {
    fn table(self) -> &'static [Key] {
        match self {
            FileKind::Config => keys::CONFIG,
            FileKind::Job => keys::JOB,
            FileKind::Graph => keys::GRAPH,
        }
    }
}

/// `job.yaml`: the keys of a job that it gives.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    pub keys: Map<String, Value>,
    /// The content of the file, which is part of the job's identity.
    pub content: Vec<u8>,
}

/// `argiope.yaml` as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadConfig {
    pub file: ConfigFile,
    /// Values whose variables are not set, and which `file` lacks.
    pub unset: Vec<Unset>,
    /// Keys that are given and not in effect yet.
    pub not_in_effect: Vec<ConfigError>,
}

/// A file in which no error was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedFile {
    pub kind: FileKind,
    /// Keys that are given and not in effect yet.
    pub not_in_effect: Vec<ConfigError>,
}

/// Reads environment variables.
pub type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

pub fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Values whose variables are not set are left out and listed: the caller decides which of them it needs.
pub fn read_config(path: &Path, environment: Environment<'_>) -> Result<ReadConfig, Vec<ConfigError>> {
    let name = path.display().to_string();
    let text = read_text(path, &name)?;
    config_from_text(&name, &text, environment)
}

fn config_from_text(
    name: &str,
    text: &str,
    environment: Environment<'_>,
) -> Result<ReadConfig, Vec<ConfigError>> {
    let mut checked = checked(name, text, Some(FileKind::Config), environment)?;
    let not_in_effect = std::mem::take(&mut checked.not_in_effect);
    let (file, unset) = checked.config()?;
    Ok(ReadConfig { file, unset, not_in_effect })
}

pub fn read_job(path: &Path, environment: Environment<'_>) -> Result<JobFile, Vec<ConfigError>> {
    let name = path.display().to_string();
    let text = read_text(path, &name)?;
    let checked = checked(&name, &text, Some(FileKind::Job), environment)?;
    // Types and ranges are checked here, where the line is known; the values are merged later.
    let keys = checked.keys.clone();
    whole(checked.job()?)?;
    Ok(JobFile { keys, content: text.into_bytes() })
}

/// `config.json` of the graph.
pub fn read_graph(path: &Path, environment: Environment<'_>) -> Result<GraphFile, Vec<ConfigError>> {
    let name = path.display().to_string();
    let text = read_text(path, &name)?;
    checked(&name, &text, Some(FileKind::Graph), environment)?.graph().and_then(whole)
}

/// Fails if a variable is not set.
fn whole<T>((typed, unset): (T, Vec<Unset>)) -> Result<T, Vec<ConfigError>> {
    if unset.is_empty() { Ok(typed) } else { Err(unset.into_iter().map(|unset| unset.error).collect()) }
}

/// Reports everything that is wrong with a file of any kind.
pub fn check_file(path: &Path, environment: Environment<'_>) -> Result<CheckedFile, Vec<ConfigError>> {
    let name = path.display().to_string();
    let text = read_text(path, &name)?;
    let mut checked = checked(&name, &text, None, environment)?;
    let (kind, not_in_effect) = (checked.kind, std::mem::take(&mut checked.not_in_effect));
    match kind {
        FileKind::Config => checked.config().and_then(whole).map(drop),
        FileKind::Job => checked.job().and_then(whole).map(drop),
        FileKind::Graph => checked.graph().and_then(whole).map(drop),
    }?;
    Ok(CheckedFile { kind, not_in_effect })
}

/// The names of the sections, in the order they are shown.
pub(crate) fn section_names() -> impl Iterator<Item = &'static str> {
    keys::CONFIG.iter().map(|key| key.name)
}

/// Removes from the values of a section what is not in effect.
pub fn retain_in_effect(section: &str, values: &mut Value) {
    let keys = keys::CONFIG.iter().find(|key| key.name == section).map(|key| key.kind);
    if let (Some(Kind::Section(keys)), Some(values)) = (keys, values.as_object_mut()) {
        schema::retain_in_effect(keys, values);
    }
}

/// A file whose keys have been checked one by one.
struct Checked {
    name: String,
    kind: FileKind,
    /// The valid keys.
    keys: Map<String, Value>,
    /// The tree with positions; `None` for an empty file.
    root: Option<Node>,
    /// The errors of the others.
    errors: Vec<ConfigError>,
    /// Keys whose variables are not set.
    unset: Vec<Unset>,
    /// Keys that are not in effect yet.
    not_in_effect: Vec<ConfigError>,
}

impl Checked {
    fn config(self) -> Result<(ConfigFile, Vec<Unset>), Vec<ConfigError>> {
        let keys = self.keys.clone();
        self.sensible(|config| validation::of_config(&keys, config))
    }

    fn job(self) -> Result<(JobSpec, Vec<Unset>), Vec<ConfigError>> {
        self.sensible(validation::of_job)
    }

    fn graph(self) -> Result<(GraphFile, Vec<Unset>), Vec<ConfigError>> {
        self.sensible(validation::of_graph)
    }

    /// The typed values and what is missing in them, or all errors: those of single keys, and those of values that do not
    /// fit together.
    fn sensible<T: serde::de::DeserializeOwned>(
        self,
        problems: impl FnOnce(&T) -> Vec<validation::Problem>,
    ) -> Result<(T, Vec<Unset>), Vec<ConfigError>> {
        let Checked { name, kind, keys, root, mut errors, unset, not_in_effect: _ } = self;
        let typed: T = match serde_json::from_value(Value::Object(keys)) {
            Ok(typed) => typed,
            Err(error) => {
                // The tables and the types agree; if they ever do not, the error still names the file.
                if errors.is_empty() {
                    errors.push(ConfigError::new(&name, None, error.to_string()));
                }
                return Err(in_order(errors, unset));
            }
        };
        let mut more = Vec::new();
        // A section with an unknown value cannot be validated as a whole.
        let is_partial =
            |path: &str| unset.iter().any(|unset| section_name(&unset.path) == section_name(path));
        for problem in problems(&typed).into_iter().filter(|problem| !is_partial(&problem.path)) {
            let place = root.as_ref().map(|root| place::locate(root, kind.table(), &problem.path));
            // If a key that this depends on is invalid, that error must be fixed first.
            let follows = place.is_some_and(|place| {
                errors.iter().filter_map(|error| error.at).any(|position| place.holds(position))
            });
            if !follows {
                more.push(ConfigError::new(&name, place.map(|place| place.at), problem.message));
            }
        }
        errors.extend(more);
        if errors.is_empty() { Ok((typed, unset)) } else { Err(in_order(errors, unset)) }
    }
}

/// `storage` of `storage.cache_url`
fn section_name(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

/// In a file with errors, unset variables are reported, too.
fn in_order(mut errors: Vec<ConfigError>, unset: Vec<Unset>) -> Vec<ConfigError> {
    errors.extend(unset.into_iter().map(|unset| unset.error));
    errors.sort_by_key(|error| error.at);
    errors
}

fn read_text(path: &Path, name: &str) -> Result<String, Vec<ConfigError>> {
    let unreadable = |error: std::io::Error| vec![ConfigError::unreadable(name, &error)];
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        let most = argiope_model::display::bytes(MAX_BYTES);
        let message = format!("is longer than {most}, too long for a configuration");
        return Err(vec![ConfigError::new(name, None, message)]);
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = error.as_bytes().iter().take(valid);
        let line = before.clone().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.rev().take_while(|byte| **byte != b'\n').count() + 1;
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let at = Position { line: small(line), column: small(column) };
        vec![ConfigError::new(name, Some(at), "not UTF-8 text")]
    })
}

/// The file's keys as plain values, with the errors of each key. Without `kind` it is detected by the keys.
fn checked(
    name: &str,
    text: &str,
    kind: Option<FileKind>,
    environment: Environment<'_>,
) -> Result<Checked, Vec<ConfigError>> {
    let Some(mut node) = yaml::parse(name, text).map_err(|error| vec![error])? else {
        return Ok(Checked {
            name: name.to_owned(),
            kind: kind.unwrap_or(FileKind::Config),
            keys: Map::new(),
            root: None,
            errors: Vec::new(),
            unset: Vec::new(),
            not_in_effect: Vec::new(),
        });
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
    let mut left = environment::Unreplaced::default();
    // The fields of a login are stored as written, so a stored job has no password.
    let fields = login_fields(&mut node).map(|place| (place.clone(), place));
    let fields = fields.map(|(written, place)| {
        place.value = NodeValue::Map(Vec::new());
        written
    });
    environment::substitute(name, &mut node, environment, &mut left);
    if let (Some(place), Some(written)) = (login_fields(&mut node), fields) {
        *place = written;
    }
    let table = kind.table();
    let mut checker = Checker::new(name, table, &left.unset);
    let mut keys = checker.section(&node, table, "");
    let of_jobs = match kind {
        FileKind::Config => keys.get_mut("crawl").and_then(Value::as_object_mut),
        FileKind::Job | FileKind::Graph => Some(&mut keys),
    };
    if of_jobs.is_some_and(|keys| !take_cookie_word(keys)) {
        checker.error(node.at, "'cookies' and 'cookie_jar' have the same meaning; set only one of them");
    }
    // A misspelt reference has no usable value.
    let misspelt = |error: &ConfigError| left.errors.iter().any(|misspelt| misspelt.at == error.at);
    let others: Vec<ConfigError> = checker.errors.into_iter().filter(|error| !misspelt(error)).collect();
    let (unset, not_in_effect) = (checker.left_out, checker.not_in_effect);
    let errors = left.errors.into_iter().chain(others).collect();
    Ok(Checked { name: name.to_owned(), kind, keys, root: Some(node), errors, unset, not_in_effect })
}

/// Of a job file.
fn login_fields(node: &mut Node) -> Option<&mut Node> {
    node.entry("login")?.entry("fields")
}

/// `cookies: session` is a short form of `cookie_jar: session`. False if both are given.
fn take_cookie_word(keys: &mut Map<String, Value>) -> bool {
    if !keys.get("cookies").is_some_and(Value::is_string) {
        return true;
    }
    let word = keys.remove("cookies").unwrap_or_default();
    keys.insert(String::from("cookie_jar"), word).is_none()
}

/// Detects the kind by the top-level keys; known keys count more than similar ones. `None` if they do not decide. The
/// kind that the file is given for wins a tie.
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
