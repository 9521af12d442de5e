//! DOT, the language of Graphviz. Nodes are `n0`, `n1`, ...; their names are labels.

use super::Document;
use crate::ranked::Value;
use std::fmt;
use std::io::{self, Write};

/// Graphviz interprets `\n`, `\l` and similar in a label, so backslashes are doubled.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for character in self.0.chars() {
            match character {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                // Graphviz is written in C: a NUL would end the file.
                c if c.is_control() => f.write_str("\u{fffd}")?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

pub(super) fn write(document: &Document<'_>, to: &mut dyn Write) -> io::Result<()> {
    let graph = &document.ranked.graph;
    let attributes = document.attributes();
    writeln!(to, "digraph links {{")?;
    for (node, name) in graph.nodes().zip(graph.names()) {
        write!(to, "  n{node} [label={}", Quoted(name))?;
        for attribute in &attributes {
            // Graphviz has its own `rank`, which is about rows.
            let name = if attribute.name == "rank" { "pagerank" } else { attribute.name };
            match (attribute.value)(node) {
                Some(Value::Text(text)) => write!(to, ", {name}={}", Quoted(text))?,
                Some(Value::Integer(number)) => write!(to, ", {name}={number}")?,
                Some(Value::Real(number)) => write!(to, ", {name}=\"{number:e}\"")?,
                Some(Value::Flag(flag)) => write!(to, ", {name}={flag}")?,
                None => {}
            }
        }
        writeln!(to, "];")?;
    }
    for edge in graph.edges() {
        writeln!(to, "  n{} -> n{} [weight={}];", edge.from, edge.to, edge.weight)?;
    }
    to.write_all(b"}\n")
}
