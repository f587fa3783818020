//! A results file of lm-eval that holds the samples too: what `simple_evaluate` returns, written out as one document.

use serde_json::{Map, Value};

use super::{LmEval, is_sample};
use crate::import::json::Raw;
use crate::import::layout::Sniffed;
use crate::import::results;
use crate::import::split::Shape;
use crate::trace::model_of_results;

/// The tasks whose samples a results document holds; none where it holds only figures.
pub(crate) fn sniff(document: &[u8], stem: &str) -> Vec<Sniffed> {
    let document = Raw(document).object();
    let samples = document.object("samples");
    let figures = document.fields().filter(|(key, _)| *key != "samples");
    let figures: Map<String, Value> = figures.map(|(key, raw)| (key.to_owned(), raw.value())).collect();
    let figures = Value::Object(figures);
    let has_rows = |rows: Raw| {
        let first = rows.list().first().map(|row| row.object());
        first.is_some_and(|row| is_sample(&row))
    };
    let tasks = samples.fields().filter(|(_, rows)| has_rows(*rows));
    tasks
        .map(|(task, _)| Sniffed {
            name: model_of_results(&figures),
            split: Some(task.to_owned()),
            run: Some(stem.to_owned()),
            manifest: Some(figures.clone()),
            ..Sniffed::new(
                "lm-eval",
                LmEval {
                    task: Some(task.to_owned()),
                    version: results::version_of(&figures),
                },
                Shape::Array(vec!["samples".to_owned(), task.to_owned()]),
            )
        })
        .collect()
}
