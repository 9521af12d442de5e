//! From what the user typed to a job: its seeds, its list of URLs, what makes it the same job as an earlier one, and
//! what may differ when it goes on.

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
