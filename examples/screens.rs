//! Draws the screens of the recorded demo run as SVG pictures, dark and light: those of the README.
//!
//! `cargo run --example screens -- assets/screens`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use markbook::engine::Pulse;
use markbook::run::{Exam, Update};
use markbook::store;
use markbook::trace::{GrowingTexts, Trace};
use markbook::tui::{ColorChoice, Options, Script, Shade};

const SIZE: (u16, u16) = (120, 40);

/// Keys that lead to a screen from the first one.
const SCREENS: [(&str, &str); 4] = [
    ("browse", "cmmlu_pro<enter>jjjj"),
    ("question", "cmmlu_pro<enter>o<enter>"),
    ("charts", "cmmlu_pro<enter>v3jjll"),
    ("cloze", "jjj<enter>"),
];

fn main() -> Result<()> {
    let folder: PathBuf = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "assets/screens".to_owned())
        .into();
    let traces = store::recorded_demo()?;
    for (shade, name) in [(Shade::Dark, "dark"), (Shade::Light, "light")] {
        let options = Options {
            color: ColorChoice::Always,
            shade,
            ..Options::default()
        };
        for (screen, keys) in SCREENS {
            let mut script = Script::open(traces.clone(), SIZE, &options)?;
            keep(&folder, &format!("{screen}-{name}"), script.keys(keys))?;
        }
        keep(&folder, &format!("live-{name}"), &live(&traces, &options)?)?;
    }
    Ok(())
}

fn keep(folder: &Path, name: &str, script: &Script) -> Result<()> {
    let path = folder.join(format!("{name}.svg"));
    std::fs::write(&path, script.picture()).with_context(|| format!("cannot write {}", path.display()))
}

/// The run as its screen showed it when a part of its answers had landed.
fn live(traces: &[Trace], options: &Options) -> Result<Script> {
    let mut script = Script::live(SIZE, options);
    let exams = traces.iter().map(exam).collect();
    let texts = traces
        .iter()
        .map(|trace| GrowingTexts(Arc::clone(&trace.texts)))
        .collect();
    script.hear(Update::Started {
        model: traces[0].name.clone(),
        dtype: "f32".to_owned(),
        exams,
        texts,
    });
    let mut pulse = Pulse::default();
    for step in 0..120 {
        for (exam, trace) in traces.iter().enumerate() {
            if step < trace.rows.len() {
                let record = trace.record(step)?;
                pulse.tokens_out += u64::try_from(record.output_tokens.unwrap_or(0))?;
                script.hear(Update::Landed { exam, record });
            }
        }
        pulse.in_flight = 8;
        script.hear(Update::Pulse(pulse)).advance(Duration::from_millis(700));
    }
    if let Some(last) = traces.last() {
        for step in 121..124 {
            let record = last.record(step)?;
            let text: String = record.reasoning.chars().take(200).collect();
            script.hear(Update::Running {
                exam: traces.len() - 1,
                question_id: record.question_id,
                attempt: usize::try_from(record.attempt)?,
                subject: record.subject.clone(),
                tokens: text.len() / 4,
                text,
                asked: (0, 0),
            });
        }
    }
    Ok(script)
}

/// What was asked, as far as the trace tells.
fn exam(trace: &Trace) -> Exam {
    let rows = &trace.rows;
    let mut subjects: Vec<(String, String, usize)> = Vec::new();
    for row in 0..rows.len() {
        let (category, subject) = (rows.category.get(row), rows.subject.get(row));
        match subjects.iter_mut().find(|(_, known, _)| known == subject) {
            Some((.., count)) => *count += 1,
            None => subjects.push((category.to_owned(), subject.to_owned(), 1)),
        }
    }
    let is_cloze = rows.scored.first() == Some(&true);
    Exam {
        benchmark: rows.benchmark.get(0).to_owned(),
        method: if is_cloze {
            "cloze · 0-shot"
        } else {
            "5 seeds 42-46 · T 1.0 p 0.95 k 64"
        }
        .to_owned(),
        is_cloze,
        questions: rows.questions(),
        rows: rows.len(),
        seeds: if is_cloze { Vec::new() } else { (42..47).collect() },
        subjects,
        resumed: 0,
        path: PathBuf::new(),
    }
}
