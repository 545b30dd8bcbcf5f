//! Counts commands in a stream of requests (RESP arrays of strings) cut anywhere.

/// Where in a request the stream is.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// The header line read so far.
    line: Vec<u8>,
    /// Bytes of a string still to come, its line end included.
    string: usize,
}

impl Calls {
    /// How many commands begin in these bytes: one for each `*n` or inline line.
    pub(super) fn begun_in(&mut self, mut bytes: &[u8]) -> u64 {
        let mut begun = 0;
        while !bytes.is_empty() {
            let skipped = self.string.min(bytes.len());
            self.string -= skipped;
            bytes = bytes.get(skipped..).unwrap_or_default();
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let (line, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
            self.line.extend_from_slice(line);
            bytes = rest;
            if end.is_some() {
                begun += self.header();
            }
        }
        begun
    }

    fn header(&mut self) -> u64 {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        match line.trim_end().strip_prefix('$') {
            Some(length) => {
                self.string = length.parse().map_or(0, |length: usize| length.saturating_add(2));
                0
            }
            None => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_counted_wherever_the_stream_is_cut() {
        let stream = b"*2\r\n$3\r\nGET\r\n$5\r\n*1\r\n$\r\n*1\r\n$4\r\nPING\r\nPING\r\n";
        for first in 0..stream.len() {
            for second in first..stream.len() {
                let mut calls = Calls::default();
                let parts = [&stream[..first], &stream[first..second], &stream[second..]];
                let begun: u64 = parts.into_iter().map(|part| calls.begun_in(part)).sum();
                assert_eq!(begun, 3, "cut at {first} and {second}");
            }
        }
    }
}
