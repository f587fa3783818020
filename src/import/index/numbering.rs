//! Numbers for questions whose ids count within a file only, or are texts.

use std::collections::HashMap;

use super::Gathered;
use crate::text::thousands;
use crate::trace::Notice;

impl Gathered {
    /// Questions that files count for themselves are numbered on from file to file, within a benchmark.
    pub(super) fn number_questions(&mut self, files: usize) -> Vec<i64> {
        let mut offsets = vec![0; files];
        if files < 2 || !self.local.contains(&true) {
            return offsets;
        }
        let mut next: HashMap<u32, i64> = HashMap::new();
        let mut row = 0;
        while row < self.rows.len() {
            let file = usize::from(self.spans[row].file);
            let benchmark = self.rows.benchmark.code(row);
            offsets[file] = next.get(&benchmark).copied().unwrap_or(0);
            let mut highest = 0;
            while row < self.rows.len() && usize::from(self.spans[row].file) == file {
                if self.local[row] {
                    highest = highest.max(self.rows.question_id[row]);
                    self.rows.question_id[row] = self.rows.question_id[row].saturating_add(offsets[file]);
                }
                row += 1;
            }
            next.insert(benchmark, offsets[file].saturating_add(highest).saturating_add(1));
        }
        offsets
    }

    /// Questions whose ids are texts are numbered as they appear, after those that have numbers.
    pub(super) fn number_text_ids(&mut self) {
        let numbered = self.ids.iter().zip(&self.rows.question_id);
        let first = numbered
            .filter(|(id, _)| id.is_none())
            .map(|(_, number)| number.saturating_add(1))
            .max();
        for (id, number) in self.ids.iter().zip(&mut self.rows.question_id) {
            if let Some(id) = id {
                *number = first.unwrap_or(0).saturating_add(i64::from(*id));
            }
        }
        if !self.text_ids.is_empty() {
            self.notices.push(Notice {
                kind: "text_ids".to_owned(),
                text: format!(
                    "the ids of {} questions are texts: they are numbered as they appear",
                    thousands(self.text_ids.len())
                ),
            });
        }
    }
}
