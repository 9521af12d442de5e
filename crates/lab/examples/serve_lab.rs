//! Serves a lab web by itself, on one thread: `serve_lab [--listen ADDR:PORT] [--hosts N] [--pages N] [--seed N]
//! [--profile plain|mixed|demo] [--small] [--latency 50ms] [--log FILE]`. Prints the front page of every site and serves until it
//! is killed.

use argiope_lab::{Lab, LabConfig, PageSize};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut config = LabConfig::plain();
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        if option == "--small" {
            config.page_size = PageSize::Small;
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
        match option.as_str() {
            "--listen" => config.listen = value.parse()?,
            "--hosts" => config.hosts = value.parse()?,
            "--pages" => config.pages = value.parse()?,
            "--seed" => config.seed = value.parse()?,
            "--latency" => {
                config.latency_ms = u64::try_from(argiope_model::parse_duration(&value)?.as_millis())?;
            }
            "--log" => config.log_file = Some(value.into()),
            "--profile" => {
                let preset = match value.as_str() {
                    "plain" => LabConfig::plain(),
                    "mixed" => LabConfig::mixed(),
                    "demo" => LabConfig::demo(),
                    other => return Err(format!("there is no profile '{other}'").into()),
                };
                config = LabConfig { listen: config.listen, ..preset };
            }
            other => return Err(format!("there is no option '{other}'").into()),
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let lab = Lab::start(config).await?;
        println!("{}", lab.seeds().join("\n"));
        lab.run_until(std::future::pending()).await?;
        Ok(())
    })
}
