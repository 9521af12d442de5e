//! `inspect`: one URL, robots.txt, page or sitemap, printed as JSON.

use crate::cli::{InspectCommand, InspectFetch, PageArgs, RobotsArgs, SitemapArgs, UrlArgs};
use argiope_config::{Failure, GlobalOptions, NetworkOptions};
use argiope_service::inspect::{InspectOptions, Source, UrlInspector, page, robots, sitemap};
use serde::Serialize;
use std::io::{self, BufRead, Write};

pub(crate) fn run(global: &GlobalOptions, command: &InspectCommand) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match command {
        InspectCommand::Url(args) => print_urls(args, &mut out)?,
        InspectCommand::Robots(args) => print_robots(global, args, &mut out)?,
        InspectCommand::Page(args) => print_page(global, args, &mut out)?,
        InspectCommand::Sitemap(args) => print_sitemap(global, args, &mut out)?,
    }
    out.flush().map_err(|error| Failure::output(&error))
}

fn source(text: &str) -> Result<Source, Failure> {
    match text {
        "-" => Ok(Source::Stream("stdin", Box::new(io::stdin()))),
        text => Source::named(text),
    }
}

fn options(fetch: &InspectFetch) -> InspectOptions {
    InspectOptions { network: NetworkOptions::from(&fetch.network), allow_private: fetch.allow_private }
}

fn notice(text: &str) {
    eprintln!("{text}");
}

fn print_urls(args: &UrlArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let inspector = UrlInspector::default();
    for input in &args.urls {
        if input != "-" {
            json_line(out, &inspector.inspect(input))?;
            continue;
        }
        for line in io::stdin().lock().split(b'\n') {
            let line = line.map_err(|error| Failure::usage(format!("cannot read stdin: {error}")))?;
            json_line(out, &inspector.inspect(String::from_utf8_lossy(&line).trim_end_matches('\r')))?;
        }
    }
    Ok(())
}

fn print_robots(global: &GlobalOptions, args: &RobotsArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let (from, options) = (source(&args.source)?, options(&args.fetch));
    let answers = robots(global, from, &args.agent, &args.urls, &options, &notice)?;
    answers.iter().try_for_each(|answer| json_line(out, answer))
}

fn print_page(global: &GlobalOptions, args: &PageArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let (from, options) = (source(&args.source)?, options(&args.fetch));
    json_line(out, &page(global, from, args.base.as_deref(), &options, &notice)?)
}

fn print_sitemap(global: &GlobalOptions, args: &SitemapArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let (from, options) = (source(&args.source)?, options(&args.fetch));
    let found = sitemap(global, from, &args.source, &options, &notice)?;
    found.entries.iter().try_for_each(|entry| json_line(out, entry))?;
    if found.truncated && !global.quiet {
        eprintln!(
            "argiope: warning: {} is cut off: it exceeds the size limit of sitemaps, or is damaged",
            args.source
        );
    }
    Ok(())
}

/// One JSON object on a line of its own.
fn json_line(out: &mut dyn Write, value: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(value)
        .map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))?;
    writeln!(out, "{line}").map_err(|error| Failure::output(&error))
}
