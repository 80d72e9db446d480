//! Diagnostics: every error of a text, each with its location, an excerpt with a caret, and advice.

use crate::error::TypeError;
use crate::loc::Loc;
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, SourceCode, SourceSpan, SpanContents};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The maximum number of stored errors; further ones are only counted.
const MAX_ERRORS: usize = 100;

/// The maximum width of a rendered message, in columns; excerpts of the text may be wider.
const MAX_WIDTH: usize = 100;

/// The maximum number of bytes of a line that are shown on each side of a location, and of the location
/// itself.
const MAX_CONTEXT: usize = 160;

/// A text and the name of the file that it came from.
#[derive(Debug, Default)]
struct SourceText {
    name: String,
    text: String,
    line_starts: OnceLock<Vec<usize>>,
}

impl SourceText {
    /// Byte offsets at which lines begin.
    fn line_starts(&self) -> &[usize] {
        self.line_starts.get_or_init(|| {
            std::iter::once(0)
                .chain(self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1))
                .collect()
        })
    }

    fn char_boundary(&self, mut at: usize) -> usize {
        at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

/// Shows the lines around a span, truncated if they are too long.
impl SourceCode for SourceText {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let end = span.offset().checked_add(span.len()).filter(|&e| e <= self.text.len());
        let Some(end) = end else { return Err(MietteError::OutOfBounds) };
        let starts = self.line_starts();
        let line_of = |at: usize| starts.partition_point(|&s| s <= at).saturating_sub(1);
        let line_end = |line: usize| match starts.get(line + 1) {
            Some(&next) if self.text[..next].ends_with("\r\n") => next - 2,
            Some(&next) => next - 1,
            None => self.text.len(),
        };
        let first = line_of(span.offset()).saturating_sub(before);
        let last = (line_of(end) + after).min(starts.len() - 1);
        // Without context lines the caller asks for the span itself, and its column.
        let back = if before == 0 { 0 } else { MAX_CONTEXT };
        let low = self.char_boundary(starts[first].max(span.offset().saturating_sub(back)));
        let high = self.char_boundary(line_end(last).min(end + MAX_CONTEXT)).max(end);
        let line = line_of(low);
        let data = &self.text.as_bytes()[low..high];
        let column = self.text[starts[line]..low].chars().count();
        let lines = data.iter().filter(|b| **b == b'\n').count() + 1;
        Ok(Box::new(miette::MietteSpanContents::new_named(
            self.name.clone(),
            data,
            (low, high - low).into(),
            line,
            column,
            lines,
        )))
    }
}

/// One error of a text.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The error; one lower-case sentence.
    pub message: String,
    /// The text at the location; empty for a caret alone.
    pub label: String,
    /// The advice.
    pub help: Option<String>,
    /// The location; none if the error has none in the text.
    pub loc: Loc,
    source: Arc<SourceText>,
}

impl Diagnostic {
    /// An error without a location.
    pub fn new(message: impl Into<String>) -> Self {
        Diagnostic {
            message: message.into(),
            label: String::new(),
            help: None,
            loc: Loc::default(),
            source: Arc::default(),
        }
    }
    /// Sets the location.
    pub fn at(mut self, loc: Loc) -> Self {
        self.loc = loc;
        self
    }
    /// Sets the text at the location.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }
    /// Sets the advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    /// Sets the advice if there is some.
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }
}

impl From<TypeError> for Diagnostic {
    fn from(e: TypeError) -> Self {
        Diagnostic::new(e.message).maybe_help(e.help)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for Diagnostic {}

impl miette::Diagnostic for Diagnostic {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        (!self.loc.is_none()).then_some(&*self.source as &dyn SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        if self.loc.is_none() {
            return None;
        }
        let label = if self.label.is_empty() { "here".to_string() } else { self.label.clone() };
        let start = self.loc.start as usize;
        let end = self.source.char_boundary((start + self.loc.len as usize).min(start + MAX_CONTEXT));
        let span = LabeledSpan::new(Some(label), start, end.saturating_sub(start));
        Some(Box::new(std::iter::once(span)))
    }
}

/// All errors of one text, in text order.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    source: Arc<SourceText>,
    errors: Vec<Diagnostic>,
    omitted: usize,
}

impl Diagnostics {
    /// No errors yet.
    pub fn new(file_name: &str, text: &str) -> Self {
        let source = SourceText { name: file_name.to_string(), text: text.to_string(), ..SourceText::default() };
        Diagnostics { source: Arc::new(source), errors: Vec::new(), omitted: 0 }
    }

    /// Adds an error; after the first hundred, errors are only counted.
    pub fn push(&mut self, mut error: Diagnostic) {
        if self.errors.len() >= MAX_ERRORS {
            self.omitted += 1;
            return;
        }
        let end = error.loc.start as usize + error.loc.len as usize;
        if end > self.source.text.len() {
            error.loc = Loc::default();
        }
        error.source = self.source.clone();
        self.errors.push(error);
    }

    /// Sorts the errors in text order; those without a location come first.
    pub(crate) fn sort(&mut self) {
        self.errors.sort_by_key(|e| (e.loc.start, e.loc.line));
    }

    /// True if further errors are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    /// The errors.
    pub fn errors(&self) -> &[Diagnostic] {
        &self.errors
    }
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }
    /// The number of errors, including those that are only counted.
    pub fn count(&self) -> usize {
        self.errors.len() + self.omitted
    }

    /// All errors with excerpts, as a terminal shows them.
    pub fn render(&self, colour: bool) -> String {
        let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_width(MAX_WIDTH);
        let mut out = String::new();
        for error in &self.errors {
            if handler.render_report(&mut out, error).is_err() {
                out.push_str(&error.message);
                out.push('\n');
            }
        }
        if self.omitted > 0 {
            out.push_str(&format!("  and {} more\n", self.omitted));
        }
        out
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count();
        write!(f, "{count} error{} in {}", if count == 1 { "" } else { "s" }, self.source.name)?;
        for e in &self.errors {
            match e.loc.is_none() {
                true => write!(f, "\n{}: {}", self.source.name, e.message)?,
                false => write!(f, "\n{}:{}: {}", self.source.name, e.loc, e.message)?,
            }
            if let Some(help) = &e.help {
                write!(f, " ({help})")?;
            }
        }
        Ok(())
    }
}
impl std::error::Error for Diagnostics {}

impl miette::Diagnostic for Diagnostics {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        Some(Box::new(self.errors.iter().map(|e| e as &dyn miette::Diagnostic)))
    }
}
