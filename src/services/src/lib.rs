//! The classes that celld reserves for its own cells: a KV namespace, a D1 database, a queue and a workflow instance are cells too.
//!
//! Invariant: a class whose name starts with `__` is never user code.

/// A reserved class of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReservedClass {
    /// A KV namespace.
    Kv,
    /// A D1 database.
    D1,
    /// A queue's broker.
    Queue,
    /// A workflow instance.
    Workflow,
}

impl ReservedClass {
    /// All of them.
    pub const ALL: [ReservedClass; 4] =
        [ReservedClass::Kv, ReservedClass::D1, ReservedClass::Queue, ReservedClass::Workflow];

    /// The class name in a cell's scope.
    pub fn name(self) -> &'static str {
        match self {
            ReservedClass::Kv => "__KV",
            ReservedClass::D1 => "__D1",
            ReservedClass::Queue => "__Queue",
            ReservedClass::Workflow => "__Workflow",
        }
    }

    /// The reserved class of this name.
    pub fn from_name(name: &str) -> Option<ReservedClass> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reserved_name_makes_a_reserved_scope_and_reads_back() {
        for class in ReservedClass::ALL {
            assert!(celld_ids::CellScope::new(class.name(), "x").unwrap().is_reserved());
            assert_eq!(ReservedClass::from_name(class.name()), Some(class));
        }
        assert_eq!(ReservedClass::from_name("Counter"), None);
    }
}
