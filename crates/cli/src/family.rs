//! What a family of commands that call a server has in common: how to reach it, how to show its
//! answers, and which command it is.

use std::fmt::Debug;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::{
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
