//! From what the user typed to a job: its seeds, its list of URLs, what makes it the same job as an earlier one, and
//! what may differ when it goes on.

pub(crate) mod identity;
pub(crate) mod list;
mod name;
pub(crate) mod resume;
pub(crate) mod seed;

pub(crate) use identity::JobIdentity;
pub(crate) use list::SeedList;
pub(crate) use name::name_problem;
pub(crate) use resume::{cannot_resume, compare_for_resume, goes_on};
pub(crate) use seed::{SeedRules, address_hint, check_address, parse_seed, parse_typed};
