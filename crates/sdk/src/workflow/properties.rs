//! What a run notes about itself for people and lists: its memo and its search attributes.
//!
//! What is noted in one turn of the code, one after the other, is one command.

use serde::Serialize;
use steadfast_proto::{
    command::{
        Command, ModifyWorkflowPropertiesCommandAttributes as Modify,
        UpsertWorkflowSearchAttributesCommandAttributes as Upsert, command::Attributes,
    },
    common::{Memo, Payload, SearchAttributes},
};

use super::{context::WorkflowContext, journal::Issued};
use crate::payload::{self, CodecError};

/// Memo and search attributes.
impl WorkflowContext {
    /// Sets a search attribute, which lists and counts can ask for from now on. The attribute must be
    /// known to the namespace. A time is a text as RFC 3339 has it; `None` takes the value away.
    ///
    /// ```no_run
    /// # use steadfast::{Failure, WorkflowContext};
    /// async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
    ///     ctx.upsert_search_attribute("Stage", "packing")?;
    ///     // … and once it is packed:
    ///     ctx.upsert_search_attribute("Stage", "shipping")?;
    ///     let stage = ctx.info().search_attribute::<String>("Stage").transpose()?;
    ///     assert_eq!(stage.as_deref(), Some("shipping"));
    ///     Ok(id)
    /// }
    /// ```
    pub fn upsert_search_attribute<T: Serialize + ?Sized>(
        &self,
        name: impl Into<String>,
        value: &T,
    ) -> Result<(), CodecError> {
        let (name, value) = (name.into(), payload::encode(value)?);
        let mut state = self.journal.state();
        state.info.search_attributes_mut().put(name.clone(), value.clone());
        match last_upsert(&mut state.commands) {
            Some(fields) => drop(fields.indexed_fields.insert(name, value)),
            None => state.tell(upsert_command(name, value)),
        }
        Ok(())
    }

    /// Takes a search attribute away.
    pub fn remove_search_attribute(&self, name: impl Into<String>) {
        // A null can always be written.
        let _ = self.upsert_search_attribute(name, &());
    }

    /// Keeps something beside the run, where people and clients see it. `None` takes it away.
    ///
    /// ```no_run
    /// # use steadfast::{Failure, WorkflowContext};
    /// async fn import(ctx: WorkflowContext, rows: u32) -> Result<(), Failure> {
    ///     ctx.upsert_memo("rows", &rows)?;
    ///     let rows = ctx.info().memo::<u32>("rows").transpose()?;
    ///     ctx.remove_memo("rows");
    ///     Ok(())
    /// }
    /// ```
    pub fn upsert_memo<T: Serialize + ?Sized>(
        &self,
        key: impl Into<String>,
        value: &T,
    ) -> Result<(), CodecError> {
        let (key, value) = (key.into(), payload::encode(value)?);
        let mut state = self.journal.state();
        state.info.memo_mut().put(key.clone(), value.clone());
        match last_modify(&mut state.commands) {
            Some(memo) => drop(memo.fields.insert(key, value)),
            None => state.tell(modify_command(key, value)),
        }
        Ok(())
    }

    /// Takes something away that is kept beside the run.
    pub fn remove_memo(&self, key: impl Into<String>) {
        // A null can always be written.
        let _ = self.upsert_memo(key, &());
    }
}

/// The search attributes of the last command, if that is what it sets.
fn last_upsert(commands: &mut [Issued]) -> Option<&mut SearchAttributes> {
    let last = commands.last_mut()?.command.attributes.as_mut()?;
    let Attributes::UpsertWorkflowSearchAttributesCommandAttributes(upsert) = last else {
        return None;
    };
    upsert.search_attributes.as_mut()
}

/// The memo of the last command, if that is what it changes.
fn last_modify(commands: &mut [Issued]) -> Option<&mut Memo> {
    let last = commands.last_mut()?.command.attributes.as_mut()?;
    let Attributes::ModifyWorkflowPropertiesCommandAttributes(modify) = last else { return None };
    modify.upserted_memo.as_mut()
}

fn upsert_command(name: String, value: Payload) -> Command {
    let search_attributes = Some(SearchAttributes { indexed_fields: [(name, value)].into() });
    Command::of(Upsert { search_attributes })
}

fn modify_command(key: String, value: Payload) -> Command {
    let upserted_memo = Some(Memo { fields: [(key, value)].into() });
    Command::of(Modify { upserted_memo })
}
