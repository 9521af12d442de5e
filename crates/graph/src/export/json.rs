//! JSON: `nodes` and `links` by name, as d3 and similar tools expect. One node or link per line.

use super::Document;
use crate::ranked::Value;
use std::io::{self, Write};

pub(super) fn write(document: &Document<'_>, to: &mut dyn Write) -> io::Result<()> {
    let graph = &document.ranked.graph;
    let attributes = document.attributes();
    to.write_all(b"{\"directed\":true,\"nodes\":[")?;
    for (node, name) in graph.nodes().zip(graph.names()) {
        to.write_all(if node == 0 { b"\n{\"id\":" } else { b",\n{\"id\":" })?;
        serde_json::to_writer(&mut *to, name)?;
        for attribute in &attributes {
            write!(to, ",\"{}\":", attribute.name)?;
            match (attribute.value)(node) {
                Some(Value::Text(text)) => serde_json::to_writer(&mut *to, text)?,
                Some(Value::Integer(number)) => write!(to, "{number}")?,
                Some(Value::Real(number)) => serde_json::to_writer(&mut *to, &number)?,
                Some(Value::Flag(flag)) => write!(to, "{flag}")?,
                None => to.write_all(b"null")?,
            }
        }
        to.write_all(b"}")?;
    }
    to.write_all(b"\n],\"links\":[")?;
    for (number, edge) in graph.edges().enumerate() {
        to.write_all(if number == 0 { b"\n{\"source\":" } else { b",\n{\"source\":" })?;
        serde_json::to_writer(&mut *to, graph.name(edge.from))?;
        to.write_all(b",\"target\":")?;
        serde_json::to_writer(&mut *to, graph.name(edge.to))?;
        write!(to, ",\"weight\":{}}}", edge.weight)?;
    }
    to.write_all(b"\n]}\n")
}
