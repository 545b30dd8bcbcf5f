//! The frames of a zstd file, one after the other.

use std::io::{self, BufRead, BufReader, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The frames of a zstd file, one after the other: tools that compress in parallel, or append, write
/// several.
///
/// Where a frame is cut off or broken, what it held up to there is still given before the error.
pub(super) struct Frames<R: Read> {
    state: State<R>,
}

/// A frame that has begun.
struct Frame<R> {
    decoder: Box<FrameDecoder>,
    input: BufReader<R>,
}

enum State<R: Read> {
    /// At the beginning of a frame, or at the end of the file.
    Between(BufReader<R>),
    Within(Frame<R>),
    /// It cannot be decoded further, for this reason.
    Broken(Frame<R>, io::Error),
    /// Nothing more can be read.
    Over,
}

impl<R: Read> Frames<R> {
    pub(super) fn new(input: R) -> Frames<R> {
        Frames { state: State::Between(BufReader::with_capacity(1 << 16, input)) }
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return Ok(0),
                State::Between(mut input) => {
                    if input.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    self.state = begin(input)?;
                }
                State::Within(mut frame) => match frame.read(buffer) {
                    Ok(0) => self.state = State::Between(frame.input),
                    Ok(bytes) => {
                        self.state = State::Within(frame);
                        return Ok(bytes);
                    }
                    Err(error) => {
                        end(&mut frame.decoder);
                        self.state = State::Broken(frame, error);
                    }
                },
                State::Broken(mut frame, error) => match frame.decoder.read(buffer) {
                    Ok(bytes) if bytes > 0 => {
                        self.state = State::Broken(frame, error);
                        return Ok(bytes);
                    }
                    _ => return Err(error),
                },
            }
        }
    }
}

fn begin<R: Read>(mut input: BufReader<R>) -> io::Result<State<R>> {
    let mut decoder = FrameDecoder::new();
    match decoder.init(&mut input) {
        Ok(()) => {}
        Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
            length,
            ..
        })) => {
            io::copy(&mut input.by_ref().take(length.into()), &mut io::sink())?;
            return Ok(State::Between(input));
        }
        Err(error) => return Err(io::Error::other(error)),
    }
    Ok(State::Within(Frame { decoder: Box::new(decoder), input }))
}

impl<R: Read> Frame<R> {
    /// Nothing only at its end.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            let one = BlockDecodingStrategy::UptoBlocks(1);
            self.decoder.decode_blocks(&mut self.input, one).map_err(io::Error::other)?;
        }
        self.decoder.read(buffer)
    }
}

/// Ends a frame by hand: until its end a decoder holds back as much as later blocks may refer to.
fn end(decoder: &mut FrameDecoder) {
    let last = [1, 0, 0];
    let checksum = [0; 4];
    let rest = [&last[..], &checksum[..]].concat();
    // If it does not take that, the rest is lost, as it would be without.
    let _ = decoder.decode_blocks(&rest[..], BlockDecodingStrategy::UptoBlocks(1));
}
