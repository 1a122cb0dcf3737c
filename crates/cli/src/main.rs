//! The `steadfast` binary: arguments in, exit codes out.
//!
//! ```text
//!   main ── parses, runs one command, turns its error into text and an exit code
//!   serve ─ runs the engine on a data file until somebody asks to stop
//!   stop ── how somebody asks
//! ```

#![expect(clippy::print_stdout, reason = "a command answers on standard output")]
#![expect(clippy::print_stderr, reason = "what went wrong is told on standard error")]

mod serve;
mod stop;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Protobuf messages are many small allocations, made on one thread and dropped on another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Serve(args) => serve::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A durable workflow engine: work that survives crashes, retries and restarts.
#[derive(Debug, Parser)]
#[command(name = "steadfast", version, after_help = EXIT_CODES)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the engine on a data file until it is asked to stop
    Serve(serve::Args),
}

const EXIT_CODES: &str = "\
Exit codes:
  0  it did what was asked, or was asked to stop and stopped
  1  it could not; the reason is on standard error
  2  the arguments were wrong; nothing was done";
