//! What the store writes into the log.

use std::fmt::Debug;
use std::sync::Mutex;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps the lines of this project; one for the whole process.
#[derive(Debug)]
pub(crate) struct Journal;

impl Journal {
    pub(crate) fn open() {
        tracing::subscriber::set_global_default(Journal).expect("it is the only one");
    }

    /// Takes all lines that were written.
    pub(crate) fn take() -> Vec<String> {
        std::mem::take(&mut LINES.lock().unwrap())
    }

    /// Whether a line says that it is over.
    pub(crate) fn says_over() -> bool {
        LINES.lock().unwrap().iter().any(|line| line.starts_with("INFO"))
    }
}

impl Subscriber for Journal {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("tollgate") && *metadata.level() <= Level::INFO
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(event.metadata().level().to_string());
        event.record(&mut text);
        LINES.lock().unwrap().push(text.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }
}
