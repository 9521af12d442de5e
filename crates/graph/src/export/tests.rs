use super::*;
use crate::builder::GraphBuilder;
use crate::ranked::Column;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::collections::HashMap;
use std::num::NonZero;

/// Texts that are hard to write in some format.
const NASTY: &str = "http://b.test/<a href=\"x\">&amp;'\\\t\r\n,;\u{1}\u{ffff}]]>äß漢\u{1f577}\\";

struct Sample {
    ranked: RankedGraph,
    groups: Groups,
}

impl Sample {
    fn new() -> Sample {
        let mut builder = GraphBuilder::default();
        let nodes = ["http://a.test/", NASTY, "http://c.test/"].map(|name| builder.node(name).unwrap());
        for (from, to, weight) in [(0, 1, 3), (1, 2, 1), (2, 1, 1), (2, 0, 7)] {
            builder.link(nodes[from], nodes[to], weight);
        }
        let columns = vec![
            Column {
                name: "description",
                values: Values::Text(vec![Some(NASTY.to_owned()), None, Some(String::new())]),
            },
            Column { name: "crawled", values: Values::Flag(vec![true, false, true]) },
        ];
        let ranked = RankedGraph::new(builder.build(), columns, NonZero::<usize>::MIN);
        let groups = Groups::new("domain", &ranked.graph, |name| &name[7..13]).unwrap();
        Sample { ranked, groups }
    }

    fn document(&self) -> Document<'_> {
        Document { ranked: &self.ranked, groups: &self.groups }
    }

    fn written(&self, format: Format) -> String {
        let mut bytes = Vec::new();
        write(format, &self.document(), &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }
}

/// The part of a text that XML can contain.
fn in_xml(text: &str) -> String {
    text.replace(['\u{1}', '\u{ffff}'], "\u{fffd}")
}

/// An element: its path, its attributes, the text in it.
#[derive(Debug, Default)]
struct Element {
    path: String,
    attributes: HashMap<String, String>,
    text: String,
}

/// All elements in the order they begin; anything that is not well-formed fails.
fn elements(xml: &str) -> Vec<Element> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = true;
    let (mut all, mut open): (Vec<Element>, Vec<usize>) = (Vec::new(), Vec::new());
    let begin = |start: &BytesStart<'_>, open: &[usize], all: &[Element]| {
        let name = start.name().as_ref().to_owned();
        let path = open.last().map_or(name.clone(), |parent| format!("{}/{name}", all[*parent].path));
        let attributes = start.attributes().map(|attribute| {
            let attribute = attribute.unwrap();
            let value = quick_xml::escape::unescape(&attribute.value).unwrap().into_owned();
            (attribute.key.as_ref().to_owned(), value)
        });
        Element { path, attributes: attributes.collect(), text: String::new() }
    };
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => {
                all.push(begin(&start, &open, &all));
                open.push(all.len() - 1);
            }
            Event::Empty(start) => all.push(begin(&start, &open, &all)),
            Event::End(_) => {
                open.pop().unwrap();
            }
            Event::Text(text) => {
                if let Some(at) = open.last() {
                    all[*at].text.push_str(&text);
                }
            }
            Event::GeneralRef(reference) => {
                let written = format!("&{};", &*reference);
                all[*open.last().unwrap()].text.push_str(&quick_xml::escape::unescape(&written).unwrap());
            }
            Event::Decl(_) => {}
            Event::Eof => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(open.is_empty());
    all
}

fn at<'e>(all: &'e [Element], path: &str) -> Vec<&'e Element> {
    all.iter().filter(|element| element.path == path).collect()
}

#[test]
fn graphml_declares_its_keys_and_keeps_every_name() {
    let all = elements(&Sample::new().written(Format::GraphMl));
    let keys: Vec<_> = at(&all, "graphml/key").iter().map(|key| key.attributes["id"].clone()).collect();
    assert_eq!(
        keys,
        ["label", "rank", "in_degree", "out_degree", "domain", "description", "crawled", "weight"]
    );
    let data = at(&all, "graphml/graph/node/data");
    assert!(data.iter().all(|data| keys.contains(&data.attributes["key"])));
    let of = |key: &str| -> Vec<&str> {
        data.iter().filter(|data| data.attributes["key"] == key).map(|data| data.text.as_str()).collect()
    };
    assert_eq!(of("label"), ["http://a.test/", &in_xml(NASTY), "http://c.test/"]);
    assert_eq!(of("description"), [in_xml(NASTY).as_str(), ""], "what is not known is not there");
    assert_eq!(of("crawled"), ["true", "false", "true"]);
    assert_eq!((of("in_degree"), of("out_degree")), (vec!["1", "2", "1"], vec!["1", "1", "2"]));
    let sum: f64 = of("rank").iter().map(|rank| rank.parse::<f64>().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    let edges = at(&all, "graphml/graph/edge");
    assert_eq!(
        (edges[1].attributes["source"].as_str(), edges[1].attributes["target"].as_str()),
        ("n1", "n2")
    );
    let weights: Vec<_> = at(&all, "graphml/graph/edge/data").iter().map(|data| data.text.as_str()).collect();
    assert_eq!(weights, ["3", "1", "7", "1"]);
}

#[test]
fn gexf_has_the_structure_that_its_schema_asks_for() {
    let all = elements(&Sample::new().written(Format::Gexf));
    let root = &at(&all, "gexf")[0].attributes;
    assert_eq!((root["version"].as_str(), root["xmlns"].as_str()), ("1.3", "http://gexf.net/1.3"));
    assert_eq!(root["xmlns:viz"], "http://gexf.net/1.3/viz");
    let graph = &at(&all, "gexf/graph")[0].attributes;
    assert_eq!((graph["defaultedgetype"].as_str(), graph["mode"].as_str()), ("directed", "static"));
    assert_eq!(at(&all, "gexf/graph/attributes")[0].attributes["class"], "node");
    let declared: Vec<_> = at(&all, "gexf/graph/attributes/attribute")
        .iter()
        .map(|a| (a.attributes["id"].clone(), a.attributes["title"].clone(), a.attributes["type"].clone()))
        .collect();
    assert!(declared.iter().all(|(id, title, kind)| {
        id == title && ["string", "long", "double", "boolean"].contains(&kind.as_str())
    }));
    let nodes = at(&all, "gexf/graph/nodes/node");
    let labels: Vec<_> = nodes.iter().map(|node| node.attributes["label"].clone()).collect();
    assert_eq!(labels, ["http://a.test/".to_owned(), in_xml(NASTY), "http://c.test/".to_owned()]);
    let values = at(&all, "gexf/graph/nodes/node/attvalues/attvalue");
    assert_eq!(values.len(), 3 * declared.len() - 1);
    assert!(values.iter().all(|v| declared.iter().any(|(id, ..)| *id == v.attributes["for"])));
    for channel in at(&all, "gexf/graph/nodes/node/viz:color")
        .iter()
        .flat_map(|c| ["r", "g", "b"].map(|k| &c.attributes[k]))
    {
        channel.parse::<u8>().unwrap();
    }
    let sizes: Vec<f64> = at(&all, "gexf/graph/nodes/node/viz:size")
        .iter()
        .map(|size| size.attributes["value"].parse().unwrap())
        .collect();
    assert_eq!((sizes.len(), sizes[1]), (3, 60.0), "the largest rank");
    let ids: Vec<_> = nodes.iter().map(|node| &node.attributes["id"]).collect();
    let edges = at(&all, "gexf/graph/edges/edge");
    assert!(
        edges
            .iter()
            .all(|e| ids.contains(&&e.attributes["source"]) && ids.contains(&&e.attributes["target"]))
    );
    assert_eq!(
        edges.iter().map(|e| e.attributes["weight"].as_str()).collect::<Vec<_>>(),
        ["3", "1", "7", "1"]
    );
}

/// The tokens of DOT, strings unquoted.
fn dot_tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(first) = rest.next() {
        match first {
            c if c.is_whitespace() => {}
            '"' => {
                let mut string = String::new();
                loop {
                    match rest.next().expect("a string that ends") {
                        '"' => break,
                        '\\' => match rest.next().unwrap() {
                            'n' => string.push('\n'),
                            c => string.push(c),
                        },
                        c => {
                            assert!(!c.is_control(), "{c:?}");
                            string.push(c);
                        }
                    }
                }
                tokens.push(string);
            }
            '-' => {
                assert_eq!(rest.next(), Some('>'));
                tokens.push("->".to_owned());
            }
            c if c.is_alphanumeric() => {
                let mut word = String::from(c);
                while let Some(c) = rest.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    word.push(c);
                }
                tokens.push(word);
            }
            c => {
                assert!("{}[],;=".contains(c), "{c:?}");
                tokens.push(c.to_string());
            }
        }
    }
    tokens
}

#[test]
fn dot_is_one_digraph_of_statements() {
    let tokens = dot_tokens(&Sample::new().written(Format::Dot));
    assert_eq!(tokens[..3], ["digraph", "links", "{"]);
    assert_eq!(tokens.last().unwrap(), "}");
    let statements: Vec<&[String]> = tokens[3..tokens.len() - 1].split(|token| token == ";").collect();
    // Gephi reads nothing of a file that begins with attributes of the graph.
    assert_eq!(statements[0][..2], ["n0", "["]);
    let labels: Vec<&str> =
        statements.iter().filter(|s| s.len() > 4 && s[2] == "label").map(|s| s[4].as_str()).collect();
    let nasty: String =
        NASTY.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect();
    assert_eq!(labels, ["http://a.test/", &nasty, "http://c.test/"]);
    let edges: Vec<String> =
        statements.iter().filter(|s| s.get(1).is_some_and(|t| t == "->")).map(|s| s.join(" ")).collect();
    assert_eq!(edges[0], "n0 -> n1 [ weight = 3 ]");
    assert_eq!(edges.len(), 4);
}

#[test]
fn csv_has_edges_and_nodes_by_name() {
    let sample = Sample::new();
    let text = sample.written(Format::Csv);
    let mut rows = ::csv::Reader::from_reader(text.as_bytes());
    assert_eq!(rows.headers().unwrap(), vec!["source", "target", "weight"]);
    let edges: Vec<_> = rows.records().map(|row| row.unwrap()).collect();
    assert_eq!(edges[0], vec!["http://a.test/", NASTY, "3"]);
    assert_eq!(edges.len(), 4);

    let mut bytes = Vec::new();
    write_csv_nodes(&sample.document(), &mut bytes).unwrap();
    let mut rows = ::csv::Reader::from_reader(bytes.as_slice());
    let header = rows.headers().unwrap().clone();
    assert_eq!(header, vec!["id", "rank", "in_degree", "out_degree", "domain", "description", "crawled"]);
    let nodes: Vec<_> = rows.records().map(|row| row.unwrap()).collect();
    assert_eq!((&nodes[1][0], &nodes[1][2], &nodes[1][5], &nodes[1][6]), (NASTY, "2", "", "false"));
}

#[test]
fn no_text_of_a_page_is_a_formula_in_csv() {
    let mut sample = Sample::new();
    let formula = Some(String::from("=1+2"));
    sample.ranked.columns[0].values = Values::Text(vec![formula, None, Some(String::from("plain"))]);
    let mut bytes = Vec::new();
    write_csv_nodes(&sample.document(), &mut bytes).unwrap();
    let mut rows = ::csv::Reader::from_reader(bytes.as_slice());
    let texts: Vec<String> = rows.records().map(|row| row.unwrap()[5].to_owned()).collect();
    assert_eq!(texts, ["'=1+2", "", "plain"]);
}

#[test]
fn json_has_nodes_and_links() {
    let value: serde_json::Value = serde_json::from_str(&Sample::new().written(Format::Json)).unwrap();
    assert_eq!(value["directed"], true);
    let node = &value["nodes"][1];
    assert_eq!((&node["id"], &node["description"]), (&NASTY.into(), &serde_json::Value::Null));
    assert_eq!((&node["in_degree"], &node["crawled"]), (&2.into(), &false.into()));
    assert_eq!(
        value["links"][2],
        serde_json::json!({"source": "http://c.test/", "target": "http://a.test/", "weight": 7})
    );
    assert_eq!(value["links"].as_array().unwrap().len(), 4);
}

#[test]
fn an_empty_graph_is_a_whole_document_in_every_format() {
    let ranked = RankedGraph::new(GraphBuilder::default().build(), Vec::new(), NonZero::<usize>::MIN);
    let groups = Groups::new("domain", &ranked.graph, |name| name).unwrap();
    let sample = Sample { ranked: ranked.clone(), groups };
    elements(&sample.written(Format::GraphMl));
    elements(&sample.written(Format::Gexf));
    assert_eq!(dot_tokens(&sample.written(Format::Dot)).last().unwrap(), "}");
    assert_eq!(sample.written(Format::Csv), "source,target,weight\n");
    serde_json::from_str::<serde_json::Value>(&sample.written(Format::Json)).unwrap();
}
