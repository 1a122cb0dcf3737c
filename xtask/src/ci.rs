//! `cargo xtask ci`: every check, in one order, on any machine.
//!
//! The steps are the table [`STEPS`]. They run one after another and the first that fails ends
//! the run with a line that says how to repeat it alone. All of them use the dev profile: the
//! dependencies are built once to be checked and once to be run, never a third time.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{command, promises, sdk, tidy, tree};

/// The checks, in order. To change what a step does, change its row.
const STEPS: &[Step] = &[
    Step::new("fmt", Action::Cargo(&["fmt", "--all", "--check"])),
    Step::new(
        "clippy",
        Action::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--",
            "-D",
            "warnings",
        ]),
    ),
    Step::new("docs", Action::Cargo(&["doc", "--workspace", "--no-deps"]))
        .with_env("RUSTDOCFLAGS", "-D warnings"),
    Step::new("test", Action::Cargo(&["test", "--workspace"])),
    Step::new("tidy", Action::Verb(tidy::run)),
    Step::new("promises", Action::Verb(promises::run)),
    // What the tests were built with builds the binaries too: `cargo build` or `cargo run -p` would
    // choose fewer features of the dependencies and build many of them again.
    Step::new("sim-build", Action::Cargo(&["test", "--workspace", "--no-run"])).when(SIM),
    // First that the same seed gives the same run: without it no seed is worth anything.
    Step::new("sim-meta", Action::Built("steadfast-sim", &["meta"])).when(SIM),
    Step::new("sim-run", Action::Built("steadfast-sim", &["run", "--seeds", "200"])).when(SIM),
    // The Rust suite builds an SDK from its sources, which takes longer than all the others do
    // together: `cargo xtask sdk rust` runs it.
    Step::new("sdk", Action::Verb(|_| sdk::run(&SDKS.map(str::to_owned)))),
];

const SIM: &str = "crates/sim";
const SDKS: [&str; 4] = ["python", "typescript", "go", "java"];

/// Runs all steps, or those that `args` name; `--list` names them.
pub(crate) fn run(args: &[String]) -> Result<()> {
    if args == ["--list"] {
        for step in STEPS {
            println!("{:<10} {}", step.name, step.shown());
        }
        return Ok(());
    }
    let root = tree::root();
    let mut times = Vec::new();
    for step in chosen(args)? {
        if let Some(folder) = step.missing(root) {
            println!("== {}: skipped, there is no {folder} yet", step.name);
            continue;
        }
        times.push((step.name, step.run(root)?));
    }
    println!("{}", summary(&times));
    Ok(())
}

/// One check.
struct Step {
    name: &'static str,
    action: Action,
    /// Variables that are set for it alone.
    env: Option<(&'static str, &'static str)>,
    /// The folder without which it is skipped.
    needs: Option<&'static str>,
}

enum Action {
    /// Runs cargo with these arguments.
    Cargo(&'static [&'static str]),
    /// Runs a binary of the workspace that an earlier step built.
    Built(&'static str, &'static [&'static str]),
    /// Runs another verb of this program.
    Verb(fn(&[String]) -> Result<()>),
}

impl Step {
    const fn new(name: &'static str, action: Action) -> Self {
        Self { name, action, env: None, needs: None }
    }

    const fn with_env(mut self, name: &'static str, value: &'static str) -> Self {
        self.env = Some((name, value));
        self
    }

    const fn when(mut self, folder: &'static str) -> Self {
        self.needs = Some(folder);
        self
    }

    fn missing(&self, root: &Path) -> Option<&'static str> {
        self.needs.filter(|folder| !root.join(folder).exists())
    }

    #[expect(clippy::disallowed_methods, reason = "how long a step took is told to a person")]
    fn run(&self, root: &Path) -> Result<Duration> {
        println!("== {}: {}", self.name, self.shown());
        let begin = Instant::now();
        self.perform(root).with_context(|| {
            format!("ci failed at {0}; to repeat it alone: cargo xtask ci {0}", self.name)
        })?;
        let took = begin.elapsed();
        println!("== {}: ok in {:.1} s", self.name, took.as_secs_f64());
        Ok(took)
    }

    fn perform(&self, root: &Path) -> Result<()> {
        let mut command = match self.action {
            Action::Verb(verb) => return verb(&[]),
            Action::Cargo(args) => command::cargo(args),
            Action::Built(name, args) => {
                let mut command = command::clean(command::beside(name)?);
                command.args(args);
                command
            }
        };
        command.current_dir(root).envs(self.env);
        let status = command.status().with_context(|| format!("starting {}", self.shown()))?;
        ensure!(status.success(), "`{}` ended with {status}", self.shown());
        Ok(())
    }

    /// The step as a person would type it.
    fn shown(&self) -> String {
        let action = self.action.shown(self.name);
        match self.env {
            Some((name, value)) => format!("{name}='{value}' {action}"),
            None => action,
        }
    }
}

impl Action {
    fn shown(&self, step: &str) -> String {
        match self {
            Self::Cargo(args) => format!("cargo {}", args.join(" ")),
            Self::Built(name, args) => format!("{name} {}", args.join(" ")),
            Self::Verb(_) => format!("cargo xtask {step}"),
        }
    }
}

fn chosen(names: &[String]) -> Result<Vec<&'static Step>> {
    for name in names {
        if !STEPS.iter().any(|step| step.name == name) {
            let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
            bail!("there is no step `{name}`; there are: {}", known.join(", "));
        }
    }
    let wanted = |step: &&Step| names.is_empty() || names.iter().any(|name| name == step.name);
    Ok(STEPS.iter().filter(wanted).collect())
}

fn summary(times: &[(&str, Duration)]) -> String {
    let total: Duration = times.iter().map(|(_, took)| *took).sum();
    let parts: Vec<String> =
        times.iter().map(|(name, took)| format!("{name} {:.0} s", took.as_secs_f64())).collect();
    format!("== ci: all ok in {:.0} s ({})", total.as_secs_f64(), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_can_be_chosen_and_a_wrong_name_is_told() {
        let some = chosen(&["tidy".to_owned(), "fmt".to_owned()]).expect("both exist");
        let names: Vec<&str> = some.iter().map(|step| step.name).collect();
        assert_eq!(names, ["fmt", "tidy"], "in the order of the table");
        let error = chosen(&["fnt".to_owned()]).err().expect("no such step").to_string();
        assert!(error.contains("no step `fnt`") && error.contains("fmt, clippy"), "{error}");
    }

    #[test]
    fn a_step_whose_folder_is_missing_is_skipped() {
        let step = Step::new("x", Action::Cargo(&["version"])).when("crates/none");
        assert_eq!(step.missing(tree::root()), Some("crates/none"));
        let step = Step::new("x", Action::Cargo(&["version"])).when("xtask");
        assert_eq!(step.missing(tree::root()), None);
    }

    #[test]
    fn a_failing_step_says_which_and_how_to_repeat_it() {
        let step = Step::new("broken", Action::Verb(|_| bail!("a wall is missing")));
        let error = format!("{:#}", step.run(tree::root()).expect_err("it fails"));
        assert_eq!(
            error,
            "ci failed at broken; to repeat it alone: cargo xtask ci broken: a wall is missing"
        );
    }

    #[test]
    fn the_summary_adds_up() {
        let times = [("fmt", Duration::from_secs(2)), ("test", Duration::from_secs(60))];
        assert_eq!(summary(&times), "== ci: all ok in 62 s (fmt 2 s, test 60 s)");
    }
}
