//! Where a configuration names Workers and classes: what can be checked only when all Workers of a deployment are known.

use super::source::Diagnostic;

/// A place of a configuration file, for a message that comes later.
#[derive(Debug, Clone)]
pub(crate) struct Place(Diagnostic);

impl Place {
    pub fn new(diagnostic: Diagnostic) -> Place {
        Place(diagnostic)
    }

    /// The message about it.
    pub fn says(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic { message: message.into(), ..self.0.clone() }
    }
}

/// The names of one configuration, with their places.
#[derive(Debug, Clone)]
pub(crate) struct Mentions {
    /// The Worker's own.
    pub name: Place,
    /// The Durable Object classes that it defines: of its migrations, and of bindings to itself.
    pub defines: Vec<(String, Place)>,
    /// The other Workers that it has service bindings to.
    pub services: Vec<(String, Place)>,
    /// The classes of other Workers that it binds.
    pub borrowed: Vec<Borrowed>,
}

/// A class of another Worker.
#[derive(Debug, Clone)]
pub(crate) struct Borrowed {
    pub script: String,
    pub script_place: Place,
    pub class: String,
    pub class_place: Place,
}
