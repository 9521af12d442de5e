//! What parent and child say to each other: a length of four bytes, little-endian, and that many bytes. The parent sends a
//! file, the child answers with JSON.

use super::content::PdfContent;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// No file is larger, and no answer.
pub(super) const LONGEST_FILE: usize = 256 << 20;
pub(super) const LONGEST_ANSWER: usize = 32 << 20;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Content(PdfContent),
    Unreadable(String),
}

pub(super) fn send(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(bytes)?;
    to.flush()
}

/// None where the other side has closed the pipe before the length.
pub(super) fn receive(from: &mut impl Read, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    let mut filled = 0;
    while let Some(rest) = length.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{length} bytes, {most} are allowed"),
        ));
    }
    // Grows with what comes, not with what is announced.
    let mut bytes = Vec::new();
    from.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_sent_is_received(messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..4)) {
            let mut pipe = Vec::new();
            messages.iter().for_each(|message| send(&mut pipe, message).unwrap());
            let mut from = pipe.as_slice();
            for message in &messages {
                let received = receive(&mut from, 50).unwrap();
                prop_assert_eq!(received.as_ref(), Some(message));
            }
            prop_assert!(receive(&mut from, 50).unwrap().is_none());
        }

        #[test]
        fn whatever_comes_it_is_a_message_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(Some(message)) = receive(&mut bytes.as_slice(), 20) {
                prop_assert!(message.len() <= 20 && bytes.get(4..4 + message.len()) == Some(&message[..]));
            }
        }
    }
}
