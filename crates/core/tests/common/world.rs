//! A run and those that follow it, what they have written, and the tokens that workers hold.

use std::{collections::BTreeMap, fmt::Write as _};

use steadfast_core::{
    ActivityToken, Attempt, Context, Effect, Entropy, Input, Limits, Past, Refused, Reset,
    Rulebook, Run, Terminate, Timestamp, Transition, WorkflowTaskToken, text,
};
use steadfast_proto::history::HistoryEvent;

use super::{
    inputs, invariants, operators,
    rows::Rows,
    show,
    words::{Call, split},
};

/// Midnight of Monday, the first of January 2024: where the scripts begin to count.
pub(crate) const BEGIN: Timestamp = Timestamp::from_secs(1_704_067_200);

/// One run as its store and its workers see it.
#[derive(Debug)]
pub(crate) struct Story {
    pub(crate) run: Run,
    pub(crate) events: Vec<HistoryEvent>,
    pub(crate) rows: Rows,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) task_tokens: Vec<WorkflowTaskToken>,
    pub(crate) takes: BTreeMap<String, Vec<ActivityToken>>,
    /// How many rows the last step wrote.
    pub(crate) written: usize,
    hidden: usize,
}

/// A chain of runs under a script.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) limits: Limits,
    pub(crate) rules: Rulebook,
    pub(crate) company: operators::Known,
    pub(crate) stories: Vec<Story>,
    pub(crate) now: Timestamp,
    log: String,
    drawn: u128,
}

/// What came of one step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// It was taken, and something changed.
    Taken,
    /// It was taken, and nothing changed.
    Nothing,
    /// It was taken, but not as it was meant.
    But(Refused),
    /// It was refused, and nothing changed.
    Refused(Refused),
}

impl World {
    /// An empty world with these limits.
    pub(crate) fn within(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Plays the lines of a script.
    pub(crate) fn play(mut self, script: &str) -> Self {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.line(line);
        }
        self
    }

    /// Plays one line.
    pub(crate) fn line(&mut self, line: &str) {
        let mut words = split(line, char::is_whitespace);
        assert!(words.len() > 1, "a line is a time and a verb: {line:?}");
        let at = words.remove(0);
        self.now = BEGIN.after(seconds(&at));
        let verb = words.remove(0);
        let call = Call::new(&verb, words);
        match self.perform(&call) {
            Answer::Taken | Answer::Nothing => {}
            Answer::But(why) => _ = writeln!(self.log, "answered at {at}: {why}"),
            Answer::Refused(why) => _ = writeln!(self.log, "refused at {at}: {why}"),
        }
    }

    /// Does what one line says.
    pub(crate) fn perform(&mut self, call: &Call) -> Answer {
        match call.name.as_str() {
            "start" => self.start(call),
            "run" => self.run(call),
            "show" => {
                let shown = show::show(self, call);
                self.note(&shown);
                Answer::Nothing
            }
            "crash" => {
                let story = self.story_mut();
                story.run = story.rows.restore(story.run.identity().clone(), &story.events);
                Answer::Nothing
            }
            "rules" => {
                self.rules = operators::rulebook(call);
                Answer::Nothing
            }
            "workers" => {
                self.company = operators::Known::of(call);
                Answer::Nothing
            }
            "reset" => self.reset(call),
            _ => {
                let input = inputs::input(self.story(), call);
                self.apply(input, call)
            }
        }
    }

    /// The run that the script is about now: the last one of the chain.
    pub(crate) fn story(&self) -> &Story {
        self.stories.last().expect("a script begins with `start`")
    }

    /// Adds lines to what is told at the end.
    pub(crate) fn note(&mut self, lines: &str) {
        for line in lines.lines() {
            _ = writeln!(self.log, "{line}");
        }
    }

    /// The histories, and then what was refused or shown.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (number, story) in (1..).zip(&self.stories) {
            if number > 1 {
                _ = writeln!(text, "run {number}:");
            }
            text += &story.text();
        }
        text + &self.log
    }

    fn story_mut(&mut self) -> &mut Story {
        self.stories.last_mut().expect("a script begins with `start`")
    }

    fn start(&mut self, call: &Call) -> Answer {
        let entropy = self.entropy();
        let context = Context {
            now: self.now,
            entropy,
            limits: &self.limits,
            rules: &self.rules,
            company: &self.company,
        };
        let (run, transition) = Run::create(inputs::start(call, self.now), context);
        self.begin(run, transition);
        Answer::Taken
    }

    /// Starts a run and answers its first task with the commands. The first four events are not
    /// shown: they are always the same.
    fn run(&mut self, call: &Call) -> Answer {
        let mut words = call.clone();
        let commands = words.args.split_off(1);
        self.start(&words);
        self.perform(&Call::new("take-task", Vec::new()));
        self.story_mut().hidden = 4;
        words.name = "complete".to_owned();
        words.args = commands;
        self.perform(&words)
    }

    /// Applies an input and checks what must hold then.
    pub(crate) fn apply(&mut self, input: Input, call: &Call) -> Answer {
        let entropy = self.entropy();
        let now = self.now;
        let (limits, rules) = (self.limits.clone(), self.rules.clone());
        let company = self.company.clone();
        let story = self.story_mut();
        let before = format!("{:?}", story.run);
        let context = Context { now, entropy, limits: &limits, rules: &rules, company: &company };
        match story.run.apply(input, context) {
            Err(why) => {
                assert_eq!(before, format!("{:?}", story.run), "refused, so nothing changed");
                assert_eq!(story.rows.write(&mut story.run), 0, "refused, so nothing is written");
                Answer::Refused(why)
            }
            Ok(transition) if !transition.changed => {
                assert_eq!(before, format!("{:?}", story.run), "nothing was to change");
                assert!(transition.events.is_empty() && transition.successor.is_none());
                assert_eq!(story.rows.write(&mut story.run), 0, "nothing is written");
                story.effects = transition.effects;
                Answer::Nothing
            }
            Ok(transition) => {
                let refused = transition.refused.clone();
                let successor = story.take(transition);
                story.remember(call);
                if let Some((run, transition)) = successor {
                    self.begin(run, transition);
                }
                refused.map_or(Answer::Taken, Answer::But)
            }
        }
    }

    fn reset(&mut self, call: &Call) -> Answer {
        let base = self.story();
        let run_id = format!("{:08}-0000-4000-8000-000000000000", self.stories.len() + 1);
        if base.run.is_open() {
            let end = Terminate { reset_run_id: run_id.clone(), ..inputs::terminate(call, 1) };
            assert_eq!(self.apply(Input::Terminate(end), call), Answer::Taken);
        }
        let entropy = self.entropy();
        let base = self.story();
        let mut identity = base.run.identity().clone();
        let base_run_id = std::mem::replace(&mut identity.run_id, run_id);
        let reset = Reset {
            base_run_id,
            identity,
            reason: call.opt(1).unwrap_or_default().to_owned(),
            finish_event_id: call.arg(0).parse().expect("an event id"),
            exclude: inputs::excluded(call),
            ..Reset::default()
        };
        let context = Context {
            now: self.now,
            entropy,
            limits: &self.limits,
            rules: &self.rules,
            company: &self.company,
        };
        let past = Past { events: base.events.clone(), ..Past::default() };
        match Run::reset(past, reset, context) {
            Ok((run, transition)) => {
                self.begin(run, transition);
                Answer::Taken
            }
            Err(why) => Answer::Refused(why),
        }
    }

    fn begin(&mut self, run: Run, transition: Transition) {
        let mut story = Story {
            run,
            events: Vec::new(),
            rows: Rows::default(),
            attempts: Vec::new(),
            effects: Vec::new(),
            task_tokens: Vec::new(),
            takes: BTreeMap::new(),
            written: 0,
            hidden: 0,
        };
        assert!(story.take(transition).is_none(), "a run does not begin and go on in one step");
        self.stories.push(story);
    }

    fn entropy(&mut self) -> Entropy {
        self.drawn += 1;
        Entropy::new(self.drawn)
    }
}

impl Story {
    fn text(&self) -> String {
        let all = text::history(&self.events);
        all.lines().skip(self.hidden).fold(String::new(), |text, line| text + line + "\n")
    }

    fn take(&mut self, mut transition: Transition) -> Option<(Run, Transition)> {
        self.events.extend(transition.events.into_events());
        self.attempts.append(&mut transition.attempts);
        self.effects = transition.effects;
        self.written = self.rows.write(&mut self.run);
        invariants::hold(&self.run, &self.events, &self.rows);
        transition.successor.map(|successor| *successor)
    }

    /// Keeps the token that a worker got with a task.
    fn remember(&mut self, call: &Call) {
        match call.name.as_str() {
            "take-task" => {
                let task = self.run.task().expect("the task that was just taken");
                self.task_tokens.push(WorkflowTaskToken {
                    scheduled_event_id: task.scheduled_event_id,
                    started_event_id: task.started_event_id,
                    attempt: task.attempt,
                    nonce: task.nonce,
                });
            }
            "take" => {
                let name = call.arg(0).to_owned();
                let id = self.run.activities().named(&name).expect("the activity just taken");
                let row = &self.run.activities().get(id).expect("its row").row;
                let token = ActivityToken::Attempt {
                    scheduled_event_id: *id,
                    attempt: row.attempt,
                    nonce: row.nonce,
                };
                self.takes.entry(name).or_default().push(token);
            }
            _ => {}
        }
    }
}

fn seconds(text: &str) -> std::time::Duration {
    let seconds: f64 = text.parse().unwrap_or_else(|_| panic!("{text:?} is not a time"));
    std::time::Duration::from_secs_f64(seconds)
}
