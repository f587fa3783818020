//! Which families compute what their reference implementation does, proved on tiny models: the README's table.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use crate::engine::candle::families;
use crate::engine::candle::proof::{self, Proved, TOLERANCE, WAYS};

/// Proofs of a folder of tiny models.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    /// Logits may differ by less than this.
    pub tolerance: f32,
    pub ways: Vec<&'static str>,
    pub models: Vec<CheckedModel>,
    /// Whether every one holds.
    pub passed: bool,
}

/// The proof of one form of one tiny model.
#[derive(Debug, Clone, Serialize)]
pub struct CheckedModel {
    /// The family as people call it; `unknown` where the model could not be read.
    pub family: String,
    /// The model's folder.
    pub model: String,
    /// The file that describes it, and by what it was computed where that is not the packed decoder.
    pub source: String,
    /// Largest absolute difference of a logit; null where nothing was computed. Of blocks that of any way from one whole pass.
    pub largest_difference: Option<f32>,
    /// Of blocks: the largest difference from f32, as activations are rounded.
    pub from_f32: Option<f32>,
    /// Whether the same token is likeliest at every position.
    pub picks_equal: bool,
    /// Whether all greedy tokens are the same.
    pub greedy_equal: bool,
    pub passed: bool,
    /// Why nothing was computed.
    pub error: Option<String>,
}

/// Proves every tiny model in a folder, or the one that the folder itself is. `tell` hears each one's name.
///
/// # Errors
/// When there is none. A model that fails is a row of the result.
pub fn check(folder: &Path, threads: usize, tell: &mut dyn FnMut(&str)) -> Result<Checked> {
    let mut models = Vec::new();
    for path in tiny_models(folder)? {
        let name = path.file_name().map_or_else(
            || path.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        tell(&name);
        let proved = proof::prove_folder(&path, threads)?;
        models.extend(proved.iter().map(|proved| row(&name, proved)));
    }
    Ok(Checked {
        tolerance: TOLERANCE,
        ways: WAYS.to_vec(),
        passed: models.iter().all(|model| model.passed),
        models,
    })
}

fn tiny_models(folder: &Path) -> Result<Vec<PathBuf>> {
    let holds_model = |path: &Path| path.join("expected.json").is_file();
    if holds_model(folder) {
        return Ok(vec![folder.to_owned()]);
    }
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| holds_model(path))
        .collect();
    found.sort();
    ensure!(
        !found.is_empty(),
        "{} holds no tiny models: folders with config.json, model.safetensors and expected.json",
        folder.display()
    );
    Ok(found)
}

fn row(model: &str, proved: &Proved) -> CheckedModel {
    let known = |model_type| families().iter().find(|family| family.model_type == model_type);
    let proof = proved.outcome.as_ref().ok();
    CheckedModel {
        family: proved
            .family
            .and_then(known)
            .map_or("unknown", |family| family.name)
            .to_owned(),
        model: model.to_owned(),
        source: proved.source.clone(),
        largest_difference: proof.map(|proof| proof.difference),
        from_f32: proof.and_then(|proof| proof.from_f32),
        picks_equal: proof.is_some_and(|proof| proof.other_picks == 0),
        greedy_equal: proof.is_some_and(|proof| proof.other_greedy == 0),
        passed: proof.is_some_and(proof::Proof::holds),
        error: proved.outcome.as_ref().err().map(|error| format!("{error:#}")),
    }
}

impl Checked {
    /// A table in Markdown: a row for each family with what was proved and the largest difference seen, then one for each
    /// proof that failed.
    pub fn table(&self) -> String {
        let mut rows = vec![["family", "proved on", "largest difference", "greedy tokens"].map(str::to_owned)];
        for family in self.families() {
            let mine: Vec<&CheckedModel> = self.models.iter().filter(|model| model.family == family).collect();
            let worst = mine
                .iter()
                .filter_map(|model| model.largest_difference)
                .fold(0.0, f32::max);
            rows.push([
                family.to_owned(),
                proved_on(&mine),
                format!("{worst:.1e}"),
                if mine.iter().all(|model| model.greedy_equal) {
                    "equal"
                } else {
                    "differ"
                }
                .to_owned(),
            ]);
        }
        aligned(&rows)
    }

    /// A line for each proof that failed.
    pub fn failures(&self) -> Vec<String> {
        let failed = self.models.iter().filter(|model| !model.passed);
        failed
            .map(|model| {
                let CheckedModel { model: name, source, .. } = model;
                match (&model.error, model.largest_difference) {
                    (Some(error), _) => format!("{name} ({source}): {error}"),
                    (None, difference) => format!(
                        "{name} ({source}): logits differ by {:.1e}, tolerance {:.0e}; likeliest tokens {}, greedy tokens {}",
                        difference.unwrap_or(f32::INFINITY),
                        self.tolerance,
                        if model.picks_equal { "equal" } else { "differ" },
                        if model.greedy_equal { "equal" } else { "differ" },
                    ),
                }
            })
            .collect()
    }

    /// The families met, in the decoder's own order.
    fn families(&self) -> Vec<&str> {
        let order = |name: &str| families().iter().position(|family| family.name == name);
        let mut names: Vec<&str> = self.models.iter().map(|model| model.family.as_str()).collect();
        names.sort_by_key(|name| order(name).unwrap_or(usize::MAX));
        names.dedup();
        names
    }
}

/// The models of a family with their forms: `llama (config.json, model-f32.gguf)`.
fn proved_on(models: &[&CheckedModel]) -> String {
    let mut names: Vec<&str> = models.iter().map(|model| model.model.as_str()).collect();
    names.dedup();
    let forms = |name: &str| {
        let mine = models.iter().filter(|model| model.model == name);
        let forms: Vec<&str> = mine
            .filter_map(|model| match model.source.as_str() {
                "config-v5.json" => Some("v5"),
                "model-f32.gguf" => Some("GGUF f32"),
                "model-q8_0.gguf" => Some("GGUF Q8_0"),
                _ => None,
            })
            .collect();
        if forms.is_empty() {
            name.to_owned()
        } else {
            format!("{name} ({})", forms.join(", "))
        }
    };
    names.into_iter().map(forms).collect::<Vec<_>>().join(", ")
}

/// Rows as a Markdown table with straight columns; the first row is the head.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let rule = widths.map(|width| "-".repeat(width));
    let mut text = line(&rows[0]);
    text.push_str(&line(&rule));
    text.extend(rows[1..].iter().map(line));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(family: &str, name: &str, source: &str, difference: Option<f32>) -> CheckedModel {
        let passed = difference.is_some_and(|difference| difference < TOLERANCE);
        CheckedModel {
            family: family.into(),
            model: name.into(),
            source: source.into(),
            largest_difference: difference,
            from_f32: None,
            picks_equal: passed,
            greedy_equal: passed,
            passed,
            error: difference.is_none().then(|| "tensor x has shape [2], not [3]".into()),
        }
    }

    #[test]
    fn a_family_shows_its_largest_difference_and_a_failure_is_named() {
        let models = vec![
            model("Qwen3", "qwen3", "config.json", Some(3e-5)),
            model("Llama, SmolLM2", "llama", "config.json", Some(1e-5)),
            model("Llama, SmolLM2", "llama", "model-q8_0.gguf", Some(2.7e-5)),
            model("Llama, SmolLM2", "smollm2", "config.json", Some(2e-5)),
            model("Mistral", "mistral", "config.json", Some(2.0)),
            model("unknown", "odd", "config.json", None),
        ];
        let checked = Checked {
            tolerance: TOLERANCE,
            ways: vec![],
            models,
            passed: false,
        };
        let table = checked.table();
        let lines: Vec<&str> = table.lines().collect();
        assert!(
            lines[2].starts_with("| Llama, SmolLM2 | llama (GGUF Q8_0), smollm2 | 2.7e-5"),
            "{table}"
        );
        assert!(
            lines[3].contains("Mistral") && lines[3].contains("2.0e0") && lines[3].contains("differ"),
            "{table}"
        );
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{table}");
        let failures = checked.failures();
        assert!(
            failures[0].contains("mistral (config.json): logits differ by 2.0e0, tolerance 5e-4"),
            "{failures:?}"
        );
        assert!(failures[1].contains("tensor x has shape"), "{failures:?}");
    }

    #[test]
    fn a_folder_without_tiny_models_says_what_is_needed() {
        let folder = tempfile::tempdir().unwrap();
        let error = check(folder.path(), 1, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("expected.json"), "{error}");
    }
}
