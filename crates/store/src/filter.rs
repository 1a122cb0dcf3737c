//! What a listing asks for: the query language after parsing, before SQL.
//!
//! A condition on an attribute that a run does not have is false, whatever the operator;
//! `Not` is the plain opposite of what it holds.

use std::cmp::Ordering;

use steadfast_retry::Timestamp;

/// Which runs to list or count.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Filter {
    /// Every run.
    #[default]
    All,
    /// Both hold.
    And(Box<Self>, Box<Self>),
    /// At least one holds.
    Or(Box<Self>, Box<Self>),
    /// It does not hold.
    Not(Box<Self>),
    /// The field compares to the value so. On a keyword list, `Equal` means "contains" and
    /// `NotEqual` "has some, but not this"; on text, `Equal` means "has all these words".
    Compare(Field, Compare, Value),
    /// The field equals one of the values (a keyword list: contains one of them).
    In(Field, Vec<Value>),
    /// The field lies between the two, ends included.
    Between(Field, Value, Value),
    /// The field is not set.
    IsNull(Field),
    /// The field begins with this.
    StartsWith(Field, String),
}

/// How two values compare.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Compare {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Compare {
    /// Whether `order` is what is asked for.
    pub const fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// What can be asked about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Field {
    /// The id that the user gave.
    WorkflowId,
    /// The id of the run.
    RunId,
    /// The workflow's type.
    WorkflowType,
    /// The task queue it was started on.
    TaskQueue,
    /// The public status number.
    Status,
    /// When it was created.
    StartTime,
    /// When its first task was due.
    ExecutionTime,
    /// When it closed; not set while open.
    CloseTime,
    /// Close time less execution time, in nanoseconds; not set while open.
    ExecutionDuration,
    /// Number of events; not set while open.
    HistoryLength,
    /// Bytes of history; not set while open.
    HistorySize,
    /// Steps taken; not set while open.
    StateTransitions,
    /// Parent's workflow id.
    ParentWorkflowId,
    /// Parent's run id.
    ParentRunId,
    /// Root's workflow id.
    RootWorkflowId,
    /// Root's run id.
    RootRunId,
    /// Something of its errors. A run has as many values of it as it has errors; none is as if it
    /// were not set.
    Error(ErrorField),
    /// A search attribute.
    Custom(String, SearchType),
}

/// What can be asked about the errors of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorField {
    /// The number of the [state](crate::ErrorState).
    State,
    /// How many attempts were made.
    Attempts,
    /// The type of the activity; empty if it is none.
    ActivityType,
    /// The fingerprint, as a signed number.
    Fingerprint,
    /// The message of the last failure.
    Cause,
}

impl Field {
    /// Whether a run may have several values of it.
    pub const fn is_many(&self) -> bool {
        matches!(self, Self::Error(_) | Self::Custom(..))
    }
}

/// The type of a search attribute.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SearchType {
    /// True or false.
    Bool,
    /// An instant.
    Datetime,
    /// A floating-point number.
    Double,
    /// A whole number.
    Int,
    /// A word, compared as a whole.
    Keyword,
    /// Several of them.
    KeywordList,
    /// Words, searched singly.
    Text,
}

/// A value to compare with, or one that a run carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Double(f64),
    /// An instant.
    Time(Timestamp),
    /// A keyword or a text.
    Text(String),
}
