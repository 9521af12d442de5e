//! Variable-length numbers for host records, which are written with every batch: seven bits per byte, low bits first.

use crate::PolitenessError;

pub(crate) fn put_number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Reads the fields back and reports where an error is.
pub(crate) struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Reader<'b> {
        Reader { bytes, at: 0 }
    }

    pub(crate) fn error(&self, problem: &'static str) -> PolitenessError {
        PolitenessError::Record { at: self.at, problem }
    }

    pub(crate) fn byte(&mut self) -> Result<u8, PolitenessError> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.error("ends too early"))?;
        self.at += 1;
        Ok(byte)
    }

    pub(crate) fn number(&mut self) -> Result<u64, PolitenessError> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return Err(self.error("number too large"));
            }
            number |= part << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.error("number too long"))
    }

    /// A number that must fit a smaller type.
    pub(crate) fn small<N: TryFrom<u64>>(&mut self) -> Result<N, PolitenessError> {
        let number = self.number()?;
        N::try_from(number).map_err(|_| self.error("number out of range"))
    }

    pub(crate) fn end(&self) -> Result<(), PolitenessError> {
        if self.at == self.bytes.len() { Ok(()) } else { Err(self.error("more bytes than expected")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_back_and_small_ones_are_short() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.number().unwrap(), number);
            reader.end().unwrap();
        }
        let mut bytes = Vec::new();
        put_number(&mut bytes, 127);
        assert_eq!(bytes.len(), 1);
    }

    #[test]
    fn what_is_no_number_is_an_error() {
        assert!(Reader::new(&[]).number().is_err());
        assert!(Reader::new(&[0x80]).number().is_err());
        assert!(Reader::new(&[0xff; 11]).number().is_err());
        assert!(Reader::new(&[0x80, 0x02]).small::<u8>().is_err());
    }
}
