//! Figures that others published: an embedded list, files of the user's own, a single value. None is believed without saying
//! where it stands, and when it was read.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::card::Card;

/// A file of this name is read from the data directory and the working folder.
pub const FILE: &str = "published.toml";

/// A published figure.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub model: String,
    pub benchmark: String,
    /// In 0-1; files may say percent.
    pub value: f64,
    /// How it was measured, in the source's words.
    #[serde(default)]
    pub how: Option<String>,
    #[serde(default)]
    pub shots: Option<usize>,
    /// `cloze`, `generate`, or `cot` (generation with the reasoning asked for).
    #[serde(default)]
    pub method: Option<String>,
    /// `base` or `instruct`.
    #[serde(default)]
    pub variant: Option<String>,
    pub source: String,
    /// The day on which the source was read.
    #[serde(default)]
    pub seen: Option<String>,
}

/// The MMLU-Pro authors' list (README of TIGER-AI-Lab/MMLU-Pro at 0aee6b7): chain of thought, five shots, their scripts, which
/// fill what they cannot read at random. Only figures whose page was read are embedded.
const AUTHORS: [(&str, f64); 17] = [
    ("Claude-3.5-Sonnet", 0.7612),
    ("GPT-4o", 0.7255),
    ("Gemini-1.5-Pro", 0.6903),
    ("Claude-3-Opus", 0.6845),
    ("GPT-4-Turbo", 0.6371),
    ("Gemini-1.5-Flash", 0.5912),
    ("Yi-large", 0.5753),
    ("Claude-3-Sonnet", 0.5680),
    ("Llama-3-70B-Instruct", 0.5620),
    ("Phi3-medium-4k", 0.5570),
    ("Deepseek-V2-Chat", 0.5481),
    ("Phi-3-medium-4k-instruct", 0.5348),
    ("Llama-3-70B", 0.5278),
    ("Qwen1.5-72B-Chat", 0.5264),
    ("Yi-1.5-34B-Chat", 0.5229),
    ("Phi3-medium-128k", 0.5191),
    ("MAmmoTH2-8x7B-Plus", 0.5040),
];

/// The embedded figures.
pub fn embedded() -> Vec<Published> {
    let entry = |(model, value): (&str, f64)| Published {
        model: model.to_owned(),
        benchmark: "mmlu_pro".to_owned(),
        value,
        how: Some("5-shot chain of thought, rule tiger_chain, unreadable answers filled at random".to_owned()),
        shots: Some(5),
        method: Some("generate".to_owned()),
        variant: None,
        source: "TIGER-AI-Lab/MMLU-Pro README at 0aee6b7".to_owned(),
        seen: Some("2026-11-30".to_owned()),
    };
    AUTHORS.into_iter().map(entry).collect()
}

/// The values of a file: TOML or JSON with a list `value`, JSON that is the list, or CSV with a header.
///
/// # Errors
/// For a file that is none of these, and for a value without source or date, by its number.
pub fn read(path: &Path) -> Result<Vec<Published>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let named = || format!("{} holds no published values", path.display());
    let ending = path
        .extension()
        .map(|end| end.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    let list: Vec<Json> = match ending.as_str() {
        "csv" => csv_values(&text).with_context(named)?,
        "json" => match serde_json::from_str(&text).with_context(named)? {
            Json::Array(list) => list,
            mut whole => listed(&mut whole).with_context(named)?,
        },
        "toml" => {
            let table: toml::Table = text.parse().with_context(named)?;
            let mut whole = dated(toml::Value::Table(table));
            listed(&mut whole).with_context(named)?
        }
        _ => bail!(
            "{}: published values are read from .toml, .csv or .json",
            path.display()
        ),
    };
    let value =
        |(at, entry): (usize, Json)| checked(entry).with_context(|| format!("{}: value {}", path.display(), at + 1));
    list.into_iter().enumerate().map(value).collect()
}

fn listed(whole: &mut Json) -> Result<Vec<Json>> {
    match whole.get_mut("value").map(Json::take) {
        Some(Json::Array(list)) => Ok(list),
        _ => bail!("it has no list `value`"),
    }
}

/// TOML as JSON, dates as their texts.
fn dated(value: toml::Value) -> Json {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(is) => is.into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(list) => list.into_iter().map(dated).collect(),
        toml::Value::Table(table) => Json::Object(table.into_iter().map(|(key, value)| (key, dated(value))).collect()),
    }
}

fn csv_values(text: &str) -> Result<Vec<Json>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let heads = reader.headers()?.clone();
    let mut list = Vec::new();
    for row in reader.records() {
        let row = row?;
        let cells = heads.iter().zip(&row).filter(|(_, cell)| !cell.is_empty());
        let cells = cells.map(|(head, cell)| {
            let number = cell.parse::<f64>().ok().filter(|_| matches!(head, "value" | "shots"));
            let whole = number
                .filter(|number| head == "shots" && number.fract() == 0.0)
                .map(|number| Json::from(number as u64));
            (
                head.to_owned(),
                whole.or(number.map(Json::from)).unwrap_or_else(|| cell.into()),
            )
        });
        list.push(Json::Object(cells.collect()));
    }
    Ok(list)
}

fn checked(entry: Json) -> Result<Published> {
    let mut value: Published = serde_json::from_value(entry)?;
    if value.value > 1.0 {
        value.value /= 100.0;
    }
    ensure!((0.0..=1.0).contains(&value.value), "{} is no accuracy", value.value);
    let is_told = !value.source.is_empty() && value.seen.as_deref().is_some_and(|seen| !seen.is_empty());
    ensure!(
        is_told,
        "{} of {} needs a `source` and the day it was `seen`",
        value.value,
        value.model
    );
    Ok(value)
}

/// A figure told on the command line, taken for any run.
///
/// # Errors
/// For a number that is no accuracy.
pub fn told(number: f64, how: Option<&str>) -> Result<Published> {
    let value = if number > 1.0 { number / 100.0 } else { number };
    ensure!(
        (0.0..=1.0).contains(&value),
        "{number} is no accuracy: a fraction, or percent"
    );
    let words = how.unwrap_or_default().to_lowercase();
    let shots = regex::Regex::new(r"(\d+)[ -]?shot")
        .ok()
        .and_then(|shots| shots.captures(&words)?[1].parse().ok());
    let variant = ["instruct", "base"].into_iter().find(|variant| words.contains(variant));
    Ok(Published {
        value,
        how: how.map(str::to_owned),
        shots: shots.or(words.contains("zero-shot").then_some(0)),
        variant: variant.map(str::to_owned),
        source: "told on the command line".to_owned(),
        ..Published::default()
    })
}

/// The files that are always read, where they are there.
pub fn usual_files(home: Option<&Path>) -> Vec<PathBuf> {
    let places = home
        .map(|home| home.join(FILE))
        .into_iter()
        .chain([PathBuf::from(FILE)]);
    places.filter(|path| path.is_file()).collect()
}

impl Published {
    /// Whether it is about this model and benchmark: the name, with or without its vendor. One told without a model is.
    pub fn is_of(&self, card: &Card) -> bool {
        let fold = |name: &str| {
            name.rsplit('/')
                .next()
                .unwrap_or(name)
                .to_lowercase()
                .replace(['_', ' '], "-")
        };
        let is_named = |field: &str| fold(&card.text(field)) == fold(&self.model);
        let is_exam = self.benchmark.is_empty() || card.text("benchmark") == self.benchmark;
        is_exam && (self.model.is_empty() || is_named("model.id") || is_named("model.name"))
    }

    /// What differs between how it was measured and how we did, as far as its source tells; what it does not tell is said.
    pub fn differs(&self, card: &Card) -> Vec<String> {
        let mut list = Vec::new();
        let ours = card.get("prompt.shots").as_u64();
        match (self.shots, ours) {
            (Some(theirs), Some(ours)) if theirs as u64 != ours => list.push(format!("shots {theirs} -> {ours}")),
            (None, _) => list.push("shots not told".to_owned()),
            (Some(theirs), None) => list.push(format!("shots {theirs} -> unknown")),
            _ => {}
        }
        let variant = match card.text("model.id").to_lowercase() {
            id if ["instruct", "chat", "-it"].iter().any(|word| id.contains(word)) => "instruct",
            _ => "base",
        };
        match &self.variant {
            Some(theirs) if !theirs.eq_ignore_ascii_case(variant) => list.push(format!("{theirs} -> {variant}")),
            _ => {}
        }
        match (&self.method, card.text("method")) {
            (Some(theirs), ours) if *theirs != ours && !(theirs == "cot" && ours == "generate") => {
                list.push(format!("method {theirs} -> {ours}"));
            }
            _ => {}
        }
        let how = self.how.as_deref().unwrap_or_default();
        let rule = card.text("rule");
        if how.contains("tiger_chain") && !rule.is_empty() && rule != "tiger_chain" {
            list.push(format!("rule tiger_chain -> {rule}"));
        }
        if how.contains("at random") && card.text("unreadable") != "random" {
            list.push("unreadable filled at random -> wrong".to_owned());
        }
        list.push("prompt not told".to_owned());
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(json: &str) -> Card {
        Card::read(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn a_file_is_read_in_three_forms_and_percent_is_a_fraction() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            read(&path)
        };
        let toml = "value = [{ model = \"Qwen/Qwen2.5-0.5B\", benchmark = \"mmlu\", value = 47.5, shots = 5, variant = \"base\", source = \"its authors\", seen = 2026-11-30 }]";
        let found = write("a.toml", toml).unwrap();
        let csv = write("a.csv", "model,benchmark,value,shots,variant,source,seen\nQwen/Qwen2.5-0.5B,mmlu,0.475,5,base,its authors,2026-11-30\n").unwrap();
        let json = write("a.json", &serde_json::to_string(&found).unwrap()).unwrap();
        assert_eq!((&found, &found), (&csv, &json));
        assert!((found[0].value - 0.475).abs() < 1e-12 && found[0].seen.as_deref() == Some("2026-11-30"));
        for (name, text, word) in [
            (
                "b.toml",
                "value = [{ model = \"m\", benchmark = \"mmlu\", value = 0.5, source = \"x\" }]",
                "value 1: 0.5 of m needs a `source` and the day",
            ),
            (
                "c.toml",
                "value = [{ model = \"m\", benchmark = \"mmlu\", valeu = 0.5, source = \"x\" }]",
                "valeu",
            ),
            ("d.yaml", "x: 1", ".toml, .csv or .json"),
            ("e.json", "{\"value\": 3}", "no list `value`"),
        ] {
            let error = format!("{:#}", write(name, text).unwrap_err());
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn what_differs_is_worked_out_from_what_the_source_tells() {
        let ours = card(
            r#"{"benchmark":"mmlu","method":"cloze","prompt":{"shots":0},"model":{"id":"Qwen/Qwen2.5-0.5B-Instruct","name":"qwen"}}"#,
        );
        let value = told(47.5, Some("5-shot, base model")).unwrap();
        assert!((value.value - 0.475).abs() < 1e-12 && value.is_of(&ours));
        assert_eq!(
            value.differs(&ours),
            ["shots 5 -> 0", "base -> instruct", "prompt not told"]
        );
        let authors = &embedded()[1];
        let ours = card(
            r#"{"benchmark":"mmlu_pro","method":"generate","prompt":{"shots":5},"rule":"lm_eval_mmlu_pro","unreadable":"wrong","model":{"id":"openai/gpt-4o"}}"#,
        );
        assert!(authors.is_of(&ours) && !embedded()[2].is_of(&ours));
        let differs = authors.differs(&ours);
        assert!(
            differs.contains(&"rule tiger_chain -> lm_eval_mmlu_pro".to_owned())
                && !differs.iter().any(|text| text.contains("shots")),
            "{differs:?}"
        );
        assert!(told(140.0, None).is_err());
    }
}
