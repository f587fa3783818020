//! One exam at work: counts that grow with each answer, its feed, its pace.

use std::time::Duration;

use crate::diagnose::{Answer, diagnose};
use crate::engine::{LanePulse, Pulse};
use crate::extract::Rule;
use crate::record::{Finish, INVALID, Record, letter_index};
use crate::run;
use crate::run::failing::Failing;
use crate::stats::{Growing, Letters, Tally, mean};
use crate::trace::Rows;

use super::attempts::Attempts;
use super::feed::{Feed, Running};
use super::tells::Tells;
use crate::run::pace::{Left, Pace, Step, ToCome, Tokens};

/// A category or subject.
#[derive(Debug, Clone)]
pub struct Group {
    pub name: String,
    /// Rows when done.
    pub planned: usize,
    pub counts: Growing,
}

/// An answer and when it landed, since the start.
#[derive(Debug, Clone)]
pub struct Landed {
    /// The row of all rows that it is.
    pub row: u32,
    pub at: Duration,
    pub tells: Tells,
}

/// What the live screen knows of one exam.
#[derive(Debug)]
pub struct ExamState {
    pub exam: run::Exam,
    pub landed: Vec<Landed>,
    pub counts: Growing,
    pub categories: Vec<Group>,
    /// In the exam's order; empty where subjects are the categories.
    pub subjects: Vec<Group>,
    pub letters: Letters,
    /// Rows by why they are invalid, in the causes' own order.
    pub causes: Vec<(&'static str, usize)>,
    /// Completions by how they ended.
    pub finishes: [(Finish, usize); Finish::ALL.len()],
    /// Rows that the engine could not answer.
    pub errors: usize,
    pub failing: Failing,
    /// Most options of a question so far.
    pub options: usize,
    pub attempts: Attempts,
    pub pace: Pace,
    /// Its own tokens, where the engine tells the exams' apart.
    pub tokens: Tokens,
    pub feed: Feed,
    pub running: Running,
    /// Relative share of compute.
    pub share: u32,
    /// Since the start; `None` while it works.
    pub completed: Option<Duration>,
    mass: (f64, usize),
    to_come: ToCome,
    pause: Option<Duration>,
    /// Time before this exam began, and in pauses.
    idle: Duration,
}

impl ExamState {
    pub fn new(exam: &run::Exam, now: Duration) -> ExamState {
        let mut categories: Vec<Group> = Vec::new();
        let mut subjects: Vec<Group> = Vec::new();
        for (category, subject, rows) in &exam.subjects {
            group(&mut categories, category).planned += rows;
            group(&mut subjects, subject).planned += rows;
        }
        if exam
            .subjects
            .iter()
            .all(|(category, subject, _)| category == subject || subject.is_empty())
        {
            subjects.clear();
        }
        ExamState {
            attempts: Attempts::new(&exam.seeds),
            exam: exam.clone(),
            landed: Vec::new(),
            counts: Growing::default(),
            categories,
            subjects,
            letters: Letters::default(),
            causes: Vec::new(),
            finishes: Finish::ALL.map(|finish| (finish, 0)),
            errors: 0,
            failing: Failing::default(),
            options: 0,
            pace: Pace::default(),
            tokens: Tokens::default(),
            feed: Feed::default(),
            running: Running::default(),
            share: 5,
            completed: None,
            mass: (0.0, 0),
            to_come: ToCome::new(&exam.subjects),
            pause: None,
            idle: now,
        }
    }

    /// Counts an answer, which is `row` of all `rows`.
    pub fn land(&mut self, record: &Record, (rows, row): (&Rows, u32), rule: &Rule, now: Duration) {
        self.attempts.add(record, rows, row);
        let tally = Tally::one(record.correct, record.is_invalid());
        let subject = if record.subject.is_empty() {
            &record.category
        } else {
            &record.subject
        };
        let question = record.question_id;
        self.counts.add(question, tally);
        group(&mut self.categories, &record.category)
            .counts
            .add(question, tally);
        if !self.subjects.is_empty() {
            group(&mut self.subjects, subject).counts.add(question, tally);
        }
        self.count_letters(record);
        self.count_endings(record, rule);
        if let Some(mass) = record.letter_mass.filter(|mass| mass.is_finite()) {
            self.mass = (self.mass.0 + f64::from(mass), self.mass.1 + 1);
        }
        self.count_pace(record, subject, now);
        self.running
            .end(record.question_id, usize::try_from(record.attempt).unwrap_or(0));
        self.feed.add();
        self.landed.push(Landed {
            row,
            at: now,
            tells: Tells::of(record, rule, self.exam.is_cloze),
        });
    }

    /// Moves the cursor down by so many answers: to older ones, then to those that are being written.
    pub fn step(&mut self, by: isize) {
        if self.running.chosen().is_some() {
            self.running.step(by);
            return;
        }
        let before = self.feed.current();
        let was_held = self.feed.is_held();
        self.feed.step(by);
        if by > 0 && self.feed.current() == before && (was_held || before.is_none()) {
            self.running.enter(false);
        }
    }

    fn count_letters(&mut self, record: &Record) {
        let [pick, gold] = [&record.pick, &record.answer].map(|name| letter_index(name));
        self.letters.add(pick, gold, record.is_invalid());
        self.options = self.options.max(record.options.len().min(self.letters.gold.len()));
    }

    fn count_endings(&mut self, record: &Record, rule: &Rule) {
        if let Some((_, count)) = self
            .finishes
            .iter_mut()
            .find(|(finish, _)| Some(*finish) == record.finish)
        {
            *count += 1;
        }
        self.failing.hear(record);
        let is_failed = |flag: &String| flag == "error" || flag == "too_long";
        self.errors += usize::from(record.finish == Some(Finish::Error) || record.flags.iter().any(is_failed));
        let Some(cause) = cause(record, rule) else { return };
        match self.causes.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, count)) => *count += 1,
            None => self.causes.push((cause, 1)),
        }
        // Common ones first; equal ones keep their order.
        self.causes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    }

    fn count_pace(&mut self, record: &Record, subject: &str, now: Duration) {
        let group = self.to_come.land(&record.category, subject);
        // What a resumed run brought along tells nothing about the speed.
        if self.landed.len() < self.exam.resumed {
            return;
        }
        let cost = if record.seconds.is_finite() {
            f64::from(record.seconds.max(0.0))
        } else {
            0.0
        };
        let chars = usize::try_from(record.reasoning_chars).unwrap_or(0);
        let at = self.working_time(now);
        self.pace.add(
            group,
            Step {
                at,
                cost,
                is_correct: record.correct,
                chars,
            },
        );
    }

    /// Takes in what the engine did for this exam so far.
    pub fn hear_tokens(&mut self, lane: LanePulse, now: Duration) {
        if self.completed.is_none() && lane != LanePulse::default() {
            let pulse = Pulse {
                tokens_in: lane.tokens_in,
                tokens_out: lane.tokens_out,
                in_flight: lane.in_flight,
                ..Pulse::default()
            };
            self.tokens.add(pulse, now);
        }
    }

    /// Tokens a second of what this exam mostly has: those of prompts for cloze, generated ones for completions. Averages
    /// while it is not at work; `None` where the engine does not tell.
    pub fn token_rate(&self, now: Duration, is_over: bool) -> Option<f64> {
        let last = self.tokens.last();
        let of = |(tokens_in, tokens_out)| if self.exam.is_cloze { tokens_in } else { tokens_out };
        if is_over || !self.is_at_work() {
            let seconds = self.working_time(now).as_secs_f64();
            let all = of((last.tokens_in as f64, last.tokens_out as f64));
            return (seconds >= 1.0 && all > 0.0).then(|| all / seconds);
        }
        self.tokens.rates(now).map(of)
    }

    /// Rows when done; never fewer than have landed.
    pub fn planned(&self) -> usize {
        self.exam.rows.max(self.landed.len())
    }

    pub fn done(&self) -> usize {
        self.landed.len()
    }

    /// Mean share of all probability that fell on the letters.
    pub fn mean_letter_mass(&self) -> Option<f64> {
        (self.mass.1 > 0).then(|| self.mass.0 / self.mass.1 as f64)
    }

    /// Letters worth a column: those of the options, picks and keys.
    pub fn letter_columns(&self) -> usize {
        let used = self.letters.last().map_or(0, |letter| letter + 1);
        self.options.max(used).max(4)
    }

    /// The one letter that every readable pick was so far, and what picking it always would score.
    pub fn constant_pick(&self) -> Option<(usize, f64)> {
        let Letters { picks, gold, .. } = &self.letters;
        let letter = picks.iter().position(|count| *count > 0)?;
        let picked: usize = picks.iter().sum();
        let is_constant = picked >= 10 && picks[letter] == picked;
        is_constant.then(|| (letter, gold[letter] as f64 / self.done() as f64))
    }

    /// Mean of the categories' accuracies over those with answers, and how many they are.
    pub fn accuracy_by_category(&self) -> (Option<f64>, usize) {
        let shares = self.categories.iter().filter_map(|group| group.counts.sum.accuracy());
        let shares: Vec<f64> = shares.collect();
        (mean(&shares), shares.len())
    }

    /// Time at work: since it began, without pauses.
    pub fn working_time(&self, now: Duration) -> Duration {
        self.completed
            .or(self.pause)
            .map_or(now, |end| now.min(end))
            .saturating_sub(self.idle)
    }

    pub fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    pub fn set_paused(&mut self, is_paused: bool, now: Duration) {
        match (self.pause, is_paused) {
            (None, true) if self.completed.is_none() => self.pause = Some(now),
            (Some(since), false) => {
                self.idle += now.saturating_sub(since);
                self.pause = None;
            }
            _ => {}
        }
    }

    pub fn complete(&mut self, now: Duration) {
        self.set_paused(false, now);
        self.completed = Some(now);
        self.running.clear();
    }

    pub fn is_at_work(&self) -> bool {
        self.completed.is_none() && !self.is_paused()
    }

    /// Time left were the other exams to go on as they do.
    pub fn left(&self, now: Duration) -> Option<Left> {
        self.pace.left(self.to_come.rows(), self.working_time(now))
    }

    /// Rows a second of late.
    pub fn row_rate(&self, now: Duration) -> Option<f64> {
        self.pace.rate(self.working_time(now))
    }
}

/// Why no letter could be read, in a few words.
fn cause(record: &Record, rule: &Rule) -> Option<&'static str> {
    if record.pick != INVALID {
        return None;
    }
    let flags = record.flags.join(",");
    let answer = Answer {
        text: &record.reasoning,
        pick: &record.pick,
        finish: record.finish,
        flags: &flags,
        options: record.options.len(),
    };
    diagnose(rule, &answer).cause.map(crate::diagnose::Cause::label)
}

fn group<'a>(groups: &'a mut Vec<Group>, name: &str) -> &'a mut Group {
    let at = groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
        groups.push(Group {
            name: name.to_owned(),
            planned: 0,
            counts: Growing::default(),
        });
        groups.len() - 1
    });
    &mut groups[at]
}
