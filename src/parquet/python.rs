//! Dates, times, bytes and decimals as Python's `str` shows what pyarrow makes of them: what `json.dumps(...,
//! default=str)` writes of a row.

use anyhow::{Context, Result};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit};
use arrow::util::display::array_value_to_string;
use chrono::{DateTime, FixedOffset, NaiveDateTime, Offset, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;

/// The texts of a column of dates, times, durations, bytes or decimals; others as arrow shows them.
pub(super) fn texts(column: &ArrayRef) -> Result<Vec<Option<String>>> {
    let numbers = |show: &dyn Fn(i64) -> Option<String>| -> Result<Vec<Option<String>>> {
        let numbers = cast(column, &DataType::Int64)?;
        let numbers = numbers.as_primitive::<Int64Type>();
        let shown = numbers.iter().map(|number| {
            number
                .map(|number| {
                    show(number).with_context(|| format!("{number} is beyond what {} may hold", column.data_type()))
                })
                .transpose()
        });
        shown.collect()
    };
    match column.data_type() {
        DataType::Date32 => numbers(&|days| show_date(days.checked_mul(86_400)?)),
        DataType::Date64 => numbers(&|milliseconds| show_date(milliseconds.div_euclid(1_000))),
        DataType::Time32(unit) | DataType::Time64(unit) => numbers(&|value| {
            let (seconds, nanoseconds) = parts(value, *unit);
            Some(show_clock(seconds, 2) + &fraction(nanoseconds / 1_000 * 1_000))
        }),
        DataType::Timestamp(unit, zone) => {
            let zone = zone.as_deref().map(Zone::parse);
            numbers(&|value| {
                let (seconds, nanoseconds) = parts(value, *unit);
                let moment = DateTime::from_timestamp(seconds, nanoseconds)?.naive_utc();
                show_moment(moment, zone.as_ref())
            })
        }
        DataType::Duration(TimeUnit::Nanosecond) => numbers(&|value| Some(show_pandas_duration(value))),
        DataType::Duration(unit) => numbers(&|value| Some(show_duration(value, *unit))),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            let bytes = cast(column, &DataType::LargeBinary)?;
            Ok(bytes
                .as_binary::<i64>()
                .iter()
                .map(|bytes| bytes.map(show_bytes))
                .collect())
        }
        _ => (0..column.len())
            .map(|row| {
                let text = (!column.is_null(row))
                    .then(|| array_value_to_string(column, row))
                    .transpose()?;
                Ok(match column.data_type() {
                    DataType::Decimal32(_, scale)
                    | DataType::Decimal64(_, scale)
                    | DataType::Decimal128(_, scale)
                    | DataType::Decimal256(_, scale) => text.map(|text| show_decimal(&text, *scale)),
                    _ => text,
                })
            })
            .collect(),
    }
}

/// Whole seconds and the nanoseconds after them.
fn parts(value: i64, unit: TimeUnit) -> (i64, u32) {
    let per_second = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let rest = value.rem_euclid(per_second) * (1_000_000_000 / per_second);
    (value.div_euclid(per_second), rest as u32)
}

/// `.000001`, with nine digits where nanoseconds need them; nothing of nothing.
fn fraction(nanoseconds: u32) -> String {
    match nanoseconds {
        0 => String::new(),
        _ if nanoseconds.is_multiple_of(1_000) => format!(".{:06}", nanoseconds / 1_000),
        _ => format!(".{nanoseconds:09}"),
    }
}

fn show_date(seconds: i64) -> Option<String> {
    Some(DateTime::from_timestamp(seconds, 0)?.format("%Y-%m-%d").to_string())
}

/// Seconds within a day as `HH:MM:SS`, the hours in so many digits.
fn show_clock(seconds: i64, width: usize) -> String {
    let (hours, rest) = (seconds / 3_600, seconds % 3_600);
    format!("{hours:0width$}:{:02}:{:02}", rest / 60, rest % 60)
}

/// A time zone by name, or by its distance from UTC.
enum Zone {
    Named(Tz),
    Fixed(FixedOffset),
}

impl Zone {
    /// UTC where the name is unknown.
    fn parse(name: &str) -> Zone {
        let fixed = || {
            let (sign, rest) = match name.split_at_checked(1)? {
                ("+", rest) => (1, rest),
                ("-", rest) => (-1, rest),
                _ => return None,
            };
            let digits = rest.replace(':', "");
            let number = |range: std::ops::Range<usize>| digits.get(range)?.parse::<i32>().ok();
            FixedOffset::east_opt(sign * (number(0..2)? * 3_600 + number(2..4)? * 60))
        };
        match (name.parse::<Tz>(), fixed()) {
            (Ok(zone), _) => Zone::Named(zone),
            (_, Some(offset)) => Zone::Fixed(offset),
            _ => Zone::Fixed(Utc.fix()),
        }
    }
}

fn show_moment(moment: NaiveDateTime, zone: Option<&Zone>) -> Option<String> {
    let offset = match zone {
        None => None,
        Some(Zone::Named(zone)) => Some(zone.offset_from_utc_datetime(&moment).fix()),
        Some(Zone::Fixed(offset)) => Some(*offset),
    };
    let east = offset.map_or(0, |offset| offset.local_minus_utc());
    let local = moment.checked_add_signed(TimeDelta::seconds(east.into()))?;
    let nanoseconds = moment.and_utc().timestamp_subsec_nanos();
    let mut text = format!("{}{}", local.format("%Y-%m-%d %H:%M:%S"), fraction(nanoseconds));
    if offset.is_some() {
        let sign = if east < 0 { '-' } else { '+' };
        let (minutes, seconds) = (east.abs() / 60, east.abs() % 60);
        text.push_str(&format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
        if seconds != 0 {
            text.push_str(&format!(":{seconds:02}"));
        }
    }
    Some(text)
}

/// `datetime.timedelta`: `-1 day, 23:59:59.999999`.
fn show_duration(value: i64, unit: TimeUnit) -> String {
    let (seconds, nanoseconds) = parts(value, unit);
    let (days, seconds) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let days = match days {
        0 => String::new(),
        1 | -1 => format!("{days} day, "),
        _ => format!("{days} days, "),
    };
    days + &show_clock(seconds, 1) + &fraction(nanoseconds)
}

/// `pandas.Timedelta`: `-1 days +23:59:59.999999999`.
fn show_pandas_duration(value: i64) -> String {
    let (seconds, nanoseconds) = parts(value, TimeUnit::Nanosecond);
    let (days, seconds) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let sign = if days < 0 { "+" } else { "" };
    format!("{days} days {sign}{}{}", show_clock(seconds, 2), fraction(nanoseconds))
}

/// Python's `repr` of bytes.
fn show_bytes(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') {
        '"'
    } else {
        '\''
    };
    let mut text = format!("b{quote}");
    for &byte in bytes {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            b'\\' => text.push_str("\\\\"),
            _ if char::from(byte) == quote => text.extend(['\\', quote]),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text.push(quote);
    text
}

/// Python's `str` of a `Decimal`: in plain digits down to six places of zeros, else with an exponent.
fn show_decimal(plain: &str, scale: i8) -> String {
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", plain),
    };
    let digits = digits.replace('.', "");
    let padding = usize::from(scale.min(0).unsigned_abs());
    let digits = digits[..digits.len().saturating_sub(padding)].trim_start_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    let exponent = -i64::from(scale);
    let leading = exponent + digits.len() as i64 - 1;
    if exponent <= 0 && leading >= -6 {
        return plain.to_owned();
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}E{leading:+}")
}
