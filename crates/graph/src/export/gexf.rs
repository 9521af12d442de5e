//! GEXF 1.3, the format of Gephi: sizes follow the rank, colours the group.

use super::xml::{DECLARATION, Escaped, XmlValue};
use super::{Document, Kind};
use std::io::{self, Write};

/// Diameters of the nodes with the lowest and the highest rank.
const SIZES: (f64, f64) = (4.0, 60.0);

pub(super) fn write(document: &Document<'_>, to: &mut dyn Write) -> io::Result<()> {
    let Document { ranked, groups } = document;
    let graph = &ranked.graph;
    let attributes = document.attributes();
    let highest = ranked.ranks.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    to.write_all(DECLARATION.as_bytes())?;
    writeln!(
        to,
        "<gexf xmlns=\"http://gexf.net/1.3\" xmlns:viz=\"http://gexf.net/1.3/viz\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
         xsi:schemaLocation=\"http://gexf.net/1.3 http://gexf.net/1.3/gexf.xsd\" version=\"1.3\">"
    )?;
    writeln!(to, "  <meta><creator>argiope</creator></meta>")?;
    writeln!(to, "  <graph defaultedgetype=\"directed\" mode=\"static\">")?;
    writeln!(to, "    <attributes class=\"node\">")?;
    for attribute in &attributes {
        let kind = match attribute.kind {
            Kind::Text => "string",
            Kind::Integer => "long",
            Kind::Real => "double",
            Kind::Flag => "boolean",
        };
        writeln!(to, "      <attribute id=\"{0}\" title=\"{0}\" type=\"{kind}\"/>", attribute.name)?;
    }
    writeln!(to, "    </attributes>\n    <nodes>")?;
    for (node, name) in graph.nodes().zip(graph.names()) {
        write!(to, "      <node id=\"{node}\" label=\"{}\"><attvalues>", Escaped(name))?;
        for attribute in &attributes {
            if let Some(value) = (attribute.value)(node) {
                write!(to, "<attvalue for=\"{}\" value=\"{}\"/>", attribute.name, XmlValue(value))?;
            }
        }
        // The eye compares areas, not diameters.
        let size = SIZES.0 + (SIZES.1 - SIZES.0) * (ranked.rank(node) / highest).sqrt();
        let [red, green, blue] = groups.colour(node);
        writeln!(
            to,
            "</attvalues><viz:color r=\"{red}\" g=\"{green}\" b=\"{blue}\"/><viz:size value=\"{size:.2}\"/></node>"
        )?;
    }
    writeln!(to, "    </nodes>\n    <edges>")?;
    for (number, edge) in graph.edges().enumerate() {
        writeln!(
            to,
            "      <edge id=\"{number}\" source=\"{}\" target=\"{}\" weight=\"{}\"/>",
            edge.from, edge.to, edge.weight
        )?;
    }
    to.write_all(b"    </edges>\n  </graph>\n</gexf>\n")
}
