//! Maps names to numbers: each name is stored once, in one text, and numbered in order of appearance.
//!
//! A name costs its own length, 8 bytes for its end and about 5 in the table. The table's hash is randomly keyed, so
//! that nobody can choose names that collide; numbers do not depend on it.

use crate::error::GraphError;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;

/// Names by number.
#[derive(Clone, Debug, Default)]
pub struct NameList {
    text: String,
    ends: Vec<usize>,
}

impl NameList {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Empty for an unknown number.
    pub fn get(&self, id: u32) -> &str {
        let at = id as usize;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(at).copied().unwrap_or(start);
        self.text.get(start..end).unwrap_or_default()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let name = self.text.get(start..*end).unwrap_or_default();
            start = *end;
            name
        })
    }

    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }
}

/// Gives each new name the next number.
#[derive(Clone, Debug, Default)]
pub struct Names {
    list: NameList,
    table: HashTable<u32>,
    hashing: RandomState,
}

impl Names {
    pub fn intern(&mut self, name: &str) -> Result<u32, GraphError> {
        let Names { list, table, hashing } = self;
        let entry = table.entry(
            hashing.hash_one(name),
            |id| list.get(*id) == name,
            |id| hashing.hash_one(list.get(*id)),
        );
        match entry {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(room) => {
                let id = u32::try_from(list.len()).map_err(|_| GraphError::TooManyNodes)?;
                room.insert(id);
                list.push(name);
                Ok(id)
            }
        }
    }

    pub fn find(&self, name: &str) -> Option<u32> {
        let hash = self.hashing.hash_one(name);
        self.table.find(hash, |id| self.list.get(*id) == name).copied()
    }

    pub fn list(&self) -> &NameList {
        &self.list
    }

    /// Without the table, when no name is looked up any more.
    pub fn into_list(self) -> NameList {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number_in_the_order_of_coming() {
        let mut names = Names::default();
        let given = ["b", "", "a", "b", "ä/ö", "a", ""].map(|name| names.intern(name).unwrap());
        assert_eq!(given, [0, 1, 2, 0, 3, 2, 1]);
        assert_eq!(names.find("ä/ö"), Some(3));
        assert_eq!(names.find("c"), None);
        let list = names.into_list();
        assert_eq!(list.iter().collect::<Vec<_>>(), ["b", "", "a", "ä/ö"]);
        assert_eq!((list.get(3), list.get(4)), ("ä/ö", ""));
    }

    #[test]
    fn many_names_are_told_apart() {
        let mut names = Names::default();
        for number in 0..10_000 {
            assert_eq!(names.intern(&format!("https://example.com/{number}")).unwrap(), number);
        }
        assert_eq!(names.find("https://example.com/1234"), Some(1234));
        assert_eq!(names.list().len(), 10_000);
    }
}
