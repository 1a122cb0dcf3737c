//! The `steadfast` binary: arguments in, exit codes out.
//!
//! ```text
//!   main ── parses, runs one command, turns its error into text and an exit code
//!   serve ─ runs the engine on a data file until somebody asks to stop
//!     └──── as config says, which is put together from flags, environment and file
//!   backup  copies such a file
//!   key ─── keys for those who may come in
//!   dev ─── the same for tests: in memory, gone when it stops
//!   workflow, activity, schedule, namespace, task_queue, worker, batch, operator
//!     └──── call a server (client), answer with tables or JSON (output)
//!   errors, attempts, park, resume, ack, retry, resume_policy, resume_job, policy, settings,
//!   webhook
//!     └──── the same through its HTTP door (caller)
//! ```

#![expect(clippy::print_stdout, reason = "a command answers on standard output")]
#![expect(clippy::print_stderr, reason = "what went wrong is told on standard error")]

mod act;
mod activity;
mod attempts;
mod backup;
mod batch;
mod caller;
mod client;
mod codec;
mod completion;
mod config;
mod credentials;
mod dev;
mod errors;
mod family;
mod file;
mod input;
mod key;
mod logs;
mod moving;
mod names;
mod namespace;
mod operator;
mod output;
mod pages;
mod policy;
mod resume;
mod resume_job;
mod resume_policy;
mod retry;
mod schedule;
mod select;
mod serve;
mod settings;
mod stop;
mod target;
mod task_queue;
mod threads;
mod time;
mod trouble;
mod webhook;
mod worker;
mod workflow;

use std::{future::Future, process::ExitCode};

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

use crate::trouble::{EXIT_CODES, exit_code, is_broken_pipe};

/// Protobuf messages are many small allocations, made on one thread and dropped on another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Args::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            exit_code(&error)
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Serve(args) => serve::run(&args),
        Command::Backup(args) => backup::run(&args),
        Command::Key(args) => key::run(&args),
        Command::Server(args) => dev::run(&args),
        Command::Workflow(args) => calling(workflow::run(&args)),
        Command::Activity(args) => calling(activity::run(&args)),
        Command::Schedule(args) => calling(schedule::run(&args)),
        Command::Namespace(args) => calling(namespace::run(&args)),
        Command::TaskQueue(args) => calling(task_queue::run(&args)),
        Command::Worker(args) => calling(worker::run(&args)),
        Command::Batch(args) => calling(batch::run(&args)),
        Command::Operator(args) => calling(operator::run(&args)),
        Command::Errors(args) => calling(errors::run(&args)),
        Command::Attempts(args) => calling(attempts::run(&args)),
        Command::Park(args) => calling(act::park(&args)),
        Command::Resume(args) => calling(resume::run(&args)),
        Command::Ack(args) => calling(act::acknowledge(&args)),
        Command::Retry(args) => calling(retry::run(&args)),
        Command::ResumePolicy(args) => calling(resume_policy::run(&args)),
        Command::ResumeJob(args) => calling(resume_job::run(&args)),
        Command::Policy(args) => calling(policy::run(&args)),
        Command::Settings(args) => calling(settings::run(&args)),
        Command::Webhook(args) => calling(webhook::run(&args)),
        Command::Completion(args) => completion::run::<Args>(&args),
    }
}

/// Runs a command that calls a server.
fn calling(command: impl Future<Output = Result<()>>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("starting up")?.block_on(Box::pin(command))
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
    Backup(backup::Args),
    Key(key::Args),
    Server(Box<dev::Args>),
    Workflow(Box<workflow::Args>),
    Activity(Box<activity::Args>),
    Schedule(Box<schedule::Args>),
    Namespace(Box<namespace::Args>),
    TaskQueue(Box<task_queue::Args>),
    Worker(Box<worker::Args>),
    Batch(Box<batch::Args>),
    Operator(Box<operator::Args>),
    Errors(Box<errors::Args>),
    Attempts(Box<attempts::Args>),
    Park(Box<act::ParkArgs>),
    Resume(Box<resume::Args>),
    Ack(Box<act::AckArgs>),
    Retry(Box<retry::Args>),
    ResumePolicy(Box<resume_policy::Args>),
    ResumeJob(Box<resume_job::Args>),
    Policy(Box<policy::Args>),
    Settings(Box<settings::Args>),
    Webhook(Box<webhook::Args>),
    Completion(completion::Args),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn no_two_flags_of_a_command_have_one_name() {
        Args::command().debug_assert();
    }
}
