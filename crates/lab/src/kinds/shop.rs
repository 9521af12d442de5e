//! Many numbered products on numbered list pages: looks like a trap and is not.

use super::{Feature, Visibility, special_page};
use crate::answer::{Answer, PagePlan};
use crate::expected::Fate;
use crate::web::{Site, Web, path_of};

const PER_LIST: u32 = 25;

fn products(web: &Web) -> u32 {
    web.config.pages.saturating_mul(3)
}

fn lists(web: &Web) -> u32 {
    products(web).div_ceil(PER_LIST)
}

pub(super) fn features(web: &Web) -> Vec<Feature> {
    let elsewhere = |path: String| Feature::new(path, Visibility::Elsewhere, Fate::Answered { status: 200 });
    let mut features = vec![Feature::linked("/shop/list?page=1", 200)];
    features.extend((2..=lists(web)).map(|list| elsewhere(format!("/shop/list?page={list}"))));
    features.extend((1..=products(web)).map(|product| elsewhere(format!("/product/{product}"))));
    features
}

pub(super) fn answer(web: &Web, site: &Site, target: &str) -> Option<Answer> {
    if let Some(product) = target.strip_prefix("/product/") {
        let number: u32 = product.parse().ok().filter(|number| (1..=products(web)).contains(number))?;
        return Some(Answer::page(special_page(web, site, target, &format!("Product {number}"))));
    }
    let list: u32 = target.strip_prefix("/shop/list?page=")?.parse().ok()?;
    if !(1..=lists(web)).contains(&list) {
        return None;
    }
    let first = (list - 1) * PER_LIST + 1;
    let mut body = String::from("\n<ol>");
    for product in first..(first + PER_LIST).min(products(web) + 1) {
        body.push_str(&format!("\n<li><a href=\"/product/{product}\">Product {product}</a></li>"));
    }
    body.push_str("\n</ol>");
    if list < lists(web) {
        body.push_str(&format!("\n<a rel=\"next\" href=\"?page={}\">Next</a>", list + 1));
    }
    let plan = special_page(web, site, path_of(target), &format!("Products, page {list}"));
    Some(Answer::page(PagePlan { body, content: Some(web.content_key(site, target)), ..plan }))
}
