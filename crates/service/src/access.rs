//! What a request needs to be carried out: where the data is, and the configuration that applies to it.

use crate::directory;
use crate::place::{Place, Work};
use argiope_config::{Failure, GlobalOptions, LoadedConfig, load_config_to_read};
use argiope_store::catalogue::CatalogueReader;
use std::sync::Arc;

/// Created once by the caller: by a command for its one request, by a server for all of them.
pub struct Access {
    pub options: GlobalOptions,
    /// Values of variables that are not set are missing in it: see [`LoadedConfig::needs`].
    pub config: LoadedConfig,
    pub place: Place,
}

impl Access {
    /// For requests that only read; [`argiope_config::load_config`] is for those that fetch, too.
    pub fn open(options: &GlobalOptions) -> Result<Access, Failure> {
        let config = load_config_to_read(options)?;
        let place = Place::named_by(options, &config)?;
        Ok(Access { options: options.clone(), config, place })
    }

    /// To the data directory of `options`, whatever the configuration names.
    pub fn to_directory(options: &GlobalOptions, config: LoadedConfig) -> Access {
        Access { options: options.clone(), config, place: Place::Directory(options.data.clone()) }
    }

    pub fn reader(&self) -> Result<Box<dyn CatalogueReader>, Failure> {
        self.place.reader()
    }

    /// Who works on the jobs now.
    pub fn work(&self) -> Result<Work, Failure> {
        self.place.work()
    }

    /// The configuration, as far as URLs and requests are judged by it. All of that must be known.
    pub fn rules(&self) -> Result<&LoadedConfig, Failure> {
        self.config.needs_rules()?;
        Ok(&self.config)
    }

    /// The list of public suffixes that the data was made with.
    pub fn suffixes(&self) -> Result<Arc<argiope_model::PublicSuffixes>, Failure> {
        match &self.place {
            Place::Directory(path) => directory::suffixes(path).map(Arc::new),
            Place::Cluster(place) => Ok(Arc::clone(&place.fixed.suffixes)),
        }
    }
}
