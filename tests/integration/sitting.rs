//! A made-up run of two exams, always the same: cloze over MMLU's subjects, five seeds over MMLU-Pro's categories.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use markbook::engine::Pulse;
use markbook::record::{Finish, INVALID, Record, letter};
use markbook::run::{Exam, Update};
use markbook::trace::{Field, GrowingTexts, Texts, Visit, Wanted};

/// MMLU subjects, some of each category; rows of each.
const SUBJECTS: [(&str, &str); 19] = [
    ("STEM", "abstract_algebra"),
    ("STEM", "anatomy"),
    ("STEM", "astronomy"),
    ("STEM", "college_chemistry"),
    ("STEM", "high_school_physics"),
    ("STEM", "machine_learning"),
    ("Humanities", "formal_logic"),
    ("Humanities", "high_school_european_history"),
    ("Humanities", "international_law"),
    ("Humanities", "moral_disputes"),
    ("Humanities", "philosophy"),
    ("Social Sciences", "econometrics"),
    ("Social Sciences", "high_school_government_and_politics"),
    ("Social Sciences", "sociology"),
    ("Other", "business_ethics"),
    ("Other", "global_facts"),
    ("Other", "marketing"),
    ("Other", "nutrition"),
    ("Other", "virology"),
];
const ROWS_A_SUBJECT: usize = 60;

const CATEGORIES: [&str; 14] = [
    "biology",
    "business",
    "chemistry",
    "computer science",
    "economics",
    "engineering",
    "health",
    "history",
    "law",
    "math",
    "other",
    "philosophy",
    "physics",
    "psychology",
];
const QUESTIONS_A_CATEGORY: usize = 4;
const SEEDS: [i64; 5] = [42, 43, 44, 45, 46];
const IN_FLIGHT: usize = 32;

/// The run, each update with its time.
#[derive(Debug, Clone)]
pub struct Sitting {
    pub updates: Vec<(Duration, Update)>,
}

struct Chance(u64);

impl Chance {
    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as usize
    }
}

pub fn mmlu() -> Exam {
    Exam {
        benchmark: "mmlu".into(),
        method: "cloze · 0-shot".into(),
        is_cloze: true,
        questions: SUBJECTS.len() * ROWS_A_SUBJECT,
        rows: SUBJECTS.len() * ROWS_A_SUBJECT,
        seeds: vec![],
        subjects: SUBJECTS
            .map(|(category, subject)| (category.into(), subject.into(), ROWS_A_SUBJECT))
            .to_vec(),
        resumed: 0,
        path: PathBuf::from("runs/first/mmlu"),
    }
}

pub fn mmlu_pro() -> Exam {
    let questions = CATEGORIES.len() * QUESTIONS_A_CATEGORY;
    Exam {
        benchmark: "mmlu_pro".into(),
        method: "5 seeds 42-46 · T 1.0 p 0.95 k 64".into(),
        is_cloze: false,
        questions,
        rows: questions * SEEDS.len(),
        seeds: SEEDS.to_vec(),
        subjects: CATEGORIES
            .map(|name| (name.into(), name.into(), QUESTIONS_A_CATEGORY * SEEDS.len()))
            .to_vec(),
        resumed: 0,
        path: PathBuf::from("runs/first/mmlu_pro"),
    }
}

pub fn started(exams: Vec<Exam>) -> Update {
    Update::Started {
        model: "SmolLM2-135M-Instruct".into(),
        dtype: "f32".into(),
        exams,
        texts: Vec::new(),
    }
}

/// Keeps the answers of a made-up run, as a run's folder does.
#[derive(Debug, Default)]
pub struct Keeper {
    exams: Vec<Arc<Kept>>,
}

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<Arc<Record>>>);

impl Keeper {
    /// An update as the run would tell it: with the answers kept.
    pub fn keep(&mut self, mut update: Update) -> Update {
        match &mut update {
            Update::Started { exams, texts, .. } => {
                self.exams = exams.iter().map(|_| Arc::default()).collect();
                let growing = |kept: &Arc<Kept>| GrowingTexts(Arc::clone(kept) as Arc<dyn Texts>);
                *texts = self.exams.iter().map(growing).collect();
            }
            Update::Landed { exam, record } => {
                if let Some(kept) = self.exams.get(*exam) {
                    kept.0.lock().unwrap().push(Arc::clone(record));
                }
            }
            _ => {}
        }
        update
    }
}

impl Texts for Kept {
    fn record(&self, row: usize) -> anyhow::Result<Arc<Record>> {
        Ok(Arc::clone(&self.0.lock().unwrap()[row]))
    }

    fn scan(&self, field: Field, wanted: &Wanted, visit: &mut Visit) -> anyhow::Result<()> {
        let records = self.0.lock().unwrap().clone();
        for (row, record) in records.iter().enumerate().filter(|(row, _)| wanted(*row)) {
            if visit(row, field.of(record)).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Both exams, or the one at `only`, from start to end.
pub fn sitting(only: Option<usize>) -> Sitting {
    let exams: Vec<Exam> = [mmlu(), mmlu_pro()]
        .into_iter()
        .enumerate()
        .filter(|(at, _)| only.is_none_or(|only| only == *at))
        .map(|(_, exam)| exam)
        .collect();
    let place = |benchmark: &str| exams.iter().position(|exam| exam.benchmark == benchmark);
    let mut updates = vec![
        (0.0, Update::Status("loading SmolLM2-135M-Instruct".into())),
        (2.0, started(exams.clone())),
    ];
    let (mut cloze_end, mut sampled_end) = (2.0, 2.0);
    if let Some(exam) = place("mmlu") {
        cloze_end = cloze(exam, &mut updates);
    }
    if let Some(exam) = place("mmlu_pro") {
        sampled_end = sampled(exam, &mut updates);
    }
    pulses(&mut updates, cloze_end, sampled_end);
    updates.push((cloze_end.max(sampled_end) + 0.1, Update::Ended { stopped: false }));
    updates.sort_by(|a, b| a.0.total_cmp(&b.0));
    Sitting {
        updates: updates
            .into_iter()
            .map(|(at, update)| (Duration::from_secs_f64(at), update))
            .collect(),
    }
}

/// Sixteen questions a pass, a subject after the other.
fn cloze(exam: usize, updates: &mut Vec<(f64, Update)>) -> f64 {
    let mut chance = Chance(7);
    let mut now = 2.0;
    let all: Vec<usize> = (0..SUBJECTS.len() * ROWS_A_SUBJECT).collect();
    for pass in all.chunks(16) {
        now += 1.3 + chance.below(30) as f64 / 100.0;
        for question in pass {
            let (category, subject) = SUBJECTS[question / ROWS_A_SUBJECT];
            let gold = chance.below(4);
            let mut logprobs: Vec<f32> = (0..4).map(|_| -0.6 - chance.below(220) as f32 / 100.0).collect();
            logprobs[0] += 0.35;
            logprobs[gold] += 0.1;
            let pick = (0..4).max_by(|a, b| logprobs[*a].total_cmp(&logprobs[*b])).unwrap_or(0);
            let record = Record {
                question_id: *question as i64,
                category: category.into(),
                subject: subject.into(),
                benchmark: "mmlu".into(),
                pick: letter(pick).unwrap().to_string(),
                answer: letter(gold).unwrap().to_string(),
                correct: pick == gold,
                options: (0..4).map(|option| format!("option {option}")).collect(),
                logprobs: Some(logprobs),
                letter_mass: Some(0.3 + chance.below(24) as f32 / 100.0),
                prompt_tokens: Some(120),
                seconds: 0.09,
                ..Record::default()
            };
            updates.push((
                now,
                Update::Landed {
                    exam,
                    record: Arc::new(record),
                },
            ));
        }
    }
    updates.push((now, Update::Complete { exam }));
    now
}

/// What a made-up completion says, and how it ends.
fn completion(chance: &mut Chance, gold: usize) -> (String, Option<usize>, Finish) {
    let sure = format!(
        "Let us look at the {} options in turn, and at what the question asks for. ",
        10 + chance.below(4000)
    );
    match chance.below(12) {
        0 => (
            format!(
                "{sure}{}",
                "It is the view of the law from the perspective of the law itself. ".repeat(15)
            ),
            None,
            Finish::Length,
        ),
        1 => (
            format!("{sure}The heat that flows from the reservoir must then be equal to"),
            None,
            Finish::Length,
        ),
        2 => (
            format!("{sure}So the right option should be the fourth of them."),
            None,
            Finish::Eos,
        ),
        3 => (format!("{sure}The correct option seems to be (D)."), None, Finish::Eos),
        n => {
            let pick = if n < 6 { gold } else { chance.below(10) };
            let name = letter(pick).unwrap();
            (
                format!("{sure}The answer is ({name}). That is what follows."),
                Some(pick),
                Finish::Stop,
            )
        }
    }
}

/// Thirty-two completions at a time, each step a tenth of a second.
fn sampled(exam: usize, updates: &mut Vec<(f64, Update)>) -> f64 {
    let mut chance = Chance(11);
    let mut waiting: VecDeque<Record> = VecDeque::new();
    for question in 0..CATEGORIES.len() * QUESTIONS_A_CATEGORY {
        // Categories take turns.
        let category = CATEGORIES[question % CATEGORIES.len()];
        let gold = chance.below(10);
        for (attempt, seed) in SEEDS.iter().enumerate() {
            let (text, pick, finish) = completion(&mut chance, gold);
            let tokens = (text.len() / 4) as i64 + chance.below(60) as i64;
            waiting.push_back(Record {
                question_id: 100 + 37 * question as i64,
                attempt: attempt as i64,
                seed: Some(*seed),
                category: category.into(),
                subject: category.into(),
                benchmark: "mmlu_pro".into(),
                pick: pick.map_or(INVALID.into(), |pick| letter(pick).unwrap().to_string()),
                answer: letter(gold).unwrap().to_string(),
                correct: pick == Some(gold),
                options: (0..10).map(|option| format!("option {option}")).collect(),
                reasoning_chars: text.chars().count() as i64,
                reasoning: text,
                finish: Some(finish),
                output_tokens: Some(tokens),
                seconds: tokens as f32 / 160.0,
                ..Record::default()
            });
        }
    }
    let mut now = 2.0;
    let mut running: Vec<(Record, usize, usize)> = Vec::new();
    while !waiting.is_empty() || !running.is_empty() {
        while running.len() < IN_FLIGHT
            && let Some(record) = waiting.pop_front()
        {
            running.push((record, 0, 0));
        }
        now += 0.5;
        let mut ended = Vec::new();
        for (at, (record, tokens, told)) in running.iter_mut().enumerate() {
            *tokens += 4 + chance.below(3);
            let needed = record.output_tokens.unwrap_or(0) as usize;
            let until = (record.reasoning.len() * *tokens / needed.max(1)).min(record.reasoning.len());
            let text = record.reasoning[*told..until].to_owned();
            *told = until;
            if *tokens >= needed {
                ended.push(at);
            } else {
                updates.push((
                    now,
                    Update::Running {
                        exam,
                        question_id: record.question_id,
                        attempt: record.attempt as usize,
                        subject: record.subject.clone(),
                        tokens: *tokens,
                        text,
                        asked: (0, 0),
                    },
                ));
            }
        }
        for at in ended.into_iter().rev() {
            let (record, ..) = running.remove(at);
            updates.push((
                now,
                Update::Landed {
                    exam,
                    record: Arc::new(record),
                },
            ));
        }
    }
    updates.push((now, Update::Complete { exam }));
    now
}

fn pulses(updates: &mut Vec<(f64, Update)>, cloze_end: f64, sampled_end: f64) {
    let end = cloze_end.max(sampled_end);
    let mut step = 0;
    while 2.0 + f64::from(step) * 0.25 <= end {
        let now = 2.0 + f64::from(step) * 0.25;
        let wobble = 1.0 + 0.1 * (now / 7.0).sin();
        updates.push((
            now,
            Update::Pulse(Pulse {
                tokens_in: ((now.min(cloze_end) - 2.0) * 1_330.0 * wobble) as u64,
                tokens_in_logical: ((now.min(cloze_end) - 2.0) * 1_500.0) as u64,
                tokens_out: ((now.min(sampled_end) - 2.0) * 320.0 * wobble) as u64,
                in_flight: if now < sampled_end { IN_FLIGHT } else { 0 },
                model_cpu_s: now,
                ..Pulse::default()
            }),
        ));
        step += 1;
    }
}
