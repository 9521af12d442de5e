//! GraphML: read by Gephi, yEd, Cytoscape, NetworkX, igraph.

use super::xml::{DECLARATION, Escaped, XmlValue};
use super::{Document, Kind};
use std::io::{self, Write};

pub(super) fn write(document: &Document<'_>, to: &mut dyn Write) -> io::Result<()> {
    let graph = &document.ranked.graph;
    let attributes = document.attributes();
    to.write_all(DECLARATION.as_bytes())?;
    writeln!(
        to,
        "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
         xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns \
         http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">"
    )?;
    writeln!(to, "  <key id=\"label\" for=\"node\" attr.name=\"label\" attr.type=\"string\"/>")?;
    for attribute in &attributes {
        let kind = match attribute.kind {
            Kind::Text => "string",
            Kind::Integer => "long",
            Kind::Real => "double",
            Kind::Flag => "boolean",
        };
        let name = attribute.name;
        writeln!(to, "  <key id=\"{name}\" for=\"node\" attr.name=\"{name}\" attr.type=\"{kind}\"/>")?;
    }
    writeln!(to, "  <key id=\"weight\" for=\"edge\" attr.name=\"weight\" attr.type=\"double\"/>")?;
    writeln!(to, "  <graph id=\"links\" edgedefault=\"directed\">")?;
    for (node, name) in graph.nodes().zip(graph.names()) {
        write!(to, "    <node id=\"n{node}\"><data key=\"label\">{}</data>", Escaped(name))?;
        for attribute in &attributes {
            if let Some(value) = (attribute.value)(node) {
                write!(to, "<data key=\"{}\">{}</data>", attribute.name, XmlValue(value))?;
            }
        }
        writeln!(to, "</node>")?;
    }
    for edge in graph.edges() {
        writeln!(
            to,
            "    <edge source=\"n{}\" target=\"n{}\"><data key=\"weight\">{}</data></edge>",
            edge.from, edge.to, edge.weight
        )?;
    }
    to.write_all(b"  </graph>\n</graphml>\n")
}
