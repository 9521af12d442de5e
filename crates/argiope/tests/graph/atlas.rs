//! A directory in which graphs are crawled, with access to their files.

use crate::desk::{Desk, Run, Running};
use crate::web::Web;
use rusqlite::Connection;
use serde_json::{Value, json};

/// Nodes and edges by name, so that two graphs can be held against each other.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Graph {
    /// Name without port, crawl count; in the order of their numbers.
    pub(crate) nodes: Vec<(String, u32)>,
    /// From, to, weight; sorted.
    pub(crate) edges: Vec<(String, String, u32)>,
}

impl Graph {
    pub(crate) fn of(nodes: &[(&str, u32)], edges: &[(&str, &str, u32)]) -> Graph {
        let mut edges: Vec<(String, String, u32)> =
            edges.iter().map(|(from, to, weight)| ((*from).into(), (*to).into(), *weight)).collect();
        edges.sort();
        Graph { nodes: nodes.iter().map(|(name, count)| ((*name).into(), *count)).collect(), edges }
    }

    pub(crate) fn crawls(&self, name: &str) -> u32 {
        self.nodes.iter().find(|(node, _)| node == name).unwrap_or_else(|| panic!("{name}: {self:?}")).1
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.nodes.iter().any(|(node, _)| node == name)
    }

    /// Where the edges of a node lead, in the order they were recorded.
    pub(crate) fn targets(&self, name: &str) -> Vec<&str> {
        self.edges.iter().filter(|(from, _, _)| from == name).map(|(_, to, _)| to.as_str()).collect()
    }
}

/// Waits shorter than those of the real web.
pub(crate) const BRISK: [(&str, u64); 2] = [("request_timeout_ms", 1000), ("retry_delay_ms", 50)];

pub(crate) struct Atlas {
    pub(crate) desk: Desk,
}

impl Atlas {
    /// Names lead to `web`; its hosts must be there by now.
    pub(crate) fn of(web: &Web) -> Atlas {
        let desk = Desk::new();
        desk.write("argiope.yaml", &web.configuration("10ms"));
        Atlas { desk }
    }

    /// Writes `config.json` with these keys over those that every test has.
    pub(crate) fn configure(&self, web: &Web, seed: &str, more: Value) {
        let mut keys = json!({"seed_url": web.seed(seed), "allow_private": true});
        for (key, value) in BRISK {
            keys[key] = value.into();
        }
        for (key, value) in more.as_object().expect("keys") {
            keys[key] = value.clone();
        }
        self.desk.write("config.json", &keys.to_string());
    }

    pub(crate) fn run(&self) -> Run {
        self.desk.run(&["graph", "-c", "config.json"])
    }

    pub(crate) fn start(&self) -> Running {
        self.desk.start(&["graph", "-c", "config.json"])
    }

    pub(crate) fn database(&self) -> Connection {
        Connection::open(self.desk.path("crawler.db")).expect("a database")
    }

    pub(crate) fn graph(&self) -> Graph {
        let database = self.database();
        let short = |name: String| name.split(':').next().unwrap_or("").to_owned();
        let mut nodes =
            database.prepare("SELECT domain_name, crawl_count FROM nodes ORDER BY node_id").expect("sql");
        let nodes = nodes.query_map([], |row| Ok((short(row.get(0)?), row.get(1)?))).expect("rows");
        let mut edges = database
            .prepare(
                "SELECT a.domain_name, b.domain_name, weight FROM edges
                 JOIN nodes a ON a.node_id = from_node_id JOIN nodes b ON b.node_id = to_node_id",
            )
            .expect("sql");
        let edges = edges
            .query_map([], |row| Ok((short(row.get(0)?), short(row.get(1)?), row.get(2)?)))
            .expect("rows");
        let mut edges: Vec<(String, String, u32)> = edges.map(Result::unwrap).collect();
        edges.sort();
        Graph { nodes: nodes.map(Result::unwrap).collect(), edges }
    }

    pub(crate) fn metrics(&self) -> Value {
        serde_json::from_str(&self.desk.read("metrics.log")).expect("json")
    }
}
