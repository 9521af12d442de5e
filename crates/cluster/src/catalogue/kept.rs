//! Where the archive is once it has left the disk of its worker.

use crate::database::{Connection, Database, Session};
use crate::objects::{Objects, Stored};
use argiope_store::error::Result;
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);

/// Tells the catalogue what an uploader has stored.
pub struct KeptFiles {
    session: Session,
    worker: String,
    objects: Arc<dyn Objects>,
}

impl KeptFiles {
    /// `worker` is whose files they are.
    pub fn open(database: &Database, worker: &str, objects: Arc<dyn Objects>) -> Result<KeptFiles> {
        Ok(KeptFiles { session: database.connect(LIMIT)?, worker: worker.to_owned(), objects })
    }

    /// All of it or nothing; may be told again.
    pub fn note(&mut self, stored: &[Stored]) -> Result<()> {
        let KeptFiles { session, worker, objects } = self;
        let noted = session.transaction(async |connection| {
            for one in stored {
                match one {
                    Stored::File { file, length, key } => {
                        note_file(connection, worker, file, *length, &objects.address(key)).await?;
                    }
                    Stored::Page { at, key } => note_page(connection, &at.to_string(), key).await?,
                    Stored::AllPages { file, length } => {
                        note_file(connection, worker, file, *length, objects.place()).await?;
                    }
                }
            }
            Ok(())
        });
        Ok(noted?)
    }
}

type Noted = std::result::Result<(), tokio_postgres::Error>;

/// A file of which the catalogue has no visit is noted, too: that it is there is true all the same.
async fn note_file(connection: &Connection, worker: &str, file: &str, length: u64, place: &str) -> Noted {
    let known = "UPDATE positions SET kept_at = $2 WHERE store = 'archive' AND file = $1";
    if connection.execute(known, &[&file, &place]).await? == 0 {
        let unknown = "INSERT INTO positions (worker, store, file, length, kept_at)
                       VALUES ($1, 'archive', $2, $3, $4)";
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        connection.execute(unknown, &[&worker, &file, &length, &place]).await?;
    }
    Ok(())
}

/// A page that has an object of its own is found there from now on. Its hash is in the key.
async fn note_page(connection: &Connection, at: &str, key: &str) -> Noted {
    let name = key.rsplit('/').next().unwrap_or(key);
    let hash = name.get(..16).unwrap_or(name);
    let update = "UPDATE crawl_metadata SET raw_html_path = $3 WHERE url_hash = $1 AND raw_html_path = $2";
    connection.execute(update, &[&hash, &at, &format!("{key}:0")]).await?;
    Ok(())
}
