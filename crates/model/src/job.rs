//! The specification of a job. A [`JobSpec`] is built from `job.yaml` and the command line and stored with the job;
//! every crate reads the part it needs. It is data only: admission compiles and checks its patterns.

use crate::duration::{human_duration, human_optional_duration};
use crate::traps::TrapRules;
use crate::{CookieJar, Login, NormalForm, Url};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How far from its seeds a job may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The hosts of the seeds, and hosts that seeds redirect to.
    #[default]
    Host,
    /// Every host under the root domains of the seeds.
    Domain,
    /// The hosts of the seeds and their subdomains.
    Subdomains,
    Any,
}

impl Scope {
    pub const ALL: [Scope; 4] = [Scope::Host, Scope::Domain, Scope::Subdomains, Scope::Any];

    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Host => "host",
            Scope::Domain => "domain",
            Scope::Subdomains => "subdomains",
            Scope::Any => "any",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(word: &str) -> Result<Scope, String> {
        Scope::ALL
            .into_iter()
            .find(|scope| scope.as_str() == word)
            .ok_or_else(|| format!("'{word}' is not a scope; use host, domain, subdomains or any"))
    }
}

/// What to do with the images, styles, scripts, fonts and media of crawled pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resources {
    /// Nothing.
    #[default]
    Off,
    /// Request each once, for its status, size and type.
    Check,
    /// Fetch and archive each once.
    Keep,
}

impl Resources {
    pub const ALL: [Resources; 3] = [Resources::Off, Resources::Check, Resources::Keep];

    pub fn as_str(self) -> &'static str {
        match self {
            Resources::Off => "off",
            Resources::Check => "check",
            Resources::Keep => "keep",
        }
    }
}

impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Resources {
    type Err = String;

    fn from_str(word: &str) -> Result<Resources, String> {
        Resources::ALL
            .into_iter()
            .find(|resources| resources.as_str() == word)
            .ok_or_else(|| format!("'{word}' is not a resources mode; use off, check or keep"))
    }
}

/// How fast the pages of one host may add new URLs of other hosts. The excess waits; it is not dropped. A host's own
/// URLs are limited by its own pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewUrlRate {
    pub per_second: u32,
    pub burst: u32,
}

impl Default for NewUrlRate {
    fn default() -> NewUrlRate {
        NewUrlRate { per_second: 100, burst: 10_000 }
    }
}

/// User and password sent to the hosts of the seeds.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasicAuth {
    pub username: String,
    pub password: String,
}

impl fmt::Debug for BasicAuth {
    /// Keeps the password out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BasicAuth").field("username", &self.username).finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JobSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// As the user wrote them; admission puts them into normal form.
    pub seeds: Vec<String>,

    pub scope: Scope,
    /// Regular expressions on the whole URL. If there are any, one must match.
    pub include: Vec<String>,
    /// Regular expressions on the whole URL: none may match.
    pub exclude: Vec<String>,
    /// Hosts and domains, with all subdomains.
    pub blacklist: Vec<String>,
    /// Regular expressions on the host name: none may match.
    pub exclude_domains: Vec<String>,
    pub max_subdomains_per_root: Option<u32>,

    pub max_depth: Option<u32>,
    pub max_pages: Option<u64>,
    pub max_pages_per_domain: Option<u64>,
    /// Distinct links taken from one page; further ones are counted and reported.
    pub max_links_per_page: u32,
    pub new_urls_per_source: NewUrlRate,
    /// The longest queue of the job. Beyond it the URLs of lowest priority are evicted. Default: no limit.
    pub queue_cap: Option<u64>,

    /// Delay between two requests to a host. Default: the delay that the politeness settings give for the host.
    #[serde(with = "human_optional_duration")]
    pub delay: Option<Duration>,
    /// Requests in flight to one host.
    pub per_host: Option<u32>,
    /// Requests in flight in total.
    pub concurrency: Option<u32>,
    /// For a whole fetch, first to last byte.
    #[serde(with = "human_duration")]
    pub timeout: Duration,
    pub max_redirects: u32,
    /// Bytes of a body after content decoding; the rest is cut off.
    pub max_body: u64,
    pub user_agent: Option<String>,
    pub headers: BTreeMap<String, String>,
    /// Sent to the hosts of the seeds with every request.
    pub cookies: BTreeMap<String, String>,
    /// What to do with cookies that sites set; see [`JobSpec::cookie_jar`].
    pub cookie_jar: Option<CookieJar>,
    /// Initial cookies, as browsers and curl export them (`cookies.txt`).
    pub cookies_file: Option<String>,
    /// The contents of that file, for those who cannot read it: the workers of a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cookies_text: Option<String>,
    pub login: Option<Login>,
    pub basic_auth: Option<BasicAuth>,
    /// `none` disables proxies, including those of the environment.
    pub proxy: Option<String>,
    /// Certificates are not checked.
    pub insecure: bool,

    pub respect_robots: bool,
    pub respect_nofollow: bool,
    pub respect_noindex: bool,
    /// Show and index `noindex` pages anyway.
    pub index_noindex: bool,
    pub allow_private: bool,
    pub archive: bool,
    pub sitemaps: bool,
    /// Follow the links of pages that are duplicates of others.
    pub follow_duplicates: bool,
    /// Original pages that later ones are compared with; beyond it the oldest are forgotten. With 0 no duplicates are found.
    pub duplicate_limit: u64,
    /// Resources of crawled pages, on any host. They are not pages, and no links are followed from them.
    pub resources: Resources,

    pub normal_form: NormalForm,
    /// File extensions that are skipped, without the dot.
    pub skip_extensions: Vec<String>,
    /// Bytes of the normal form.
    pub max_url_length: u32,
    /// Segments of a path.
    pub max_path_depth: u32,
    pub max_query_parameters: u32,
    /// At most [`JobSpec::STRICT_QUERY_PARAMETERS`] query parameters.
    pub strict: bool,
    pub traps: TrapRules,

    /// Host or root domain -> how much to lower the priority number of its URLs.
    pub authority: BTreeMap<String, u8>,
}

impl JobSpec {
    pub const STRICT_QUERY_PARAMETERS: u32 = 3;

    /// The seeds as URLs in the job's own normal form.
    pub fn seed_urls(&self) -> impl Iterator<Item = Url> {
        let rules = self.normal_form.compile();
        self.seeds.iter().filter_map(move |seed| Url::parse(seed, &rules).ok())
    }

    /// Default: for one chain of redirects; if the job starts with cookies, for the whole run.
    pub fn cookie_jar(&self) -> CookieJar {
        let begins_with_some =
            self.cookies_file.is_some() || self.cookies_text.is_some() || self.login.is_some();
        let usual = if begins_with_some { CookieJar::Session } else { CookieJar::Redirects };
        self.cookie_jar.unwrap_or(usual)
    }

    /// The limit on query parameters, including the effect of `strict`.
    pub fn query_parameter_limit(&self) -> u32 {
        if self.strict {
            self.max_query_parameters.min(Self::STRICT_QUERY_PARAMETERS)
        } else {
            self.max_query_parameters
        }
    }

    /// Extensions of files that are neither pages nor documents. PDF is not among them, because its text is extracted.
    pub const SKIPPED_EXTENSIONS: [&'static str; 62] = [
        // images
        "jpg", "jpeg", "png", "gif", "bmp", "tif", "tiff", "ico", "svg", "webp", "avif", "heic", "psd",
        // sound and video
        "mp3", "wav", "ogg", "flac", "aac", "m4a", "wma", "mp4", "m4v", "avi", "mov", "mkv", "webm", "wmv",
        "flv", "mpg", "mpeg", "3gp", // archives and programs
        "zip", "gz", "tgz", "bz2", "xz", "zst", "rar", "7z", "tar", "exe", "msi", "dmg", "iso", "apk", "deb",
        "rpm", "jar", "bin", "dll", "so", "img", // what pages are made with
        "css", "js", "mjs", "map", "wasm", "woff", "woff2", "ttf", "otf", "eot",
    ];
}

impl Default for JobSpec {
    fn default() -> JobSpec {
        JobSpec {
            name: None,
            seeds: Vec::new(),
            scope: Scope::Host,
            include: Vec::new(),
            exclude: Vec::new(),
            blacklist: Vec::new(),
            exclude_domains: Vec::new(),
            max_subdomains_per_root: None,
            max_depth: Some(10),
            max_pages: None,
            max_pages_per_domain: None,
            max_links_per_page: 10_000,
            new_urls_per_source: NewUrlRate::default(),
            queue_cap: None,
            delay: None,
            per_host: None,
            concurrency: None,
            timeout: Duration::from_secs(30),
            max_redirects: 5,
            max_body: 10_000_000,
            user_agent: None,
            headers: BTreeMap::new(),
            cookies: BTreeMap::new(),
            cookie_jar: None,
            cookies_file: None,
            cookies_text: None,
            login: None,
            basic_auth: None,
            proxy: None,
            insecure: false,
            respect_robots: true,
            respect_nofollow: true,
            respect_noindex: true,
            index_noindex: false,
            allow_private: false,
            archive: true,
            sitemaps: true,
            follow_duplicates: true,
            duplicate_limit: 10_000_000,
            resources: Resources::Off,
            normal_form: NormalForm::default(),
            skip_extensions: Self::SKIPPED_EXTENSIONS.iter().map(|e| (*e).to_owned()).collect(),
            max_url_length: 2048,
            max_path_depth: 20,
            max_query_parameters: 20,
            strict: false,
            traps: TrapRules::default(),
            authority: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_is_read_back_as_it_was_stored() {
        let mut spec = JobSpec {
            name: Some("shop".into()),
            delay: Some(Duration::from_millis(250)),
            ..JobSpec::default()
        };
        spec.scope = Scope::Subdomains;
        spec.basic_auth = Some(BasicAuth { username: "u".into(), password: "p".into() });
        spec.authority.insert("example.com".into(), 20);
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<JobSpec>(&json).unwrap(), spec);
    }

    #[test]
    fn an_empty_spec_is_the_default() {
        assert_eq!(serde_json::from_str::<JobSpec>("{}").unwrap(), JobSpec::default());
    }

    #[test]
    fn durations_are_written_with_units() {
        let spec: JobSpec = serde_json::from_str(r#"{"delay":"2s","timeout":45}"#).unwrap();
        assert_eq!(spec.delay, Some(Duration::from_secs(2)));
        assert_eq!(spec.timeout, Duration::from_secs(45));
        let json = serde_json::to_value(&spec).unwrap();
        assert_eq!(json["delay"], "2s");
        assert_eq!(json["timeout"], "45s");
        let error = serde_json::from_str::<JobSpec>(r#"{"delay":"2 parsecs"}"#).unwrap_err().to_string();
        assert!(error.contains("parsecs"), "{error}");
    }

    #[test]
    fn unknown_keys_and_scopes_are_errors() {
        assert!(serde_json::from_str::<JobSpec>(r#"{"max_dpeth":3}"#).is_err());
        assert!(serde_json::from_str::<JobSpec>(r#"{"traps":{"on":true}}"#).is_err());
        assert!(serde_json::from_str::<JobSpec>(r#"{"scope":"galaxy"}"#).is_err());
    }

    #[test]
    fn scopes_are_read_from_their_words() {
        for scope in Scope::ALL {
            assert_eq!(scope.to_string().parse(), Ok(scope));
        }
        assert!("hosts".parse::<Scope>().is_err());
        for resources in Resources::ALL {
            assert_eq!(resources.to_string().parse(), Ok(resources));
        }
        assert!("yes".parse::<Resources>().is_err());
    }

    #[test]
    fn strict_lowers_the_limit_on_parameters_and_never_raises_it() {
        let spec = JobSpec { strict: true, ..JobSpec::default() };
        assert_eq!(spec.query_parameter_limit(), 3);
        assert_eq!(JobSpec { max_query_parameters: 1, ..spec }.query_parameter_limit(), 1);
        assert_eq!(JobSpec::default().query_parameter_limit(), 20);
    }

    #[test]
    fn pages_and_documents_are_not_skipped_by_extension() {
        for wanted in ["pdf", "html", "php", "xml", "txt", "json"] {
            assert!(!JobSpec::SKIPPED_EXTENSIONS.contains(&wanted), "{wanted}");
        }
    }

    #[test]
    fn a_password_is_not_shown_by_debug() {
        let auth = BasicAuth { username: "u".into(), password: "hunter2".into() };
        assert!(!format!("{auth:?}").contains("hunter2"));
    }
}
