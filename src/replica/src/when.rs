//! Times as people write them: RFC 3339, such as `2026-11-30T08:25:00Z`, or milliseconds since the Unix epoch.

const DAY_MS: i64 = 86_400_000;

/// The time as RFC 3339 in UTC with milliseconds; the number itself for a time that has no such form (after the year 9999).
pub fn format_time(ms: u64) -> String {
    let Some(signed) = i64::try_from(ms).ok().filter(|ms| *ms < 253_402_300_800_000) else {
        return ms.to_string();
    };
    let (year, month, day) = date(signed.div_euclid(DAY_MS));
    let of_day = signed.rem_euclid(DAY_MS);
    let (seconds, milliseconds) = (of_day / 1000, of_day % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

/// Milliseconds since the Unix epoch from RFC 3339 text (with `T` or a space, an offset or `Z`), or from a plain number of
/// milliseconds. `None` for anything else, for a date that does not exist, and for a time before 1970. Digits beyond the
/// millisecond are cut off.
pub fn parse_time(text: &str) -> Option<u64> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok();
    }
    let mut rest = Rest(text.as_bytes());
    let year = rest.number(4)?;
    rest.one_of(b"-")?;
    let month = rest.number(2)?;
    rest.one_of(b"-")?;
    let day = rest.number(2)?;
    rest.one_of(b"Tt ")?;
    let hour = rest.number(2)?;
    rest.one_of(b":")?;
    let minute = rest.number(2)?;
    rest.one_of(b":")?;
    let second = rest.number(2)?;
    let milliseconds = if rest.one_of(b".").is_some() { rest.fraction()? } else { 0 };
    let offset = match rest.one_of(b"Zz+-")? {
        b'Z' | b'z' => 0,
        sign => {
            let hours = rest.number(2)?;
            rest.one_of(b":")?;
            let minutes = rest.number(2)?;
            if hours > 23 || minutes > 59 {
                return None;
            }
            let offset = hours * 60 + minutes;
            if sign == b'-' { -offset } else { offset }
        }
    };
    let days = days(year, month, day);
    // A leap second is the second after it.
    if !rest.0.is_empty() || date(days) != (year, month, day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = (hour * 60 + minute - offset) * 60 + second;
    u64::try_from(days * DAY_MS + seconds * 1000 + milliseconds).ok()
}

struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        number
            .iter()
            .try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
    }

    fn one_of(&mut self, allowed: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        if !allowed.contains(first) {
            return None;
        }
        self.0 = rest;
        Some(*first)
    }

    /// At least one digit; the first three are the milliseconds.
    fn fraction(&mut self) -> Option<i64> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        let digit = |at: usize| digits.get(at).map_or(0, |digit| i64::from(digit - b'0'));
        (count > 0).then(|| digit(0) * 100 + digit(1) * 10 + digit(2))
    }
}

/// Days since 1970-01-01 of a date of the Gregorian calendar. (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".)
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a day since 1970-01-01: the reverse.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-11-30T08:25:00Z", 1_796_027_100_000),
            ("2026-11-30 09:25:00.5+01:00", 1_796_027_100_500),
            ("2026-11-29T22:25:00.1239-10:00", 1_796_027_100_123),
            ("2000-02-29T23:59:60z", 951_868_800_000),
            ("1796027100000", 1_796_027_100_000),
        ] {
            assert_eq!(parse_time(text), Some(ms), "{text}");
        }
        assert_eq!(format_time(1_796_027_100_123), "2026-11-30T08:25:00.123Z");
        assert_eq!(format_time(u64::MAX), u64::MAX.to_string());
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for bad in [
            "",
            "yesterday",
            "2026-11-30",
            "2026-11-31T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-11-30T24:00:00Z",
            "2026-11-30T08:60:00Z",
            "2026-11-30T08:25:00",
            "2026-11-30T08:25:00.Z",
            "2026-11-30T08:25:00Z ",
            "2026-11-30T08:25:00+24:00",
            "1969-12-31T23:59:59Z",
            "-5",
            "+2026-1-1",
            "99999999999999999999999",
        ] {
            assert_eq!(parse_time(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn every_time_reads_back(ms in 0..253_402_300_800_000u64) {
            prop_assert_eq!(parse_time(&format_time(ms)), Some(ms));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = parse_time(&text);
        }
    }
}
