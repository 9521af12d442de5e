//! `lab`: serve the synthetic web until a signal comes.

use crate::cli::{LabArgs, LabProfile};
use crate::signals::{Signal, Signals};
use argiope_config::{Failure, GlobalOptions};
use argiope_lab::{Lab, LabConfig, PageSize, TlsFiles};
use argiope_model::display::counted;
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

pub(crate) fn run(global: &GlobalOptions, args: &LabArgs) -> Result<(), Failure> {
    let signals =
        Signals::listen().map_err(|e| Failure::failed(format!("cannot listen for signals: {e}")))?;
    let lab = Lab::start_on_thread(config_of(args)?).map_err(|e| Failure::failed(e.to_string()))?;
    let mut out = std::io::stdout().lock();
    if !global.quiet {
        for seed in lab.seeds() {
            if writeln!(out, "{seed}").is_err() {
                break;
            }
        }
        let _ = out.flush();
        let sites = counted(lab.seeds().len() as u64, "site", "sites");
        eprintln!("the lab web is running: {sites} on port {}; Ctrl-C stops it", lab.port());
    }
    loop {
        if signals.wait(Duration::from_secs(3600)) == Some(Signal::Stop) {
            return Ok(());
        }
    }
}

fn config_of(args: &LabArgs) -> Result<LabConfig, Failure> {
    let mut config = match args.profile {
        LabProfile::Plain => LabConfig::plain(),
        LabProfile::Mixed => LabConfig::mixed(),
        LabProfile::Demo => LabConfig::demo(),
    };
    match args.listen {
        Some(SocketAddr::V4(address)) => config.listen = address,
        Some(SocketAddr::V6(_)) => {
            return Err(Failure::usage("the lab listens on IPv4 loopback addresses only"));
        }
        None => {}
    }
    if let Some(hosts) = args.hosts {
        config.hosts = hosts;
    }
    if let Some(pages) = args.pages {
        config.pages = pages;
    }
    if let Some(seed) = args.seed {
        config.seed = seed;
    }
    if args.small {
        config.page_size = PageSize::Small;
    }
    if let Some(latency) = args.latency {
        config.latency_ms = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX);
    }
    config.outward = args.outward;
    config.log_file = args.log.clone();
    config.requests_per_connection = args.requests_per_connection;
    if let (Some(certificate), Some(key)) = (&args.certificate, &args.key) {
        config.tls = Some(TlsFiles { certificate: certificate.clone(), key: key.clone() });
    }
    Ok(config)
}
