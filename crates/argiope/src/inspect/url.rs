//! `inspect url`: what the crawler makes of a URL as it is written.

use super::json_line;
use crate::cli::UrlArgs;
use argiope_config::{Failure, parse_typed};
use argiope_model::{NormalRules, PublicSuffixes, Url};
use serde::Serialize;
use std::io::{self, BufRead, Write};

#[derive(Serialize)]
struct Inspected<'u> {
    input: &'u str,
    request: &'u str,
    normal_form: &'u str,
    host: &'u str,
    root_domain: &'u str,
    identity: String,
    key: String,
}

#[derive(Serialize)]
struct Refused<'u> {
    input: &'u str,
    error: String,
}

pub(super) fn run(args: &UrlArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let rules = NormalRules::default();
    let suffixes = PublicSuffixes::bundled();
    for input in &args.urls {
        if input != "-" {
            inspect(input, &rules, &suffixes, out)?;
            continue;
        }
        for line in io::stdin().lock().split(b'\n') {
            let line = line.map_err(|error| Failure::usage(format!("cannot read stdin: {error}")))?;
            inspect(String::from_utf8_lossy(&line).trim_end_matches('\r'), &rules, &suffixes, out)?;
        }
    }
    Ok(())
}

fn inspect(
    input: &str,
    rules: &NormalRules,
    suffixes: &PublicSuffixes,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    // As crawl and why take it: a host without a scheme is one to ask by https.
    let url = match Url::parse(input, rules).or_else(|error| parse_typed(input, rules).map_err(|_| error)) {
        Ok(url) => url,
        Err(error) => return json_line(out, &Refused { input, error: error.to_string() }),
    };
    let identity = url.identity();
    let inspected = Inspected {
        input,
        request: url.as_str(),
        normal_form: url.normal(),
        host: url.host(),
        root_domain: suffixes.root_domain(url.host()),
        identity: identity.hex(),
        key: identity.key(),
    };
    json_line(out, &inspected)
}
