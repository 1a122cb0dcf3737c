//! `steadfast completion`: scripts that teach a shell the commands.

use std::io::stdout;

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::{Shell, generate};

/// Print a script that completes commands in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steadfast completion bash > /etc/bash_completion.d/steadfast
  steadfast completion zsh > \"${fpath[1]}/_steadfast\"
  steadfast completion fish > ~/.config/fish/completions/steadfast.fish")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script for the commands of `Root`.
pub(crate) fn run<Root: CommandFactory>(args: &Args) -> Result<()> {
    let mut script = Vec::new();
    generate(args.shell, &mut Root::command(), "steadfast", &mut script);
    std::io::Write::write_all(&mut stdout().lock(), &script)?;
    Ok(())
}
