//! The commands that make a run again, and the files that it lies in.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::Scored;
use crate::engine::Description;
use crate::manifest::Manifest;
use crate::text::hex;

/// The command that repeats a run of ours; `None` for foreign traces.
pub(super) fn run_command(run: &Scored) -> Option<String> {
    let manifest = run.trace.ours()?;
    let settings = &manifest.settings;
    let mut words = vec!["markbook run".to_owned()];
    let mut flag = |name: &str, value: String| words.push(format!("--{name} {}", quoted(&value)));
    flag("model", model(manifest));
    flag("benchmark", settings.benchmark.clone());
    let revision = settings.data.revision.as_deref();
    let is_hub = settings.data.source.contains('/') && !Path::new(&settings.data.source).exists();
    if !is_hub {
        flag("data", settings.data.source.clone());
    } else if let Some(revision) = revision {
        flag("data", format!("{}@{revision}", settings.data.source));
    }
    flag("split", settings.data.split.clone());
    flag("shots", settings.prompt.shots.to_string());
    flag("style", settings.prompt.style.clone());
    flag("rule", settings.rule.clone());
    flag("chat", if settings.prompt.chat { "on" } else { "off" }.to_owned());
    if let Some(turns) = settings
        .prompt
        .chat_shots
        .as_ref()
        .filter(|_| settings.prompt.shots > 0)
    {
        flag("chat-shots", turns.clone());
    }
    if !settings.data.subjects.is_empty() {
        flag("subjects", settings.data.subjects.join(","));
    }
    let numbers = [
        ("per-subject", settings.data.per_subject),
        ("limit", settings.data.limit),
    ];
    numbers
        .into_iter()
        .for_each(|(name, number)| number.into_iter().for_each(|number| flag(name, number.to_string())));
    settings
        .data
        .sample_seed
        .into_iter()
        .for_each(|seed| flag("sample-seed", seed.to_string()));
    if let Some(sampling) = &settings.sampling {
        flag("temperature", sampling.temperature.to_string());
        flag("top-p", sampling.top_p.to_string());
        flag("top-k", sampling.top_k.to_string());
        flag("max-tokens", sampling.max_tokens.to_string());
        let seeds: Vec<String> = settings.seeds.iter().flatten().map(ToString::to_string).collect();
        if !seeds.is_empty() {
            flag("seeds", seeds.join(","));
        }
    }
    if let Some(local) = settings.engine.local() {
        flag("dtype", local.dtype.clone());
    }
    Some(words.join(" "))
}

/// The model as `--model` takes it.
fn model(manifest: &Manifest) -> String {
    let model = &manifest.settings.model;
    match (&manifest.settings.engine, &model.revision) {
        (Description::Remote(served), _) => format!("{}:{}", served.kind.facts().name, served.model),
        (_, Some(revision)) => format!("{}@{revision}", model.id),
        (_, None) => model.id.clone(),
    }
}

/// A word as a shell reads it.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:,@+=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The files of a run with their sha256.
///
/// # Errors
/// When one cannot be read.
pub(super) fn files(run: &Scored) -> Result<Vec<(String, String)>> {
    let mut paths: Vec<PathBuf> = run.trace.texts.files();
    let manifest = run
        .trace
        .path
        .as_ref()
        .map(|path| path.join(crate::manifest::FILE))
        .filter(|path| path.is_file());
    paths.extend(manifest);
    paths.sort();
    paths.dedup();
    let sum = |path: PathBuf| {
        let name = path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned();
        Ok((name, sha256(&path)?))
    };
    paths.into_iter().filter(|path| path.is_file()).map(sum).collect()
}

fn sha256(path: &Path) -> Result<String> {
    let named = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(named)?;
    let (mut digest, mut room) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut room).with_context(named)? {
            0 => return Ok(hex(&digest.finalize())),
            read => digest.update(&room[..read]),
        }
    }
}
