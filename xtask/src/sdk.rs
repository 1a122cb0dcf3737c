//! `cargo xtask sdk`: the official SDKs, from their registries, against a server process.
//!
//! A suite is a row of [`SUITES`]: the folder in `tests/`, the programs that it needs, and what is
//! run there. A program that is missing is installed from the system's packages where that is
//! possible; what a suite installs for itself stays in the folders of its own build.

use std::{
    env,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{command, tree};

/// The suites, in the order in which they run.
const SUITES: &[Suite] = &[
    Suite {
        name: "python",
        needs: &[Tool { program: "python3", packages: &["python3", "python3-venv"] }],
        steps: &[
            &["python3", "-m", "venv", VENV],
            &[PYTHON, "-m", "pip", "install", "--quiet", "--requirement", "requirements.txt"],
            // Most of its time is spent waiting, so there are more at it than there are cores.
            &[PYTHON, "-B", "-m", "pytest", "--quiet", "--numprocesses", "4"],
        ],
    },
    Suite {
        name: "typescript",
        needs: &[Tool { program: "npm", packages: &["nodejs", "npm"] }],
        steps: &[
            &["npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"],
            &["npm", "test", "--silent"],
        ],
    },
    Suite {
        name: "go",
        needs: &[Tool { program: "go", packages: &["golang"] }],
        steps: &[&["go", "vet", "./..."], &["go", "test", "-count=1", "./..."]],
    },
    Suite {
        name: "java",
        needs: &[
            Tool { program: "javac", packages: &["default-jdk-headless"] },
            Tool { program: "mvn", packages: &["maven"] },
        ],
        steps: &[&["mvn", "--quiet", "--batch-mode", "test"]],
    },
    Suite {
        name: "rust",
        needs: &[],
        steps: &[&["cargo", "test", "--release", "--locked", "--quiet"]],
    },
];

/// Where what the Python suite needs is installed.
const VENV: &str = "../../target/sdk-python";
const PYTHON: &str = "../../target/sdk-python/bin/python";

/// An SDK's tests.
struct Suite {
    /// The language; the suite is in `tests/sdk-<name>`.
    name: &'static str,
    needs: &'static [Tool],
    /// What is run in its folder, one after another.
    steps: &'static [&'static [&'static str]],
}

/// A program that a suite cannot bring along.
struct Tool {
    program: &'static str,
    /// The Debian packages that have it.
    packages: &'static [&'static str],
}

/// Runs the suites that `args` name, or all.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let suites = chosen(args)?;
    let server = server()?;
    for suite in suites {
        let folder = tree::root().join("tests").join(format!("sdk-{}", suite.name));
        println!("== sdk {}", suite.name);
        for tool in suite.needs {
            tool.provide()?;
        }
        for step in suite.steps {
            suite.step(step, &folder, &server)?;
        }
    }
    Ok(())
}

impl Suite {
    fn step(&self, words: &[&str], folder: &Path, server: &Path) -> Result<()> {
        let Some((program, args)) = words.split_first() else { return Ok(()) };
        // A relative program is one that an earlier step has put into the folder.
        let program = if program.contains('/') { folder.join(program) } else { program.into() };
        let shown = words.join(" ");
        let status = command::clean(program)
            .args(args)
            .current_dir(folder)
            .env("STEADFAST_BIN", server)
            .env("CARGO_TARGET_DIR", tree::root().join("target/sdk-rust"))
            .status()
            .with_context(|| format!("starting `{shown}` in {}", folder.display()))?;
        ensure!(
            status.success(),
            "`{shown}` ended with {status}; to repeat it alone: cargo xtask sdk {}",
            self.name
        );
        Ok(())
    }
}

impl Tool {
    fn provide(&self) -> Result<()> {
        if self.is_there() {
            return Ok(());
        }
        let wanted = self.packages.join(" ");
        println!("== sdk: installing {wanted}, because there is no {}", self.program);
        for args in [&["update", "-q"][..], &["install", "-q", "-y"]] {
            let packages = if args.contains(&"install") { self.packages } else { &[] };
            // Whether it helped is looked at below; without the right to install it cannot.
            let _ = Command::new("apt-get").args(args).args(packages).status();
        }
        ensure!(self.is_there(), "there is no `{}`; please install {wanted}", self.program);
        Ok(())
    }

    fn is_there(&self) -> bool {
        let paths = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&paths).any(|folder| folder.join(self.program).is_file())
    }
}

/// Builds the server as the tests of the workspace are built, so that nothing is built twice, and
/// says where it is.
fn server() -> Result<std::path::PathBuf> {
    let mut building = command::cargo(&["test", "--workspace", "--no-run", "--quiet"]);
    building.current_dir(tree::root()).stdin(Stdio::null());
    command::done(&mut building).context("the server cannot be built")?;
    command::beside("steadfast")
}

fn chosen(names: &[String]) -> Result<Vec<&'static Suite>> {
    for name in names {
        if !SUITES.iter().any(|suite| suite.name == name) {
            let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
            bail!("there is no suite `{name}`; there are: {}", known.join(", "));
        }
    }
    let wanted = |suite: &&Suite| names.is_empty() || names.iter().any(|name| name == suite.name);
    Ok(SUITES.iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_has_its_folder() {
        for suite in SUITES {
            let folder = tree::root().join("tests").join(format!("sdk-{}", suite.name));
            assert!(folder.is_dir(), "{}", folder.display());
        }
    }

    #[test]
    fn a_wrong_name_is_told() {
        let error = chosen(&["tyepscript".to_owned()]).err().expect("no such suite").to_string();
        assert!(
            error.contains("no suite `tyepscript`") && error.contains("typescript, "),
            "{error}"
        );
    }
}
