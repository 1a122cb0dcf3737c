//! The files of the workspace.
//!
//! The tree is walked, not asked of git, so that new files are checked before they are added and
//! so that an unpacked archive can be checked too.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

/// A text file of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Its path from the root of the workspace, with `/` on every system.
    pub(crate) path: String,
    /// What it holds.
    pub(crate) text: String,
}

impl File {
    /// What follows the last dot of its name; nothing if there is no dot.
    pub(crate) fn ending(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, ending)| ending)
    }
}

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace's root")
}

/// Every text file that belongs to the workspace, ordered by path.
pub(crate) fn files(root: &Path) -> Result<Vec<File>> {
    let mut paths = Vec::new();
    walk(root, &mut paths)?;
    paths.sort();
    paths.into_iter().map(|path| read(root, &path)).collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !is_foreign(name) {
                walk(&path, found)?;
            }
        } else if is_text(name) {
            found.push(path);
        }
    }
    Ok(())
}

/// Folders that are not ours to check.
fn is_foreign(folder: &str) -> bool {
    let known = [".cargo", ".ci", ".github"];
    ["node_modules", "target"].contains(&folder)
        || (folder.starts_with('.') && !known.contains(&folder))
}

fn is_text(name: &str) -> bool {
    let endings = ["rs", "md", "toml", "sql", "sh", "py", "yml", "yaml", "css", "js", "html"];
    match name.rsplit_once('.') {
        Some((_, ending)) => endings.contains(&ending),
        None => ["FLOORS", "run"].contains(&name),
    }
}

fn read(root: &Path, path: &Path) -> Result<File> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let below = path.strip_prefix(root).expect("walked from the root");
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    Ok(File { path: parts.join("/"), text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_file_is_found_and_build_output_is_not() {
        let found = files(root()).expect("readable workspace");
        assert!(found.iter().any(|file| file.path == "xtask/src/tree.rs"));
        assert!(found.iter().any(|file| file.path == ".ci/run"));
        assert!(found.iter().all(|file| !file.path.contains("target/")));
    }
}
