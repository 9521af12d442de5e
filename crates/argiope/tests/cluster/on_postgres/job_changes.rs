//! `jobs pause`, `resume`, `cancel` and `delete` on a cluster.

use crate::site::{Site, asked_twice, lab};

/// Everything that a job leaves in the database, by table.
const LEFT: &str = "
    SELECT string_agg(word || ' ' || many, ', ' ORDER BY word) FROM (
        SELECT 'urls' AS word, count(*) AS many FROM urls WHERE job = 1
        UNION ALL SELECT 'seen', count(*) FROM seen WHERE job = 1
        UNION ALL SELECT 'frontier_jobs', count(*) FROM frontier_jobs WHERE job = 1
        UNION ALL SELECT 'budgets', count(*) FROM budgets WHERE job = 1
        UNION ALL SELECT 'grants', count(*) FROM grants WHERE job = 1
        UNION ALL SELECT 'pages', count(*) FROM crawl_metadata WHERE job = 1
        UNION ALL SELECT 'counts', count(*) FROM job_counts WHERE job = 1
        UNION ALL SELECT 'jobs', count(*) FROM jobs WHERE id = 1
    ) AS tables WHERE many > 0";

fn requests_in_flight(site: &Site) -> u64 {
    let status = site.status();
    status["workers"].as_array().unwrap().iter().filter_map(|worker| worker["active"].as_u64()).sum()
}

#[test]
fn jobs_are_paused_resumed_cancelled_and_deleted_on_postgres() {
    let Some(site) = Site::new("changes") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = lab(4, 200, 0);
    let mut worker = site.worker("one");
    site.submit(&lab, &["--name", "shop", "--max-pages", "700"]);
    site.wait_for_pages(10);
    assert_eq!(site.run(&["jobs", "pause", "shop"]).ok().stdout, "Job shop is paused.\n");
    assert_eq!(site.job()["state"], "paused");
    assert_eq!(site.job()["message"], "paused by a user");
    // The worker's own report comes after it has seen the pause, and then stays.
    let mut calm = 0;
    site.wait_until("no more requests", || {
        let (asked, in_flight) = (lab.access_log().len(), requests_in_flight(&site));
        std::thread::sleep(std::time::Duration::from_millis(500));
        calm = if in_flight == 0 && lab.access_log().len() == asked { calm + 1 } else { 0 };
        calm == 4
    });
    let before = site.job()["pages"].as_u64().unwrap();
    assert!(before < 700);
    site.run(&["jobs", "resume", "1"]).ok();
    site.wait_for_pages(before + 10);
    assert_eq!(asked_twice(&lab), 0);

    site.run(&["jobs", "cancel", "shop"]).ok();
    assert_eq!(site.job()["state"], "cancelled");
    for words in [["jobs", "pause", "shop"], ["jobs", "resume", "shop"], ["jobs", "cancel", "shop"]] {
        let refused = site.run(&words);
        assert_eq!(refused.code, 1, "{}", refused.stdout);
        assert!(refused.stderr.contains("job 1 is already cancelled"), "{}", refused.stderr);
    }
    let refused = site.run(&["jobs", "delete", "shop"]);
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(refused.stderr.contains("workers may still store its last responses"), "{}", refused.stderr);
    // Without workers there is nobody to wait for.
    assert_eq!(worker.leave(), 0, "{}", worker.said());
    assert!(site.sql(LEFT).contains("urls"), "{}", site.sql(LEFT));
    site.run(&["jobs", "delete", "shop"]).ok();
    assert_eq!(site.sql(LEFT), "");
    assert_eq!(site.run(&["jobs", "delete", "shop"]).code, 1);
    assert!(site.run(&["export", "--all"]).ok().json_lines().is_empty());

    // The same name begins anew.
    let _worker = site.worker("two");
    site.submit(&lab, &["--name", "shop", "--max-pages", "20"]);
    site.wait_for_end();
    assert_eq!(site.job()["pages"], 20);
}
