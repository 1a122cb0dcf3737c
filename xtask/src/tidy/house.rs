//! The crates of the house and the floors they stand on.
//!
//! ```text
//! floor 5   cli
//! floor 4   server        sdk
//! floor 3   engine
//! floor 2   store
//! floor 1   core
//! floor 0   retry         proto
//! beside    sim   bench   xtask
//! ```
//!
//! A crate depends on lower floors only, in every kind of dependency. What stands beside the
//! house may look at any floor; nothing may lean on it.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

/// Where a crate stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Place {
    Floor(u8),
    Beside,
}

/// One row of the plan.
struct Room {
    /// Its folder, from the root of the workspace.
    folder: &'static str,
    place: Place,
    /// Whether it must declare the floors of its modules. Set it when the crate is released.
    floors: bool,
}

const ROOMS: &[Room] = &[
    room("crates/retry", Place::Floor(0), true),
    room("crates/proto", Place::Floor(0), false),
    room("crates/core", Place::Floor(1), true),
    room("crates/store", Place::Floor(2), false),
    room("crates/engine", Place::Floor(3), false),
    room("crates/server", Place::Floor(4), false),
    room("crates/sdk", Place::Floor(4), false),
    room("crates/cli", Place::Floor(5), true),
    room("crates/sim", Place::Beside, false),
    room("crates/bench", Place::Beside, false),
    room("xtask", Place::Beside, true),
];

const fn room(folder: &'static str, place: Place, floors: bool) -> Room {
    Room { folder, place, floors }
}

/// A crate as it is, with the other crates of the workspace that it depends on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Member {
    /// Its folder, from the root of the workspace.
    pub(super) folder: String,
    /// Their folders.
    uses: Vec<String>,
}

/// Whether the crate in `folder` must have a FLOORS file.
pub(super) fn must_have_floors(folder: &str) -> bool {
    ROOMS.iter().any(|room| room.folder == folder && room.floors)
}

/// The crates that `cargo metadata --no-deps` tells of.
pub(super) fn members(metadata: &Value, root: &Path) -> Result<Vec<Member>> {
    let packages = metadata["packages"].as_array().context("metadata without packages")?;
    let mut members = packages
        .iter()
        .map(|package| member(package, root))
        .collect::<Option<Vec<_>>>()
        .context("metadata of another shape than expected")?;
    members.sort_by(|a, b| a.folder.cmp(&b.folder));
    Ok(members)
}

fn member(package: &Value, root: &Path) -> Option<Member> {
    let manifest = Path::new(package["manifest_path"].as_str()?);
    let folder = below(manifest.parent()?, root)?;
    let mut uses = Vec::new();
    for dependency in package["dependencies"].as_array()? {
        uses.extend(dependency["path"].as_str().and_then(|path| below(Path::new(path), root)));
    }
    Some(Member { folder, uses })
}

fn below(path: &Path, root: &Path) -> Option<String> {
    let parts: Vec<_> =
        path.strip_prefix(root).ok()?.iter().map(|part| part.to_string_lossy()).collect();
    Some(parts.join("/"))
}

/// Where the crates differ from the plan.
pub(super) fn faults(members: &[Member]) -> Vec<String> {
    let mut faults = Vec::new();
    for Member { folder, uses } in members {
        let Some(place) = place_of(folder) else {
            faults.push(format!("{folder}: is in no room of the plan (xtask/src/tidy/house.rs)"));
            continue;
        };
        // A crate may name itself: that is how its tests turn on one of its features.
        for used in uses.iter().filter(|used| *used != folder) {
            if !may_use(place, place_of(used)) {
                faults.push(format!("{folder}: depends on {used}, which is not below it"));
            }
        }
    }
    faults
}

fn place_of(folder: &str) -> Option<Place> {
    ROOMS.iter().find(|room| room.folder == folder).map(|room| room.place)
}

fn may_use(user: Place, used: Option<Place>) -> bool {
    match (user, used) {
        (Place::Floor(user), Some(Place::Floor(used))) => used < user,
        (Place::Beside, Some(Place::Floor(_))) => true,
        (_, Some(Place::Beside) | None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(folder: &str, uses: &[&str]) -> Member {
        let uses = uses.iter().map(|&used| used.to_owned()).collect();
        Member { folder: folder.to_owned(), uses }
    }

    #[test]
    fn depending_downward_is_tidy() {
        let house = [
            member("crates/engine", &["crates/store", "crates/retry"]),
            member("crates/store", &["crates/store"]),
            member("crates/sim", &["crates/engine", "crates/cli"]),
        ];
        assert_eq!(faults(&house), Vec::<String>::new());
    }

    #[test]
    fn depending_upward_sideways_or_on_tooling_is_not() {
        let house = [
            member("crates/core", &["crates/engine"]),
            member("crates/sdk", &["crates/server"]),
            member("crates/cli", &["xtask"]),
        ];
        assert_eq!(
            faults(&house),
            [
                "crates/core: depends on crates/engine, which is not below it",
                "crates/sdk: depends on crates/server, which is not below it",
                "crates/cli: depends on xtask, which is not below it",
            ]
        );
    }

    #[test]
    fn an_unplanned_crate_is_a_fault() {
        let found = faults(&[member("crates/utils", &[])]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/utils: is in no room"), "{found:?}");
    }

    #[test]
    fn members_are_read_from_metadata() {
        let metadata = serde_json::json!({ "packages": [{
            "manifest_path": "/house/crates/store/Cargo.toml",
            "dependencies": [{ "path": "/house/crates/retry" }, { "name": "prost" }],
        }] });
        let found = members(&metadata, Path::new("/house")).expect("well formed");
        assert_eq!(found, [member("crates/store", &["crates/retry"])]);
    }
}
