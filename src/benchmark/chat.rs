//! A model's chat template, rendered as transformers does it.

use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use crate::engine::ChatTemplate;
use crate::jinja::{self, Fault, Template};
use crate::text::strip;

use super::prompt::{Message, Role, SystemTurn};

/// A chat template, ready to render.
#[derive(Debug)]
pub struct Chat {
    template: Template,
    /// Special tokens by the name that templates give them.
    tokens: Vec<(String, String)>,
    thinks: Option<bool>,
}

impl Chat {
    pub fn new(template: &ChatTemplate) -> Result<Chat> {
        let own = [("bos_token", &template.bos_token), ("eos_token", &template.eos_token)];
        let own = own
            .into_iter()
            .filter_map(|(name, token)| Some((name.to_owned(), token.clone()?)));
        Ok(Chat {
            template: Template::parse(&template.source).map_err(|error| told(&error, "cannot be read"))?,
            tokens: own.chain(template.tokens.clone()).collect(),
            thinks: template.thinks,
        })
    }

    /// The chat as text, ready for the assistant to go on. Where the template refuses the system turn, the chat is
    /// rendered without it, as the reference harness does.
    pub fn render(&self, messages: &[Message]) -> Result<(String, SystemTurn)> {
        let system = messages.iter().find(|message| message.role == Role::System);
        let error = match (self.render_turns(messages), system) {
            (Ok(text), None) => return Ok((text, SystemTurn::None)),
            (Ok(text), Some(system)) => {
                let is_kept = text.contains(strip(&system.content));
                return Ok((text, if is_kept { SystemTurn::Kept } else { SystemTurn::Ignored }));
            }
            (Err(error), Some(_)) if error.fault == Fault::Template => error,
            (Err(error), _) => return Err(told(&error, "failed")),
        };
        let rest = messages.iter().filter(|message| message.role != Role::System).cloned();
        let text = self.render_turns(&rest.collect::<Vec<_>>());
        let text = text.map_err(|error| told(&error, "failed, with and without a system turn"))?;
        Ok((text, SystemTurn::Refused(error.message)))
    }

    fn render_turns(&self, messages: &[Message]) -> Result<String, jinja::Error> {
        let turns = messages.iter();
        let turns = turns.map(|message| json!({"role": message.role.name(), "content": message.content}));
        let mut variables = vec![
            ("messages", turns.collect()),
            ("tools", Value::Null),
            ("documents", Value::Null),
            ("add_generation_prompt", Value::Bool(true)),
        ];
        variables.extend(
            self.tokens
                .iter()
                .map(|(name, token)| (name.as_str(), token.as_str().into())),
        );
        variables.extend(self.thinks.map(|thinks| ("enable_thinking", Value::Bool(thinks))));
        self.template.render(&variables)
    }
}

/// One line that names the template and what became of it.
fn told(error: &jinja::Error, failed: &str) -> anyhow::Error {
    let failed = match error.fault {
        Fault::Template | Fault::Python => failed,
        Fault::Unknown => "asks for what is not known here",
        Fault::Limit => "was stopped",
    };
    anyhow!("the model's chat template {failed}: {error}; --chat off puts plain prompts")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(source: &str) -> ChatTemplate {
        ChatTemplate {
            source: source.into(),
            bos_token: Some("<s>".into()),
            ..ChatTemplate::default()
        }
    }

    fn rendered(source: &str) -> String {
        let turn = |role, text: &str| Message::new(role, text.to_owned(), "");
        let turns = [turn(Role::User, " <hi> \u{1f}"), turn(Role::Assistant, "a</think>b")];
        Chat::new(&template(source)).unwrap().render(&turns).unwrap().0
    }

    #[test]
    fn templates_see_the_turns_and_the_tokens() {
        for (source, expected) in [
            ("{{ bos_token }}{{ eos_token }}{{ nothing }}|{{ tools }}", "<s>|None"),
            (
                "{{ messages[0]['content'] | trim }}|{{ messages[0].content.rstrip() }}|",
                "<hi>| <hi>|",
            ),
            (
                "{{ messages[1].content.split('</think>')[-1].removeprefix('b') ~ 'c'.rsplit('-')[0] }}",
                "c",
            ),
            (
                "{%- for m in messages %}{% generation %}{{ m.role }}{% endgeneration %}{% endfor -%} ",
                "userassistant",
            ),
        ] {
            assert_eq!(rendered(source), expected, "{source}");
        }
    }

    fn failure(source: &str) -> String {
        let messages = [
            Message::new(Role::System, "s".into(), ""),
            Message::new(Role::User, "u".into(), ""),
        ];
        let chat = Chat::new(&template(source)).and_then(|chat| chat.render(&messages));
        format!("{:#}", chat.unwrap_err())
    }

    #[test]
    fn what_is_not_known_here_is_no_refusal_of_the_system_turn() {
        let source = "{% for m in messages %}{% if m.role == 'system' %}{{ m.content.casefold() }}{% endif %}\
            {{ m.content }}{% endfor %}";
        let error = failure(source);
        assert!(error.contains("not known here: str.casefold"), "{error}");
    }

    #[test]
    fn a_broken_template_is_an_error_that_names_it() {
        for source in [
            "{% if %}",
            "{{ strftime_now('%Q') }}",
            "{{ nothing.x }}",
            "{{ raise_exception('no') }}",
            "{{ 1 + 'a' }}",
        ] {
            let error = failure(source);
            assert!(error.contains("chat template"), "{source}: {error}");
        }
    }
}
