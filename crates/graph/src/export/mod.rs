//! Streams a ranked graph to a file for other programs: memory holds no more than one node.
//!
//! Every format has the nodes with rank, degrees, group and the columns of the graph, and the edges with their weights.

mod csv;
mod dot;
mod gexf;
mod graphml;
mod json;
mod xml;

pub use self::csv::write_nodes as write_csv_nodes;

use crate::groups::Groups;
use crate::ranked::{RankedGraph, Value, Values};
use std::io::{self, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    GraphMl,
    Gexf,
    Dot,
    /// The edges; nodes go into a separate file, see [`write_csv_nodes`].
    Csv,
    Json,
}

/// What is written.
#[derive(Clone, Copy)]
pub struct Document<'a> {
    pub ranked: &'a RankedGraph,
    pub groups: &'a Groups,
}

pub fn write(format: Format, document: &Document<'_>, to: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::GraphMl => graphml::write(document, to),
        Format::Gexf => gexf::write(document, to),
        Format::Dot => dot::write(document, to),
        Format::Csv => self::csv::write_edges(document, to),
        Format::Json => json::write(document, to),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Integer,
    Real,
    Flag,
}

/// A property of every node in the output.
struct Attribute<'a> {
    name: &'a str,
    kind: Kind,
    value: Box<dyn Fn(u32) -> Option<Value<'a>> + 'a>,
}

impl<'a> Document<'a> {
    fn attributes(&self) -> Vec<Attribute<'a>> {
        let Document { ranked, groups } = *self;
        let mut all = vec![
            Attribute {
                name: "rank",
                kind: Kind::Real,
                value: Box::new(|node| Some(Value::Real(ranked.rank(node)))),
            },
            Attribute {
                name: "in_degree",
                kind: Kind::Integer,
                value: Box::new(|node| Some(Value::Integer(ranked.in_degree(node)))),
            },
            Attribute {
                name: "out_degree",
                kind: Kind::Integer,
                value: Box::new(|node| Some(Value::Integer(ranked.out_degree(node)))),
            },
            Attribute {
                name: groups.label,
                kind: Kind::Text,
                value: Box::new(|node| Some(Value::Text(groups.name(groups.of(node))))),
            },
        ];
        all.extend(ranked.columns.iter().map(|column| Attribute {
            name: column.name,
            kind: match column.values {
                Values::Text(_) => Kind::Text,
                Values::Integer(_) => Kind::Integer,
                Values::Real(_) => Kind::Real,
                Values::Flag(_) => Kind::Flag,
            },
            value: Box::new(|node| column.values.get(node)),
        }));
        all
    }
}

#[cfg(test)]
mod tests;
