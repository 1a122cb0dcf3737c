//! Memory and the file give the same answers to the same calls, whatever these are.

use std::sync::Arc;

use proptest::{collection::vec, option, prelude::*, test_runner::TestCaseResult};
use steadfast_retry::Timestamp;
use steadfast_store::{
    Acknowledged, AttemptOutcome, AttemptRow, Batch, Compare, Epoch, ErrorField, ErrorFilter,
    ErrorGroup, ErrorPosition, ErrorRow, ErrorState, ErrorWrite, EventBatch, Field, Filter,
    ItemKind, ItemWrite, Lookup, Memory, NamespaceRow, Order, RunIdentity, RunNumber, RunWrite,
    SearchType, ShardNumber, Sqlite, StateRow, Store, Value, VisibilityPosition, VisibilityRow,
    conformance::wait,
    sqlite::{Options, Synchronous},
};

/// One call to a store. Numbers are small, so that calls meet.
#[derive(Clone, Debug)]
enum Call {
    Acquire(u32),
    /// How far the sequence number and the epoch are off, which mostly they are not.
    Commit {
        writes: Vec<RunWrite>,
        sequence_off: u64,
        epoch_off: u64,
    },
    Namespace(NamespaceRow),
    DeleteNamespace(String),
    Setting(String, Option<Vec<u8>>),
    List(Filter, Option<VisibilityPosition>, usize),
    Count(Filter, Option<Field>),
    Errors(ErrorFilter, Order, Option<ErrorPosition>, usize),
    ErrorGroups(ErrorFilter, ErrorGroup, usize),
    History {
        run: i64,
        first: i64,
        last: i64,
        events_max: usize,
        order: Order,
    },
    Due(i64, Option<(i64, i64)>, usize),
    WithWork(i64, usize),
    Load(Lookup),
    /// All else that is told of one run.
    About(i64),
    /// The store is left as it is, and opened again by another owner.
    Crash,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_backends_agree(calls in vec(call(), 1..40)) {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options { synchronous: Synchronous::Off, readers: 1, ..Options::default() };
        let path = folder.path().join("test.db");
        let memory = Memory::new();
        let mut left = Side::new(move || Box::new(memory.clone()));
        let mut right = Side::new(move || Box::new(Sqlite::open(&path, &options).expect("an open file")));
        for call in &calls {
            prop_assert_eq!(left.answer(call), right.answer(call), "{:?}", call);
        }
        everything_agrees(&left, &right)?;
    }
}

/// A store, and what an engine remembers of it.
struct Side {
    open: Box<dyn Fn() -> Box<dyn Store>>,
    store: Box<dyn Store>,
    epoch: u64,
    sequence: u64,
}

impl Side {
    fn new(open: impl Fn() -> Box<dyn Store> + 'static) -> Self {
        let mut side = Self { store: open(), open: Box::new(open), epoch: 0, sequence: 0 };
        side.answer(&Call::Acquire(2));
        side
    }

    /// What the store says, as text.
    fn answer(&mut self, call: &Call) -> String {
        let store = &self.store;
        match call.clone() {
            Call::Crash => {
                self.store = (self.open)();
                self.answer(&Call::Acquire(2))
            }
            Call::Load(lookup) => format!("{:?}", wait(store.load(lookup))),
            Call::About(run) => about(&**store, RunNumber(run)).join("\n"),
            Call::Acquire(shards) => {
                let lease = wait(store.acquire(shards, "a test".to_owned()));
                self.epoch = lease.as_ref().map_or(self.epoch, |lease| lease.epoch.0);
                format!("{lease:?}")
            }
            Call::Commit { writes, sequence_off, epoch_off } => {
                let epoch = Epoch(self.epoch - epoch_off.min(self.epoch));
                let leases = [(ShardNumber(0), epoch), (ShardNumber(1), epoch)].into();
                let sequence = self.sequence + 1 + sequence_off;
                let result = wait(store.commit(Arc::new(Batch { sequence, leases, writes })));
                self.sequence += u64::from(result.is_ok());
                format!("{result:?}")
            }
            Call::Namespace(row) => format!("{:?}", wait(store.put_namespace(row))),
            Call::DeleteNamespace(id) => format!("{:?}", wait(store.delete_namespace(id))),
            Call::Setting(name, value) => format!("{:?}", wait(store.put_setting(name, value))),
            Call::List(filter, after, limit) => {
                format!("{:?}", wait(store.list("a".to_owned(), filter, after, limit)))
            }
            Call::Count(filter, by) => {
                format!("{:?}", wait(store.count("a".to_owned(), filter, by)))
            }
            Call::Errors(filter, order, after, limit) => {
                let count = wait(store.error_count("a".to_owned(), filter.clone()));
                let page = wait(store.errors("a".to_owned(), filter, order, after, limit));
                format!("{count:?} {page:?}")
            }
            Call::ErrorGroups(filter, by, limit) => {
                format!("{:?}", wait(store.error_groups("a".to_owned(), filter, by, limit)))
            }
            Call::History { run, first, last, events_max, order } => {
                format!("{:?}", wait(store.history(RunNumber(run), first, last, events_max, order)))
            }
            Call::Due(until, after, limit) => {
                let after = after.map(|(due, run)| (Timestamp(due), RunNumber(run)));
                format!("{:?}", wait(store.due(ShardNumber(0), Timestamp(until), after, limit)))
            }
            Call::WithWork(after, limit) => {
                format!("{:?}", wait(store.with_work(ShardNumber(1), RunNumber(after), limit)))
            }
        }
    }
}

fn everything_agrees(left: &Side, right: &Side) -> TestCaseResult {
    let (left, right) = (&left.store, &right.store);
    let text = |store: &dyn Store| {
        let mut text = vec![
            format!("{:?}", wait(store.last_commit())),
            format!("{:?}", wait(store.namespaces())),
            format!("{:?}", wait(store.setting("x".to_owned()))),
        ];
        for name in ["a", "b"] {
            text.push(format!("{:?}", wait(store.list(name.to_owned(), Filter::All, None, 100))));
            let current =
                Lookup::Current { namespace: name.to_owned(), workflow_id: "w1".to_owned() };
            text.push(format!("{:?}", wait(store.load(current))));
        }
        for run in (0..RUNS).map(RunNumber) {
            text.push(format!("{:?}", wait(store.load(Lookup::Number(run)))));
            text.extend(about(store, run));
        }
        text
    };
    prop_assert_eq!(text(&**left), text(&**right));
    Ok(())
}

fn about(store: &dyn Store, run: RunNumber) -> Vec<String> {
    let mut text = vec![
        format!("{:?}", wait(store.history(run, 0, 99, 99, Order::Forward))),
        format!("{:?}", wait(store.run_attempts(run))),
    ];
    for activity in 0..2 {
        text.push(format!("{:?}", wait(store.error(run, activity))));
        text.push(format!("{:?}", wait(store.attempts(run, activity))));
    }
    text
}

const RUNS: i64 = 6;

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        1 => (1..3_u32).prop_map(Call::Acquire),
        20 => commit(),
        1 => ("[12]", "[xyz]").prop_map(|(id, name)| {
            Call::Namespace(NamespaceRow { id, name, data: vec![1] })
        }),
        1 => "[12]".prop_map(Call::DeleteNamespace),
        1 => ("[xy]", option::of(vec(any::<u8>(), 0..3))).prop_map(|(n, v)| Call::Setting(n, v)),
        8 => (filter(), option::of(position()), 0..8_usize).prop_map(|(f, a, l)| Call::List(f, a, l)),
        4 => (filter(), option::of(field())).prop_map(|(f, by)| Call::Count(f, by)),
        6 => (error_filter(), order(), option::of(error_position()), 0..8_usize)
            .prop_map(|(f, order, after, limit)| Call::Errors(f, order, after, limit)),
        4 => (error_filter(), error_group(), 0..8_usize)
            .prop_map(|(f, by, limit)| Call::ErrorGroups(f, by, limit)),
        2 => (0..RUNS, 0..20_i64, 0..30_i64, 0..9_usize, any::<bool>()).prop_map(
            |(run, first, last, events_max, forward)| {
                let order = if forward { Order::Forward } else { Order::Backward };
                Call::History { run, first, last, events_max, order }
            }
        ),
        1 => (0..9_i64, option::of((0..9_i64, 0..RUNS)), 0..5_usize)
            .prop_map(|(until, after, limit)| Call::Due(until, after, limit)),
        1 => (0..RUNS, 0..5_usize).prop_map(|(after, limit)| Call::WithWork(after, limit)),
        2 => lookup().prop_map(Call::Load),
        1 => (0..RUNS).prop_map(Call::About),
        2 => Just(Call::Crash),
    ]
}

fn lookup() -> impl Strategy<Value = Lookup> {
    let current = |names: RunIdentity| Lookup::Current {
        namespace: names.namespace,
        workflow_id: names.workflow_id,
    };
    prop_oneof![
        (0..RUNS).prop_map(|run| Lookup::Number(RunNumber(run))),
        identity().prop_map(current),
        identity().prop_map(Lookup::Run),
    ]
}

fn commit() -> impl Strategy<Value = Call> {
    let off = || prop_oneof![20 => Just(0_u64), 1 => Just(1)];
    (vec(write(), 0..4), off(), off()).prop_map(|(writes, sequence_off, epoch_off)| Call::Commit {
        writes,
        sequence_off,
        epoch_off,
    })
}

fn write() -> impl Strategy<Value = RunWrite> {
    let parts = (
        (0..RUNS, prop_oneof![9 => Just(false), 1 => Just(true)], option::of(identity())),
        // The hint is right or wrong: it must not matter.
        (option::weighted(0.9, state()), option::of(state())),
        vec(item(), 0..3),
        events(),
        option::of(visibility()),
        (vec(attempt(), 0..2), vec(error(), 0..3)),
        prop_oneof![12 => Just(false), 1 => Just(true)],
    );
    parts.prop_map(
        |(
            (run, moved, create),
            (state, before),
            items,
            events,
            row,
            (attempts, errors),
            delete,
        )| {
            // A run has one shard, mostly.
            let shard = ShardNumber(u32::from((run % 2 == 1) ^ moved));
            let visibility = row.map(|row| match &create {
                Some(identity) => VisibilityRow { identity: identity.clone(), ..row },
                None => row,
            });
            RunWrite {
                run: RunNumber(run),
                shard,
                create: create.map(Box::new),
                state,
                woken_by: before.map(|it| it.waking()),
                items,
                events,
                visibility: visibility.map(Box::new),
                attempts,
                errors,
                delete,
                aside: None,
            }
        },
    )
}

fn identity() -> impl Strategy<Value = RunIdentity> {
    ("[ab]", "w[12]", "r[1-9]").prop_map(|(namespace, workflow_id, run_id)| RunIdentity {
        namespace,
        workflow_id,
        run_id,
    })
}

fn state() -> impl Strategy<Value = StateRow> {
    (vec(any::<u8>(), 0..4), option::of(0..9_i64), any::<bool>())
        .prop_map(|(data, due, has_work)| StateRow { data, next_due: due.map(Timestamp), has_work })
}

fn item() -> impl Strategy<Value = ItemWrite> {
    let kind =
        prop_oneof![Just(ItemKind::Activity), Just(ItemKind::Timer), Just(ItemKind::Message)];
    (kind, vec(0..3_u8, 0..2), option::of(vec(any::<u8>(), 0..3)))
        .prop_map(|(kind, key, data)| ItemWrite { kind, key, data })
}

/// Batches of three events, so that they are either the same or apart, as histories are. Each begins with
/// another byte: otherwise one that follows another may be put together with it, by the one or the other.
fn events() -> impl Strategy<Value = Vec<EventBatch>> {
    let format = |first: i64| u8::try_from(first).expect("small");
    let batch = move |first| EventBatch { first, last: first + 2, data: vec![format(first)] };
    (0..6_i64, 0..3_i64)
        .prop_map(move |(from, count)| (from..from + count).map(|at| batch(at * 3 + 1)).collect())
}

fn attempt() -> impl Strategy<Value = AttemptRow> {
    (0..2_i64, 50..70_u32, 0..3_u64).prop_map(|(activity, attempt, fingerprint)| AttemptRow {
        activity,
        attempt,
        fingerprint,
        outcome: AttemptOutcome::Completed,
        ..AttemptRow::default()
    })
}

fn visibility() -> impl Strategy<Value = VisibilityRow> {
    let values = vec(("[AB]", value()), 0..4);
    let parts = (identity(), "[tu]", 1..4_i32, 0..5_i64, option::of(0..5_i64), values);
    parts.prop_map(|(identity, workflow_type, status, start, close, search_values)| VisibilityRow {
        identity,
        workflow_type,
        status,
        start_time: Timestamp(start),
        execution_time: Timestamp(start + 1),
        // A run that is running has not closed.
        close_time: close.filter(|_| status != 1).map(Timestamp),
        history_length: start,
        parent: (start > 2).then(|| ("p".to_owned(), "q".to_owned())),
        search_values,
        ..VisibilityRow::default()
    })
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        (0..4_i64).prop_map(Value::Int),
        (0..4_i32).prop_map(|half| Value::Double(f64::from(half) + 0.5)),
        (0..5_i64).prop_map(|time| Value::Time(Timestamp(time))),
        "[tu]|w[12]|[xX] [yz]|".prop_map(Value::Text),
    ]
}

fn field() -> impl Strategy<Value = Field> {
    let kind = prop::sample::select(vec![
        SearchType::Bool,
        SearchType::Datetime,
        SearchType::Double,
        SearchType::Int,
        SearchType::Keyword,
        SearchType::KeywordList,
        SearchType::Text,
    ]);
    let plain = prop::sample::select(vec![
        Field::WorkflowId,
        Field::RunId,
        Field::WorkflowType,
        Field::TaskQueue,
        Field::Status,
        Field::StartTime,
        Field::ExecutionTime,
        Field::CloseTime,
        Field::ExecutionDuration,
        Field::HistoryLength,
        Field::ParentWorkflowId,
        Field::RootRunId,
        Field::Error(ErrorField::State),
        Field::Error(ErrorField::Attempts),
        Field::Error(ErrorField::ActivityType),
        Field::Error(ErrorField::Fingerprint),
        Field::Error(ErrorField::Cause),
    ]);
    prop_oneof![plain, ("[AB]", kind).prop_map(|(name, kind)| Field::Custom(name, kind))]
}

fn filter() -> impl Strategy<Value = Filter> {
    let compare = prop::sample::select(vec![
        Compare::Equal,
        Compare::NotEqual,
        Compare::Less,
        Compare::LessOrEqual,
        Compare::Greater,
        Compare::GreaterOrEqual,
    ]);
    let leaf = prop_oneof![
        1 => Just(Filter::All),
        6 => (field(), compare, value()).prop_map(|(f, c, v)| Filter::Compare(f, c, v)),
        2 => (field(), vec(value(), 0..4)).prop_map(|(f, values)| Filter::In(f, values)),
        2 => (field(), value(), value()).prop_map(|(f, low, high)| Filter::Between(f, low, high)),
        2 => field().prop_map(Filter::IsNull),
        2 => (field(), "[tuwxX]?").prop_map(|(f, prefix)| Filter::StartsWith(f, prefix)),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        let two = || (inner.clone().prop_map(Box::new), inner.clone().prop_map(Box::new));
        prop_oneof![
            two().prop_map(|(a, b)| Filter::And(a, b)),
            two().prop_map(|(a, b)| Filter::Or(a, b)),
            inner.clone().prop_map(|inner| Filter::Not(Box::new(inner))),
        ]
    })
}

fn position() -> impl Strategy<Value = VisibilityPosition> {
    (option::of(0..5_i64), 0..5_i64, 0..RUNS).prop_map(|(close, start, run)| VisibilityPosition {
        close_time: close.map(Timestamp),
        start_time: Timestamp(start),
        run: RunNumber(run),
    })
}

fn order() -> impl Strategy<Value = Order> {
    prop::sample::select(vec![Order::Forward, Order::Backward])
}

fn error() -> impl Strategy<Value = ErrorWrite> {
    (0..2_i64, option::weighted(0.8, error_row()))
        .prop_map(|(subject, row)| ErrorWrite { subject, row })
}

fn error_row() -> impl Strategy<Value = ErrorRow> {
    let acknowledged = option::of(0..3_i64)
        .prop_map(|at| at.map(|at| Acknowledged { at: Timestamp(at), ..Acknowledged::default() }));
    let texts = ("[tu]", "[xX]?", "[tu]?", "(x|w|xw)?");
    let numbers = (0..3_u32, 0..3_u64, 0..3_i64, 0..5_i64, option::of(0..3_i64), 0..2_u32);
    (error_state(), texts, numbers, acknowledged).prop_map(
        |(state, texts, numbers, acknowledged)| {
            let (workflow_type, activity_type, error_type, cause) = texts;
            let (attempts, fingerprint, first, last, next, resumes) = numbers;
            ErrorRow {
                workflow_type,
                activity_type,
                error_type,
                cause,
                state,
                attempts,
                fingerprint: fingerprint.wrapping_sub(1),
                first_at: Timestamp(first),
                last_at: Timestamp(last),
                next_at: next.map(Timestamp),
                acknowledged,
                resumes,
                ..ErrorRow::default()
            }
        },
    )
}

fn error_state() -> impl Strategy<Value = ErrorState> {
    prop::sample::select(ErrorState::ALL.to_vec())
}

fn error_group() -> impl Strategy<Value = ErrorGroup> {
    prop::sample::select(vec![
        ErrorGroup::WorkflowType,
        ErrorGroup::Activity,
        ErrorGroup::Cause,
        ErrorGroup::Fingerprint,
    ])
}

fn error_position() -> impl Strategy<Value = ErrorPosition> {
    (0..5_i64, 0..RUNS, 0..2_i64).prop_map(|(last, run, subject)| ErrorPosition {
        last_at: Timestamp(last),
        run: RunNumber(run),
        subject,
    })
}

fn error_filter() -> impl Strategy<Value = ErrorFilter> {
    let rarely = |strategy| option::weighted(0.2, strategy);
    let texts = (rarely("[tu]"), rarely("[xX]?"), rarely("(x|w|xw)?"), rarely("[xw]?"));
    let more = (rarely("[tu]?"), rarely("w[12]"), option::weighted(0.2, 0..3_u64));
    let times = (option::weighted(0.2, 0..5_i64), option::weighted(0.2, 0..5_i64));
    let ids = prop_oneof![3 => Just(vec![]), 1 => vec((0..RUNS, 0..2_i64), 1..4)];
    let rest = (vec(error_state(), 0..3), option::of(any::<bool>()), 0..3_u32, ids);
    (texts, more, times, rest).prop_map(|(texts, more, times, rest)| {
        let (workflow_type, activity_type, cause, cause_contains) = texts;
        let (error_type, workflow_id, fingerprint) = more;
        let (states, acknowledged, min_attempts, ids) = rest;
        ErrorFilter {
            states,
            workflow_type,
            activity_type,
            cause,
            cause_contains,
            error_type,
            fingerprint: fingerprint.map(|it| it.wrapping_sub(1)),
            acknowledged,
            since: times.0.map(Timestamp),
            until: times.1.map(Timestamp),
            workflow_id,
            ids: ids.into_iter().map(|(run, subject)| (RunNumber(run), subject)).collect(),
            min_attempts,
        }
    })
}
