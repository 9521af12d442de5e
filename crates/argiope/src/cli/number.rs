//! Whole numbers within bounds, with an error that says what to write.

/// A parser for `least` to `most`; `hint` says what else there is to know, and may be empty.
pub(super) fn whole<N: TryFrom<u64>>(
    least: u64,
    most: u64,
    hint: &'static str,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse::<u64>().ok().filter(|number| (least..=most).contains(number));
        number.and_then(|number| N::try_from(number).ok()).ok_or_else(|| {
            // Who wrote a number that is too large wants to know the largest.
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let is_large = is_number && text.parse::<u64>().map_or(true, |number| number > most);
            let bounds = match most {
                UNBOUNDED.. if !is_large => format!("{least} or more"),
                _ => format!("from {least} to {most}"),
            };
            let and = if hint.is_empty() { "" } else { "; " };
            format!("write a whole number, {bounds}{and}{hint}")
        })
    }
}

/// As good as no bound.
pub(super) const UNBOUNDED: u64 = u32::MAX as u64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_within_bounds_are_read_and_others_told_what_to_be() {
        let ten = whole::<u32>(1, 10, "");
        assert_eq!((ten("1"), ten("10")), (Ok(1), Ok(10)));
        for wrong in ["0", "11", "-1", "x", "", "1.5"] {
            assert_eq!(ten(wrong), Err(String::from("write a whole number, from 1 to 10")), "{wrong}");
        }
        let any = whole::<u32>(0, UNBOUNDED, "0 is none");
        assert_eq!(any("4294967295"), Ok(u32::MAX));
        assert_eq!(
            any("4294967296"),
            Err(String::from("write a whole number, from 0 to 4294967295; 0 is none"))
        );
        assert_eq!(any("x"), Err(String::from("write a whole number, 0 or more; 0 is none")));
        assert_eq!(whole::<u64>(1, u64::MAX, "")("18446744073709551615"), Ok(u64::MAX));
    }
}
