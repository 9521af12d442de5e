//! Pages as files of other kinds than text: Parquet, WARC, WACZ and sitemaps.

use super::MissingContent;
use crate::page_bodies::{Bodies, Stored as StoredBody};
use argiope_export::{PageParquet, Produced, SitemapPart, Sitemaps, Wacz, WarcFile, belongs, write_index};
use argiope_model::{Page, Url};
use argiope_store::archive::StoredExchange;
use argiope_store::catalogue::{CatalogueReader, PageQuery};
use argiope_store::clock::now;
use argiope_store::error::{ErrorKind, Result as Stored, StoreError};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The name of the WARC file in a WACZ, and in the first record of a WARC file.
const WARC_NAME: &str = "data.warc.gz";

pub(super) fn parquet(
    reader: &dyn CatalogueReader,
    queries: &[PageQuery],
    to: &mut dyn Write,
) -> Stored<u64> {
    let mut file = PageParquet::new(to).map_err(failed)?;
    let mut count = 0;
    for query in queries {
        reader.pages(query, &mut |stored| {
            file.write(&stored.row.page).map_err(failed)?;
            count += 1;
            Ok(ControlFlow::Continue(()))
        })?;
    }
    file.finish().map_err(failed)?;
    Ok(count)
}

pub(super) fn warc(
    reader: &dyn CatalogueReader,
    queries: &[PageQuery],
    bodies: &Bodies,
    to: &mut dyn Write,
    missing: &mut MissingContent,
) -> Stored<u64> {
    let mut file = WarcFile::new(to, &produced()?).map_err(failed)?;
    let count = responses(reader, queries, bodies, missing, |_, exchange| file.add(exchange).map(|_| ()))?;
    file.finish().map_err(failed)?;
    Ok(count)
}

pub(super) fn wacz(
    reader: &dyn CatalogueReader,
    queries: &[PageQuery],
    bodies: &Bodies,
    to: &mut dyn Write,
    missing: &mut MissingContent,
) -> Stored<u64> {
    let mut file = Wacz::new(to, produced()?).map_err(failed)?;
    let count = responses(reader, queries, bodies, missing, |page, exchange| file.add(page, exchange))?;
    file.finish().map_err(failed)?;
    Ok(count)
}

/// Every page with its response. Those without one, and those that are not there, are left out.
fn responses(
    reader: &dyn CatalogueReader,
    queries: &[PageQuery],
    bodies: &Bodies,
    missing: &mut MissingContent,
    mut each: impl FnMut(&Page, &StoredExchange) -> io::Result<()>,
) -> Stored<u64> {
    let mut count = 0;
    for query in queries {
        reader.pages(query, &mut |stored| {
            match bodies.exchange(&stored.row.page)? {
                StoredBody::Found(exchange) => {
                    each(&stored.row.page, &exchange).map_err(failed)?;
                    count += 1;
                }
                StoredBody::None => {}
                StoredBody::Missing => missing.missing += 1,
                StoredBody::Damaged(how) => {
                    missing.damaged += 1;
                    missing.first_damage.get_or_insert(how);
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok(count)
}

/// Writes the sitemap at `path`. If one file is too small for it, that is an index, and the sitemaps are beside it, with numbers.
/// None of them is there before all are written.
pub(super) fn sitemap(reader: &dyn CatalogueReader, queries: &[PageQuery], path: &Path) -> Stored<u64> {
    let mut temporary = Temporary { path, numbers: Vec::new() };
    let (count, origin, parts) = write_parts(reader, queries, &mut temporary)?;
    if let [_] = parts[..] {
        temporary.keep_as(1, path)?;
        return Ok(count);
    }
    let names: Vec<PathBuf> = parts.iter().map(|part| numbered(path, part.number)).collect();
    let urls: Vec<String> = names.iter().map(|name| format!("{origin}/{}", name_of(name))).collect();
    let index = temporary.open(0).and_then(|mut to| {
        write_index(&mut to, urls.iter().map(String::as_str), now())?;
        to.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    });
    index.map_err(|error| about(path, error))?;
    for (part, name) in parts.iter().zip(&names) {
        temporary.keep_as(part.number, name)?;
    }
    temporary.keep_as(0, path)?;
    Ok(count)
}

fn write_parts(
    reader: &dyn CatalogueReader,
    queries: &[PageQuery],
    temporary: &mut Temporary<'_>,
) -> Stored<(u64, String, Vec<SitemapPart>)> {
    let path = temporary.path;
    let (mut count, mut origin) = (0, None);
    let mut sitemaps = Sitemaps::new(|number| temporary.open(number));
    for query in queries {
        reader.pages(query, &mut |stored| {
            let page = &stored.row.page;
            if belongs(page) {
                if origin.is_none() {
                    origin = Url::from_stored(&page.url).ok().map(|url| url.origin().to_owned());
                }
                sitemaps.add(&page.url, None).map_err(|error| about(path, error))?;
                count += 1;
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let parts = sitemaps.finish().map_err(|error| about(path, error))?;
    Ok((count, origin.unwrap_or_default(), parts))
}

/// Files under names of their own until all are written; those that are left over are removed.
struct Temporary<'p> {
    path: &'p Path,
    numbers: Vec<u32>,
}

impl Temporary<'_> {
    fn name(&self, number: u32) -> PathBuf {
        let name = format!(".{}.{number}.{}.partial", name_of(self.path), std::process::id());
        self.path.with_file_name(name)
    }

    fn open(&mut self, number: u32) -> io::Result<BufWriter<File>> {
        let file = File::create(self.name(number))?;
        self.numbers.push(number);
        Ok(BufWriter::with_capacity(1 << 16, file))
    }

    fn keep_as(&mut self, number: u32, path: &Path) -> Stored<()> {
        fs::rename(self.name(number), path).map_err(|error| about(path, error))?;
        self.numbers.retain(|left| *left != number);
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        for number in &self.numbers {
            // The first error is reported; a temporary file that cannot be removed either is only litter.
            let _ = fs::remove_file(self.name(*number));
        }
    }
}

/// `sitemap.xml` -> `sitemap-1.xml`
fn numbered(path: &Path, number: u32) -> PathBuf {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let extension = path.extension().map(|extension| format!(".{}", extension.to_string_lossy()));
    path.with_file_name(format!("{stem}-{number}{}", extension.unwrap_or_default()))
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn produced() -> Stored<Produced> {
    let mut random = [0; 16];
    let drawn = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut random));
    drawn.map_err(|error| StoreError::io("random numbers", error))?;
    let software = String::from(concat!("argiope/", env!("CARGO_PKG_VERSION")));
    Ok(Produced { software, file: String::from(WARC_NAME), at: now(), random })
}

fn failed(error: io::Error) -> StoreError {
    StoreError::io("export", error)
}

fn about(path: &Path, error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::NotADirectory => {
            StoreError::new(ErrorKind::Usage, path.display().to_string(), "is not in a folder")
        }
        _ => StoreError::io(path.display().to_string(), error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sitemaps_beside_an_index_have_numbers() {
        assert_eq!(numbered(Path::new("a/sitemap.xml"), 2), Path::new("a/sitemap-2.xml"));
        assert_eq!(numbered(Path::new("sitemap"), 1), Path::new("sitemap-1"));
    }

    #[test]
    fn what_was_not_kept_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sitemap.xml");
        let mut temporary = Temporary { path: &path, numbers: Vec::new() };
        for number in [1, 2] {
            temporary.open(number).unwrap().write_all(b"x").unwrap();
        }
        temporary.keep_as(1, &path).unwrap();
        drop(temporary);
        let left: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, [path]);
    }
}
