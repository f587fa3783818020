//! A study: the same questions under several settings. Knobs with their values make cells, each cell is a run folder, and
//! what the cells say together is counted here.

mod outcomes;
mod plan;
mod spread;

pub use outcomes::Outcomes;
pub use plan::{Cell, FILE, Knob, Study, cells};
pub use spread::{Part, Spread, TwoWay, d2, range_by_chance};

/// The residual variance where nothing was measured yet: that of one model under other seeds on MMLU-Pro.
pub const USUAL_RESIDUAL: f64 = 0.16;
