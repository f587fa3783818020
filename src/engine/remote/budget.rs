//! What a run may cost: nothing new is asked once what was spent, and what is under way at its longest, could pass it.

use super::price::Price;
use crate::engine::{Ask, Request};
use crate::record::Usage;

/// Bytes that stand for a token of a prompt where nobody counted.
const BYTES: usize = 4;

#[derive(Debug, Default)]
pub struct Budget {
    price: Option<Price>,
    most: Option<f64>,
    /// USD; none where neither a price nor the server tells.
    spent: Option<f64>,
    reserved: f64,
    /// The dearest answer so far: what is under way may cost as much, where there is no price.
    dearest: f64,
    under_way: usize,
}

impl Budget {
    pub fn new(price: Option<Price>, most: Option<f64>) -> Budget {
        Budget {
            price,
            most,
            ..Budget::default()
        }
    }

    /// USD that an answer costs at its longest.
    fn longest(&self, request: &Request) -> f64 {
        let Some(price) = self.price else { return 0.0 };
        let tokens = |number: usize| Some(number as u64);
        let completion = match &request.ask {
            // As many prefills as letters at worst.
            Ask::Score { continuations } => continuations.len(),
            Ask::Sample { sampling, .. } => sampling.max_tokens,
        };
        let prefills = match &request.ask {
            Ask::Score { continuations } => continuations.len(),
            Ask::Sample { .. } => 1,
        };
        price.of(Usage {
            prompt: tokens(request.prompt.text().len() * prefills / BYTES),
            completion: tokens(completion),
            ..Usage::default()
        })
    }

    pub fn reserve(&mut self, request: &Request) {
        self.reserved += self.longest(request);
        self.under_way += 1;
    }

    pub fn release(&mut self, request: &Request) {
        self.reserved = (self.reserved - self.longest(request)).max(0.0);
        self.under_way -= 1;
    }

    pub fn spend(&mut self, usd: Option<f64>) {
        let Some(usd) = usd else { return };
        *self.spent.get_or_insert(0.0) += usd;
        self.dearest = self.dearest.max(usd);
    }

    pub fn spent(&self) -> Option<f64> {
        self.spent
    }

    /// Whether one more answer may be asked for.
    pub fn allows(&self) -> bool {
        let Some(most) = self.most else { return true };
        let under_way = self.reserved.max(self.dearest * (self.under_way + 1) as f64);
        self.spent.unwrap_or(0.0) + under_way < most
    }

    /// Whether nothing more may be asked for although nothing is under way.
    pub fn is_spent(&self) -> bool {
        !self.allows()
    }

    pub fn in_words(&self) -> String {
        format!(
            "--max-cost {}: {:.2} USD are spent, and one more answer could pass it",
            self.most.unwrap_or_default(),
            self.spent.unwrap_or_default()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Sampling;

    #[test]
    fn what_is_under_way_counts_at_its_longest() {
        let request = Request {
            id: 0,
            lane: 0,
            prompt: "x".repeat(400).into(),
            add_special_tokens: true,
            ask: Ask::Sample {
                sampling: Sampling {
                    temperature: 1.0,
                    top_p: 1.0,
                    top_k: 0,
                    max_tokens: 900,
                    stops: Vec::new(),
                },
                seeds: vec![42],
                stream: 0,
            },
        };
        let price = Price {
            input: 1000.0,
            cached: 1000.0,
            output: 1000.0,
        };
        // An answer costs a dollar at most.
        let mut budget = Budget::new(Some(price), Some(2.5));
        let mut sent = 0;
        while budget.allows() {
            budget.reserve(&request);
            sent += 1;
        }
        assert_eq!(sent, 3);
        budget.release(&request);
        budget.spend(Some(0.25));
        assert!(budget.allows(), "it cost less than it might have");
        assert_eq!(budget.spent(), Some(0.25));
    }
}
