//! The one door to an engine: from what a person names to a model that answers.

use std::ops::ControlFlow;

use anyhow::Result;

use super::candle::{self, Options};
use super::{ChatTemplate, Engine, Model, remote};
use crate::hub::{self, ModelName};

/// Which engine to open, and how.
#[derive(Debug, Clone)]
pub enum Spec {
    /// A model in this process, fetched from the hub where it is not here.
    Local { model: ModelName, options: Options },
    /// A model behind a server.
    Served(Box<remote::Options>),
}

/// An engine that is ready to answer.
pub struct Opened {
    pub engine: Box<dyn Engine>,
    pub model: Model,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened")
            .field("engine", &self.engine.describe())
            .field("model", &self.model)
            .finish()
    }
}

/// Hears in words what is being done; can stop it.
pub type Status<'a> = dyn FnMut(String) -> ControlFlow<()> + 'a;

/// Fetches what is missing, loads the model and makes it ready to answer.
///
/// # Errors
/// When the model cannot be had or read, or `watch` breaks.
pub fn open(spec: &Spec, watch: &mut Status) -> Result<Opened> {
    match spec {
        Spec::Local { model, options } => {
            let (engine, model) = load(model, options, watch)?;
            Ok(Opened {
                engine: Box::new(engine),
                model,
            })
        }
        Spec::Served(options) => {
            let engine = remote::connect((**options).clone(), watch)?;
            let served = engine.served();
            let model = Model {
                name: hub::short_name(&served.model),
                id: format!("{}:{}", served.kind.facts().name, served.model),
                revision: None,
            };
            Ok(Opened {
                engine: Box::new(engine),
                model,
            })
        }
    }
}

/// A local model, loaded.
pub(super) fn load(name: &ModelName, options: &Options, watch: &mut Status) -> Result<(candle::CandleEngine, Model)> {
    let found = hub::model(name, &mut |progress| watch(progress.to_string()))?;
    let engine = candle::load(&found.path, options, &mut |progress| {
        let percent = 100 * progress.done / progress.total.max(1);
        watch(format!("{} {percent} %", progress.stage))
    })?;
    let model = Model {
        name: name.title(&found.id),
        id: found.id,
        revision: found.revision,
    };
    Ok((engine, model))
}

/// The chat template of a model, without its weights being loaded; none where it has none.
///
/// # Errors
/// When the model cannot be had or its tokenizer cannot be read.
pub fn chat_template(name: &ModelName, watch: &mut Status) -> Result<Option<ChatTemplate>> {
    let found = hub::model(name, &mut |progress| watch(progress.to_string()))?;
    candle::chat_template(&found.path)
}
