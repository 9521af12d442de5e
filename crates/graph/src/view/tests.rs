use super::*;
use crate::builder::GraphBuilder;

const HOSTILE: &str = "http://a.test/</script><script>alert(1)</script><!--&amp;\u{2028}\"\\";

fn page() -> String {
    let mut builder = GraphBuilder::default();
    let nodes = ["http://a.test/", HOSTILE, "http://b.test/x"].map(|name| builder.node(name).unwrap());
    for (from, to, weight) in [(0, 1, 1), (1, 0, 1), (2, 0, 5)] {
        builder.link(nodes[from], nodes[to], weight);
    }
    let ranked = RankedGraph::new(builder.build(), Vec::new(), NonZero::<usize>::MIN);
    let ranked = ranked.of_nodes(&ranked.top(3));
    let groups = Groups::new("domain", &ranked.graph, |name| &name[7..13]).unwrap();
    let view = View {
        ranked: &ranked,
        groups: &groups,
        title: "a </title><script> & b",
        noun: "pages",
        all_nodes: 10,
        all_edges: 20,
    };
    let mut bytes = Vec::new();
    view.write(NonZero::<usize>::MIN, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn data(page: &str) -> serde_json::Value {
    let (_, after) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let (json, _) = after.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

#[test]
fn the_data_comes_out_as_it_went_in_whatever_the_names() {
    let page = page();
    let data = data(&page);
    assert_eq!(data["names"], serde_json::json!(["http://a.test/", HOSTILE, "http://b.test/x"]));
    assert_eq!(data["groups"], serde_json::json!([["a.test", 2], ["b.test", 1]]));
    assert_eq!((&data["all_nodes"], &data["all_edges"]), (&10.into(), &20.into()));
    assert_eq!(data["edges"].as_array().unwrap().len(), 9);
    for list in ["x", "y", "radius", "rank", "incoming", "outgoing", "group"] {
        assert_eq!(data[list].as_array().unwrap().len(), 3, "{list}");
    }
    // The data and the program: no name has added a third.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert!(page.contains("<title>a &lt;/title&gt;&lt;script&gt; &amp; b</title>"));
}

#[test]
fn the_file_needs_nothing_else() {
    let page = page();
    let (before, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let (_, after) = rest.split_once("</script>").unwrap();
    for part in [before, after] {
        for outside in
            ["http://", "https://", "src=", "@import", "url(", "fetch(", "XMLHttpRequest", "import("]
        {
            assert!(!part.contains(outside), "{outside}");
        }
    }
    assert!(page.contains("default-src 'none'"));
    assert!(!page.contains("{{"));
}

#[test]
fn numbers_are_marks_in_json_only_where_they_must_be() {
    let mut bytes = Vec::new();
    InScript { to: &mut bytes }.write_all(b"[\"<!--\",\"a&b>\",1]").unwrap();
    assert_eq!(bytes, b"[\"\\u003c!--\",\"a\\u0026b\\u003e\",1]");
    InScript { to: &mut bytes }.write_all(b"").unwrap();
}

#[test]
fn sizes_follow_the_rank_and_never_fill_the_picture() {
    let view = |ranks: Vec<f64>| {
        let mut builder = GraphBuilder::default();
        for node in 0..ranks.len() {
            builder.node(&node.to_string()).unwrap();
        }
        let mut ranked = RankedGraph::new(builder.build(), Vec::new(), NonZero::<usize>::MIN);
        ranked.ranks = ranks;
        let groups = Groups::new("all", &ranked.graph, |_| "").unwrap();
        View { ranked: &ranked, groups: &groups, title: "", noun: "", all_nodes: 0, all_edges: 0 }.radii()
    };
    let mut one_high = vec![0.0; 100];
    one_high[0] = 1.0;
    let radii = view(one_high);
    assert_eq!((radii[0], radii[1]), (RADII.1, RADII.0));
    let even = view(vec![0.01; 100]);
    assert!(even.iter().all(|radius| *radius == RADII.0));
    let spread = view((0..100).map(f64::from).collect());
    assert!(spread.is_sorted() && spread[99] < 12.0, "{spread:?}");
}
