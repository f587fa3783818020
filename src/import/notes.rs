//! What a reader should know of a run's rows: the broken ones, the odd ones, the repeated ones.

use std::collections::HashMap;

use super::index::{Fault, Indexed, Others};
use crate::text::thousands;
use crate::trace::{Notice, Rows};

/// Broken rows that a notice lists one by one.
const LISTED: usize = 20;

pub(super) fn broken_notice(broken: &[Fault], faults: usize, entries: usize) -> Option<Notice> {
    if broken.is_empty() {
        return None;
    }
    let listed = broken.iter().take(LISTED).map(|fault| {
        let colon = if fault.what.starts_with("is ") { "" } else { ":" };
        format!("{}{colon} {}", fault.place, fault.what)
    });
    let listed: Vec<String> = listed.collect();
    let more = match faults.saturating_sub(LISTED) {
        0 => String::new(),
        more => format!("; and {} more", thousands(more)),
    };
    let text = format!(
        "{} of {} rows skipped: {}{more}",
        thousands(faults),
        thousands(entries),
        listed.join("; ")
    );
    Some(Notice {
        kind: "broken_row".to_owned(),
        text,
    })
}

/// Lines that stand in a file once more, as where a tool appended what it had written before.
pub(super) fn repeated_notice(repeated: usize) -> Option<Notice> {
    let lines = if repeated == 1 { "line" } else { "lines" };
    (repeated > 0).then(|| Notice {
        kind: "appended_twice".to_owned(),
        text: format!(
            "{} identical {lines}, written again: each counts once",
            thousands(repeated)
        ),
    })
}

/// Lines that are no answers: other events, totals.
pub(super) fn other_lines(others: &[Others]) -> impl Iterator<Item = Notice> {
    others.iter().map(
        |Others {
             what,
             count: number,
             places,
         }| {
            let more = if *number > places.len() { ", ..." } else { "" };
            let text = match places.as_slice() {
                [only] if *number == 1 => format!("{only} has {what}: it is no row"),
                _ => format!(
                    "{} lines have {what}: they are no rows ({}{more})",
                    thousands(*number),
                    places.join(", ")
                ),
            };
            Notice {
                kind: "other_lines".to_owned(),
                text,
            }
        },
    )
}

/// What flags say of several rows at once.
pub(super) fn flag_notices(rows: &Rows) -> Vec<Notice> {
    const TOLD: [(&str, &str); 17] = [
        ("pick_read", "store no pick: the harness rule read the whole output"),
        (
            "letter_read",
            "store no pick: a bare letter on the first line counts, else the harness rule",
        ),
        (
            "answer_read",
            "store no pick: a letter was read after \"answer\", in \\boxed{} or on its own",
        ),
        (
            "score_stands",
            "were read otherwise than their tool scored them: its score stands, the pick is the gold or none",
        ),
        ("nan", "hold NaN where a number belongs"),
        ("no_output", "have no output"),
        (
            "replaced_text",
            "hold broken text (half a surrogate pair or no UTF-8), replaced by U+FFFD",
        ),
        (
            "gold_conflict",
            "contradict themselves: answer and answer_index name different options; answer is used",
        ),
        ("score_differs", "store a score that their pick and answer do not give"),
        ("error", "ended in an error"),
        ("count_differs", "have counts that their picks do not give"),
        ("several_golds", "name several golds: a pick of any of them is right"),
        ("several_picks", "hold several picks: of a list the first counts"),
        ("text_gold", "name the gold by the option's text: shown as its letter"),
        ("text_pick", "name the pick by the option's text: shown as its letter"),
        ("ambiguous_gold", "have a gold that could be read as another option too"),
        ("ambiguous_pick", "have a pick that could be read as another option too"),
    ];
    let mut per_code = vec![0_usize; rows.flags.list().len()];
    rows.flags.codes().for_each(|code| per_code[code as usize] += 1);
    let has = |code: usize, flag: &str| rows.flags.list()[code].split(',').any(|name| name == flag);
    let counted = TOLD.iter().map(|(flag, text)| {
        let number: usize = (0..per_code.len())
            .filter(|code| has(*code, flag))
            .map(|code| per_code[code])
            .sum();
        (flag, text, number)
    });
    let told = counted.filter(|(_, _, number)| *number > 0);
    told.map(|(flag, text, number)| Notice {
        kind: (*flag).to_owned(),
        text: format!("{} rows {text}", thousands(number)),
    })
    .collect()
}

/// Where nearly all questions stand equally often in a table without attempts, their rows are attempts.
pub(super) fn number_attempts(indexed: &mut Indexed) {
    let rows = &mut indexed.rows;
    let mut seen: HashMap<(u32, i64), u16> = HashMap::new();
    let mut attempts = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        let next = seen.entry(rows.question_key(row)).or_default();
        attempts.push(*next);
        *next = next.saturating_add(1);
    }
    let most = seen.values().copied().max().unwrap_or(1);
    let full = seen.values().filter(|times| **times == most).count();
    if most < 2 || full * 10 < seen.len() * 9 {
        return;
    }
    rows.attempt.clone_from(&attempts);
    indexed.attempts = Some(attempts);
    let text = format!("question ids stand {most} times each: numbered as attempts, in file order");
    indexed.notices.push(Notice {
        kind: "attempts".to_owned(),
        text,
    });
}
