//! Where an application's workflows live.

use std::path::PathBuf;

/// Where an application's workflows live.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Target {
    /// In a file.
    Sqlite(PathBuf),
    /// In memory, for as long as the application.
    Memory,
    /// In a server.
    Server(String),
}

/// A target that is none.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{given:?} is no place for workflows: write sqlite:<file>, memory:, or <host>:<port>")]
pub struct InvalidTarget {
    given: String,
}

impl Target {
    pub(crate) fn read(given: &str) -> Result<Self, InvalidTarget> {
        let invalid = || InvalidTarget { given: given.to_owned() };
        if let Some(path) = given.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() { Err(invalid()) } else { Ok(Self::Sqlite(path.into())) };
        }
        if matches!(given, "memory:" | "memory") {
            return Ok(Self::Memory);
        }
        let address = given.rsplit_once("://").map_or(given, |(_, address)| address);
        let port = address.rsplit_once(':').map(|(_, port)| port.trim_end_matches('/'));
        match port.and_then(|port| port.parse::<u16>().ok()) {
            Some(_) => Ok(Self::Server(given.to_owned())),
            None => Err(invalid()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_file_or_memory_or_a_server() {
        assert_eq!(Target::read("sqlite:orders.db"), Ok(Target::Sqlite("orders.db".into())));
        assert_eq!(Target::read("sqlite:///var/o.db"), Ok(Target::Sqlite("/var/o.db".into())));
        assert_eq!(Target::read("memory:"), Ok(Target::Memory));
        assert_eq!(
            Target::read("https://flows.example:7233"),
            Ok(Target::Server("https://flows.example:7233".to_owned()))
        );
        let error = Target::read("orders.db").unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"orders.db\" is no place for workflows: write sqlite:<file>, memory:, or <host>:<port>"
        );
    }
}
