//! From options to a job: its seeds, its list of URLs, its identity, and what may differ when it is resumed.

mod identity;
mod list;
mod name;
mod resume;
mod seed;

pub use identity::{JobIdentity, hex};
pub use list::SeedList;
pub use name::name_problem;
pub use resume::{Difference, StoredJob, cannot_resume, compare_for_resume};
pub use seed::{SeedProblem, SeedRules, address_hint, check_address, parse_seed, parse_typed};
