//! What effects do, in one place: for the threads beside the screen, and at once for `--print` and tests.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::export::{self, Exists, Target};
use crate::extract::Rule;
use crate::files::{self, Kept};
use crate::filter::{Derived, NamedFilters};
use crate::joined::Run;
use crate::notes::Notes;
use crate::trace::Trace;

use super::compare::Paired;
use super::event::{Effect, Event, Exported, How, Order, PairOrder, Refused, Tell};
use super::runs::Runs;
use super::worker::{Request, Sight};

/// A piece of work whose outcome is an event.
pub type Work = Box<dyn FnOnce() -> Event + Send>;

/// Who does what the screen wants done.
pub trait Perform {
    /// Does something beside the screen and tells how it went.
    fn aside(&mut self, work: Work);
    fn ask(&mut self, request: Request);
    fn fetch(&mut self, sight: Sight);
    fn copy(&mut self, text: String);
    /// Keeps notes, in the order in which that is asked.
    fn keep(&mut self, trace: Arc<Trace>, notes: Arc<Notes>);
    fn open_other(&mut self, path: PathBuf);
    fn list_runs(&mut self);
    fn tell(&mut self, tell: Tell);
    /// Draws anew; gives the terminal to the shell before where it `suspends`.
    fn redraw(&mut self, suspends: bool);
    fn exit(&mut self, how: How);
    /// Where causes and marks of large traces are kept from one session to the next.
    fn cache_dir(&self) -> Option<PathBuf>;
}

pub fn perform(effect: Effect, hands: &mut impl Perform) {
    match effect {
        Effect::Ask(request) => hands.ask(request),
        Effect::Fetch(sight) => hands.fetch(sight),
        Effect::Copy(text) => hands.copy(text),
        Effect::Keep(trace, notes) => hands.keep(trace, notes),
        Effect::OpenOther(path) => hands.open_other(path),
        Effect::ListRuns => hands.list_runs(),
        Effect::Tell(told) => hands.tell(told),
        Effect::Redraw => hands.redraw(false),
        Effect::Suspend => hands.redraw(true),
        Effect::Exit(how) => hands.exit(how),
        Effect::Export(order) => hands.aside(Box::new(move || Event::Exported(export(&order)))),
        Effect::ExportPairs(order) => hands.aside(Box::new(move || Event::Exported(export_pairs(&order)))),
        Effect::Chart(order) => hands.aside(Box::new(move || {
            let figure = order.draw();
            Event::Charted(order, figure)
        })),
        Effect::CountRuns(runs) => hands.aside(Box::new(move || {
            Event::RunsCounted(runs.iter().map(Runs::count).collect())
        })),
        Effect::Diagnose { trace, known, epoch } => {
            let cache = hands.cache_dir();
            hands.aside(Box::new(move || {
                derive(&trace, &known, cache.as_deref())
                    .map_or(Event::Tick, |all| Event::Diagnosed(epoch, Arc::new(all)))
            }));
        }
        Effect::Check(trace) => hands.aside(Box::new(move || Event::Checked(crate::check::check_light(&trace)))),
        Effect::KeepFilter(place, name, filter) => hands.aside(Box::new(move || {
            let kept = NamedFilters::keep(&place, &name, filter.as_deref());
            kept.map_or_else(|error| Event::FilterUnkept(format!("{error:#}")), |()| Event::Tick)
        })),
        Effect::Pair(a, b) => hands.aside(Box::new(move || {
            let paired = Arc::new(Paired::new(a, b));
            let tallied = Arc::new(paired.tally(None));
            Event::Paired(paired, tallied)
        })),
        Effect::Adopt(trace, rule) => hands.aside(Box::new(move || Event::Adopted(adopt(&trace, &rule)))),
        Effect::Estimate(trace, rows) => hands.aside(Box::new(move || {
            let each = |format| export::bytes_a_row(&trace, &rows, format).unwrap_or(0.0);
            let whole_questions = export::whole_questions(&trace.rows, &rows).len();
            Event::Estimated(export::ALL.each_ref().map(each), whole_questions)
        })),
    }
}

fn refused(error: &anyhow::Error) -> Refused {
    Refused {
        why: format!("{error:#}"),
        there: error.downcast_ref::<Exists>().map(|exists| exists.0.clone()),
    }
}

fn export(order: &Order) -> Result<Exported, Refused> {
    let path = match &order.options.target {
        Target::File(path) => path.clone(),
        Target::Stdout => PathBuf::from("-"),
    };
    let whole = order
        .whole_questions
        .then(|| export::whole_questions(&order.trace.rows, &order.rows));
    export::write(&order.trace, whole.as_deref().unwrap_or(&order.rows), &order.options)
        .map(|written| Exported { written, path })
        .map_err(|error| refused(&error))
}

fn export_pairs(order: &PairOrder) -> Result<Exported, Refused> {
    let path = order.path.clone();
    let (a, b, target) = (&order.paired.a, &order.paired.b, Target::File(path.clone()));
    export::write_pairs(a, b, &order.pairs, &target, order.force)
        .map(|written| Exported { written, path })
        .map_err(|error| refused(&error))
}

/// Rows below which causes and marks are not worth keeping.
const WORTHWHILE: usize = 20_000;

/// Reads every output that is not known once; nothing where they cannot be read (the reader says why when one is shown).
fn derive(trace: &Trace, known: &Derived, cache: Option<&Path>) -> Option<Derived> {
    let rule = Rule::of_texts(trace.rule.as_deref());
    let is_whole = known.marks.is_empty() && trace.rows.len() >= WORTHWHILE && trace.texts.parts().len() == 1;
    let place = cache
        .filter(|_| is_whole)
        .and_then(|folder| derived_place(trace, folder));
    if let Some(kept) = place.as_ref().and_then(|place| Derived::load(place, trace.rows.len())) {
        return Some(kept);
    }
    let go_on = &mut |_| ControlFlow::Continue(());
    let derived = known.and_of(&trace.rows, &*trace.texts, &rule, go_on).ok()??;
    // What cannot be kept only costs time; that it cannot is told where the index of a file is.
    let _ = place.map(|place| derived.save(&place));
    Some(derived)
}

/// Where causes and marks of a trace are kept, of its files as they are and of its rows as they were read from them.
fn derived_place(trace: &Trace, folder: &Path) -> Option<Kept> {
    let mut paths = trace.texts.files();
    if paths.is_empty() {
        let path = trace.path.clone()?;
        paths = vec![if path.is_dir() {
            path.join(crate::store::RECORDS)
        } else {
            path
        }];
    }
    paths.dedup();
    let identities: Option<Vec<String>> = paths.iter().map(|path| files::identity(path)).collect();
    let (program, rule) = (files::program(), trace.rule.as_deref().unwrap_or_default());
    let name = format!("{:016x}", trace.rows.fingerprint(0..trace.rows.len()));
    Some(Kept {
        file: folder.join("derived").join(name),
        key: format!("{program} {:08x} {} {rule}", trace.rows.sum(), identities?.join(" ")),
    })
}

/// The same trace with the picks that another rule reads.
fn adopt(trace: &Trace, rule: &Rule) -> Result<Box<Run>, String> {
    let mut trace = trace.clone();
    crate::rescore::rescore(&mut trace, rule).map_err(|error| format!("{error:#}"))?;
    Ok(Box::new(Run::new(trace)))
}
