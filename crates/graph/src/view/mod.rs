//! A picture of a graph: one self-contained HTML file, with precomputed positions of all nodes.
//!
//! Script and style are separate files beside this one. The data is embedded as JSON, without any character that could
//! end its element; the page's content policy forbids it to load anything.

mod choice;

use crate::groups::{Groups, OTHERS, PALETTE};
use crate::layout::{self, Point};
use crate::ranked::RankedGraph;
use choice::{Drawn, drawn_edges};
use std::io::{self, Write};
use std::num::NonZero;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
/// In the order they are put together.
const SCRIPTS: [&str; 4] =
    [include_str!("data.js"), include_str!("drawing.js"), include_str!("panel.js"), include_str!("main.js")];

/// More links than this cannot be told apart.
pub const MOST_EDGES: usize = 40_000;
/// Radii of the nodes with the lowest and the highest rank, in the unit of the layout.
const RADII: (f64, f64) = (4.0, 34.0);
/// The upper limit of the average excess over the smallest radius.
const MEAN_GROWTH: f64 = 4.0;

/// What is shown.
pub struct View<'a> {
    /// The nodes to be drawn, highest rank first.
    pub ranked: &'a RankedGraph,
    pub groups: &'a Groups,
    pub title: &'a str,
    /// The kind of nodes, in the plural: `pages`.
    pub noun: &'a str,
    /// Counts of the whole graph that `ranked` is the top of.
    pub all_nodes: usize,
    pub all_edges: usize,
}

impl View<'_> {
    pub fn write(&self, threads: NonZero<usize>, to: &mut dyn Write) -> io::Result<()> {
        let edges = drawn_edges(self.ranked, MOST_EDGES);
        let radii = self.radii();
        let places = layout::layout(&edges.graph, self.groups, &radii, threads);
        let mut rest = PAGE;
        while let Some((before, after)) = rest.split_once("{{") {
            let (slot, later) = after.split_once("}}").unwrap_or((after, ""));
            to.write_all(before.as_bytes())?;
            match slot {
                "title" => write!(to, "{}", Text(self.title))?,
                "style" => to.write_all(STYLE.as_bytes())?,
                "script" => SCRIPTS.iter().try_for_each(|script| to.write_all(script.as_bytes()))?,
                "data" => self.data(&edges, &places, &radii, &mut InScript { to })?,
                other => return Err(io::Error::other(format!("the page has no '{other}'"))),
            }
            rest = later;
        }
        to.write_all(rest.as_bytes())
    }

    /// By rank, between the lowest and the highest. If most are near the highest, all are drawn smaller, because nodes
    /// that fill the picture show nothing.
    fn radii(&self) -> Vec<f64> {
        // The eye compares areas, not radii.
        let roots: Vec<f64> = self.ranked.ranks.iter().map(|rank| rank.sqrt()).collect();
        let lowest = roots.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = roots.iter().copied().fold(0.0, f64::max);
        let range = (highest - lowest).max(f64::MIN_POSITIVE);
        let heights: Vec<f64> = roots.iter().map(|root| (root - lowest) / range).collect();
        let mean = heights.iter().sum::<f64>() / heights.len().max(1) as f64;
        let growth = (RADII.1 - RADII.0).min(MEAN_GROWTH / mean.max(f64::MIN_POSITIVE));
        heights.into_iter().map(|height| RADII.0 + growth * height).collect()
    }

    /// Lists by node: an object each would be three times as long.
    fn data(&self, edges: &Drawn, places: &[Point], radii: &[f64], to: &mut dyn Write) -> io::Result<()> {
        let RankedGraph { graph, ranks, in_degrees, out_degrees, .. } = self.ranked;
        to.write_all(b"{\"title\":")?;
        serde_json::to_writer(&mut *to, self.title)?;
        to.write_all(b",\"noun\":")?;
        serde_json::to_writer(&mut *to, self.noun)?;
        to.write_all(b",\"grouped_by\":")?;
        serde_json::to_writer(&mut *to, self.groups.label)?;
        write!(to, ",\"all_nodes\":{},\"all_edges\":{}", self.all_nodes, self.all_edges)?;
        list(to, "names", graph.names(), |to, name| {
            serde_json::to_writer(to, name).map_err(io::Error::from)
        })?;
        list(to, "x", places, |to, [x, _]| write!(to, "{x:.1}"))?;
        list(to, "y", places, |to, [_, y]| write!(to, "{y:.1}"))?;
        list(to, "radius", radii, |to, radius| write!(to, "{radius:.1}"))?;
        list(to, "rank", ranks, |to, rank| write!(to, "{rank:.3e}"))?;
        list(to, "incoming", in_degrees, |to, degree| write!(to, "{degree}"))?;
        list(to, "outgoing", out_degrees, |to, degree| write!(to, "{degree}"))?;
        let shown = self.groups.len().min(PALETTE.len()) as u32;
        list(to, "group", graph.nodes(), |to, node| write!(to, "{}", self.groups.of(node).min(shown)))?;
        list(to, "groups", 0..shown, |to, group| {
            to.write_all(b"[")?;
            serde_json::to_writer(&mut *to, self.groups.name(group))?;
            write!(to, ",{}]", self.groups.size(group))
        })?;
        write!(to, ",\"other_groups\":{}", self.groups.len() - shown as usize)?;
        list(
            to,
            "colours",
            PALETTE.iter().take(shown as usize).chain([&OTHERS]),
            |to, [red, green, blue]| write!(to, "\"#{red:02x}{green:02x}{blue:02x}\""),
        )?;
        // Source, target, weight, one after the other.
        list(to, "edges", &edges.order, |to, edge| write!(to, "{},{},{}", edge.from, edge.to, edge.weight))?;
        to.write_all(b"}")
    }
}

fn list<T>(
    to: &mut dyn Write,
    name: &str,
    items: impl IntoIterator<Item = T>,
    mut item: impl FnMut(&mut dyn Write, T) -> io::Result<()>,
) -> io::Result<()> {
    write!(to, ",\"{name}\":[")?;
    for (number, value) in items.into_iter().enumerate() {
        if number > 0 {
            to.write_all(b",")?;
        }
        item(to, value)?;
    }
    to.write_all(b"]")
}

/// JSON within a script element. The characters of tags and comments only occur in its strings, where they can be
/// escaped.
struct InScript<'a> {
    to: &'a mut dyn Write,
}

impl Write for InScript<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let plain = bytes.iter().position(|byte| b"<>&".contains(byte)).unwrap_or(bytes.len());
        match (plain, bytes.first()) {
            (0, Some(byte)) => {
                write!(self.to, "\\u{byte:04x}")?;
                Ok(1)
            }
            _ => {
                self.to.write_all(bytes.get(..plain).unwrap_or_default())?;
                Ok(plain)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Text between tags.
struct Text<'a>(&'a str);

impl std::fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            other => write!(f, "{other}"),
        })
    }
}

#[cfg(test)]
mod tests;
