//! What a study will cost, told before it starts.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use super::super::prepare;
use super::super::prepare::Job;
use super::super::reports::put_json;
use super::{Sat, cells_of, is_complete};
use crate::benchmark::{Dataset, PromptPlan, Prompter};
use crate::hub;
use crate::manifest::Manifest;
use crate::study::{USUAL_RESIDUAL, range_by_chance};
use crate::text::{duration, safe_line, thousands};

/// Characters that a token of English text stands for, where no run of the model tells it.
const CHARS_A_TOKEN: f64 = 4.0;

#[derive(Debug, Serialize)]
struct Cost {
    cells: usize,
    runs: usize,
    /// Runs that are not complete: what is told below is of these.
    to_come: usize,
    questions: usize,
    /// Answers still to be given.
    answers: usize,
    prompts: usize,
    tokens_in: f64,
    /// Null where answers are scored, or no run of the model tells how long they are.
    tokens_out: Option<f64>,
    /// Null where no run of the model is there to tell.
    seconds: Option<f64>,
    /// The runs that tell it.
    measured_by: Option<String>,
    /// Range of the cells' accuracies that chance alone would show, in 0-1, and the residual variance behind it.
    range_by_chance: f64,
    residual_variance: f64,
}

/// Tells it by `say`.
pub(super) fn tell(sat: &Sat, say: impl Fn(String) -> Result<()>, json: bool) -> Result<()> {
    let cost = Cost::of(sat)?;
    if json {
        return put_json(&cost);
    }
    let mut out = String::new();
    out.push_str(&format!(
        "{} · {} questions each · {} to come: {} answers to {} prompts\n",
        cells_of(sat),
        thousands(cost.questions),
        thousands(cost.to_come),
        thousands(cost.answers),
        thousands(cost.prompts)
    ));
    let tokens = |tokens: f64| thousands(tokens.round() as usize);
    let written = cost
        .tokens_out
        .map_or_else(String::new, |out| format!(", {} out", tokens(out)));
    out.push_str(&format!("about {} tokens in{written}", tokens(cost.tokens_in)));
    out.push_str(&match (&cost.seconds, &cost.measured_by) {
        (Some(seconds), Some(by)) => {
            format!(
                " · about {}, as measured by {}\n",
                duration(Duration::from_secs_f64(seconds.max(0.0))),
                safe_line(by)
            )
        }
        _ => " · how long it takes is not known: no run of this model is here to tell (markbook bench measures it)\n"
            .to_owned(),
    });
    out.push_str(&format!(
        "by chance alone {} equal cells would show a range of {:.1} points (residual variance {:.3}); a smaller spread is none",
        sat.cells.len(),
        100.0 * cost.range_by_chance,
        cost.residual_variance
    ));
    say(out)
}

impl Cost {
    fn of(sat: &Sat) -> Result<Cost> {
        let mut cost = Cost {
            cells: sat.cells.len(),
            runs: sat.runs.len(),
            to_come: sat.missing().count(),
            questions: 0,
            answers: 0,
            prompts: 0,
            tokens_in: 0.0,
            tokens_out: None,
            seconds: Some(0.0),
            measured_by: None,
            range_by_chance: 0.0,
            residual_variance: USUAL_RESIDUAL,
        };
        let mut kept: Option<(String, Vec<Dataset>)> = None;
        for run in &sat.runs {
            let settings = &run.args.settings;
            let job = Job::new(
                settings,
                &run.args.benchmark,
                run.args.data.as_deref(),
                (prepare::default_model(), 2048),
            )?;
            let slice = job.slice_key();
            if kept.as_ref().is_none_or(|(key, _)| *key != slice) {
                kept = Some((slice, job.datasets(&mut |_| std::ops::ControlFlow::Continue(()))?));
            }
            let Some(dataset) = kept.as_ref().and_then(|(_, datasets)| datasets.first()) else {
                continue;
            };
            cost.questions = dataset.questions.len();
            if !is_complete(&run.folder) {
                cost.add(&job, dataset)?;
            }
        }
        if let Some(spread) = super::result::spread_so_far(sat) {
            cost.residual_variance = spread.residual_variance;
        }
        cost.range_by_chance = range_by_chance(cost.cells, cost.questions, cost.residual_variance);
        Ok(cost)
    }

    fn add(&mut self, job: &Job, dataset: &Dataset) -> Result<()> {
        let (style, attempts) = job.asked(dataset)?;
        let plan = PromptPlan::plain(style, job.settings.asked.shots);
        let prompter = Prompter::new(dataset, &plan)?;
        let mut chars = 0;
        for question in &dataset.questions {
            chars += prompter
                .messages(question)
                .iter()
                .map(|message| message.content.chars().count())
                .sum::<usize>();
        }
        let tokens_in = chars as f64 / CHARS_A_TOKEN;
        let answers = dataset.questions.len() * attempts;
        self.prompts += dataset.questions.len();
        self.answers += answers;
        self.tokens_in += tokens_in;
        let earlier = Earlier::of(&job.model_text, style.is_cloze(), job.root.parent());
        self.seconds = self.seconds.zip(earlier.as_ref()).map(|(seconds, earlier)| {
            seconds
                + if style.is_cloze() {
                    tokens_in * earlier.seconds_a_token
                } else {
                    answers as f64 * earlier.seconds_an_answer
                }
        });
        if let Some(earlier) = earlier {
            if !style.is_cloze() {
                *self.tokens_out.get_or_insert(0.0) += answers as f64 * earlier.tokens_out;
            }
            self.measured_by.get_or_insert(earlier.name);
        }
        Ok(())
    }
}

/// What earlier runs of a model cost here.
struct Earlier {
    name: String,
    seconds_a_token: f64,
    seconds_an_answer: f64,
    /// Of an answer.
    tokens_out: f64,
}

impl Earlier {
    /// The newest run of a model by the same method, in the study's own folder or in the data directory.
    fn of(model: &str, is_cloze: bool, study: Option<&Path>) -> Option<Earlier> {
        let home = hub::home().ok();
        let places = [study.map(Path::to_owned), home.map(|home| home.join("runs"))];
        let folders = places.into_iter().flatten().flat_map(|place| inside(&place));
        let folders: Vec<_> = folders.collect();
        let deeper = folders.iter().flat_map(|folder| inside(folder));
        let runs = folders
            .iter()
            .cloned()
            .chain(deeper)
            .filter_map(|folder| Some((Manifest::read(&folder).ok()?, folder)));
        let name = hub::short_name(model);
        let is_like = |manifest: &Manifest| {
            let settings = &manifest.settings;
            (settings.model.id == model || settings.model.name == name || settings.model.id.ends_with(model))
                && (settings.method == "cloze") == is_cloze
                && manifest.finished > 0
                && manifest.timing.wall_s > 0.0
                && manifest.timing.tokens_in > 0
        };
        let newest = runs
            .filter(|(manifest, _)| is_like(manifest))
            .max_by(|a, b| a.0.started.cmp(&b.0.started));
        newest.map(|(Manifest { timing, finished, .. }, folder)| Earlier {
            name: folder.display().to_string(),
            seconds_a_token: timing.wall_s / timing.tokens_in as f64,
            seconds_an_answer: timing.wall_s / finished as f64,
            tokens_out: timing.tokens_out as f64 / finished as f64,
        })
    }
}

fn inside(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}
