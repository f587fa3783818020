//! Pairs of two runs: one JSON object a pair, with the row of each run as its file has it.

use std::io::Write;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::{Target, Written, stream, write_file};
use crate::json::{Layout, python_json};
use crate::trace::Trace;

/// Rows read at a time.
const TOGETHER: usize = 256;

/// Writes pairs (row of `a`, row of `b`): aside first, then renamed.
///
/// # Errors
/// When the file exists and `force` is not set, when it is an input, or when it cannot be written.
pub fn write_pairs(a: &Trace, b: &Trace, pairs: &[(u32, u32)], target: &Target, force: bool) -> Result<Written> {
    let fill = |out: &mut dyn Write| write_lines(a, b, pairs, out);
    let bytes = match target {
        Target::Stdout => stream(std::io::stdout().lock(), "standard output", fill)?,
        Target::File(path) => write_file(path, &[a, b], force, fill)?,
    };
    Ok(Written {
        rows: pairs.len(),
        bytes,
        formulas: 0,
    })
}

fn write_lines(a: &Trace, b: &Trace, pairs: &[(u32, u32)], out: &mut dyn Write) -> Result<()> {
    for chunk in pairs.chunks(TOGETHER) {
        let of_a: Vec<u32> = chunk.iter().map(|(x, _)| *x).collect();
        let of_b: Vec<u32> = chunk.iter().map(|(_, y)| *y).collect();
        let sides = sources(a, &of_a)?.into_iter().zip(sources(b, &of_b)?);
        for ((x, y), (row_a, row_b)) in chunk.iter().zip(sides) {
            let light = a.rows.light(*x as usize);
            let other = b.rows.light(*y as usize);
            let outcome = match (light.correct, other.correct) {
                (true, true) => "both",
                (true, false) => "a_only",
                (false, true) => "b_only",
                (false, false) => "neither",
            };
            let pair = json!({
                "question_id": light.question_id,
                "attempt": light.attempt,
                "category": light.category,
                "answer": light.answer,
                "outcome": outcome,
                "pick_a": light.pick,
                "pick_b": other.pick,
                "a": row_a,
                "b": row_b,
            });
            writeln!(out, "{}", python_json(&pair, Layout::Dense))?;
        }
    }
    Ok(())
}

fn sources(trace: &Trace, rows: &[u32]) -> Result<Vec<Map<String, Value>>> {
    let rows: Vec<usize> = rows.iter().map(|row| *row as usize).collect();
    trace.texts.source(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    #[test]
    fn each_pair_is_a_line_with_both_rows() {
        let run = |name: &str, pick: &str, text: &str| {
            let record = Record {
                question_id: 7,
                answer: "A".into(),
                pick: pick.into(),
                correct: pick == "A",
                reasoning: text.into(),
                ..Record::default()
            };
            Trace::from_records(name, "test", vec![record])
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pairs.jsonl");
        let (a, b) = (run("a", "A", "so (A)"), run("b", "B", "so (B)\u{7}"));
        let target = Target::File(path.clone());
        let written = write_pairs(&a, &b, &[(0, 0)], &target, false).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!((written.rows, written.bytes), (1, text.len() as u64));
        let pair: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&pair["outcome"], &pair["pick_b"]), (&json!("a_only"), &json!("B")));
        assert_eq!(pair["b"]["reasoning"], "so (B)\u{7}");
        assert!(
            write_pairs(&a, &b, &[], &target, false).is_err(),
            "an existing file stays"
        );
    }
}
