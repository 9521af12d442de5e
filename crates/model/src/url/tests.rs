use super::*;

fn normal(input: &str) -> String {
    match Url::parse(input, &NormalRules::default()) {
        Ok(url) => url.normal().to_owned(),
        Err(error) => error.to_string(),
    }
}

fn request(input: &str) -> String {
    Url::parse(input, &NormalRules::default()).unwrap().as_str().to_owned()
}

fn join(page: &str, href: &str) -> String {
    let rules = NormalRules::default();
    let page = Url::parse(page, &rules).unwrap();
    match Base::new(&page).join(href, &rules) {
        Ok(url) => url.to_stored().into_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn scheme_host_and_port_have_one_spelling() {
    assert_eq!(normal("HTTP://WWW.Example.COM"), "http://www.example.com/");
    assert_eq!(normal("https://example.com:443/a"), "https://example.com/a");
    assert_eq!(normal("http://example.com:443/a"), "http://example.com:443/a");
    assert_eq!(normal("https://example.com./a"), "https://example.com/a");
    assert_eq!(normal("https://Bücher.example/"), "https://xn--bcher-kva.example/");
    assert_eq!(normal("https://user:secret@example.com/#top"), "https://example.com/");
    assert_eq!(normal("http://0x7f.1/"), "http://127.0.0.1/");
    assert_eq!(normal("http://[::0:1]:80/"), "http://[::1]/");
    assert_eq!(normal("  https:\\\\example.com\\a  "), "https://example.com/a");
}

#[test]
fn paths_have_one_spelling() {
    assert_eq!(normal("https://h.test/a/./b/../c//d/"), "https://h.test/a/c/d/");
    assert_eq!(normal("https://h.test/%7Euser/%e2%82%ac"), "https://h.test/~user/%E2%82%AC");
    assert_eq!(normal("https://h.test/a/%2e%2e/b"), "https://h.test/b");
    assert_eq!(normal("https://h.test/100%/x y"), "https://h.test/100%25/x%20y");
    assert_eq!(normal("https://h.test/a|b[c]"), "https://h.test/a%7Cb%5Bc%5D");
    assert_eq!(normal("https://h.test/a;jsessionid=F00F00F00F00F00F?b=1"), "https://h.test/a?b=1");
    assert_eq!(normal("https://h.test/dir"), "https://h.test/dir");
    assert_eq!(normal("https://h.test/dir/"), "https://h.test/dir/");
}

#[test]
fn queries_have_one_spelling() {
    assert_eq!(normal("https://h.test/?b=2&a=1&b=1"), "https://h.test/?a=1&b=1&b=2");
    assert_eq!(normal("https://h.test/?"), "https://h.test/");
    assert_eq!(normal("https://h.test/a?&&b=&"), "https://h.test/a?b=");
    assert_eq!(normal("https://h.test/?utm_source=x&utm_medium=y&id=7&fbclid=z"), "https://h.test/?id=7");
    assert_eq!(normal("https://h.test/?PHPSESSID=0123456789abcdef&SID=0123456789abcdef"), "https://h.test/");
    assert_eq!(normal("https://h.test/?sid=77"), "https://h.test/?sid=77");
}

#[test]
fn a_slash_at_the_end_goes_only_where_configured() {
    let rules = NormalForm { strip_trailing_slash: true, ..NormalForm::default() }.compile();
    let normal = |input: &str| Url::parse(input, &rules).unwrap().normal().to_owned();
    assert_eq!(normal("https://h.test/dir/"), "https://h.test/dir");
    assert_eq!(normal("https://h.test/dir//?a=1"), "https://h.test/dir?a=1");
    assert_eq!(normal("https://h.test/"), "https://h.test/");
}

#[test]
fn only_http_and_https_are_urls() {
    let rules = NormalRules::default();
    for (input, scheme) in [
        ("mailto:a@b.c", "mailto"),
        ("JavaScript:void(0)", "javascript"),
        ("data:text/html,x", "data"),
        ("tel:+1", "tel"),
        ("file:///etc/passwd", "file"),
        ("ftp://h.test/", "ftp"),
    ] {
        assert_eq!(Url::parse(input, &rules), Err(UrlError::Scheme(scheme.into())));
    }
    assert!(Url::parse("example.com", &rules).is_err());
    assert!(Url::parse("https://", &rules).is_err());
    assert!(Url::parse("https://./", &rules).is_err());
    assert_eq!(Url::parse(&format!("https://h.test/{}", "a".repeat(3000)), &rules), Err(UrlError::TooLong));
    assert_eq!(
        Url::parse(&format!("https://h.test/?utm_x={}", "a".repeat(90_000)), &rules),
        Err(UrlError::TooLong)
    );
}

#[test]
fn references_are_resolved() {
    let page = "https://h.test/a/b?q=1";
    assert_eq!(join(page, ""), page);
    assert_eq!(join(page, "#part"), page);
    assert_eq!(join(page, "c"), "https://h.test/a/c");
    assert_eq!(join(page, "../c/./d"), "https://h.test/c/d");
    assert_eq!(join(page, "../../../c"), "https://h.test/c");
    assert_eq!(join(page, ".."), "https://h.test/");
    assert_eq!(join(page, "."), "https://h.test/a/");
    assert_eq!(join(page, "/c#x"), "https://h.test/c");
    assert_eq!(join(page, "?z=1"), "https://h.test/a/b?z=1");
    assert_eq!(join(page, "?"), "https://h.test/a/b? https://h.test/a/b");
    assert_eq!(join(page, "//Other.test/x"), "https://other.test/x");
    assert_eq!(join(page, "https://h.test"), "https://h.test/");
    assert_eq!(join(page, "https://h.test.evil/x"), "https://h.test.evil/x");
    assert_eq!(join(page, "http://h.test:80/x"), "http://h.test/x");
    assert_eq!(join(page, "\n /line\nbreak\t "), "https://h.test/linebreak");
    assert_eq!(join(page, "1:2"), "https://h.test/a/1:2");
    assert_eq!(join(page, "mailto:x@y.z"), UrlError::Scheme("mailto".into()).to_string());
}

#[test]
fn a_base_element_is_resolved_against_the_page() {
    let rules = NormalRules::default();
    let page = Url::parse("https://h.test/a/b", &rules).unwrap();
    let base = Base::new(&page).rebase("/deep//er/?x=1").unwrap();
    assert_eq!(base.join("c", &rules).unwrap().as_str(), "https://h.test/deep//er/c");
    assert_eq!(base.join("c", &rules).unwrap().normal(), "https://h.test/deep/er/c");
    assert_eq!(base.join("../c", &rules).unwrap().as_str(), "https://h.test/deep//c");
    assert_eq!(base.join("", &rules).unwrap().as_str(), "https://h.test/deep//er/?x=1");
    let other = base.rebase("http://u:p@other.test./x/").unwrap();
    assert_eq!(other.join("y", &rules).unwrap().as_str(), "http://other.test/x/y");
}

#[test]
fn parts_are_told_apart() {
    let url = Url::parse("https://h.test:8443/a/b/?x=1&y", &NormalRules::default()).unwrap();
    assert_eq!(url.host(), "h.test:8443");
    assert_eq!(url.host_name(), "h.test");
    assert_eq!(url.port(), 8443);
    assert_eq!(url.origin(), "https://h.test:8443");
    assert_eq!(url.path(), "/a/b/");
    assert_eq!(url.segments().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(url.parameters().collect::<Vec<_>>(), [("x", Some("1")), ("y", None)]);
    let v6 = Url::parse("http://[::1]:81/", &NormalRules::default()).unwrap();
    assert_eq!((v6.host_name(), v6.port()), ("[::1]", 81));
}

#[test]
fn a_url_is_requested_as_it_was_found() {
    for found in [
        "https://h.test/x?b=2&a=1",
        "https://h.test/d//e/",
        "https://h.test//",
        "https://h.test/%7Euser/%e2%82%ac",
        "https://h.test/x?utm_source=mail&id=7",
        "https://h.test/a;jsessionid=0123456789ABCDEF?",
        "https://h.test/x?a&&b=&",
        "https://h.test/100%/a|b[c]?q=[1]|{2}^`",
        "https://h.test/?ref=main",
    ] {
        assert_eq!(request(found), found);
        assert_eq!(request(&format!("{found}#part")), found);
    }
    assert_eq!(request("HTTP://user:pw@H.test.:80/a/../b c?x y"), "http://h.test/b%20c?x%20y");
    assert_eq!(request("https://h.test"), "https://h.test/");
}

#[test]
fn spellings_of_one_url_are_equal_and_have_one_identity() {
    let rules = NormalRules::default();
    let parse = |text: &str| Url::parse(text, &rules).unwrap();
    let one = parse("https://h.test/d/e?a=1&b=2");
    for other in [
        "https://h.test/d//e?a=1&b=2",
        "https://h.test/d/e?b=2&a=1",
        "https://h.test/%64/e?a=1&b=2",
        "https://h.test/d/e?a=1&utm_source=x&b=2",
    ] {
        let other = parse(other);
        assert_eq!(other, one);
        assert_eq!(other.identity(), one.identity());
        assert!(!other.same_request(&one) && !other.is_normal());
    }
}

#[test]
fn a_link_is_resolved_against_the_page_as_it_was_found() {
    assert_eq!(
        join("https://h.test/%7Eme//x?b=1&a=2", "y?d=1&c=2"),
        "https://h.test/%7Eme//y?d=1&c=2 https://h.test/~me/y?c=2&d=1"
    );
    assert_eq!(join("https://h.test/x?b=1&a=2", ""), "https://h.test/x?b=1&a=2 https://h.test/x?a=2&b=1");
    assert_eq!(join("https://h.test/a/", "%7Eb/../c%7E"), "https://h.test/a/c%7E https://h.test/a/c~");
}

#[test]
fn most_urls_take_no_more_memory_than_one_text() {
    assert_eq!(size_of::<Url>(), 24);
    let url = Url::parse("https://h.test/a?b=1", &NormalRules::default()).unwrap();
    assert_eq!(url.text.len(), url.as_str().len());
}

#[test]
fn an_identity_is_the_sha_256_of_the_text() {
    let identity = Url::parse("https://example.com/", &NormalRules::default()).unwrap().identity();
    assert_eq!(identity.hex().len(), 64);
    assert_eq!(identity.key(), identity.hex()[..16]);
    assert_eq!(format!("{:016x}", identity.key_u64()), identity.key());
    assert_eq!(identity.key(), "0f115db062b7c0dd");
}
