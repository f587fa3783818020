//! Whether every answer of an exam fails for one reason: then that is what there is to tell, not an accuracy.

use crate::record::{Finish, Record};

/// The answers heard so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failing {
    rows: usize,
    reason: Option<String>,
    differs: bool,
}

impl Failing {
    pub fn hear(&mut self, record: &Record) {
        self.rows += 1;
        let reason = reason_of(record);
        self.differs |= reason.is_none() || self.reason.as_deref().is_some_and(|known| Some(known) != reason);
        if !self.differs && self.reason.is_none() {
            self.reason = reason.map(str::to_owned);
        }
    }

    /// `every answer failed: REASON`, where that is so.
    pub fn told(&self) -> Option<String> {
        let reason = self.reason.as_ref().filter(|_| !self.differs && self.rows > 0)?;
        Some(format!("every answer failed: {reason}"))
    }
}

/// Why the engine could not answer.
fn reason_of(record: &Record) -> Option<&str> {
    let flags = &record.flags;
    if record.finish != Some(Finish::Error) {
        return None;
    }
    let told = flags.iter().find_map(|flag| flag.strip_prefix("reason: "));
    told.or_else(|| flags.last().map(String::as_str)).or(Some("error"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(reason: &str) -> Record {
        Record {
            finish: Some(Finish::Error),
            flags: vec!["too_long".into(), format!("reason: {reason}")],
            ..Record::default()
        }
    }

    #[test]
    fn one_reason_for_all_is_told_and_no_other() {
        let told = |records: &[Record]| {
            let mut failing = Failing::default();
            records.iter().for_each(|record| failing.hear(record));
            failing.told()
        };
        assert_eq!(told(&[]), None);
        let all = told(&[failed("no room"), failed("no room")]);
        assert_eq!(all.as_deref(), Some("every answer failed: no room"));
        assert_eq!(told(&[failed("no room"), failed("another")]), None);
        assert_eq!(told(&[failed("no room"), Record::default()]), None);
        assert_eq!(told(&[Record::default(), failed("no room")]), None);
    }
}
