//! `study` and `spread`: the same questions under several settings, each cell a run folder.

mod cost;
mod result;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Parser};

use super::args::{Look, RunArgs};
use super::plain::Plain;
use super::prepare::{Job, default_model};
use super::sit::tell_washed;
use super::{End, entering, listen, say, traces, usage};
use crate::benchmark::{self, Dataset, tested24};
use crate::engine::{Control, Opened, bench};
use crate::extract::Rule;
use crate::manifest::Manifest;
use crate::run::{self, Update};
use crate::stop::Stop;
use crate::store;
use crate::study::{self, Cell, FILE, Knob, Study};
use crate::text::{count, safe_line};

/// `spread`, and what `study` adds to it.
#[derive(Debug, Clone, Args)]
pub struct StudyArgs {
    /// A plan (TOML), or the folder of a study to go on with or to look at
    #[arg(value_name = "PLAN")]
    pub plan: Option<PathBuf>,
    /// An option of `run` and the values it takes, the first the base; members of a list joined by +, rules by ' | '. More
    /// than once for several knobs
    #[arg(long, value_name = "NAME=A,B")]
    pub knob: Vec<String>,
    /// Every combination of the knobs, not one at a time from the base
    #[arg(long)]
    pub full: bool,
    /// Tell cells, prompts, tokens, time and what chance alone would show; ask nothing
    #[arg(long)]
    pub estimate: bool,
    /// Also draw the cells with their intervals into an SVG file; an existing one is replaced
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    pub run: RunArgs,
}

/// The command line's words once more, for each cell with its own values behind them: the last of an option holds.
#[derive(Debug, Parser)]
#[command(args_override_self = true, no_binary_name = true)]
struct Words {
    #[command(flatten)]
    study: StudyArgs,
    #[command(flatten)]
    _look: Look,
}

/// The knobs of `spread`.
const SPREAD: &str = "style=tested24";

pub(super) fn spread(args: &StudyArgs) -> Result<End> {
    carry_out(args, "spread", &["--benchmark", "mmlu"])
}

pub(super) fn study(args: &StudyArgs) -> Result<End> {
    carry_out(args, "study", &[])
}

fn carry_out(args: &StudyArgs, command: &str, before: &[&str]) -> Result<End> {
    let mut study = described(args, command)?;
    if command == "spread" && !study.knobs.iter().any(|knob| knob.name == "style") {
        study.knobs.insert(0, Knob::parse(SPREAD)?);
    }
    // A study that goes on has its words written down already.
    if !study.words.iter().any(|word| word.starts_with("--benchmark")) {
        study.words.splice(0..0, before.iter().map(|word| (*word).to_owned()));
    }
    let study = Study {
        knobs: spelled_out(&study.knobs),
        ..study
    };
    let sat = Sat::plan(study, args)?;
    if args.estimate {
        return cost::tell(&sat, say::say, args.run.settings.json).map(|()| End::Done);
    }
    let goes_on = args.plan.as_ref().is_some_and(|plan| plan.is_dir());
    sat.check_folder(args.run.settings.resume || goes_on)?;
    let missing = sat.missing().count();
    let end = if missing > 0 {
        cost::tell(&sat, |line| Ok(say::tell(line)), false)?;
        sat.sit()?
    } else {
        End::Done
    };
    let printed = result::tell(&sat, args.svg.as_deref(), args.run.settings.json);
    say::ended(printed, end)
}

/// Words that say how the command goes on, not what the study is.
const OF_NOW: [&str; 4] = ["--resume", "--estimate", "--json", "--plain"];

/// What is to be done: as a plan's file says, else as the flags do.
fn described(args: &StudyArgs, command: &str) -> Result<Study> {
    let typed = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let typed: Vec<String> = typed
        .skip_while(|word| word != command)
        .skip(1)
        .filter(|word| !OF_NOW.contains(&word.as_str()))
        .collect();
    let knobs: Vec<Knob> = usage(args.knob.iter().map(|knob| Knob::parse(knob)).collect())?;
    let Some(plan) = &args.plan else {
        return Ok(Study {
            words: typed,
            knobs,
            full: args.full,
        });
    };
    let file = if plan.is_dir() { plan.join(FILE) } else { plan.clone() };
    let mut study = usage(Study::read(&file))?;
    if plan.is_dir() {
        study.words.extend(["--out".to_owned(), plan.display().to_string()]);
    }
    let named = plan.display().to_string();
    study.words.extend(typed.into_iter().filter(|word| *word != named));
    study.knobs.extend(knobs);
    study.full |= args.full;
    Ok(study)
}

/// A family's name among the values of `style` stands for its styles.
fn spelled_out(knobs: &[Knob]) -> Vec<Knob> {
    let values = |knob: &Knob| {
        let each = knob
            .values
            .iter()
            .map(|value| match tested24::family(value).filter(|_| knob.name == "style") {
                Some(family) => family.iter().map(ToString::to_string).collect(),
                None => vec![value.clone()],
            });
        each.flatten().collect()
    };
    knobs
        .iter()
        .map(|knob| Knob {
            name: knob.name.clone(),
            values: values(knob),
        })
        .collect()
}

/// A run that one cell or, under several rules, several cells read.
struct Run {
    folder: PathBuf,
    name: String,
    args: RunArgs,
}

/// A study made ready.
struct Sat {
    study: Study,
    folder: PathBuf,
    cells: Vec<Cell>,
    /// The run of each cell.
    run_of: Vec<usize>,
    runs: Vec<Run>,
}

impl Sat {
    fn plan(study: Study, args: &StudyArgs) -> Result<Sat> {
        let cells = usage(study::cells(&study.knobs, study.full))?;
        let rules = study
            .knobs
            .iter()
            .filter(|knob| knob.name == "rule")
            .flat_map(|knob| &knob.values);
        usage(rules.map(|rule| Rule::parse(rule).map(|_| ())).collect::<Result<()>>())?;
        let base = parse(&study.words, &[])?;
        let folder = match (&base.settings.out, &args.plan) {
            (Some(out), _) => out.clone(),
            (None, Some(plan)) if plan.is_dir() => plan.clone(),
            (None, _) => {
                super::prepare::default_folder("studies", base.settings.model.as_deref().unwrap_or(default_model()))?
            }
        };
        let mut sat = Sat {
            study,
            folder,
            cells: cells.clone(),
            run_of: Vec::new(),
            runs: Vec::new(),
        };
        for cell in cells {
            let folder = sat.folder.join(cell.folder());
            let known = sat.runs.iter().position(|run| run.folder == folder);
            let run = match known {
                Some(run) => run,
                None => {
                    let args = sat.args_of(&cell, &folder)?;
                    sat.runs.push(Run {
                        folder,
                        name: cell.name.clone(),
                        args,
                    });
                    sat.runs.len() - 1
                }
            };
            sat.run_of.push(run);
        }
        Ok(sat)
    }

    /// The options of a cell's run.
    fn args_of(&self, cell: &Cell, folder: &Path) -> Result<RunArgs> {
        let own = usage(words_of(cell))?;
        let mut args = parse(&self.study.words, &own)?;
        if args.benchmark.len() != 1 {
            return usage(Err(anyhow::anyhow!(
                "a study asks one exam: --benchmark mmlu, mmlu_pro or custom"
            )));
        }
        let benchmark = usage(benchmark::find(&args.benchmark[0]))?;
        let style = args.settings.asked.style.as_deref();
        let style = style.map(|style| usage(benchmark.style(style))).transpose()?;
        let names_shots = self
            .study
            .words
            .iter()
            .chain(&own)
            .any(|word| word.starts_with("--shots"));
        if style.is_some_and(|style| style.name.starts_with(tested24::PREFIX) && !style.is_cloze()) && !names_shots {
            // Openings 1 and 3 never ask for "the answer is (X)": the examples do.
            args.settings.asked.shots = 5;
        }
        args.settings.out = Some(folder.to_owned());
        args.settings.resume = store::is_run(folder);
        Ok(args)
    }

    /// Refuses a folder that holds something else, or a study that is not to be gone on with.
    fn check_folder(&self, resume: bool) -> Result<()> {
        let file = self.folder.join(FILE);
        if store::is_run(&self.folder) {
            bail!(
                "{} holds a run; a study takes a folder of its own",
                self.folder.display()
            );
        }
        if file.exists() && !resume && self.missing().next().is_some() {
            bail!(
                "{} already holds a study: go on with it by --resume, or take another --out",
                self.folder.display()
            );
        }
        if resume && file.exists() {
            return Ok(());
        }
        std::fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot make the folder {}", self.folder.display()))?;
        self.study.write(&self.folder)
    }

    /// The runs that are not complete.
    fn missing(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| !is_complete(&run.folder))
    }

    /// Sits every run that is not complete, those of one engine after one load.
    fn sit(&self) -> Result<End> {
        let stop = listen()?;
        let mut jobs = Vec::new();
        for run in &self.runs {
            jobs.push((
                run,
                Job::new(
                    &run.args.settings,
                    &run.args.benchmark,
                    run.args.data.as_deref(),
                    (default_model(), 2048),
                )?,
            ));
        }
        let mut opened: Option<(String, Opened)> = None;
        let mut kept: Option<(String, Vec<Dataset>)> = None;
        jobs.sort_by_key(|(_, job)| job.engine_key());
        let number = jobs.len();
        for (at, (run, job)) in jobs.into_iter().enumerate() {
            say::tell(format!("cell {} of {number}: {}", at + 1, safe_line(&run.name)));
            // Lines and counts of one run: each has its own.
            let mut plain = Plain::new();
            let outcome = sit_one(&job, &mut opened, &mut kept, &mut plain, &stop);
            plain.end();
            self.enter(run, &job);
            match outcome {
                Ok(false) => {}
                Ok(true) => return Ok(self.stopped(&stop)),
                Err(_) if stop.is_asked() => return Ok(self.stopped(&stop)),
                Err(error) => return Err(error.context(format!("cell {}", run.name))),
            }
        }
        Ok(End::Done)
    }

    /// Enters a run into the catalogue, and the cells that read it as members of this study. What cannot be entered is told,
    /// and no reason to stop.
    fn enter(&self, run: &Run, job: &Job) {
        let ids = traces::of_job(job)
            .map(|traces| entering::enter(&traces))
            .unwrap_or_default();
        let Some(id) = ids.first() else { return };
        let cells = self
            .cells
            .iter()
            .zip(&self.run_of)
            .filter(|(_, at)| self.runs[**at].folder == run.folder);
        let cells = cells.map(|(cell, _)| (cell.name.clone(), cell.knobs()));
        entering::note(|catalogue| catalogue.enter_cells(&self.folder, id, &cells.collect::<Vec<_>>()));
    }

    fn stopped(&self, stop: &Stop) -> End {
        let folder = self.folder.display();
        say::tell(format!("stopped; go on with: markbook study {folder} --resume"));
        End::asked(stop)
    }
}

/// Sits one run; tells whether it was stopped.
fn sit_one(
    job: &Job,
    opened: &mut Option<(String, Opened)>,
    kept: &mut Option<(String, Vec<Dataset>)>,
    plain: &mut Plain,
    stop: &Stop,
) -> Result<bool> {
    let mut watch = |status: String| {
        plain.tell(&Update::Status(status));
        stop.flow()
    };
    let slice = job.slice_key();
    let datasets = match kept {
        Some((key, datasets)) if *key == slice => datasets.clone(),
        _ => {
            let datasets = job.datasets(&mut watch)?;
            datasets.iter().for_each(|dataset| tell_washed(dataset, 0));
            *kept = Some((slice, datasets.clone()));
            datasets
        }
    };
    let key = job.engine_key();
    if opened.as_ref().is_none_or(|(other, _)| *other != key) {
        // The former model goes before the next one comes.
        *opened = None;
        *opened = Some((key, job.engine(&mut watch)?));
    }
    let Some((_, Opened { engine, model })) = opened else {
        bail!("the engine was not kept");
    };
    let description = engine.describe();
    description
        .context()
        .map_or(Ok(()), |context| job.check_max_tokens(context))?;
    let rounding = bench::rounding::known(&description);
    let plans = job.plans(datasets, engine.as_ref(), model, rounding.as_ref())?;
    let control = Control::new(plans.len());
    let summary = run::execute(plans, engine.as_mut(), &control, &mut |update| {
        plain.tell(&update);
        stop.flow()
    })?;
    if let Some(failed) = summary.failed.first().filter(|_| !summary.stopped) {
        bail!("{failed}");
    }
    Ok(summary.stopped)
}

/// A cell's values as words of the command line; its rule only reads what the others asked for.
fn words_of(cell: &Cell) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for (name, value) in &cell.values {
        match (name.as_str(), value.as_str()) {
            // What is scored is a style's: letters are the default's.
            ("rule", _) | ("scored", "letter") => {}
            ("scored", "text") => words.push("--style=answer_text".to_owned()),
            ("scored", other) => bail!("the knob scored takes letter and text, not {other}"),
            ("seeds" | "subjects", list) => words.push(format!("--{name}={}", list.replace('+', ","))),
            // `--x=v`: a value may begin with a dash.
            (name, value) => words.push(format!("--{name}={value}")),
        }
    }
    Ok(words)
}

fn is_complete(folder: &Path) -> bool {
    Manifest::find(folder)
        .ok()
        .and_then(Result::ok)
        .is_some_and(|manifest| manifest.ended.is_some())
}

/// The options of `run` among words of the command line, with some more behind them.
fn parse(words: &[String], more: &[String]) -> Result<RunArgs> {
    let parsed = Words::try_parse_from(words.iter().chain(more)).map_err(|error| {
        let text = error.to_string();
        anyhow::anyhow!(
            "{}",
            text.strip_prefix("error: ")
                .unwrap_or(&text)
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        )
    });
    usage(parsed).map(|words| words.study.run)
}

/// `24 cells`, and of how many runs where rules share them.
fn cells_of(sat: &Sat) -> String {
    let cells = count(sat.cells.len(), "cell");
    if sat.runs.len() == sat.cells.len() {
        cells
    } else {
        format!("{cells} that read {}", count(sat.runs.len(), "run"))
    }
}
