//! What the outputs say of their rows, computed once: causes and marks.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use anyhow::Result;

use crate::diagnose::{Answer, Marks, diagnose};
use crate::extract::Rule;
use crate::files::Kept;
use crate::record::split_prompt;
use crate::trace::{Field, Rows, Texts};

/// What was found out about each row's text, once, aside: why it is invalid, and the marks it bears.
#[derive(Debug, Clone, Default)]
pub struct Derived {
    pub marks: Vec<Marks>,
}

impl Derived {
    /// Reads every output once. `rule` is the rule by which the picks are shown; `go_on` hears of each row read and may
    /// break, which gives `None`.
    pub fn of(
        rows: &Rows,
        texts: &dyn Texts,
        rule: &Rule,
        go_on: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Option<Derived>> {
        Derived::default().and_of(rows, texts, rule, go_on)
    }

    /// The same where some of the first rows are known already.
    pub fn and_of(
        &self,
        rows: &Rows,
        texts: &dyn Texts,
        rule: &Rule,
        go_on: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Option<Derived>> {
        let known = self.marks.len();
        let mut marks = self.marks.clone();
        marks.resize(rows.len(), Marks::default());
        let mut stopped = false;
        let options = option_counts(rows, known, texts)?;
        let diagnosis = |row: usize, text: &str| {
            let answer = Answer {
                text,
                pick: rows.pick.get(row),
                finish: rows.finish[row],
                flags: rows.flags.get(row),
                options: usize::from(options.get(&question(rows, row)).copied().unwrap_or(rows.options[row])),
            };
            u64::from(diagnose(rule, &answer).marks.bits())
        };
        // Rows without an output (cloze) keep a diagnosis too: an invalid one has a cause.
        let wanted = |row: usize| row >= known && (rows.chars[row] > 0 || rows.is_invalid(row));
        texts.map(Field::Completion, &wanted, &diagnosis, &mut |row, bits| {
            marks[row] = Marks::from_bits(bits as u16);
            let flow = go_on(row);
            stopped |= flow.is_break();
            flow
        })?;
        Ok((!stopped).then_some(Derived { marks }))
    }
}

impl Derived {
    /// What was kept, if it is of `rows` rows.
    pub fn load(kept: &Kept, rows: usize) -> Option<Derived> {
        let mut content = kept.load()?;
        let bits = content.take(2 * rows).filter(|_| content.left() == 0)?;
        let pair = |pair: &[u8]| Marks::from_bits(u16::from_le_bytes([pair[0], pair[1]]));
        let marks = bits.chunks_exact(2).map(pair).collect();
        Some(Derived { marks })
    }

    /// Keeps causes and marks.
    pub fn save(&self, kept: &Kept) -> Result<()> {
        let bits = self.marks.iter().flat_map(|marks| marks.bits().to_le_bytes());
        let bytes: Vec<u8> = bits.collect();
        kept.save(|out| Ok(out.write_all(&bytes)?))
    }
}

/// What rows with the same options share; a row without a hash stands for itself.
type Question = (u32, i64, u64);

fn question(rows: &Rows, row: usize) -> Question {
    match rows.doc[row] {
        0 => (u32::MAX, row as i64, 0),
        doc => (rows.benchmark.code(row), rows.question_id[row], doc),
    }
}

/// Options counted in the prompt where the file does not say and a pick could lie beyond them; one prompt a question.
fn option_counts(rows: &Rows, known: usize, texts: &dyn Texts) -> Result<HashMap<Question, u8>> {
    let mut first: HashMap<Question, usize> = HashMap::new();
    for row in known..rows.len() {
        if rows.options[row] == 0 && rows.pick_index(row).is_some_and(|index| index > 2) {
            first.entry(question(rows, row)).or_insert(row);
        }
    }
    let asked: HashSet<usize> = first.values().copied().collect();
    let mut counts = HashMap::with_capacity(first.len());
    let count = |_: usize, prompt: &str| split_prompt(prompt).options.len() as u64;
    texts.map(Field::Prompt, &|row| asked.contains(&row), &count, &mut |row, count| {
        counts.insert(question(rows, row), u8::try_from(count).unwrap_or(u8::MAX));
        ControlFlow::Continue(())
    })?;
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Cause;
    use crate::record::{INVALID, Record};
    use crate::trace::Trace;

    #[test]
    fn what_was_found_out_is_kept_for_as_many_rows_only() {
        let record = |text: &str| Record {
            pick: INVALID.into(),
            reasoning: text.into(),
            reasoning_chars: text.len() as i64,
            ..Record::default()
        };
        let trace = Trace::from_records("t", "t", vec![record("The answer is: B"), record("")]);
        let go_on = &mut |_| ControlFlow::Continue(());
        let derived = Derived::of(&trace.rows, &*trace.texts, &Rule::default(), go_on)
            .unwrap()
            .unwrap();
        assert_eq!(derived.marks[1].cause(), Some(Cause::Empty));
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept {
            file: folder.path().join("derived/x"),
            key: "v 1 2 3".into(),
        };
        assert!(Derived::load(&kept, 2).is_none());
        derived.save(&kept).unwrap();
        assert_eq!(Derived::load(&kept, 2).unwrap().marks, derived.marks);
        assert!(
            Derived::load(&kept, 1).is_none() && Derived::load(&kept, 3).is_none(),
            "other rows"
        );
    }
}
