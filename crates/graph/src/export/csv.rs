//! CSV: a file of edges by name, and a file of nodes. Spreadsheets, pandas and Gephi read both. Texts of pages that
//! begin like a formula get a leading apostrophe; names, which begin with a scheme or are hosts, stay unchanged.

use super::{Attribute, Document};
use crate::ranked::Value;
use std::io::{self, Write};

/// `source,target,weight`
pub(super) fn write_edges(document: &Document<'_>, to: &mut dyn Write) -> io::Result<()> {
    let graph = &document.ranked.graph;
    let mut rows = ::csv::Writer::from_writer(to);
    rows.write_record(["source", "target", "weight"])?;
    for edge in graph.edges() {
        rows.write_record([graph.name(edge.from), graph.name(edge.to), &edge.weight.to_string()])?;
    }
    rows.flush()
}

/// `id` is the name that the edges use, then the node's properties.
pub fn write_nodes(document: &Document<'_>, to: &mut dyn Write) -> io::Result<()> {
    let graph = &document.ranked.graph;
    let attributes = document.attributes();
    let mut rows = ::csv::Writer::from_writer(to);
    rows.write_record(["id"].into_iter().chain(attributes.iter().map(|attribute| attribute.name)))?;
    for (node, name) in graph.nodes().zip(graph.names()) {
        rows.write_field(name)?;
        for attribute in &attributes {
            rows.write_field(text(attribute, node))?;
        }
        rows.write_record(None::<&[u8]>)?;
    }
    rows.flush()
}

fn text(attribute: &Attribute<'_>, node: u32) -> String {
    match (attribute.value)(node) {
        Some(Value::Text(text)) if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) => {
            format!("'{text}")
        }
        Some(Value::Text(text)) => text.to_owned(),
        Some(Value::Integer(number)) => number.to_string(),
        Some(Value::Real(number)) => format!("{number:e}"),
        Some(Value::Flag(flag)) => flag.to_string(),
        None => String::new(),
    }
}
