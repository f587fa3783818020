//! Records as parquet: the one place that knows arrow.
//!
//! The first eleven columns are those of the public five-attempt trace sets, same names and types; ours follow. Rows
//! stand by question, then attempt, in row groups of about 2,000, zstd.

mod cells;
mod open;
mod read;
mod rows;
mod source;
mod texts;
mod whole;
mod write;

pub use open::{open, open_bytes, peek};
pub use read::{columns, each_record, is_trace, read_records};
pub use rows::{each_parquet_row, plain_columns, read_parquet};
pub use source::Source;
pub use write::{Order, write_each, write_records};

/// What is told of a file whose pages make the reader panic.
const DAMAGED: &str = "the parquet file is damaged";

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::record::{Finish, INVALID, Record};
    use crate::trace::Field;

    fn records(n: usize) -> Vec<Record> {
        (0..n)
            .map(|i| Record {
                question_id: i as i64 / 5,
                attempt: i as i64 % 5,
                category: ["law", "math"][i / 5 % 2].into(),
                subject: ["law", "math"][i / 5 % 2].into(),
                benchmark: "mmlu_pro".into(),
                prompt: format!(
                    "Question:\nWhat is {}?\nOptions:\nA. x\nB. y\nAnswer: Let's think step by step.",
                    i / 5
                ),
                reasoning: format!("é {i}\nThe answer is (B)."),
                reasoning_chars: format!("é {i}\nThe answer is (B).").chars().count() as i64,
                pick: if i % 7 == 0 { INVALID.into() } else { "B".into() },
                answer: "B".into(),
                correct: i % 7 != 0,
                doc_hash: format!("{:064x}", i / 5 + 1),
                prompt_hash: format!("{i:064x}"),
                question: format!("What is {}?", i / 5),
                options: vec!["x".into(), "y".into()],
                doc: Some("{\"question\":\"?\"}".into()),
                target_hash: "t".into(),
                doc_id: Some(3),
                seed: Some(42 + i as i64 % 5),
                finish: Some(Finish::Stop),
                prompt_tokens: Some(17),
                output_tokens: Some(i as i64),
                logprobs: (i % 2 == 0).then(|| vec![-1.5, f32::NEG_INFINITY]),
                greedy: (i % 2 == 0).then(|| vec![true, false]),
                continuations: (i % 2 == 0).then(|| vec![" A".into(), " Zürich".into()]),
                continuation_tokens: (i % 2 == 0).then(|| vec![1, 3]),
                letter_mass: Some(0.25),
                top_token: Some(" B".into()),
                flags: if i % 3 == 0 {
                    vec!["truncated".into(), "nan".into()]
                } else {
                    Vec::new()
                },
                seconds: 0.5,
                served: (i % 4 == 1).then(|| {
                    Box::new(crate::record::ServedBy {
                        fingerprint: Some("f".into()),
                        tries: 2,
                        bounded: vec![1],
                        ..Default::default()
                    })
                }),
            })
            .collect()
    }

    #[test]
    fn what_is_written_is_read_back_in_every_column() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.parquet");
        let records = records(4_321);
        write_records(&path, &records, Order::AsGiven).unwrap();
        assert_eq!(read_records(&path).unwrap(), records);
        let trace = open(&path).unwrap();
        assert_eq!(trace.rows.len(), records.len());
        for row in [0, 1, 1999, 2000, 4320] {
            assert_eq!(*trace.texts.record(row).unwrap(), records[row]);
        }
        let several: Vec<usize> = vec![4000, 3, 2001, 3];
        let read = trace.texts.records(&several).unwrap();
        assert_eq!(
            read.iter().map(|r| &**r).collect::<Vec<_>>(),
            several.iter().map(|r| &records[*r]).collect::<Vec<_>>()
        );
    }

    #[test]
    fn the_public_columns_stand_first_and_are_never_null() {
        let schema = write::schema();
        let public: Vec<String> = schema.fields()[..crate::record::PUBLIC_COLUMNS]
            .iter()
            .map(|field| format!("{} {} {}", field.name(), field.data_type(), field.is_nullable()))
            .collect();
        let names =
            "question_id attempt category prompt reasoning pick answer correct reasoning_chars doc_hash prompt_hash";
        let kinds = "Int64 Int64 Utf8 Utf8 Utf8 Utf8 Utf8 Boolean Int64 Utf8 Utf8";
        let wanted = names.split(' ').zip(kinds.split(' '));
        assert_eq!(
            public,
            wanted
                .map(|(name, kind)| format!("{name} {kind} false"))
                .collect::<Vec<_>>()
        );
        assert_eq!(schema.fields().len(), crate::record::Record::COLUMNS.len());
    }

    #[test]
    fn a_scan_gives_the_wanted_rows_in_order_and_stops_when_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.parquet");
        write_records(&path, &records(5_000), Order::AsGiven).unwrap();
        let trace = open(&path).unwrap();
        let mut seen = Vec::new();
        trace
            .texts
            .scan(Field::Completion, &|row| row % 1000 == 7, &mut |row, text| {
                seen.push((row, text.to_owned()));
                if row > 3000 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
            .unwrap();
        let rows: Vec<usize> = seen.iter().map(|(row, _)| *row).collect();
        assert_eq!(rows, [7, 1007, 2007, 3007]);
        assert_eq!(seen[1].1, "é 1007\nThe answer is (B).");
    }

    #[test]
    fn a_broken_file_is_named_with_what_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.parquet");
        write_records(&path, &records(100), Order::AsGiven).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for cut in [0, 3, 100, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let error = format!("{:#}", open(&path).unwrap_err());
            assert!(error.contains("records.parquet"), "{error}");
        }
    }
}
