//! What a family of commands that call a server has in common: how to reach it, how to show its
//! answers, and which command it is.

use std::fmt::Debug;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::{
    caller::{Caller, HttpConnection},
    client::{Client, Connection},
    output::View,
};

// No documentation comment: it would stand in the help in place of the family's own.
#[derive(Debug, Args)]
pub(crate) struct Family<C: Subcommand + Debug> {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    view: View,
    #[command(subcommand)]
    command: C,
}

impl<C: Subcommand + Debug> Family<C> {
    /// Connects to the server: with whom to talk, how to show it, and what is to be done.
    pub(crate) async fn open(&self) -> Result<(Client, &View, &C)> {
        Ok((self.connection.connect().await?, &self.view, &self.command))
    }
}

// Likewise.
#[derive(Debug, Args)]
pub(crate) struct HttpFamily<C: Subcommand + Debug> {
    #[command(flatten)]
    options: HttpOptions,
    #[command(subcommand)]
    command: C,
}

// Likewise: of commands that have none below them.
#[derive(Debug, Args)]
pub(crate) struct HttpOptions {
    #[command(flatten)]
    connection: HttpConnection,
    #[command(flatten)]
    view: View,
}

impl<C: Subcommand + Debug> HttpFamily<C> {
    /// With whom to talk, how to show it, and what is to be done.
    pub(crate) fn open(&self) -> Result<(Caller, &View, &C)> {
        let (caller, view) = self.options.open()?;
        Ok((caller, view, &self.command))
    }
}

impl HttpOptions {
    /// With whom to talk, and how to show it.
    pub(crate) fn open(&self) -> Result<(Caller, &View)> {
        Ok((self.connection.caller()?, &self.view))
    }
}
