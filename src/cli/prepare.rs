//! From flags to plans: questions, model, prompts, folders; everything checked before the first question.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::args::{Chat, Settings};
use super::{server, usage};
use crate::benchmark::{self, Benchmark, DataSource, Dataset, PromptPlan, Style};
use crate::engine::remote::Seeds;
use crate::engine::{self, ChatTemplate, Engine, Model, Opened, Options, Rounding, Sampling, Spec};
use crate::extract::Rule;
use crate::extract::argmax::ArgMax;
use crate::hub::{self, ModelName};
use crate::manifest::Manifest;
use crate::record::letter;
use crate::run::{Exam, FIRST_TOKEN, Method, Plan};
use crate::store;

/// The model that `run` and `demo` take where none is named.
const DEFAULT_MODEL: &str = "Qwen/Qwen2.5-0.5B-Instruct";

/// Attempts at one question.
const MOST_SEEDS: usize = 1_000;

/// What is to be done, checked as far as it can be without the model.
#[derive(Debug)]
pub(crate) struct Job {
    pub settings: Settings,
    pub benchmarks: Vec<&'static Benchmark>,
    pub data: Option<DataSource>,
    spec: Spec,
    pub model_text: String,
    pub max_tokens: usize,
    pub root: PathBuf,
    /// At most one that reads completions and one that compares log-likelihoods.
    rules: Vec<Rule>,
}

impl Job {
    pub(crate) fn new(
        settings: &Settings,
        benchmarks: &[String],
        data: Option<&str>,
        defaults: (&str, usize),
    ) -> Result<Job> {
        let benchmarks: Vec<&'static Benchmark> = usage(
            benchmarks
                .iter()
                .map(|name| benchmark::find(name))
                .collect::<Result<_>>(),
        )?;
        let different: HashSet<&str> = benchmarks.iter().map(|benchmark| benchmark.name).collect();
        if different.len() < benchmarks.len() {
            return usage(Err(anyhow::anyhow!("--benchmark names one exam twice")));
        }
        for benchmark in &benchmarks {
            usage(benchmark.split_names(&settings.asked.split))?;
        }
        let data = usage(data.map(DataSource::parse).transpose())?;
        if let Some(style) = &settings.asked.style {
            let fits = benchmarks.iter().any(|benchmark| benchmark.style(style).is_ok());
            if !fits {
                usage(benchmarks[0].style(style))?;
            }
        }
        if settings.resume && settings.out.is_none() {
            return usage(Err(anyhow::anyhow!(
                "--resume goes on with the run in --out DIR: name it"
            )));
        }
        if settings.seeds.is_empty() {
            return usage(Err(anyhow::anyhow!("--seeds names no seed")));
        }
        if settings.seeds.len() > MOST_SEEDS {
            return usage(Err(anyhow::anyhow!(
                "--seeds names {} seeds; at most {MOST_SEEDS} attempts at a question are made",
                settings.seeds.len()
            )));
        }
        let seeds: HashSet<i64> = settings.seeds.iter().copied().collect();
        if seeds.len() < settings.seeds.len() {
            return usage(Err(anyhow::anyhow!(
                "--seeds names one seed twice: two equal attempts would count as two"
            )));
        }
        let rules = usage(
            settings
                .rule
                .iter()
                .map(|rule| Rule::parse(rule))
                .collect::<Result<Vec<_>>>(),
        )?;
        let model_text = settings.model.clone().unwrap_or_else(|| defaults.0.to_owned());
        let spec = usage(spec(&model_text, settings))?;
        let root = match &settings.out {
            Some(out) => out.clone(),
            None => default_root(&model_text)?,
        };
        let job = Job {
            settings: settings.clone(),
            benchmarks,
            data,
            spec,
            model_text,
            max_tokens: settings.max_tokens.unwrap_or(defaults.1),
            root,
            rules,
        };
        usage(job.check_rules())?;
        job.preflight()?;
        Ok(job)
    }

    /// Refuses a rule that no exam takes, and two for one exam.
    fn check_rules(&self) -> Result<()> {
        let mut cloze = Vec::new();
        for benchmark in &self.benchmarks {
            cloze.push(self.style(benchmark)?.is_cloze());
        }
        for (index, rule) in self.rules.iter().enumerate() {
            let is_cloze = rule.argmax().is_some();
            if !cloze.contains(&is_cloze) {
                bail!(
                    "--rule {rule} {}",
                    if is_cloze {
                        "compares log-likelihoods, and no exam of this run is scored so"
                    } else {
                        "reads completions, and no exam of this run writes any; scored ones take argmax, argmax_per_char, argmax_per_byte, argmax_per_token"
                    }
                );
            }
            if let Some(other) = self.rules[..index]
                .iter()
                .find(|other| other.argmax().is_some() == is_cloze)
            {
                bail!(
                    "--rule {other} and --rule {rule} are for the same exam; name one (rescore reads a run by others)"
                );
            }
        }
        Ok(())
    }

    /// The run folder of an exam: the root itself where there is one exam only.
    pub(crate) fn folder(&self, benchmark: &Benchmark) -> PathBuf {
        if self.benchmarks.len() == 1 {
            self.root.clone()
        } else {
            self.root.join(benchmark.name)
        }
    }

    /// Refuses, before any work, folders that this run could not be written into, or that hold no run to go on with. Of two
    /// exams one is enough: a kill may have come before the other's folder was made.
    fn preflight(&self) -> Result<()> {
        let is_resumed = self.settings.resume || !self.settings.again.is_empty();
        if self.benchmarks.len() == 1 || !self.root.exists() {
            return store::preflight(&self.root, is_resumed);
        }
        if !self.root.is_dir() {
            bail!("{} is a file; --out takes a folder", self.root.display());
        }
        if store::is_run(&self.root) {
            bail!(
                "{} holds one run; two exams take a folder that holds mmlu/ and mmlu_pro/",
                self.root.display()
            );
        }
        let mut folders = self.benchmarks.iter().map(|benchmark| self.folder(benchmark));
        if is_resumed && !folders.clone().any(|folder| store::is_run(&folder)) {
            return store::preflight(&self.root, true);
        }
        folders.try_for_each(|folder| store::preflight(&folder, is_resumed && store::is_run(&folder)))
    }

    /// Reads the questions of each exam.
    ///
    /// # Errors
    /// When a set cannot be had, an asked subject is unknown, or there are fewer examples than `--shots`.
    pub(crate) fn datasets(&self, watch: &mut dyn FnMut(String) -> ControlFlow<()>) -> Result<Vec<Dataset>> {
        let asked = &self.settings.asked;
        let slice = asked.slice();
        // A subject may belong to one of two exams only; one that belongs to none is refused.
        let mut datasets = Vec::new();
        let mut refused = None;
        for benchmark in &self.benchmarks {
            let mut dataset = load_data(benchmark, self.data.as_ref(), &asked.split, asked.gold_base, watch)?;
            match benchmark::select(&mut dataset, &slice) {
                Ok(()) => {
                    usage(put_first(&mut dataset, &self.settings.first))?;
                    datasets.push(dataset);
                }
                Err(error) => refused = Some(error),
            }
        }
        if let Some(error) = refused
            && (datasets.is_empty() || self.benchmarks.len() == 1 || datasets.len() < self.benchmarks.len())
        {
            return usage(Err(error));
        }
        for dataset in &datasets {
            let style = self.style(dataset.benchmark)?;
            usage(enough_examples(dataset, asked.shots, style))?;
        }
        Ok(datasets)
    }

    fn style(&self, benchmark: &'static Benchmark) -> Result<&'static Style> {
        match &self.settings.asked.style {
            Some(name) => match benchmark.style(name) {
                Ok(style) => Ok(style),
                // With two exams, --style is for the one that has it.
                Err(_) if self.benchmarks.len() > 1 => Ok(benchmark.default_style()),
                Err(error) => usage(Err(error)),
            },
            None => Ok(benchmark.default_style()),
        }
    }

    /// What tells one engine from another.
    pub(crate) fn engine_key(&self) -> String {
        format!("{:?}", self.spec)
    }

    /// What tells one choice of questions from another.
    pub(crate) fn slice_key(&self) -> String {
        let asked = &self.settings.asked;
        let (slice, read) = (asked.slice(), (&asked.split, asked.gold_base));
        let benchmarks: Vec<&str> = self.benchmarks.iter().map(|benchmark| benchmark.name).collect();
        format!("{benchmarks:?} {:?} {slice:?} {read:?}", self.data)
    }

    /// The style of a data set, and the answers that a question gets.
    pub(crate) fn asked(&self, dataset: &Dataset) -> Result<(&'static Style, usize)> {
        let style = self.style(dataset.benchmark)?;
        Ok((style, self.method(style, dataset)?.0.attempts()))
    }

    /// Fetches and loads the model, or tries the server.
    pub(crate) fn engine(&self, watch: &mut engine::Status) -> Result<Opened> {
        let opened = engine::open(&self.spec, watch)?;
        if let Some(context) = opened.engine.describe().context() {
            self.check_max_tokens(context)?;
        }
        Ok(opened)
    }

    /// The plans of the exams, with manifests.
    pub(crate) fn plans(
        &self,
        datasets: Vec<Dataset>,
        engine: &dyn Engine,
        model: &Model,
        rounding: Option<&Rounding>,
    ) -> Result<Vec<Plan>> {
        if self.benchmarks.len() > 1 && !self.root.exists() {
            std::fs::create_dir_all(&self.root)
                .with_context(|| format!("cannot make the folder {}", self.root.display()))?;
        }
        datasets
            .into_iter()
            .map(|dataset| {
                let mut plan = self.plan(dataset, engine, model)?;
                plan.manifest.rounding = rounding.cloned();
                Ok(plan)
            })
            .collect()
    }

    fn plan(&self, dataset: Dataset, engine: &dyn Engine, model: &Model) -> Result<Plan> {
        let settings = &self.settings;
        let style = self.style(dataset.benchmark)?;
        let description = engine.describe();
        let served = description.served();
        let reads_first_token = style.is_cloze() && served.is_some_and(|served| served.reads_first_token);
        if let Some(why) = description
            .no_scores()
            .filter(|_| style.is_cloze() && !reads_first_token)
        {
            bail!(
                "{} is scored by log-likelihoods, which cannot be had: {why}. --benchmark mmlu_pro can be asked there; \
                 --cloze chat measures the first token of a chat's answer instead, under its own name",
                dataset.name
            );
        }
        let as_turns = reads_first_token || served.is_some_and(|served| served.is_chat);
        let chat = if as_turns {
            None
        } else {
            self.chat(dataset.benchmark, style, engine.chat_template())?
        };
        let prompt = PromptPlan {
            style,
            shots: settings.asked.shots,
            chat,
            as_turns,
            chat_shots: settings.asked.chat_shots,
            system: None,
        };
        let (method, mut rule) = if reads_first_token {
            first_token(&dataset)?
        } else {
            self.method(style, &dataset)?
        };
        if let Some(served) = served {
            if served.thinking.is_some() && !prompt.is_chat() && !style.is_cloze() {
                bail!(
                    "--think: the prompts of {} go as plain text there, which nothing can tell a model by; --chat server \
                     puts them as chats",
                    dataset.name
                );
            }
            if served.seeds == Seeds::Fixed && method.attempts() > 1 {
                bail!("every seed gives the same answer there: --seeds 42 sits one attempt");
            }
            if served.thinks && self.rules.is_empty() && rule.argmax().is_none() {
                // As the harness reads a chat: the answer, not the thinking.
                rule = Rule::parse(&format!("think:{rule}"))?;
            }
        }
        let path = self.folder(dataset.benchmark);
        let mut manifest = super::manifest::of(settings, (&dataset, &prompt), (&method, &rule), (engine, model));
        let resume = settings.resume && store::is_run(&path);
        let mut exam = Exam::new(&dataset, &method, settings.asked.shots, path);
        if reads_first_token {
            FIRST_TOKEN.clone_into(&mut manifest.settings.method);
            exam.method = exam.method.replacen("greedy", FIRST_TOKEN, 1);
        }
        let manifest = Manifest {
            rows: exam.rows,
            ..manifest
        };
        Ok(Plan {
            exam,
            dataset,
            prompt,
            rule,
            method,
            manifest,
            resume,
            only: None,
        })
    }

    fn chat(
        &self,
        benchmark: &Benchmark,
        style: &Style,
        template: Option<ChatTemplate>,
    ) -> Result<Option<ChatTemplate>> {
        if self.settings.asked.chat == Chat::On && template.is_none() {
            bail!(
                "--chat on: {} has no chat template; --chat off puts plain prompts",
                self.model_text
            );
        }
        Ok(template.filter(|_| self.settings.asked.chat.is_wanted(benchmark, style)))
    }

    /// Refuses a longest completion that leaves no room for a prompt, as the harness does.
    pub(crate) fn check_max_tokens(&self, context: usize) -> Result<()> {
        for benchmark in &self.benchmarks {
            if !self.style(benchmark)?.is_cloze() && self.max_tokens >= context {
                bail!(
                    "--max-tokens {}: so long a completion leaves no room for a prompt in the {context} positions of {}; \
                     the largest that fits is {}",
                    self.max_tokens,
                    self.model_text,
                    context.saturating_sub(1)
                );
            }
        }
        Ok(())
    }

    fn method(&self, style: &Style, dataset: &Dataset) -> Result<(Method, Rule)> {
        Ok(match &style.method {
            benchmark::Method::Cloze { .. } => {
                let rule = self.rules.iter().find(|rule| rule.argmax().is_some());
                let rule = rule.cloned().unwrap_or_else(|| Rule::of_scores(ArgMax::Sum));
                (Method::Cloze, rule)
            }
            benchmark::Method::Generate {
                rule,
                stops,
                max_tokens,
            } => {
                let rule = match self.rules.iter().find(|rule| rule.argmax().is_none()) {
                    Some(rule) => rule.clone(),
                    None => default_rule(rule, dataset)?,
                };
                let sampling = Sampling {
                    temperature: self.settings.temperature,
                    top_p: self.settings.top_p,
                    top_k: self.settings.top_k,
                    max_tokens: self.settings.max_tokens.unwrap_or(self.max_tokens.min(*max_tokens)),
                    stops: stops.iter().map(|stop| (*stop).to_owned()).collect(),
                };
                let seeds = if sampling.temperature == 0.0 {
                    vec![None]
                } else {
                    self.settings.seeds.iter().copied().map(Some).collect()
                };
                (Method::Generate { sampling, seeds }, rule)
            }
        })
    }
}

/// What is measured in place of cloze where only a chat can be asked: its answer's first token, greedy.
fn first_token(dataset: &Dataset) -> Result<(Method, Rule)> {
    let options = dataset.questions.iter().map(|question| question.options.len());
    let last = letter(options.max().unwrap_or(4).saturating_sub(1)).unwrap_or('Z');
    let sampling = Sampling {
        temperature: 0.0,
        top_p: 1.0,
        top_k: 0,
        max_tokens: 1,
        stops: Vec::new(),
    };
    let method = Method::Generate {
        sampling,
        seeds: vec![None],
    };
    Ok((method, Rule::parse(&format!(r"re:^\W*([A-{last}])\b"))?))
}

/// Puts the questions of some subjects or categories before the others; their order stays.
fn put_first(dataset: &mut Dataset, first: &[String]) -> Result<()> {
    let is_of = |question: &benchmark::Question, name: &String| question.subject == *name || question.category == *name;
    for name in first {
        if !dataset.questions.iter().any(|question| is_of(question, name)) {
            let mut known: Vec<&str> = dataset
                .questions
                .iter()
                .map(|question| question.subject.as_str())
                .collect();
            known.sort_unstable();
            known.dedup();
            bail!(
                "--first: {} has no subject {name:?} here; it has {}",
                dataset.name,
                known.join(", ")
            );
        }
    }
    dataset
        .questions
        .sort_by_key(|question| !first.iter().any(|name| is_of(question, name)));
    Ok(())
}

/// Which engine, by the model's name.
fn spec(model: &str, settings: &Settings) -> Result<Spec> {
    if let Some(options) = server::options(model, &settings.server, settings.asked.chat)? {
        return Ok(Spec::Served(Box::new(options)));
    }
    Ok(Spec::Local {
        model: ModelName::parse(model)?,
        options: Options {
            dtype: settings.dtype,
            threads: settings.threads.unwrap_or(0),
            batch: settings.batch,
            ..Options::default()
        },
    })
}

/// A style's rule; of sets with more options than its ten letters, the same with as many letters as there are.
fn default_rule(name: &str, dataset: &Dataset) -> Result<Rule> {
    const OPTIONS_OF_THE_RULE: usize = 10;
    let most = dataset
        .questions
        .iter()
        .map(|question| question.options.len())
        .max()
        .unwrap_or(0);
    let last = letter(most.saturating_sub(1)).unwrap_or('Z');
    if most > OPTIONS_OF_THE_RULE && name == "lm_eval_mmlu_pro" {
        return Rule::parse(&format!(r"re:answer is \(?([A-{last}])\)?"));
    }
    Rule::parse(name)
}

fn enough_examples(dataset: &Dataset, shots: usize, style: &Style) -> Result<()> {
    for question in &dataset.questions {
        let have = dataset.examples_for(question, style.examples).len();
        if have < shots {
            let problem = dataset.examples_problem.as_ref();
            bail!(
                "--shots {shots}: {} has {have} example{} for {}; at most --shots {have} with style {}{}",
                dataset.source,
                if have == 1 { "" } else { "s" },
                question.subject,
                style.name,
                problem.map_or_else(String::new, |problem| format!("; {problem}"))
            );
        }
    }
    Ok(())
}

/// Reads one exam's questions, from the hub where no data is named.
pub(crate) fn load_data(
    benchmark: &'static Benchmark,
    data: Option<&DataSource>,
    split: &str,
    gold_base: Option<i64>,
    watch: &mut dyn FnMut(String) -> ControlFlow<()>,
) -> Result<Dataset> {
    if let Some(source) = data {
        return benchmark::load_counted(benchmark, source, split, gold_base);
    }
    if benchmark.hub_id.is_empty() {
        return usage(Err(anyhow::anyhow!(
            "--benchmark {}: name your questions by --data FILE|DIR",
            benchmark.name
        )));
    }
    let names = usage(benchmark.split_names(split))?;
    let examples = benchmark
        .example_splits
        .iter()
        .copied()
        .find(|split| *split != names[0]);
    let splits: Vec<&str> = std::iter::once(names[0]).chain(examples).collect();
    let config = Some(benchmark.hub_config).filter(|config| !config.is_empty());
    let found = hub::dataset(benchmark.hub_id, config, &splits, &mut |progress| {
        watch(progress.to_string())
    })
    .with_context(|| {
        format!(
            "the questions of {} cannot be had: name them by --data DIR, or take --data embedded",
            benchmark.name
        )
    })?;
    let files = |name: &str| {
        found
            .splits
            .iter()
            .filter(|split| split.name == name)
            .flat_map(|split| split.files.clone())
            .collect::<Vec<_>>()
    };
    let source = DataSource::Hub {
        id: found.id.clone(),
        revision: Some(found.revision.clone()),
        test: files(splits[0]),
        examples: splits.get(1).map(|name| files(name)).unwrap_or_default(),
    };
    benchmark::load_counted(benchmark, &source, split, gold_base)
}

fn default_root(model: &str) -> Result<PathBuf> {
    default_folder("runs", model)
}

/// A new folder's name in a place of the data directory: date and model.
pub(crate) fn default_folder(place: &str, model: &str) -> Result<PathBuf> {
    let runs = hub::home()?.join(place);
    std::fs::create_dir_all(&runs).with_context(|| format!("cannot make the folder {}", runs.display()))?;
    let stamp = chrono::Local::now().format("%Y-%m-%dT%H-%M-%S");
    let name = store::folder_name(&hub::short_name(model));
    // Two runs started within one second get different folders.
    for number in 1.. {
        let suffix = if number == 1 {
            String::new()
        } else {
            format!("-{number}")
        };
        let path = runs.join(format!("{stamp}-{name}{suffix}"));
        if !path.exists() {
            return Ok(path);
        }
    }
    bail!("no free folder name in {}", runs.display())
}

/// The default model of `run`.
pub(crate) fn default_model() -> &'static str {
    DEFAULT_MODEL
}
