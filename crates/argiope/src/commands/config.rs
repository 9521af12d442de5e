//! `config check`, `config show` and `config docs`

use crate::cli::ConfigCommand;
use argiope_config::{
    ConfigFile, Failure, GlobalOptions, check_file, effective, load_config_to_read, mask_secrets,
    process_environment, reference, retain_in_effect, to_yaml,
};
use serde_json::{Map, Value};
use std::io::{self, Write};
use std::path::PathBuf;

pub(crate) fn run(global: &GlobalOptions, command: &ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Check { files } => check(files),
        ConfigCommand::Show => show(global),
        ConfigCommand::Docs => docs(),
    }
}

/// Every file is looked at, whatever is wrong with the others.
fn check(files: &[PathBuf]) -> Result<(), Failure> {
    let mut errors = Vec::new();
    for file in files {
        match check_file(file, &process_environment) {
            Ok(checked) => {
                writeln!(io::stdout(), "{}: ok", file.display()).map_err(|error| Failure::output(&error))?;
                for warning in checked.not_in_effect {
                    let _ = writeln!(io::stderr(), "argiope: warning: {warning}");
                }
            }
            Err(found) => errors.extend(found),
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Failure::from(errors)) }
}

fn show(global: &GlobalOptions) -> Result<(), Failure> {
    let config = load_config_to_read(global)?;
    for left_out in config.left_out() {
        let _ = writeln!(io::stderr(), "argiope: warning: {left_out}");
    }
    let mut text = match &config.path {
        Some(path) => format!("# {} merged with the defaults\n", path.display()),
        None => String::from("# the defaults; no configuration file was given\n"),
    };
    for (name, mut section) in effective(&config.file)? {
        retain_in_effect(name, &mut section);
        if section.as_object().is_some_and(Map::is_empty) {
            continue;
        }
        let mut one = Value::Object(Map::from_iter([(name.to_owned(), section)]));
        mask_secrets(&mut one);
        text.push_str(&to_yaml(&one));
    }
    print(&text)
}

/// From the tables and the defaults of this program, whatever files lie about.
fn docs() -> Result<(), Failure> {
    let defaults = effective(&ConfigFile::default())?;
    print(&reference(&defaults.into_iter().map(|(name, section)| (name.to_owned(), section)).collect()))
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::output(&error))
}
