//! `strftime_now`: the local time in C's form.

use std::fmt::Write as _;

use super::meter::Meter;
use super::{Error, Result};

/// Directives that chrono writes as the C library does in its plain locale.
const SAME: &str = "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyY%";

pub(super) fn now(form: &str, meter: &Meter) -> Result<String> {
    meter.bytes(form.len().saturating_mul(64))?;
    let mut chrono_form = String::with_capacity(form.len());
    let mut chars = form.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            chrono_form.push(c);
            continue;
        }
        let mut directive = chars.next();
        let flag = directive.filter(|c| matches!(c, '-' | '_' | '0'));
        if flag.is_some() {
            directive = chars.next();
        }
        match directive {
            // A time without a zone has no name or offset for it.
            Some('Z' | 'z') if flag.is_none() => {}
            Some('f') if flag.is_none() => chrono_form.push_str("%6f"),
            Some('c') if flag.is_none() => chrono_form.push_str("%a %b %e %H:%M:%S %Y"),
            Some(known) if SAME.contains(known) => {
                chrono_form.push('%');
                chrono_form.extend(flag);
                chrono_form.push(known);
            }
            other => {
                let other = other.map_or_else(String::new, String::from);
                return unknown!("%{other} of strftime_now");
            }
        }
    }
    let mut text = String::new();
    write!(text, "{}", chrono::Local::now().format(&chrono_form))
        .map_err(|_| Error::unknown(&format!("the time format {form:?}")))?;
    Ok(text)
}
