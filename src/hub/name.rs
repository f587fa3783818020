//! What `--model` may name, told apart by its text and by what lies on disk.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::SMALL;

/// What `--model` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelName {
    /// A folder with `config.json`, `tokenizer.json` and safetensors.
    Folder(PathBuf),
    Gguf(PathBuf),
    /// The small model that comes out of a package: [`SMALL`].
    Small,
    /// `org/name[@revision][:file.gguf]`.
    Hub {
        id: String,
        /// A branch, tag or commit; `main` where it is not given.
        revision: Option<String>,
        /// A gguf file of the repository, or a part of its name that no other has (`Q4_K_M`).
        file: Option<String>,
    },
}

impl ModelName {
    /// Reads a name. What exists on disk wins over the hub.
    ///
    /// # Errors
    /// When it is a path to nothing, or no name of anything.
    pub fn parse(text: &str) -> Result<ModelName> {
        let path = Path::new(text);
        if path.is_dir() {
            return Ok(ModelName::Folder(path.to_owned()));
        }
        if path.is_file() {
            if is_gguf(path) || has_gguf_magic(path) {
                return Ok(ModelName::Gguf(path.to_owned()));
            }
            bail!("{text} is a file, but no .gguf: name a .gguf file, or the folder that holds config.json");
        }
        if text.eq_ignore_ascii_case(SMALL) {
            return Ok(ModelName::Small);
        }
        if let Some(name) = parse_hub(text) {
            return Ok(name);
        }
        if looks_like_path(text) {
            bail!(
                "{text} does not exist: name a model folder (config.json, tokenizer.json, *.safetensors) or a .gguf file"
            );
        }
        bail!(
            "{text:?} names no model. What works: a folder with config.json, tokenizer.json and *.safetensors; a .gguf \
             file; {SMALL}; a name on the hub such as Qwen/Qwen2.5-0.5B-Instruct, also as org/name@revision or \
             org/name:file.gguf"
        );
    }
}

impl ModelName {
    /// The model's name for titles: the last part of the id under which it was found.
    pub fn title(&self, id: &str) -> String {
        match self {
            ModelName::Small => "SmolLM2-135M-Instruct".to_owned(),
            _ => short_name(id),
        }
    }
}

/// The last part of an id or path, without `.gguf`.
pub fn short_name(id: &str) -> String {
    let last = Path::new(id)
        .file_name()
        .map_or_else(|| id.to_owned(), |name| name.to_string_lossy().into_owned());
    last.strip_suffix(".gguf").unwrap_or(&last).to_owned()
}

/// Whether the path ends in `.gguf`.
pub(super) fn is_gguf(path: impl AsRef<Path>) -> bool {
    path.as_ref()
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"))
}

/// Whether the text has the form of a hub's name: two words of letters, digits, `-`, `_` and `.`.
pub(super) fn is_hub_id(text: &str) -> bool {
    text.split_once('/')
        .is_some_and(|(organisation, name)| is_word(organisation) && is_word(name))
}

/// What a path that is not there may name on the hub: `org/name[@revision]`, with `datasets/` before it or not. Names
/// that end like a file's are files that are missing.
pub fn trace_set(text: &str) -> Option<&str> {
    const FILES: [&str; 13] = [
        "parquet", "jsonl", "ndjson", "json", "csv", "tsv", "eval", "zip", "gz", "zst", "txt", "log", "gguf",
    ];
    let name = text.strip_prefix("datasets/").unwrap_or(text);
    let (id, revision) = split_revision(name);
    let ending = Path::new(id)
        .extension()
        .map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let is_file = ending.is_some_and(|ending| FILES.contains(&ending.as_str()));
    let is_revision = revision.is_none_or(|revision| !revision.is_empty() && !revision.contains(['\\', ':', '@']));
    (is_hub_id(id) && !is_file && is_revision && revision.is_none_or(|revision| !revision.contains("..")))
        .then_some(name)
}

/// A name, and what stands after its `@`.
pub(super) fn split_revision(text: &str) -> (&str, Option<&str>) {
    match text.split_once('@') {
        Some((id, revision)) => (id, Some(revision)),
        None => (text, None),
    }
}

fn is_word(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=96).contains(&text.len())
        && text.chars().all(allowed)
        && !text.starts_with(['.', '-'])
        && !text.ends_with(['.', '-'])
        && !text.contains("..")
        && !text.contains("--")
}

/// `org/name`, then `@revision` and `:file` in either order.
fn parse_hub(text: &str) -> Option<ModelName> {
    let (rest, mut file) = split_tail(text, ':');
    let (id, mut revision) = split_tail(rest, '@');
    if let Some((name, after)) = file.as_ref().and_then(|file| file.split_once('@')) {
        revision = Some(after.to_owned());
        file = Some(name.to_owned());
    }
    let is_plain = |part: &Option<String>| {
        part.as_ref()
            .is_none_or(|part| !part.is_empty() && !part.contains(['\\', ':', '@']) && !part.contains(".."))
    };
    let is_named = is_hub_id(id) && is_plain(&revision) && is_plain(&file);
    // `models/small.gguf` is a path that is not there, not a repository.
    (is_named && !is_gguf(id)).then(|| ModelName::Hub {
        id: id.to_owned(),
        revision,
        file,
    })
}

fn split_tail(text: &str, mark: char) -> (&str, Option<String>) {
    match text.split_once(mark) {
        Some((head, tail)) => (head, Some(tail.to_owned())),
        None => (text, None),
    }
}

fn looks_like_path(text: &str) -> bool {
    text.starts_with(['/', '.', '~']) || text.contains('\\') || text.contains('/') || is_gguf(text)
}

fn has_gguf_magic(path: &Path) -> bool {
    let mut magic = [0; 4];
    std::fs::File::open(path)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut magic))
        .is_ok_and(|()| &magic == b"GGUF")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hub(id: &str, revision: Option<&str>, file: Option<&str>) -> ModelName {
        ModelName::Hub {
            id: id.into(),
            revision: revision.map(Into::into),
            file: file.map(Into::into),
        }
    }

    #[test]
    fn names_of_the_hub_carry_a_revision_and_a_file() {
        let cases = [
            (
                "Qwen/Qwen2.5-0.5B-Instruct",
                hub("Qwen/Qwen2.5-0.5B-Instruct", None, None),
            ),
            ("org/name@v1.0", hub("org/name", Some("v1.0"), None)),
            ("org/name@refs/pr/3", hub("org/name", Some("refs/pr/3"), None)),
            ("org/name:small.gguf", hub("org/name", None, Some("small.gguf"))),
            ("org/name:Q4_K_M", hub("org/name", None, Some("Q4_K_M"))),
            (
                "org/name@main:small.gguf",
                hub("org/name", Some("main"), Some("small.gguf")),
            ),
            (
                "org/name:small.gguf@main",
                hub("org/name", Some("main"), Some("small.gguf")),
            ),
            ("SmolLM2-135M", ModelName::Small),
        ];
        for (text, expected) in cases {
            assert_eq!(ModelName::parse(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn a_set_of_traces_is_told_from_a_file_that_is_missing() {
        for (text, name) in [
            ("org/name", Some("org/name")),
            ("org/name@v1.0", Some("org/name@v1.0")),
            ("org/name@refs/pr/3", Some("org/name@refs/pr/3")),
            ("datasets/org/name", Some("org/name")),
            ("results/law.jsonl", None),
            ("results/law.JSON.gz", None),
            ("a/b/c", None),
            ("./a/b", None),
            ("name", None),
            ("org/name@", None),
            ("org/name@../x", None),
        ] {
            assert_eq!(trace_set(text), name, "{text}");
        }
    }

    #[test]
    fn a_path_to_nothing_is_said_to_be_missing() {
        for text in [
            "./nothing",
            "/no/such/model",
            "models/small.gguf",
            "small.gguf",
            "a/b/c",
            "../x/y",
            "~/models/x",
        ] {
            let error = ModelName::parse(text).unwrap_err().to_string();
            assert!(
                error.contains("does not exist") && error.contains(text),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn other_words_are_refused_with_what_works() {
        for text in ["", "llama", "org/name@", "org/name:", "-x", "two words"] {
            let error = ModelName::parse(text).unwrap_err().to_string();
            assert!(error.contains(".gguf"), "{text}: {error}");
            assert!(
                error.contains(SMALL) || error.contains("does not exist"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn what_lies_on_disk_wins() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            ModelName::parse(folder.path().to_str().unwrap()).unwrap(),
            ModelName::Folder(folder.path().to_owned())
        );
        let blob = folder.path().join("0123abcd");
        std::fs::write(&blob, b"GGUF\x03\0\0\0").unwrap();
        assert_eq!(
            ModelName::parse(blob.to_str().unwrap()).unwrap(),
            ModelName::Gguf(blob.clone())
        );
        std::fs::write(&blob, b"{}").unwrap();
        assert!(
            ModelName::parse(blob.to_str().unwrap())
                .unwrap_err()
                .to_string()
                .contains("no .gguf")
        );
    }
}
