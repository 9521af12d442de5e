//! Where the files of a worker are: on its disk, in the object store, or lost.

use crate::database::{Answer, Cells, Connection, Database, LIMIT, Session};
use crate::objects::{ObjectReader, Objects, Stored};
use argiope_store::error::Result;
use std::sync::Arc;

/// The catalogue's records of the files of one worker.
pub struct FileLocations {
    session: Session,
    worker: String,
    /// The store for files that leave the disk.
    objects: Option<Arc<dyn Objects>>,
}

/// A file that should be on the disk of its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedFile<'f> {
    Archive(&'f str),
    /// By the number of the segment.
    Links(&'f str),
}

/// Archive files that are elsewhere than the catalogue says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileCheck {
    /// Neither on the disk nor in the store.
    pub lost: Vec<String>,
    /// Lost before, and available again.
    pub found: Vec<String>,
    /// Segments of links that are lost.
    pub lost_links: u64,
}

/// A row of `positions`.
struct Known {
    file: String,
    is_archive: bool,
    length: u64,
    is_kept: bool,
    is_lost: bool,
}

impl Known {
    fn is_here(&self, is_here: &dyn Fn(ExpectedFile<'_>) -> bool) -> bool {
        is_here(if self.is_archive {
            ExpectedFile::Archive(&self.file)
        } else {
            ExpectedFile::Links(&self.file)
        })
    }
}

impl FileLocations {
    /// `worker` is whose files they are.
    pub fn open(
        database: &Database,
        worker: &str,
        objects: Option<Arc<dyn Objects>>,
    ) -> Result<FileLocations> {
        Ok(FileLocations { session: database.connect(LIMIT)?, worker: worker.to_owned(), objects })
    }

    /// Records in the catalogue what an uploader has stored: all of it or nothing; may be repeated.
    pub fn note(&mut self, stored: &[Stored]) -> Result<()> {
        let FileLocations { session, worker, objects } = self;
        let Some(objects) = objects else { return Ok(()) };
        let noted = session.transaction(async |connection| {
            for one in stored {
                match one {
                    Stored::File { file, length, key } => {
                        note_file(connection, worker, file, *length, &objects.address(key)).await?;
                    }
                    Stored::Links { segment, key } => {
                        let sql = "UPDATE positions SET kept_at = $3, lost_at = NULL
                                   WHERE worker = $1 AND store = 'links' AND file = $2";
                        connection.execute(sql, &[&*worker, &&**segment, &objects.address(key)]).await?;
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

    /// Looks for files that should be on the disk. Runs before the worker's links are opened, which continue after lost
    /// ones.
    pub fn check_files(&mut self, is_here: &dyn Fn(ExpectedFile<'_>) -> bool) -> Result<FileCheck> {
        let mut checked = FileCheck::default();
        for known in self.known()? {
            let is_here = known.is_kept || known.is_here(is_here);
            let is_there = !is_here && known.is_archive && self.is_in_store(&known)?;
            match (is_here || is_there, known.is_archive) {
                (true, true) if known.is_lost => checked.found.push(known.file),
                (false, true) if !known.is_lost => checked.lost.push(known.file),
                (true, false) if known.is_lost => self.mark("links", &[known.file], false)?,
                (false, false) if !known.is_lost => {
                    checked.lost_links += 1;
                    self.mark("links", &[known.file], true)?;
                }
                _ => {}
            }
        }
        Ok(checked)
    }

    /// Files that are not recorded as stored, or are recorded as lost.
    fn known(&mut self) -> Result<Vec<Known>> {
        let sql = "SELECT file, store = 'archive', length, kept_at IS NOT NULL, lost_at IS NOT NULL
                   FROM positions WHERE worker = $1 AND (kept_at IS NULL OR lost_at IS NOT NULL)";
        let rows = self.session.query(sql, &[&self.worker])?;
        let read = |row| -> Answer<Known> {
            let mut from = Cells::of(row);
            Ok(Known {
                file: from.text()?,
                is_archive: from.take()?,
                length: from.number()?,
                is_kept: from.take()?,
                is_lost: from.take()?,
            })
        };
        Ok(rows.iter().map(read).collect::<Answer<_>>().map_err(|error| self.session.error(error))?)
    }

    /// It may have been stored, and the disk lost before that was recorded. While the store is unreachable nobody
    /// knows.
    fn is_in_store(&mut self, known: &Known) -> Result<bool> {
        let Some(objects) = self.objects.clone() else { return Ok(false) };
        let file = known.file.as_str();
        let key = match ObjectReader::new(objects).stored_file(file) {
            Ok(key) => key,
            Err(error) if error.is_retryable() => {
                tracing::warn!(%file, %error, "cannot be looked up in the object store now");
                return Ok(true);
            }
            Err(error) => return Err(error),
        };
        let Some(key) = key else { return Ok(false) };
        self.note(&[Stored::File { file: file.into(), length: known.length, key }])?;
        Ok(true)
    }

    pub(super) fn mark(&mut self, store: &str, files: &[String], lost: bool) -> Result<()> {
        let sql = "UPDATE positions SET lost_at = CASE WHEN $4 THEN clock_timestamp() END
                   WHERE worker = $1 AND store = $2 AND file = ANY ($3)";
        self.session.query(sql, &[&self.worker, &store, &files, &lost])?;
        Ok(())
    }

    /// Marks the pages in these files with numbers above `after`, this many numbers at once; returns how many there
    /// were.
    pub(super) fn mark_pages(
        &mut self,
        files: &[String],
        lost: bool,
        after: i64,
        numbers: i64,
    ) -> Result<u64> {
        let sql = "UPDATE crawl_metadata SET archive_lost = $4
                   WHERE id > $1 AND id <= $1 + $2 AND archive_lost <> $4
                     AND split_part(raw_html_path, ':', 1) = ANY ($3)";
        let marked = self
            .session
            .repeat(async |connection| connection.execute(sql, &[&after, &numbers, &files, &lost]).await);
        Ok(marked?)
    }

    /// Whether another member than `owner` has the worker's name, or had it until a moment ago.
    pub(super) fn has_namesake(&mut self, owner: &str) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT FROM members
                                  WHERE worker = $1 AND owner <> $2 AND lease_until > clock_timestamp())";
        let row = self.session.query_one(sql, &[&self.worker, &owner])?;
        Ok(row.try_get(0).map_err(|error| self.session.error(error))?)
    }

    /// The number that the next page gets.
    pub(super) fn next_page(&mut self) -> Result<i64> {
        let row = self.session.query_one("SELECT next_page FROM catalogue_clock", &[])?;
        Ok(row.try_get(0).map_err(|error| self.session.error(error))?)
    }
}

type Noted = std::result::Result<(), tokio_postgres::Error>;

/// A file without catalogued visits is recorded, too: its existence is a fact all the same.
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

/// A page with its own object is read from there from now on. Its hash is in the key.
async fn note_page(connection: &Connection, at: &str, key: &str) -> Noted {
    let name = key.rsplit('/').next().unwrap_or(key);
    let hash = name.get(..16).unwrap_or(name);
    let update = "UPDATE crawl_metadata SET raw_html_path = $3, archive_lost = false
                  WHERE url_hash = $1 AND raw_html_path = $2";
    connection.execute(update, &[&hash, &at, &format!("{key}:0")]).await?;
    Ok(())
}
