//! Which cells a study has, and how it is written down.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use toml::Value;

use crate::files;
use crate::hub::without_passwords;
use crate::store;

/// The file's name in a study's folder; a plan of one's own has the same form.
pub const FILE: &str = "study.toml";

/// More cells than anyone waits for.
const MOST_CELLS: usize = 1_000;

/// An option of `run` and the values it takes; the first is the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knob {
    /// As the option is called: `shots`, `max-tokens`.
    pub name: String,
    /// Members of a list are joined by `+`: `42+43`.
    pub values: Vec<String>,
}

impl Knob {
    /// `NAME=A,B`.
    pub fn parse(text: &str) -> Result<Knob> {
        let (name, values) = text
            .split_once('=')
            .with_context(|| format!("--knob {text}: written NAME=A,B, as shots=0,5"))?;
        // A pattern may hold commas; what parts rules is ` | `.
        let parted: Vec<&str> = match name {
            "rule" => values.split(" | ").collect(),
            _ => values.split(',').collect(),
        };
        Knob::new(name, parted.into_iter().map(str::to_owned).collect())
    }

    fn new(name: &str, values: Vec<String>) -> Result<Knob> {
        let name = name.trim().replace('_', "-");
        ensure!(!name.is_empty(), "a knob has no name: written NAME=A,B, as shots=0,5");
        let values: Vec<String> = values
            .iter()
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
            .collect();
        ensure!(!values.is_empty(), "the knob {name} has no value: written {name}=A,B");
        for (at, value) in values.iter().enumerate() {
            ensure!(
                !values[..at].contains(value),
                "the knob {name} has the value {value} twice"
            );
        }
        Ok(Knob { name, values })
    }
}

/// One combination of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Knob and value, of all knobs.
    pub values: Vec<(String, String)>,
    /// The knobs that are not at their base; `base` where all are, with all of them in a full design.
    pub name: String,
}

impl Cell {
    /// The value of a knob.
    pub fn get(&self, knob: &str) -> Option<&str> {
        self.values
            .iter()
            .find(|(name, _)| name == knob)
            .map(|(_, value)| value.as_str())
    }

    /// All its values as a JSON object.
    pub fn knobs(&self) -> String {
        let values = self
            .values
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().into()));
        serde_json::Value::Object(values.collect()).to_string()
    }

    /// The folder of the run that it reads: cells that differ in their rule alone read one run.
    pub fn folder(&self) -> String {
        let asked: Vec<String> = self
            .values
            .iter()
            .filter(|(name, _)| name != "rule")
            .map(|(name, value)| format!("{name}-{value}"))
            .collect();
        if asked.is_empty() {
            return "run".to_owned();
        }
        store::folder_name(&asked.join("_"))
    }
}

/// The cells of a study: one knob at a time from the base, or every combination.
///
/// # Errors
/// For two knobs of one name, and for more cells than could be run.
pub fn cells(knobs: &[Knob], full: bool) -> Result<Vec<Cell>> {
    for (at, knob) in knobs.iter().enumerate() {
        ensure!(
            knobs[..at].iter().all(|other| other.name != knob.name),
            "the knob {} is given twice",
            knob.name
        );
    }
    ensure!(
        !knobs.is_empty(),
        "a study needs a knob: --knob NAME=A,B, as --knob shots=0,5"
    );
    let count = if full {
        knobs
            .iter()
            .try_fold(1_usize, |cells, knob| cells.checked_mul(knob.values.len()))
            .unwrap_or(usize::MAX)
    } else {
        1 + knobs.iter().map(|knob| knob.values.len() - 1).sum::<usize>()
    };
    ensure!(count <= MOST_CELLS, "{count} cells; a study may have {MOST_CELLS}");
    let base: Vec<usize> = vec![0; knobs.len()];
    let mut places = vec![base.clone()];
    for (at, knob) in knobs.iter().enumerate() {
        let from = if full { places.clone() } else { vec![base.clone()] };
        for value in 1..knob.values.len() {
            places.extend(from.iter().map(|place| {
                let mut place = place.clone();
                place[at] = value;
                place
            }));
        }
    }
    if full {
        places.sort_unstable();
    }
    Ok(places.iter().map(|place| cell(knobs, place, full)).collect())
}

fn cell(knobs: &[Knob], place: &[usize], full: bool) -> Cell {
    let values: Vec<(String, String)> = knobs
        .iter()
        .zip(place)
        .map(|(knob, at)| (knob.name.clone(), knob.values[*at].clone()))
        .collect();
    // Of one knob the base is a value like the others.
    let told = values
        .iter()
        .zip(place)
        .filter(|(_, at)| full || knobs.len() == 1 || **at > 0);
    let told: Vec<String> = told.map(|((name, value), _)| format!("{name}={value}")).collect();
    let name = if told.is_empty() {
        "base".to_owned()
    } else {
        told.join(" ")
    };
    Cell { values, name }
}

/// A study as its file tells it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Study {
    /// Options of `run`, as words of the command line.
    pub words: Vec<String>,
    pub knobs: Vec<Knob>,
    pub full: bool,
}

impl Study {
    /// Reads a plan: the options of `run` by their names (`model = "…"`, `per_subject = 5`), `full = true`, and a table
    /// `[knobs]` of lists (`shots = [0, 5]`).
    ///
    /// # Errors
    /// When it cannot be read, or a value is none that an option takes; the message names the key.
    pub fn read(path: &Path) -> Result<Study> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Study::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Study> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error
                .span()
                .map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            anyhow::anyhow!("line {line}: {}", error.message())
        })?;
        let mut study = Study::default();
        for (key, value) in &table {
            match (key.as_str(), value) {
                ("markbook_study", _) => {}
                ("full", Value::Boolean(full)) => study.full = *full,
                ("words", Value::Array(words)) => {
                    study.words.extend(words.iter().map(word).collect::<Result<Vec<_>>>()?)
                }
                ("knobs", Value::Table(knobs)) => {
                    for (name, values) in knobs {
                        study
                            .knobs
                            .push(knob(name, values).with_context(|| format!("knobs.{name}"))?);
                    }
                }
                (_, Value::Boolean(false)) => {}
                (_, Value::Boolean(true)) => study.words.push(flag(key)),
                (_, value) => study
                    .words
                    .extend([flag(key), joined(value, ",").with_context(|| key.clone())?]),
            }
        }
        Ok(study)
    }

    /// Writes the study down, aside and renamed; passwords in addresses stay out.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let quoted = |text: &String| serde_json::to_string(&without_passwords(text)).unwrap_or_default();
        let list = |texts: &[String]| texts.iter().map(quoted).collect::<Vec<_>>().join(", ");
        let mut text = format!(
            "markbook_study = 1\nwords = [{}]\nfull = {}\n\n[knobs]\n",
            list(&self.words),
            self.full
        );
        for knob in &self.knobs {
            text.push_str(&format!("{} = [{}]\n", quoted(&knob.name), list(&knob.values)));
        }
        files::write_aside(&folder.join(FILE), text.as_bytes())
    }
}

fn flag(key: &str) -> String {
    format!("--{}", key.replace('_', "-"))
}

fn knob(name: &str, values: &Value) -> Result<Knob> {
    let Value::Array(values) = values else {
        bail!("takes a list of values");
    };
    Knob::new(
        name,
        values.iter().map(|value| joined(value, "+")).collect::<Result<_>>()?,
    )
}

/// A value as an option takes it.
fn joined(value: &Value, between: &str) -> Result<String> {
    match value {
        Value::Array(values) => Ok(values.iter().map(word).collect::<Result<Vec<_>>>()?.join(between)),
        value => word(value),
    }
}

fn word(value: &Value) -> Result<String> {
    Ok(match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(is) => if *is { "on" } else { "off" }.to_owned(),
        other => bail!("a {} is no value of an option", other.type_str()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(knobs: &[&str], full: bool) -> Vec<String> {
        let knobs: Vec<Knob> = knobs.iter().map(|knob| Knob::parse(knob).unwrap()).collect();
        cells(&knobs, full).unwrap().into_iter().map(|cell| cell.name).collect()
    }

    #[test]
    fn one_knob_moves_at_a_time_or_all_do() {
        assert_eq!(
            names(&["shots=0,5", "style=a,b"], false),
            ["base", "shots=5", "style=b"]
        );
        assert_eq!(
            names(&["shots=0,5", "style=a,b"], true),
            [
                "shots=0 style=a",
                "shots=0 style=b",
                "shots=5 style=a",
                "shots=5 style=b"
            ]
        );
    }

    #[test]
    fn cells_that_differ_in_their_rule_alone_read_one_run() {
        let knobs = [
            Knob::parse("rule=tiger_chain | re:answer ([A-J]), sure").unwrap(),
            Knob::parse("shots=0,5").unwrap(),
        ];
        assert_eq!(knobs[0].values[1], "re:answer ([A-J]), sure");
        let folders: Vec<String> = cells(&knobs, true).unwrap().iter().map(Cell::folder).collect();
        assert_eq!(folders, ["shots-0", "shots-5", "shots-0", "shots-5"]);
    }

    #[test]
    fn a_study_is_read_back_as_it_was_written_and_a_wrong_line_is_named() {
        let plan = "model = \"tiny\"\nper_subject = 5\nseeds = [42, 43]\nfull = true\n[knobs]\nshots = [0, 5]\n\
            seeds = [[42], [42, 43]]\n";
        let study = Study::parse(plan).unwrap();
        assert_eq!(
            study.words,
            ["--model", "tiny", "--per-subject", "5", "--seeds", "42,43"]
        );
        assert_eq!(study.knobs[1].values, ["42", "42+43"]);
        let folder = tempfile::tempdir().unwrap();
        study.write(folder.path()).unwrap();
        assert_eq!(Study::read(&folder.path().join(FILE)).unwrap(), study);
        let error = format!("{:#}", Study::parse("model = \"a\"\nshots = = 5\n").unwrap_err());
        assert!(error.contains("line 2"), "{error}");
        for wrong in ["", "shots", "shots=", "shots=0,0"] {
            assert!(Knob::parse(wrong).is_err(), "{wrong}");
        }
        assert!(cells(&[], false).is_err());
    }
}
