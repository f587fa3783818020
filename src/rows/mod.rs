//! Rows that other people wrote, before it is asked what they are: what their columns are called, how their cells list
//! options, how they name one of them, and how they say nothing.

pub(crate) mod frames;
pub(crate) mod names;
pub(crate) mod naming;
pub(crate) mod nothing;
pub(crate) mod options;
pub(crate) mod sheets;
pub(crate) mod texts;
pub(crate) mod values;

/// Values by column, column order kept.
pub type Cells = serde_json::Map<String, serde_json::Value>;
