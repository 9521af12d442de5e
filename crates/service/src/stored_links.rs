//! The links of a crawl, read from wherever they are: a data directory, or the object store of a cluster.

use crate::access::Access;
use crate::bucket;
use crate::directory;
use crate::place::Place;
use argiope_cluster::catalogue::PostgresReader;
use argiope_cluster::objects::{self, Objects};
use argiope_config::Failure;
use argiope_local::links::{read_segment, read_segments};
use argiope_model::display::counted;
use argiope_store::catalogue::CatalogueReader;
use argiope_store::error::Result as Stored;
use argiope_store::links::{LinksPosition, PageLinks};
use std::path::PathBuf;
use std::sync::Arc;

/// All links at the time of creation.
pub enum StoredLinks {
    OnDisk {
        folder: PathBuf,
        until: Option<LinksPosition>,
    },
    InStore {
        objects: Arc<dyn Objects>,
        /// Keys and lengths.
        segments: Vec<(String, u64)>,
    },
}

impl StoredLinks {
    /// Unavailable segments are reported.
    pub fn of(access: &Access, reader: &dyn CatalogueReader) -> Result<StoredLinks, Failure> {
        let failed = |e| directory::store_failure(&e);
        let place = match &access.place {
            Place::Directory(path) => {
                let until = reader.links_position().map_err(failed)?;
                return Ok(StoredLinks::OnDisk { folder: path.join("links"), until });
            }
            Place::Cluster(place) => place,
        };
        let objects = bucket::of(&access.config)?.ok_or_else(|| {
            Failure::failed("the links are on the workers' disks: storage.html_bucket is not set")
        })?;
        objects.check().map_err(|e| bucket::failure(&e))?;
        let known = PostgresReader::open(&place.database).and_then(|reader| reader.link_segments());
        let (mut segments, mut lost, mut waiting) = (Vec::new(), 0, 0);
        for segment in known.map_err(failed)? {
            match segment.kept_at {
                Some(address) => {
                    let key = address.strip_prefix(&objects.address("")).ok_or_else(|| {
                        Failure::failed(format!(
                            "links are in {address}, which is not in {}",
                            objects.place()
                        ))
                        .hint("is storage.html_bucket the one that the workers use?")
                    })?;
                    segments.push((key.to_owned(), segment.length));
                }
                None if segment.is_lost => lost += 1,
                None => waiting += 1,
            }
        }
        for (count, what) in
            [(waiting, "still on the disks of workers"), (lost, "lost with the disks of workers")]
        {
            if count > 0 {
                let of = counted(count, "segment", "segments");
                tracing::warn!("the links of {of} are {what}; left out");
            }
        }
        Ok(StoredLinks::InStore { objects, segments })
    }

    pub fn read(&self, page: &mut dyn FnMut(&PageLinks<'_>) -> Stored<()>) -> Stored<()> {
        match self {
            StoredLinks::OnDisk { until: None, .. } => Ok(()),
            StoredLinks::OnDisk { folder, until: Some(until) } => read_segments(folder, *until, page),
            StoredLinks::InStore { objects, segments } => segments.iter().try_for_each(|(key, length)| {
                let source = objects::stream(Arc::clone(objects), key.clone(), 0);
                read_segment(key, source, *length, page)
            }),
        }
    }
}
