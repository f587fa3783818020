//! Which files of a model's repository are needed to run it.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::name::is_gguf;
use super::snapshot::{is_safe, some_of};

/// The weights in several files: which ones, this one says.
pub(super) const INDEX: &str = "model.safetensors.index.json";
const SINGLE: &str = "model.safetensors";

/// Everything small that says how to use the weights. They come before the weights, so that a folder with whole weights
/// has all of them.
pub(super) const BESIDE: [&str; 8] = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
];

/// The files needed out of those a repository has, weights last; [`INDEX`] stands for the files that it lists. `file`
/// selects a gguf file by its name or a part of it.
pub(super) fn needed(id: &str, files: &[String], file: Option<&str>) -> Result<Vec<String>> {
    let has = |name: &str| files.iter().any(|file| file == name);
    let mut needed: Vec<String> = BESIDE.into_iter().filter(|name| has(name)).map(str::to_owned).collect();
    if let Some(part) = file {
        needed.push(select_gguf(id, files, part)?);
        return Ok(needed);
    }
    let weights = [SINGLE, INDEX].into_iter().find(|name| has(name));
    let Some(weights) = weights else {
        return Err(no_weights(id, files));
    };
    for required in ["config.json", "tokenizer.json"] {
        if !has(required) {
            bail!("{id} has no {required}, without which its weights cannot be used");
        }
    }
    needed.push(weights.to_owned());
    Ok(needed)
}

/// The files that an index lists.
pub(super) fn shards(index: &Path) -> Result<Vec<String>> {
    let read = || -> Result<Vec<String>> {
        let index: serde_json::Value = serde_json::from_slice(&std::fs::read(index)?)?;
        let map = index["weight_map"].as_object().context("it has no weight_map")?;
        let files: BTreeSet<&str> = map.values().filter_map(serde_json::Value::as_str).collect();
        match files.iter().find(|file| !is_safe(file)) {
            Some(file) => bail!("it leads out of its folder, to {file:?}"),
            None if files.is_empty() => bail!("its weight_map is empty"),
            None => Ok(files.into_iter().map(str::to_owned).collect()),
        }
    };
    read().with_context(|| format!("{} lists no weights", index.display()))
}

fn select_gguf(id: &str, files: &[String], part: &str) -> Result<String> {
    let ggufs: Vec<&String> = files.iter().filter(|file| is_gguf(file)).collect();
    let low = part.to_lowercase();
    let fitting: Vec<&&String> = match ggufs.iter().find(|file| file.as_str() == part) {
        Some(exact) => vec![exact],
        None => ggufs.iter().filter(|file| file.to_lowercase().contains(&low)).collect(),
    };
    match fitting[..] {
        [file] if file.contains("-of-0") => {
            bail!("{id}: {file:?} is one of several parts; only a whole .gguf can be read")
        }
        [file] => Ok((*file).clone()),
        [] if ggufs.is_empty() => bail!("{id} has no .gguf file, so {part:?} selects nothing"),
        [] => bail!("{id} has no .gguf file named {part:?}; it has {}", some_of(&ggufs)),
        _ => bail!("{part:?} fits several .gguf files of {id}: {}", some_of(&fitting)),
    }
}

fn no_weights(id: &str, files: &[String]) -> anyhow::Error {
    let ggufs: Vec<&String> = files.iter().filter(|file| is_gguf(file)).collect();
    if let Some(first) = ggufs.first() {
        return anyhow::anyhow!(
            "{id} holds gguf files: name one of them, as in --model {id}:{}; it has {}",
            some_of(&[first]),
            some_of(&ggufs)
        );
    }
    let others: Vec<&String> = files.iter().filter(|file| is_weights(file)).collect();
    let others = if others.is_empty() {
        "no weights".to_owned()
    } else {
        some_of(&others)
    };
    anyhow::anyhow!("{id} has no {SINGLE}, no {INDEX} and no .gguf file (it has {others}): only these can be read")
}

fn is_weights(file: &str) -> bool {
    let endings = ["bin", "safetensors", "pt", "pth", "onnx", "h5", "msgpack"];
    Path::new(file)
        .extension()
        .is_some_and(|extension| endings.iter().any(|ending| extension == *ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn only_what_is_needed_is_fetched_and_weights_come_last() {
        let all = [
            "README.md",
            "model.safetensors",
            "onnx/model.onnx",
            "pytorch_model.bin",
            "tokenizer.json",
            "config.json",
        ];
        assert_eq!(
            needed("org/name", &files(&all), None).unwrap(),
            ["config.json", "tokenizer.json", "model.safetensors"]
        );
    }

    #[test]
    fn gguf_files_are_selected_by_name_or_by_a_part_no_other_has() {
        let all = files(&["a-Q4_K_M.gguf", "a-Q8_0.gguf", "b-Q8_0.gguf", "README.md"]);
        assert_eq!(needed("org/name", &all, Some("a-Q8_0.gguf")).unwrap(), ["a-Q8_0.gguf"]);
        assert_eq!(needed("org/name", &all, Some("q4_k_m")).unwrap(), ["a-Q4_K_M.gguf"]);
        for (part, said) in [
            (Some("Q8_0"), "several"),
            (Some("F16"), "a-Q8_0.gguf"),
            (None, "org/name:a-Q4_K_M.gguf"),
        ] {
            let error = needed("org/name", &all, part).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_repository_that_cannot_be_read_says_what_is_missing() {
        let cases: [(&[&str], &str); 3] = [
            (
                &["config.json", "tokenizer.json", "pytorch_model.bin"],
                "pytorch_model.bin",
            ),
            (&["config.json", "model.safetensors"], "no tokenizer.json"),
            (&["README.md"], "no weights"),
        ];
        for (names, said) in cases {
            let error = needed("org/name", &files(names), None).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn an_index_that_leads_elsewhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join(INDEX);
        for (text, said) in [
            (r#"{"weight_map":{"a":"../../.ssh/key"}}"#, "out of its folder"),
            (r#"{"weight_map":{}}"#, "empty"),
            ("{}", "no weight_map"),
            ("<html>", "lists no weights"),
        ] {
            std::fs::write(&index, text).unwrap();
            assert!(format!("{:#}", shards(&index).unwrap_err()).contains(said), "{text}");
        }
    }
}
