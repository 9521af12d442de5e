//! The hash maps of the core. Their keys come from strangers (host names, addresses), so the hash is keyed by chance, once
//! per process; it is a fast one, for every event goes through several of these maps.

use std::collections::{HashMap, HashSet};

pub(crate) type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
pub(crate) type FastSet<K> = HashSet<K, foldhash::fast::RandomState>;
