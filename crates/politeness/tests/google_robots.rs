//! The cases that Google's open-source robots.txt parser is tested with, as tables. Where RFC 9309 says otherwise
//! the RFC wins, and the case says so.

use argiope_politeness::Robots;
use argiope_politeness::robots::{is_product_token, path_and_query_of};

const ALLOWED: bool = true;
const DISALLOWED: bool = false;

fn allowed(file: &str, agent: &str, url: &str) -> bool {
    Robots::parse(file.as_bytes(), agent).check_as_given(&path_and_query_of(url)).allowed
}

/// Every URL of the table under `http://foo.bar`, for the agent FooBot.
fn expect(file: &str, cases: &[(&str, bool)]) {
    for (path, expected) in cases {
        assert_eq!(allowed(file, "FooBot", &format!("http://foo.bar{path}")), *expected, "{path} by\n{file}");
    }
}

#[test]
fn google_only_system_test() {
    let file = "user-agent: FooBot\ndisallow: /\n";
    assert!(allowed("", "FooBot", ""));
    assert!(allowed(file, "", ""));
    assert!(!allowed(file, "FooBot", ""));
    assert!(allowed("", "", ""));
}

#[test]
fn id_line_syntax_line() {
    expect("user-agent: FooBot\ndisallow: /\n", &[("/x/y", DISALLOWED)]);
    expect("foo: FooBot\nbar: /\n", &[("/x/y", ALLOWED)]);
    expect("user-agent FooBot\ndisallow /\n", &[("/x/y", DISALLOWED)]);
}

#[test]
fn id_line_syntax_groups() {
    let file = "allow: /foo/bar/\n\nuser-agent: FooBot\ndisallow: /\nallow: /x/\nuser-agent: BarBot\ndisallow: /\n\
                allow: /y/\n\n\nallow: /w/\nuser-agent: BazBot\n\nuser-agent: FooBot\nallow: /z/\ndisallow: /\n";
    for (agent, path, expected) in [
        ("FooBot", "/x/b", ALLOWED),
        ("FooBot", "/z/d", ALLOWED),
        ("FooBot", "/y/c", DISALLOWED),
        ("BarBot", "/y/c", ALLOWED),
        ("BarBot", "/w/a", ALLOWED),
        ("BarBot", "/z/d", DISALLOWED),
        ("BazBot", "/z/d", ALLOWED),
        ("FooBot", "/foo/bar/", DISALLOWED),
        ("BarBot", "/foo/bar/", DISALLOWED),
        ("BazBot", "/foo/bar/", DISALLOWED),
    ] {
        assert_eq!(allowed(file, agent, &format!("http://foo.bar{path}")), expected, "{agent} {path}");
    }
}

#[test]
fn id_line_syntax_groups_other_rules() {
    for other in ["Sitemap: https://foo.bar/sitemap", "Invalid-Unknown-Line: unknown"] {
        let file = format!("User-agent: BarBot\n{other}\nUser-agent: *\nDisallow: /\n");
        for agent in ["FooBot", "BarBot"] {
            assert!(!allowed(&file, agent, "http://foo.bar/"), "{agent} {other}");
        }
    }
}

#[test]
fn id_rep_line_names_case_insensitive() {
    for file in [
        "USER-AGENT: FooBot\nALLOW: /x/\nDISALLOW: /\n",
        "user-agent: FooBot\nallow: /x/\ndisallow: /\n",
        "uSeR-aGeNt: FooBot\nAlLoW: /x/\ndIsAlLoW: /\n",
    ] {
        expect(file, &[("/x/y", ALLOWED), ("/a/b", DISALLOWED)]);
    }
}

#[test]
fn id_verify_valid_user_agents_to_obey() {
    for name in ["Foobot", "Foobot-Bar", "Foo_Bar"] {
        assert!(is_product_token(name), "{name}");
    }
    for name in ["", "ツ", "Foobot*", " Foobot ", "Foobot/2.1", "Foobot Bar"] {
        assert!(!is_product_token(name), "{name}");
    }
}

#[test]
fn id_user_agent_value_case_insensitive() {
    for name in ["FOO BAR", "foo bar", "FoO bAr"] {
        let file = format!("User-Agent: {name}\nAllow: /x/\nDisallow: /\n");
        for agent in ["Foo", "foo"] {
            assert!(allowed(&file, agent, "http://foo.bar/x/y"), "{name} {agent}");
            assert!(!allowed(&file, agent, "http://foo.bar/a/b"), "{name} {agent}");
        }
    }
}

#[test]
fn google_only_accept_user_agent_up_to_first_space() {
    let file = "User-Agent: *\nDisallow: /\nUser-Agent: Foo Bar\nAllow: /x/\nDisallow: /\n";
    assert!(allowed(file, "Foo", "http://foo.bar/x/y"));
    assert!(!allowed(file, "Foo Bar", "http://foo.bar/x/y"));
}

#[test]
fn id_global_groups_secondary() {
    let global = "user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /\n";
    let specific =
        "user-agent: FooBot\nallow: /\nuser-agent: BarBot\ndisallow: /\nuser-agent: BazBot\ndisallow: /\n";
    let url = "http://foo.bar/x/y";
    assert!(allowed("", "FooBot", url));
    assert!(!allowed(global, "FooBot", url));
    assert!(allowed(global, "BarBot", url));
    assert!(allowed(specific, "QuxBot", url));
}

#[test]
fn id_allow_disallow_value_case_sensitive() {
    expect("user-agent: FooBot\ndisallow: /x/\n", &[("/x/y", DISALLOWED)]);
    expect("user-agent: FooBot\ndisallow: /X/\n", &[("/x/y", ALLOWED)]);
}

#[test]
fn id_longest_match() {
    let foo = |rules: &str, cases: &[(&str, bool)]| expect(&format!("user-agent: FooBot\n{rules}"), cases);
    foo("disallow: /x/page.html\nallow: /x/\n", &[("/x/page.html", DISALLOWED)]);
    foo("allow: /x/page.html\ndisallow: /x/\n", &[("/x/page.html", ALLOWED), ("/x/", DISALLOWED)]);
    foo("disallow: \nallow: \n", &[("/x/page.html", ALLOWED)]);
    foo("disallow: /\nallow: /\n", &[("/x/page.html", ALLOWED)]);
    foo("disallow: /x\nallow: /x/\n", &[("/x", DISALLOWED), ("/x/", ALLOWED)]);
    foo("disallow: /x/page.html\nallow: /x/page.html\n", &[("/x/page.html", ALLOWED)]);
    foo("allow: /page\ndisallow: /*.html\n", &[("/page.html", DISALLOWED), ("/page", ALLOWED)]);
    foo("allow: /x/page.\ndisallow: /*.html\n", &[("/x/page.html", ALLOWED), ("/x/y.html", DISALLOWED)]);
    expect(
        "User-agent: *\nDisallow: /x/\nUser-agent: FooBot\nDisallow: /y/\n",
        &[("/x/page", ALLOWED), ("/y/page", DISALLOWED)],
    );
}

#[test]
fn id_encoding() {
    let foo = |rule: &str, cases: &[(&str, bool)]| {
        expect(&format!("User-agent: FooBot\nDisallow: /\nAllow: {rule}\n"), cases);
    };
    foo(
        "/foo/bar?qux=taz&baz=http://foo.bar?tar&par",
        &[("/foo/bar?qux=taz&baz=http://foo.bar?tar&par", ALLOWED)],
    );
    foo("/foo/bar/ツ", &[("/foo/bar/%E3%83%84", ALLOWED), ("/foo/bar/ツ", DISALLOWED)]);
    foo("/foo/bar/%E3%83%84", &[("/foo/bar/%E3%83%84", ALLOWED), ("/foo/bar/ツ", DISALLOWED)]);
    // Google compares %62%61%7A as it stands and finds no `baz`; RFC 9309 §2.2.2 lists just this pair as a match.
    foo("/foo/bar/%62%61%7A", &[("/foo/bar/baz", ALLOWED), ("/foo/bar/%62%61%7A", ALLOWED)]);
}

/// RFC 9309 §2.2.2 has both sides encoded before they are compared; a URL of the crawl always is.
#[test]
fn a_path_is_encoded_before_it_is_checked_unless_it_is_taken_as_given() {
    let robots = Robots::parse("User-agent: *\nDisallow: /\nAllow: /foo/bar/ツ\n".as_bytes(), "FooBot");
    assert!(robots.check("/foo/bar/ツ").allowed);
    assert!(!robots.check_as_given("/foo/bar/ツ").allowed);
}

#[test]
fn id_special_characters() {
    expect(
        "User-agent: FooBot\nDisallow: /foo/bar/quz\nAllow: /foo/*/qux\n",
        &[
            ("/foo/bar/quz", DISALLOWED),
            ("/foo/quz", ALLOWED),
            ("/foo//quz", ALLOWED),
            ("/foo/bax/quz", ALLOWED),
        ],
    );
    expect(
        "User-agent: FooBot\nDisallow: /foo/bar$\nAllow: /foo/bar/qux\n",
        &[
            ("/foo/bar", DISALLOWED),
            ("/foo/bar/qux", ALLOWED),
            ("/foo/bar/", ALLOWED),
            ("/foo/bar/baz", ALLOWED),
        ],
    );
    expect(
        "User-agent: FooBot\n# Disallow: /\nDisallow: /foo/quz#qux\nAllow: /\n",
        &[("/foo/bar", ALLOWED), ("/foo/quz", DISALLOWED)],
    );
}

#[test]
fn google_only_index_html_is_directory() {
    expect(
        "User-Agent: *\nAllow: /allowed-slash/index.html\nDisallow: /\n",
        &[
            ("/allowed-slash/", ALLOWED),
            ("/allowed-slash/index.htm", DISALLOWED),
            ("/allowed-slash/index.html", ALLOWED),
            ("/anyother-url", DISALLOWED),
        ],
    );
}

#[test]
fn google_only_line_too_long() {
    const LINE: usize = 2083 * 8;
    let long = |key: &str, letter: &str| {
        let fill = LINE - "/x/".len() - key.len() + "\n".len();
        format!("/x/{}", letter.repeat(fill - "/x/".len()))
    };
    let path = long("disallow: ", "a");
    let file = format!("user-agent: FooBot\ndisallow: {path}/qux\n");
    expect(&file, &[("/fux", ALLOWED), (&format!("{path}/fux"), DISALLOWED)]);

    let (a, b) = (long("allow: ", "a"), long("allow: ", "b"));
    let file = format!("user-agent: FooBot\ndisallow: /\nallow: {a}/qux\nallow: {b}/qux\n");
    expect(&file, &[("/", DISALLOWED), (&format!("{a}/qux"), ALLOWED), (&format!("{b}/fux"), ALLOWED)]);
}

#[test]
fn google_only_documentation_checks() {
    let only = |rule: &str, cases: &[(&str, bool)]| {
        expect(&format!("user-agent: FooBot\ndisallow: /\nallow: {rule}\n"), cases);
    };
    for rule in ["/fish", "/fish*"] {
        only(
            rule,
            &[
                ("/bar", DISALLOWED),
                ("/fish", ALLOWED),
                ("/fish.html", ALLOWED),
                ("/fish/salmon.html", ALLOWED),
                ("/fishheads", ALLOWED),
                ("/fishheads/yummy.html", ALLOWED),
                ("/fish.html?id=anything", ALLOWED),
                ("/Fish.asp", DISALLOWED),
                ("/catfish", DISALLOWED),
                ("/?id=fish", DISALLOWED),
            ],
        );
    }
    only(
        "/fish/",
        &[
            ("/bar", DISALLOWED),
            ("/fish/", ALLOWED),
            ("/fish/salmon", ALLOWED),
            ("/fish/?salmon", ALLOWED),
            ("/fish/salmon.html", ALLOWED),
            ("/fish/?id=anything", ALLOWED),
            ("/fish", DISALLOWED),
            ("/fish.html", DISALLOWED),
            ("/Fish/Salmon.html", DISALLOWED),
        ],
    );
    only(
        "/*.php",
        &[
            ("/bar", DISALLOWED),
            ("/filename.php", ALLOWED),
            ("/folder/filename.php", ALLOWED),
            ("/folder/filename.php?parameters", ALLOWED),
            ("//folder/any.php.file.html", ALLOWED),
            ("/filename.php/", ALLOWED),
            ("/index?f=filename.php/", ALLOWED),
            ("/php/", DISALLOWED),
            ("/index?php", DISALLOWED),
            ("/windows.PHP", DISALLOWED),
        ],
    );
    only(
        "/*.php$",
        &[
            ("/bar", DISALLOWED),
            ("/filename.php", ALLOWED),
            ("/folder/filename.php", ALLOWED),
            ("/filename.php?parameters", DISALLOWED),
            ("/filename.php/", DISALLOWED),
            ("/filename.php5", DISALLOWED),
            ("/php/", DISALLOWED),
            ("/filename?php", DISALLOWED),
            ("/aaaphpaaa", DISALLOWED),
            ("//windows.PHP", DISALLOWED),
        ],
    );
    only(
        "/fish*.php",
        &[
            ("/bar", DISALLOWED),
            ("/fish.php", ALLOWED),
            ("/fishheads/catfish.php?parameters", ALLOWED),
            ("/Fish.PHP", DISALLOWED),
        ],
    );
    expect("user-agent: FooBot\nallow: /p\ndisallow: /\n", &[("/page", ALLOWED)]);
    expect("user-agent: FooBot\nallow: /folder\ndisallow: /folder\n", &[("/folder/page", ALLOWED)]);
    expect("user-agent: FooBot\nallow: /page\ndisallow: /*.htm\n", &[("/page.htm", DISALLOWED)]);
    expect("user-agent: FooBot\nallow: /$\ndisallow: /\n", &[("/", ALLOWED), ("/page.html", DISALLOWED)]);
}

// Line numbers and byte order marks are counted where lines are read: `robots/line.rs`.

#[test]
fn id_non_standard_line_example_sitemap() {
    let groups = "User-Agent: foo\nAllow: /some/path\nUser-Agent: bar\n\n\n";
    let sitemap = "Sitemap: http://foo.bar/sitemap.xml\n";
    for file in [format!("{groups}{sitemap}"), format!("{sitemap}{groups}")] {
        let robots = Robots::parse(file.as_bytes(), "FooBot");
        assert_eq!(robots.sitemaps(), [Box::from("http://foo.bar/sitemap.xml")]);
    }
}

#[test]
fn get_path_params_query() {
    for (url, path) in [
        ("", "/"),
        ("http://www.example.com", "/"),
        ("http://www.example.com/", "/"),
        ("http://www.example.com/a", "/a"),
        ("http://www.example.com/a/", "/a/"),
        ("http://www.example.com/a/b?c=http://d.e/", "/a/b?c=http://d.e/"),
        ("http://www.example.com/a/b?c=d&e=f#fragment", "/a/b?c=d&e=f"),
        ("example.com", "/"),
        ("example.com/", "/"),
        ("example.com/a", "/a"),
        ("example.com/a/", "/a/"),
        ("example.com/a/b?c=d&e=f#fragment", "/a/b?c=d&e=f"),
        ("a", "/"),
        ("a/", "/"),
        ("/a", "/a"),
        ("a/b", "/b"),
        ("example.com?a", "/?a"),
        ("example.com/a;b#c", "/a;b"),
        ("//a/b/c", "/b/c"),
    ] {
        assert_eq!(path_and_query_of(url), path, "{url}");
    }
}
