//! The hash maps of the frontier. Their keys come from outside (host names, addresses), so the hash is randomly keyed
//! once per process. It is a fast hash, because every event uses several of these maps.

use std::collections::{HashMap, HashSet};

pub(crate) type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
pub(crate) type FastSet<K> = HashSet<K, foldhash::fast::RandomState>;
