//! A column of few different texts: one small code a row, as narrow as the number of different texts allows.

use std::collections::HashMap;
use std::sync::Arc;

/// A column of few different texts.
#[derive(Debug, Clone, Default)]
pub struct Names {
    codes: Codes,
    list: Vec<Arc<str>>,
    index: HashMap<Arc<str>, u32>,
    /// The code that was asked for last: neighbours are often alike.
    last: u32,
}

/// Codes of one, two or four bytes.
#[derive(Debug, Clone)]
enum Codes {
    Narrow(Vec<u8>),
    Middle(Vec<u16>),
    Wide(Vec<u32>),
}

impl Default for Codes {
    fn default() -> Codes {
        Codes::Narrow(Vec::new())
    }
}

impl Codes {
    fn len(&self) -> usize {
        match self {
            Codes::Narrow(codes) => codes.len(),
            Codes::Middle(codes) => codes.len(),
            Codes::Wide(codes) => codes.len(),
        }
    }

    #[inline]
    fn get(&self, row: usize) -> u32 {
        match self {
            Codes::Narrow(codes) => u32::from(codes[row]),
            Codes::Middle(codes) => u32::from(codes[row]),
            Codes::Wide(codes) => codes[row],
        }
    }

    /// Makes room for codes up to `most`.
    fn widen(&mut self, most: u32) {
        let wide = |codes: &mut dyn Iterator<Item = u32>| Codes::Wide(codes.collect());
        *self = match self {
            Codes::Narrow(codes) if most > u32::from(u8::MAX) => match u16::try_from(most) {
                Ok(_) => Codes::Middle(codes.iter().map(|code| u16::from(*code)).collect()),
                Err(_) => wide(&mut codes.iter().map(|code| u32::from(*code))),
            },
            Codes::Middle(codes) if most > u32::from(u16::MAX) => wide(&mut codes.iter().map(|code| u32::from(*code))),
            _ => return,
        };
    }

    fn push(&mut self, code: u32) {
        self.widen(code);
        match self {
            Codes::Narrow(codes) => codes.push(code as u8),
            Codes::Middle(codes) => codes.push(code as u16),
            Codes::Wide(codes) => codes.push(code),
        }
    }

    fn set(&mut self, row: usize, code: u32) {
        self.widen(code);
        match self {
            Codes::Narrow(codes) => codes[row] = code as u8,
            Codes::Middle(codes) => codes[row] = code as u16,
            Codes::Wide(codes) => codes[row] = code,
        }
    }

    fn reserve(&mut self, more: usize) {
        match self {
            Codes::Narrow(codes) => codes.reserve_exact(more),
            Codes::Middle(codes) => codes.reserve_exact(more),
            Codes::Wide(codes) => codes.reserve_exact(more),
        }
    }

    fn shrink(&mut self) {
        match self {
            Codes::Narrow(codes) => codes.shrink_to_fit(),
            Codes::Middle(codes) => codes.shrink_to_fit(),
            Codes::Wide(codes) => codes.shrink_to_fit(),
        }
    }
}

impl Names {
    pub fn push(&mut self, name: &str) {
        let code = self.code_for(name);
        self.codes.push(code);
    }

    /// The code of a name, made if it is new.
    pub fn code_for(&mut self, name: &str) -> u32 {
        if self.list.get(self.last as usize).is_some_and(|last| **last == *name) {
            return self.last;
        }
        if let Some(code) = self.index.get(name) {
            self.last = *code;
            return *code;
        }
        let code = u32::try_from(self.list.len()).expect("fewer than 2^32 different names");
        let name: Arc<str> = Arc::from(name);
        self.list.push(Arc::clone(&name));
        self.index.insert(name, code);
        self.last = code;
        code
    }

    /// Appends a row by a code from [`Names::code_for`].
    pub fn push_code(&mut self, code: u32) {
        self.codes.push(code);
    }

    pub fn get(&self, row: usize) -> &str {
        &self.list[self.codes.get(row) as usize]
    }

    #[inline]
    pub fn code(&self, row: usize) -> u32 {
        self.codes.get(row)
    }

    pub fn codes(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.codes.len()).map(|row| self.codes.get(row))
    }

    /// The different names, by code, in order of first appearance.
    pub fn list(&self) -> &[Arc<str>] {
        &self.list
    }

    pub fn find(&self, name: &str) -> Option<u32> {
        self.index.get(name).copied()
    }

    pub fn set(&mut self, row: usize, name: &str) {
        let code = self.code_for(name);
        self.codes.set(row, code);
    }

    pub fn len(&self) -> usize {
        self.codes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn reserve(&mut self, more: usize) {
        self.codes.reserve(more);
    }

    pub(super) fn shrink(&mut self) {
        self.codes.shrink();
    }

    /// Whether the first rows are those of `before`.
    pub(super) fn begin_with(&self, before: &Names) -> bool {
        let rows = before.len();
        if self.len() < rows {
            return false;
        }
        if !self.list.starts_with(&before.list) {
            return (0..rows).all(|row| self.get(row) == before.get(row));
        }
        match (&self.codes, &before.codes) {
            (Codes::Narrow(own), Codes::Narrow(other)) => own.starts_with(other),
            (Codes::Middle(own), Codes::Middle(other)) => own.starts_with(other),
            (Codes::Wide(own), Codes::Wide(other)) => own.starts_with(other),
            _ => (0..rows).all(|row| self.code(row) == before.code(row)),
        }
    }

    /// Appends another column.
    pub(super) fn append(&mut self, other: &Names) {
        let codes: Vec<u32> = other.list.iter().map(|name| self.code_for(name)).collect();
        for code in other.codes() {
            self.codes.push(codes[code as usize]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_grow_with_the_number_of_names_and_keep_their_meaning() {
        let mut names = Names::default();
        let wanted: Vec<String> = (0..70_000).map(|at| format!("name {}", at % 66_000)).collect();
        for (at, name) in wanted.iter().enumerate() {
            names.push(name);
            if at == 255 || at == 256 || at == 65_536 {
                assert!(matches!(
                    (at, &names.codes),
                    (255, Codes::Narrow(_)) | (256, Codes::Middle(_)) | (65_536, Codes::Wide(_))
                ));
            }
        }
        assert!((0..wanted.len()).all(|row| names.get(row) == wanted[row]));
        let mut joined = Names::default();
        joined.push("name 3");
        joined.append(&names);
        joined.set(1, "name 9");
        assert_eq!(
            (joined.get(0), joined.get(1), joined.get(2), joined.len()),
            ("name 3", "name 9", "name 1", 70_001)
        );
    }
}
