//! The command line's flags, as typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::numbers;
use super::server_args::{ProbeArgs, ServerArgs};
use crate::benchmark::{Benchmark, ChatShots, Form, Slice, Style};
use crate::engine::Dtype;
use crate::store::again::Kind;
use crate::tui::Shade;

/// Run language models through MMLU and MMLU-Pro, and read every answer they gave.
#[derive(Debug, Parser)]
#[command(
    name = "markbook",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  markbook                                        the recorded demo run; needs no model and no network
  markbook demo                                   both exams, live, on a small real model
  markbook run --model Qwen/Qwen2.5-0.5B-Instruct --benchmark mmlu,mmlu_pro --per-subject 20
  markbook results/ samples_mmlu_pro_law_*.jsonl  browse what other tools wrote
  markbook export traces.parquet -f 'invalid cat:law' -o slice.jsonl"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub open: OpenArgs,
    #[command(flatten)]
    pub look: Look,
}

/// How things are shown; understood everywhere.
#[derive(Debug, Clone, Args)]
pub struct Look {
    /// Colours: auto (none in a pipe, with NO_COLOR or TERM=dumb), never, always
    #[arg(
        long,
        global = true,
        default_value = "auto",
        value_name = "WHEN",
        display_order = 900
    )]
    pub color: Color,
    /// The terminal's background: auto (as COLORFGBG tells, else dark), dark, light
    #[arg(
        long,
        global = true,
        default_value = "auto",
        value_name = "BACKGROUND",
        display_order = 901
    )]
    pub theme: Shade,
    /// Draw with ASCII characters only
    #[arg(long, global = true, display_order = 901)]
    pub ascii: bool,
    /// Leave the mouse to the terminal
    #[arg(long, global = true, display_order = 902)]
    pub no_mouse: bool,
    /// Neither write nor read the catalogue of runs (MARKBOOK_CATALOGUE=off does the same)
    #[arg(long, global = true, display_order = 903)]
    pub no_catalogue: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Never,
    Always,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run both exams side by side on the embedded questions with a small real model
    #[command(after_help = "\
Examples:
  markbook demo                            fetches the model once (93 MB), then shows both exams live
  markbook demo --limit 6 --json           six questions of each, results as JSON on standard output")]
    Demo(DemoArgs),
    /// Put a model through the exams
    #[command(after_help = "\
Examples:
  markbook run --model smollm2-135m --benchmark mmlu --data embedded
  markbook run --model ./my-model --benchmark mmlu --data ./mmlu --shots 5 --out runs/mine
  markbook run --model org/name@revision --benchmark mmlu_pro --subjects law,math --seeds 42,43,44,45,46
  markbook run --model my.gguf --out runs/mine --resume")]
    Run(RunArgs),
    /// Browse runs and traces
    #[command(after_help = "\
Examples:
  markbook open traces.parquet -f 'invalid cat:law'
  markbook open run-a run-b --rule tiger_chain
  markbook open odd.csv --map pick=pred,answer=gold,reasoning=output,options=A+B+C+D
  markbook open org/trace-set@main             a data set of the hub; HF_TOKEN opens private ones
  markbook open traces.parquet --print         the first screen as text")]
    Open(OpenArgs),
    /// Write rows to a file: JSONL, CSV, parquet or the harness's own files
    #[command(after_help = "\
Examples:
  markbook export traces.parquet -f 'invalid cat:law' -o slice.jsonl
  markbook export traces.parquet -f wrong --with why,match -o - | head
  markbook export my-run --format lm-eval -o results")]
    Export(ExportArgs),
    /// Accuracy with intervals, invalid rows, per category, per seed
    #[command(after_help = "\
Examples:
  markbook stats traces.parquet
  markbook stats my-run -f 'cat:law' --json
  markbook stats outputs.zip --rule tiger_chain

95%: Wilson's interval. With several attempts at a question it counts as many independent rows as the spread between
questions leaves, p (1 - p) / stderr^2 with the error clustered over questions (Liang and Zeger 1986; Korn and Graubard
1998), never fewer than questions and never more than rows. vote: the pick given more often than every other; equally
frequent picks are a tie. majority: more than half of the attempts. any: at least one attempt is right.")]
    Stats(StatsArgs),
    /// Read the same outputs by another rule, and tell what flips
    #[command(after_help = "\
Examples:
  markbook rescore outputs.zip --rule lm_eval_mmlu_pro
  markbook rescore my-run --bench -f invalid
  markbook rescore my-run --rule grader:all
  markbook rescore my-run --rule 're:(?i)final answer:? \\(?([A-J])@last' --json

markbook rescore --help lists the rules.",
        after_long_help = crate::extract::help())]
    Rescore(RescoreArgs),
    /// Compare two runs, question by question
    #[command(after_help = "Example:\n  markbook compare run-a run-b --json")]
    Compare(CompareArgs),
    /// The runs and traces that are known: scores with intervals, what was measured, where they lie
    #[command(after_help = "\
Examples:
  markbook runs -f 'bench:mmlu_pro acc>40 -tag:demo' --sort acc
  markbook runs --json
  sqlite3 \"$(markbook catalogue path)\" 'select run_id, model, metric, score from eval_runs order by created_at'

markbook runs -f help lists the words of a filter.")]
    Runs(RunsArgs),
    /// Runs of one measurement in their order, places by intervals
    #[command(after_help = "\
Examples:
  markbook leaderboard --like last
  markbook leaderboard -f bench:mmlu_pro --format latex -o board.tex")]
    Leaderboard(LeaderboardArgs),
    /// Enter runs and traces into the catalogue; folders are searched
    Add(AddArgs),
    /// Take runs out of the catalogue; no folder is touched
    Forget(ForgetArgs),
    /// The catalogue's file: where it is, whether it is whole, made anew from the folders
    Catalogue(CatalogueArgs),
    /// All that moved a score; of two runs what differs, and whether they may stand side by side
    #[command(after_help = "\
Examples:
  markbook card last                       what is known of how its number came about
  markbook card run-a run-b                what differs, with effects that were seen elsewhere
  markbook card run-a run-b --json")]
    Card(CardArgs),
    /// Look for what is wrong with a trace: identical seeds, underivable picks, gold clashes, hashes, counts
    #[command(after_help = "\
Examples:
  markbook check traces.parquet --json
  markbook check runs/ other.zip
  markbook check my-run --expect 'invalid < 2%' --expect 'same-wrong cat:law <= 40'")]
    Check(CheckArgs),
    /// Runs beside published figures, or beside each other by category: delta, interval, what differs
    #[command(after_help = "\
Examples:
  markbook table my-run --published 0.475 --published-how '5-shot, base model'
  markbook table run-a run-b --categories --format latex")]
    Table(super::scores::TableArgs),
    /// Freeze a score into a small file that the next runs are held against
    #[command(after_help = "\
Examples:
  markbook baseline freeze july last --threshold 2 --reason 'chosen for the support bot'
  markbook baseline freeze july my-run -o ci/july.json")]
    Baseline(super::baseline::BaselineArgs),
    /// Hold a run against a baseline: exit 0 held, 3 lost, 4 alarm, 5 not comparable
    #[command(after_help = "\
Examples:
  markbook gate last --baseline july
  markbook gate my-run --baseline ci/july.json --strict --format md -o gate.md

lost (3): the threshold is gone, and it is no chance. alarm (4): it is gone, chance is not excluded. unsure (0; 4 with
--strict): no such loss is seen, but one cannot be excluded. held (0): a loss of the threshold is excluded. not comparable
(5): another procedure or slice, by name. 1: failed, 2: wrong usage.")]
    Gate(super::baseline::GateArgs),
    /// How many questions and attempts it takes to see a difference of so many points
    #[command(after_help = "\
Examples:
  markbook plan --see 2 --questions 1254
  markbook plan --see 1 --like run-a run-b")]
    Plan(super::plan::PlanArgs),
    /// A report that a stranger can repeat the run from: HTML, Markdown or JSON; or one figure
    #[command(after_help = "\
Examples:
  markbook report my-run --baseline july -o report.html
  markbook report my-run --figure categories
  markbook report my-run --confirm lawful='licence read' -o report.md")]
    Report(super::report::ReportArgs),
    /// Print prompts and hashes, as they are sent
    #[command(after_help = "\
Examples:
  markbook prompts --benchmark mmlu --data ./mmlu --shots 5 --hashes
  markbook prompts --benchmark mmlu_pro --data embedded --subjects law --limit 1 --jsonl")]
    Prompts(PromptsArgs),
    /// Fetch a model or data set into the cache
    #[command(after_help = "\
Examples:
  markbook fetch smollm2-135m
  markbook fetch Qwen/Qwen2.5-0.5B-Instruct
  markbook fetch cais/mmlu")]
    Fetch(FetchArgs),
    /// Measure this machine: tokens and questions per second
    #[command(after_help = "\
Examples:
  markbook bench --model smollm2-135m --threads 1 --json
  markbook bench --model smollm2-135m --rounding --data ./mmlu --per-subject 10
  markbook bench --check-models tiny-models")]
    Bench(BenchArgs),
    /// Try what a server can: how exactly it scores letters, whether seeds, top_k and stop texts reach its sampler
    #[command(after_help = "\
Examples:
  markbook probe --model llama-server: --base-url http://127.0.0.1:8080
  markbook probe --model vllm:Qwen/Qwen3-8B --base-url http://gpu1:8000/v1 --json")]
    Probe(ProbeArgs),
    /// How far one model falls from MMLU to MMLU-Pro, also on the questions that both ask
    #[command(after_help = "Example:\n  markbook drop runs/qwen/mmlu runs/qwen/mmlu_pro")]
    Drop(super::descent::DropArgs),
    /// How far wording alone moves a score: the 24 prompt styles that the MMLU-Pro authors tested
    #[command(after_help = "\
Examples:
  markbook spread --model smollm2-135m --data embedded --estimate
  markbook spread --model smollm2-135m --data ./mmlu --per-subject 22 --out studies/wording
  markbook spread --model org/name --benchmark mmlu_pro --style tested24_cloze --out studies/scored")]
    Spread(super::study::StudyArgs),
    /// The same questions under several settings, one knob at a time or all together
    #[command(after_help = "\
Examples:
  markbook study --model smollm2-135m --benchmark mmlu --data embedded --knob shots=0,5 --knob style=lm_eval,question
  markbook study plan.toml --estimate
  markbook study studies/wording --resume")]
    Study(super::study::StudyArgs),
    /// What is known of questions: lists of wrong keys and unclear questions, kept and joined
    #[command(after_help = "\
Examples:
  markbook labels add mmlu-redux-2.0
  markbook labels add mine.jsonl --name mine
  markbook labels show mine my-run")]
    Labels(super::labels::LabelsArgs),
    /// Questions whose key deserves a look, from any number of traces
    #[command(after_help = "\
Examples:
  markbook suspects a.zip b.zip c.zip --top 50
  markbook suspects a.zip b.zip -o verdicts.jsonl --by anna")]
    Suspects(super::suspects::SuspectsArgs),
    /// What changed between two releases of a trace set: texts, picks, scores, identical attempts
    #[command(after_help = "Example:\n  markbook release traces-v1.parquet traces-v2.parquet --json")]
    Release(super::release::ReleaseArgs),
}

/// Which questions, put how.
#[derive(Debug, Clone, Args)]
pub struct Asked {
    /// Split to be asked
    #[arg(long, default_value = "test", value_name = "SPLIT")]
    pub split: String,
    /// Examples before each question
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = numbers::whole::<0, 1_000>)]
    pub shots: usize,
    /// Only these subjects or categories
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub subjects: Vec<String>,
    /// The first N questions of each benchmark
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    pub limit: Option<usize>,
    /// The first N questions of each subject
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    pub per_subject: Option<usize>,
    /// With --per-subject: a seeded choice instead of the first, the same on every machine
    #[arg(long, value_name = "S", requires = "per_subject", value_parser = numbers::choice)]
    pub sample_seed: Option<u64>,
    /// Number of the first option where a set of your own gives its gold by number: 0 or 1 [default: as the numbers fit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..=1))]
    pub gold_base: Option<i64>,
    /// The model's chat template: auto is off for mmlu, on for mmlu_pro (and an own set's completions) where the model has one
    #[arg(long, default_value = "auto", value_name = "WHEN")]
    pub chat: Chat,
    /// Examples in a chat: all in one turn, or as turns of their own
    #[arg(long, default_value = "turn", value_name = "HOW")]
    pub chat_shots: ChatShots,
    /// Prompt style (see the README's table); the default is the harness's
    #[arg(long, value_name = "STYLE")]
    pub style: Option<String>,
}

impl Asked {
    pub(super) fn slice(&self) -> Slice {
        Slice {
            subjects: self.subjects.clone(),
            per_subject: self.per_subject,
            sample_seed: self.sample_seed,
            limit: self.limit,
        }
    }
}

/// What a run and the demo share.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// smollm2-135m, a folder (config.json + safetensors + tokenizer.json), a .gguf file, or a hub id, ORG/NAME[@REVISION];
    /// or a server's: KIND:NAME (vllm, sglang, llama-server, ollama, tgi, lmstudio, openai, openrouter, api)
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    #[command(flatten)]
    pub asked: Asked,
    /// Subjects or categories that are asked first
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub first: Vec<String>,
    /// Seeds of the sampled exam, one attempt each
    #[arg(long, value_delimiter = ',', default_value = "42,43,44,45,46", value_name = "SEEDS", value_parser = numbers::seed, allow_hyphen_values = true)]
    pub seeds: Vec<i64>,
    /// 0 is greedy: one attempt, no seed
    #[arg(long, default_value_t = 1.0, value_name = "T", value_parser = numbers::temperature)]
    pub temperature: f64,
    #[arg(long, default_value_t = 0.95, value_name = "P", value_parser = numbers::top_p)]
    pub top_p: f64,
    /// 0 keeps every token
    #[arg(long, default_value_t = 64, value_name = "K", value_parser = numbers::whole::<0, 10_000_000>)]
    pub top_k: usize,
    /// Longest completion in tokens [default: 2048; mmlu_generative and demo: 256]
    #[arg(long, value_name = "N", value_parser = numbers::whole::<1, 10_000_000>)]
    pub max_tokens: Option<usize>,
    /// How picks are made: an extraction rule for completions, argmax_per_char, _byte or _token for scored answer texts;
    /// twice for both
    #[arg(long, value_name = "RULE")]
    pub rule: Vec<String>,
    /// Number format of the model: auto takes bf16 for bf16 checkpoints where the CPU has it, else f32; native computes with a
    /// quantized GGUF's own blocks
    #[arg(long, default_value = "auto", value_name = "DTYPE")]
    pub dtype: Dtype,
    /// CPU threads [default: all]
    #[arg(long, value_name = "N", value_parser = numbers::threads)]
    pub threads: Option<usize>,
    /// Completions that are written at the same time
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = numbers::whole::<1, 4_096>)]
    pub batch: usize,
    #[command(flatten)]
    pub server: ServerArgs,
    /// Folder of the run [default: runs/DATE-MODEL in the data directory]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Go on with the run in --out; changed settings are refused by name
    #[arg(long)]
    pub resume: bool,
    /// Answer these rows of the finished run in --out once more: cut (with another --max-tokens), unreadable, error, empty;
    /// the first answers are kept, both scores reported
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "KINDS",
        requires = "out",
        conflicts_with = "resume"
    )]
    pub again: Vec<Kind>,
    /// Draw no screen: a progress line, quiet lines in a pipe
    #[arg(long)]
    pub plain: bool,
    /// Print the result as JSON on standard output; implies --plain
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    #[command(flatten)]
    pub settings: Settings,
}

#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// mmlu, mmlu_pro, both, or custom (a set of your own in --data)
    #[arg(long, value_delimiter = ',', default_value = "mmlu,mmlu_pro", value_name = "NAMES")]
    pub benchmark: Vec<String>,
    /// A folder or file of questions, or `embedded`; without it the hub's sets
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    #[command(flatten)]
    pub settings: Settings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Chat {
    Auto,
    On,
    Off,
    /// The server's own template: prompts go as turns
    Server,
}

impl Chat {
    /// Whether a model's template is to be used where it has one.
    pub(super) fn is_wanted(self, benchmark: &Benchmark, style: &Style) -> bool {
        match (self, benchmark.form) {
            (Chat::On, _) | (Chat::Auto, Form::MmluPro) => true,
            (Chat::Off | Chat::Server, _) | (Chat::Auto, Form::Mmlu) => false,
            (Chat::Auto, Form::Custom) => !style.is_cloze(),
        }
    }
}

/// Which traces, read how.
#[derive(Debug, Clone, Args)]
pub struct TraceArgs {
    /// Run folders, folders of runs, any trace, or a set of the hub: ORG/NAME[@REVISION]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Read the outputs by this rule instead of the stored picks
    #[arg(long, value_name = "RULE")]
    pub rule: Option<String>,
    /// Which column of the file is which of ours: pick=pred,reasoning=output (a.b reaches into objects)
    #[arg(long, value_delimiter = ',', value_name = "OURS=THEIRS", value_parser = mapping)]
    pub map: Vec<(String, String)>,
    /// Number of the first option where golds or picks are numbers: 0 or 1 [default: 0, and it is told where 1 fits better]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..=1))]
    pub gold_base: Option<i64>,
}

impl TraceArgs {
    /// What lies at some paths, as it is stored.
    pub(super) fn at(paths: Vec<PathBuf>) -> TraceArgs {
        TraceArgs {
            paths,
            rule: None,
            map: Vec::new(),
            gold_base: None,
        }
    }
}

#[derive(Debug, Clone, Args)]
pub struct OpenArgs {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Filter to begin with: 'invalid cat:law' (the README lists the words)
    #[arg(short = 'f', long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Option<String>,
    /// View to begin with, beside the filter, as Y copies it: 'sort:chars row:886.1 question' (--view help lists the words)
    #[arg(long, value_name = "WORDS")]
    pub view: Option<String>,
    /// Show the rows that are added to a file while it is open (F does the same)
    #[arg(long)]
    pub follow: bool,
    /// Print the screen once as text and end
    #[arg(long)]
    pub print: bool,
    /// Size of the printed screen [default: the terminal's, 120x40 in a pipe]
    #[arg(long, value_name = "WxH", value_parser = screen_size, requires = "print")]
    pub size: Option<(u16, u16)>,
    /// Print how fast it was, as JSON, at the end
    #[arg(long)]
    pub stats_on_exit: bool,
}

#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Only these rows: 'invalid cat:law' (the README lists the words)
    #[arg(short = 'f', long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Option<String>,
    /// jsonl, csv, parquet, lm-eval [default: what the file's ending says, else jsonl]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// All attempts of each question that has a row in the slice
    #[arg(long)]
    pub whole_questions: bool,
    /// Columns to add: why, match, note, marks
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub with: Vec<String>,
    /// With csv: put ' before cells that a spreadsheet would run (= + - @); markbook reads them back as they were
    #[arg(long)]
    pub spreadsheet_safe: bool,
    /// One file for all that is opened (.gz or .zst after its ending packs it), or - for standard output; a folder for lm-eval
    #[arg(short = 'o', long, value_name = "FILE", required = true)]
    pub output: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Clone, Args)]
pub struct StatsArgs {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Leave out questions that a list of labels speaks of so: bad, or how a label begins (`labels` keeps lists)
    #[arg(long, value_delimiter = ',', value_name = "LABELS")]
    pub without: Vec<String>,
    /// Read questions with a wrong key by the key that the list tells, and keep them
    #[arg(long)]
    pub rekeyed: bool,
    /// Only these rows: 'invalid cat:law' (the README lists the words)
    #[arg(short = 'f', long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Option<String>,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct RescoreArgs {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// The known rules side by side (and --rule beside them): read, right, wrong, lost, and what is newly read against chance
    #[arg(long)]
    pub bench: bool,
    /// With --bench: only these rows, as 'why:other' (the README lists the words)
    #[arg(
        short = 'f',
        long,
        value_name = "FILTER",
        allow_hyphen_values = true,
        requires = "bench"
    )]
    pub filter: Option<String>,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// How two traces are read.
#[derive(Debug, Clone, Args)]
pub struct BothArgs {
    /// Read both by this rule
    #[arg(long, value_name = "RULE")]
    pub rule: Option<String>,
    /// Which column of the files is which of ours: pick=pred,reasoning=output (a.b reaches into objects)
    #[arg(long, value_delimiter = ',', value_name = "OURS=THEIRS", value_parser = mapping)]
    pub map: Vec<(String, String)>,
    /// Number of the first option where golds or picks are numbers: 0 or 1 [default: 0, and it is told where 1 fits better]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..=1))]
    pub gold_base: Option<i64>,
}

#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// A run folder, a trace, or a set of the hub
    pub a: PathBuf,
    /// What it is compared with
    pub b: PathBuf,
    #[command(flatten)]
    pub both: BothArgs,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct RunsArgs {
    /// Only these: 'bench:mmlu_pro acc>40' (-f help lists the words)
    #[arg(short = 'f', long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Option<String>,
    /// date, acc, model, bench, rows
    #[arg(long, default_value = "date", value_name = "KEY")]
    pub sort: String,
    /// Print the list (as a pipe gets it)
    #[arg(long)]
    pub print: bool,
    /// All of them, not the first 50
    #[arg(long)]
    pub all: bool,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct LeaderboardArgs {
    /// Only the measurement of this run
    #[arg(long, value_name = "RUN")]
    pub like: Option<String>,
    /// Only these runs: 'bench:mmlu_pro acc>40' (runs -f help lists the words)
    #[arg(short = 'f', long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Option<String>,
    /// Every run, not the newest of each model
    #[arg(long)]
    pub all: bool,
    /// Below each, runs of the same procedure over other questions, by those that they have in common; without a place
    #[arg(long)]
    pub common: bool,
    /// term, md, csv, latex, json
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// A file instead of standard output
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    pub force: bool,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct AddArgs {
    /// Run folders, folders of runs, any trace
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// A tag for all of them
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct ForgetArgs {
    /// Ids or their unique beginnings, `last`
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
}

#[derive(Debug, Clone, Args)]
pub struct CatalogueArgs {
    #[command(subcommand)]
    pub command: Option<CatalogueCommand>,
}

#[derive(Debug, Clone, Subcommand)]
pub enum CatalogueCommand {
    /// Print where the file is
    Path,
    /// Look whether the file is whole
    Check,
    /// Make it anew from the runs folder, the places that it knows, and DIRs; tags, notes and gates are carried over
    Rebuild {
        #[arg(value_name = "DIR")]
        folders: Vec<PathBuf>,
    },
}

#[derive(Debug, Clone, Args)]
pub struct CardArgs {
    /// A run or trace: a path, an id or its unique beginning, `last`, or @BASELINE
    #[arg(value_name = "RUN")]
    pub run: String,
    /// What it is compared with
    #[arg(value_name = "OTHER")]
    pub other: Option<String>,
    /// Also what is the same, what moves no number, and texts in full
    #[arg(long)]
    pub all: bool,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Questions to check gold and hashes against: a folder, a file, or `embedded`
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    /// Instead: a promise, 'invalid cat:law < 2%' (any filter; a count, or a share of the rows of its categories). More than
    /// once for several; exit code 3 where one is broken
    #[arg(long, value_name = "PROMISE", conflicts_with = "data", allow_hyphen_values = true)]
    pub expect: Vec<String>,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct PromptsArgs {
    /// mmlu, mmlu_pro, or custom
    #[arg(long, value_name = "NAME")]
    pub benchmark: String,
    /// A folder or file of questions, or `embedded`; without it the hub's set
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    #[command(flatten)]
    pub asked: Asked,
    /// Whose chat template it is; without a model there is none
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Prompts with their hashes, one JSON object a line
    #[arg(long)]
    pub jsonl: bool,
    /// Hashes only, one JSON object a line
    #[arg(long, conflicts_with = "jsonl")]
    pub hashes: bool,
}

#[derive(Debug, Clone, Args)]
pub struct FetchArgs {
    /// smollm2-135m, a model of the hub, cais/mmlu, TIGER-Lab/MMLU-Pro, or datasets/ORG/NAME for a set of traces
    pub name: String,
}

/// Which of the decoder's kernels `bench` measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Kernel {
    Best,
    Plain,
}

#[derive(Debug, Clone, Args)]
pub struct BenchArgs {
    #[arg(long, default_value = "smollm2-135m", value_name = "MODEL")]
    pub model: String,
    /// Number format of the model: auto takes bf16 for bf16 checkpoints where the CPU has it, else f32; native computes with a
    /// quantized GGUF's own blocks
    #[arg(long, default_value = "auto", value_name = "DTYPE")]
    pub dtype: Dtype,
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = numbers::threads)]
    pub threads: usize,
    /// The code that computes: the best this CPU has, or the plain twin that any other CPU runs
    #[arg(long, default_value = "best", value_name = "KERNEL", conflicts_with_all = ["rounding", "check_models"])]
    pub kernel: Kernel,
    /// Also: candle-transformers' own model of the same family at the same work (a folder of safetensors; llama, qwen2, qwen3,
    /// olmo2)
    #[arg(long, conflicts_with_all = ["rounding", "check_models"])]
    pub stock: bool,
    /// Instead: how far the number format's log-likelihoods (auto: native for a quantized GGUF, else bf16) lie from f32's, over all questions of --data
    #[arg(long, conflicts_with = "check_models")]
    pub rounding: bool,
    /// With --rounding: a folder or file of mmlu questions, or `embedded`
    #[arg(long, default_value = "embedded", value_name = "DIR", requires = "rounding")]
    pub data: String,
    /// With --rounding: only these subjects
    #[arg(long, value_delimiter = ',', value_name = "A,B", requires = "rounding")]
    pub subjects: Vec<String>,
    /// With --rounding: the first N questions of each subject
    #[arg(long, value_name = "N", value_parser = numbers::count, requires = "rounding")]
    pub per_subject: Option<usize>,
    /// Instead: prove each model family against the tiny reference models in DIR (or below $MARKBOOK_SHARED)
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub check_models: Option<Option<PathBuf>>,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

fn screen_size(text: &str) -> Result<(u16, u16), String> {
    let wrong = || "written WIDTHxHEIGHT, as 80x24".to_owned();
    let (width, height) = text.split_once('x').ok_or_else(wrong)?;
    match (width.parse(), height.parse()) {
        (Ok(width @ 1..=1000), Ok(height @ 1..=1000)) => Ok((width, height)),
        _ => Err(wrong()),
    }
}

fn mapping(text: &str) -> Result<(String, String), String> {
    let mut pairs = crate::import::parse_map(text).map_err(|error| error.to_string())?;
    pairs.pop().ok_or_else(|| "written OURS=THEIRS, as pick=pred".into())
}
