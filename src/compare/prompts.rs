//! Whether two traces were asked with the same prompts: told by the prompts' hashes. Version labels cannot tell it, one
//! label stood for two prompts.

use serde_json::Value;

use super::Pairing;
use crate::record::Record;
use crate::trace::Trace;

/// Pairs whose prompts are compared.
const LOOKED_AT: usize = 200;

/// Whether the prompts are the same (`None`: unknown), and what a reader should know of it.
pub(super) fn same_prompt(a: &Trace, b: &Trace, pairing: &Pairing) -> (Option<bool>, Option<String>) {
    let step = pairing.pairs.len().div_ceil(LOOKED_AT).max(1);
    let (mut same, mut other) = (0_usize, 0_usize);
    for (x, y) in pairing.pairs.iter().step_by(step) {
        let (Ok(x), Ok(y)) = (a.texts.record(*x as usize), b.texts.record(*y as usize)) else {
            continue;
        };
        match is_same(&x, &y) {
            Some(true) => same += 1,
            Some(false) => other += 1,
            None => {}
        }
    }
    let of = same + other;
    match (same, other) {
        (_, 1..) => {
            let text = format!("{other} of {of} pairs that were looked at were asked with another prompt");
            (Some(false), Some(text))
        }
        (1.., 0) => (Some(true), None),
        (0, 0) if pairing.pairs.is_empty() => (None, None),
        (0, 0) => {
            let versions = versions(a, b).map(|told| format!("; {told}")).unwrap_or_default();
            let text =
                format!("whether both were asked with the same prompts is unknown: not both store them{versions}");
            (None, Some(text))
        }
    }
}

fn is_same(a: &Record, b: &Record) -> Option<bool> {
    let is_hash = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash(&a.prompt_hash) && is_hash(&b.prompt_hash) {
        return Some(a.prompt_hash.eq_ignore_ascii_case(&b.prompt_hash));
    }
    (!a.prompt.is_empty() && !b.prompt.is_empty()).then(|| a.prompt == b.prompt)
}

/// What the versions of the tasks, as results files tell them, say of the prompts: nothing sure.
fn versions(a: &Trace, b: &Trace) -> Option<String> {
    let of = |trace: &Trace| {
        let versions = trace.manifest.as_ref()?.told("versions")?.as_object()?.clone();
        (!versions.is_empty()).then_some(versions)
    };
    let (first, second) = (of(a)?, of(b)?);
    let shown = |version: &Value| version.as_str().map_or_else(|| version.to_string(), str::to_owned);
    let differing = first
        .iter()
        .filter_map(|(task, version)| Some((task, version, second.get(task)?)))
        .find(|(_, version, other)| version != other);
    Some(match differing {
        Some((task, version, other)) => {
            format!("task versions differ ({task} {} and {})", shown(version), shown(other))
        }
        None => "task versions are ambiguous (one label has stood for two prompts)".to_owned(),
    })
}
