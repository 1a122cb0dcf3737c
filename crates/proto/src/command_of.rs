//! A command, made from what it asks for.

use crate::generated::temporal::api::command::v1::{Command, command::Attributes};

impl Command {
    /// The command of these attributes, of the type that they have.
    pub fn of(attributes: impl Into<Attributes>) -> Self {
        let attributes = attributes.into();
        Self {
            command_type: attributes.command_type().into(),
            attributes: Some(attributes),
            ..Self::default()
        }
    }
}
