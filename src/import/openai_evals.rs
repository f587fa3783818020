//! Event files of openai/evals: a `spec`, then `sampling` and `match` events of the samples, in threads that write among
//! each other, and a `final_report`.

use super::head::Head;
use super::json::{self, Object, Raw};
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally, set_completion, texts};
use super::task::Task;
use super::told;

#[derive(Debug, Clone)]
pub(crate) struct OpenAiEvals {
    name: String,
    task: Task,
}

pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    let is_event = |row: &&Object| row.has("type") && row.has("data") && row.has("sample_id") && row.has("event_id");
    let is_spec = |row: &&Object| row.object("spec").has("eval_name");
    let spec = head.rows.iter().find(is_spec).map(|row| row.object("spec"));
    if spec.is_none() {
        head.rows.iter().find(is_event)?;
    }
    let spec = spec.unwrap_or_default();
    let name = spec
        .first(&["base_eval", "eval_name"])
        .map(Raw::shown)
        .unwrap_or_default();
    let short = name.split('.').next().unwrap_or_default();
    let models = spec
        .get("completion_fns")
        .or_else(|| spec.object("run_config").get("completion_fns"));
    let model = models.map(texts).unwrap_or_default().first().cloned();
    Some(Sniffed {
        name: model.or_else(|| spec.text("model_name")),
        ..Sniffed::new(
            "openai-evals",
            OpenAiEvals {
                task: Task::named(short.strip_prefix("match_").unwrap_or(short)),
                name,
            },
            head.shape.clone(),
        )
    })
}

impl Layout for OpenAiEvals {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let events: Vec<Object> = json::values(entry.bytes)?.into_iter().map(Raw::object).collect();
        let Some(last) = events.last().filter(|event| event.has("sample_id")) else {
            return Ok(Vec::new());
        };
        if kind(last) != "match" {
            return Ok(Vec::new());
        }
        let sample = last.text("sample_id").unwrap_or_default();
        let is_own = |event: &&Object| event.text("sample_id").is_some_and(|id| id == sample);
        let sampling = events.iter().filter(is_own).rfind(|event| kind(event) == "sampling");
        let (found, sampled) = (
            last.object("data"),
            sampling.map(|event| event.object("data")).unwrap_or_default(),
        );
        let mut record = told::record_of(&self.task, entry.number);
        let number = sample.rsplit('.').next().and_then(|number| number.parse().ok());
        record.question_id = number.unwrap_or(record.question_id);
        if let Some(prompt) = sampled.get("prompt").or_else(|| found.get("prompt")) {
            told::ask(&mut record, prompt);
        }
        let golds = match found.first(&["expected", "ideal"]) {
            Some(expected) if expected.is_list() => texts(expected),
            expected => expected.map(Raw::shown).into_iter().collect(),
        };
        told::demand_options(&record, &golds, &format!("openai/evals events ({})", self.name))?;
        set_completion(&mut record, found.get("sampled").or_else(|| sampled.get("sampled")));
        // What is picked is among the right answers, or null: a wrong letter stands in the text only.
        match found.get("picked") {
            Some(picked) => told::set_pick(&mut record, Some(picked)),
            None => told::read_pick(&mut record),
        }
        told::set_golds(&mut record, &golds);
        told::judge(&mut record, found.truth("correct"));
        let order = record.question_id;
        Ok(vec![Answer {
            record,
            order,
            is_local_id: number.is_none(),
            ..Answer::default()
        }])
    }

    fn stands_alone(&self) -> bool {
        false
    }

    fn kind(&self, _tally: &Tally) -> String {
        format!("openai/evals events of {}", self.name)
    }

    fn group(&self, entry: &Entry) -> Option<String> {
        entry.object().ok()?.text("sample_id")
    }

    fn ends_group(&self, entry: &Entry) -> Option<bool> {
        Some(entry.object().is_ok_and(|event| kind(&event) == "match"))
    }

    fn without_rows(&self) -> Option<String> {
        Some(format!(
            "openai/evals events of {} without match events: no answers that were compared",
            self.name
        ))
    }
}

fn kind(event: &Object) -> String {
    event.text("type").unwrap_or_default()
}
