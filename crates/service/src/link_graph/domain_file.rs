//! The graph in the file of a domain graph: an SQLite file with the tables `nodes` and `edges`.

use super::crawl::too_many;
use super::nodes::{Level, Nodes};
use super::{LinkGraph, ranked};
use crate::directory;
use argiope_config::Failure;
use argiope_graph::{Column, Values};
use argiope_local::domain_graph::DomainGraphReader;
use argiope_model::{NormalRules, PublicSuffixes};
use argiope_store::error::{ErrorKind, StoreError};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Nodes are hosts, as in the file, or root domains.
pub(super) fn read(path: &Path, level: Level, crawled_only: bool) -> Result<LinkGraph, Failure> {
    let nodes = RefCell::new(Nodes::new(level, Arc::new(PublicSuffixes::bundled()), NormalRules::default()));
    let mut numbers: HashMap<i64, u32> = HashMap::new();
    let (mut crawl_counts, mut descriptions) = (Vec::<u32>::new(), Vec::new());
    let numbered = RefCell::new(&mut numbers);
    let reader = DomainGraphReader::open(path).map_err(|e| directory::store_failure(&e))?;
    let read = reader.read(
        &mut |row| {
            let node = nodes.borrow_mut().of_host(&row.name).map_err(too_many)? as usize;
            numbered.borrow_mut().insert(row.id, node as u32);
            if node >= crawl_counts.len() {
                crawl_counts.resize(node + 1, 0);
                descriptions.resize(node + 1, None);
            }
            if let (Some(count), Some(text)) = (crawl_counts.get_mut(node), descriptions.get_mut(node)) {
                *count = count.saturating_add(row.crawl_count);
                *text = row.description;
            }
            Ok(())
        },
        &mut |edge| {
            let of = |id: i64| {
                numbered.borrow().get(&id).copied().ok_or_else(|| {
                    let message = format!("an edge refers to the missing node {id}");
                    StoreError::new(ErrorKind::Corrupt, path.display().to_string(), message)
                })
            };
            nodes.borrow_mut().builder.link(of(edge.from)?, of(edge.to)?, edge.weight);
            Ok(())
        },
    );
    read.map_err(|e| directory::store_failure(&e))?;
    let mut columns = vec![Column { name: "crawl_count", values: Values::Integer(crawl_counts.clone()) }];
    // A domain has several hosts, and no description of its own.
    if level == Level::Host {
        columns.push(Column { name: "description", values: Values::Text(descriptions) });
    }
    let Nodes { builder, suffixes, .. } = nodes.into_inner();
    let ranked = ranked(builder.build(), columns, &crawl_counts, crawled_only);
    let name = path
        .file_name()
        .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    Ok(LinkGraph { ranked, level, title: name, suffixes })
}
