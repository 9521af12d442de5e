//! The metrics of a run, written when it ends.

use argiope_local::graph::GraphFigures;
use argiope_model::Millis;
use serde::Serialize;
use std::io;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Termination {
    Signal,
    QueueEmpty,
}

/// Nodes and edges are those of the graph now, pages those of this run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Metrics {
    start_time: String,
    end_time: String,
    nodes_discovered: u64,
    nodes_crawled: u64,
    edges_recorded: u64,
    pages_fetched: u64,
    pages_failed: u64,
    avg_fetch_time_ms: u64,
    termination_reason: Termination,
}

impl Metrics {
    pub(super) fn new(
        (start, end): (Millis, Millis),
        figures: &GraphFigures,
        nodes_crawled: u64,
        termination_reason: Termination,
    ) -> Metrics {
        Metrics {
            start_time: to_seconds(start),
            end_time: to_seconds(end),
            nodes_discovered: figures.nodes,
            nodes_crawled,
            edges_recorded: figures.edges,
            pages_fetched: figures.pages_fetched,
            pages_failed: figures.pages_failed,
            avg_fetch_time_ms: figures.fetch_ms.checked_div(figures.pages_fetched).unwrap_or(0),
            termination_reason,
        }
    }

    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        std::fs::write(path, text)
    }
}

/// `2025-01-16T10:00:00Z`.
fn to_seconds(at: Millis) -> String {
    let text = at.rfc3339();
    text.split('.').next().map_or_else(|| text.clone(), |whole| format!("{}Z", whole.trim_end_matches('Z')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_summed_up_in_these_keys() {
        let figures = GraphFigures { nodes: 5, edges: 4, pages_fetched: 2, pages_failed: 1, fetch_ms: 501 };
        let metrics = Metrics::new(
            (Millis(1_737_021_600_123), Millis(1_737_022_532_000)),
            &figures,
            2,
            Termination::QueueEmpty,
        );
        let json = serde_json::to_value(&metrics).unwrap();
        let expected = serde_json::json!({
            "start_time": "2025-01-16T10:00:00Z",
            "end_time": "2025-01-16T10:15:32Z",
            "nodes_discovered": 5,
            "nodes_crawled": 2,
            "edges_recorded": 4,
            "pages_fetched": 2,
            "pages_failed": 1,
            "avg_fetch_time_ms": 250,
            "termination_reason": "queue_empty",
        });
        assert_eq!(json, expected);
    }
}
