//! How requests are made: options of every command that fetches on behalf of a user.

use argiope_config::{NetworkOptions, proxy};
use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct NetworkArgs {
    /// Send this header, as in 'X-Team: search'; may be repeated
    #[arg(long, value_name = "NAME: VALUE", help_heading = "Requests")]
    pub(crate) header: Vec<String>,
    /// HTTP proxy, http://[USER:PASSWORD@]HOST:PORT, or none (default: http_proxy, https_proxy and no_proxy of the
    /// environment)
    #[arg(long, value_name = "URL", value_parser = proxy, help_heading = "Requests")]
    pub(crate) proxy: Option<String>,
    /// Also trust the certificates in this PEM file, of authorities or of servers
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Requests")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Do not verify certificates: anyone on the network path can read and change everything
    #[arg(long, help_heading = "Requests")]
    pub(crate) insecure: bool,
}

impl From<&NetworkArgs> for NetworkOptions {
    fn from(args: &NetworkArgs) -> NetworkOptions {
        NetworkOptions {
            headers: args.header.clone(),
            proxy: args.proxy.clone(),
            ca_file: args.ca_file.clone(),
            insecure: args.insecure,
        }
    }
}
