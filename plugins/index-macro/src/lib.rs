//! `index!`: statements of index notation in Rust.
//!
//! The macro rebuilds the text from the tokens and their places, parses it by the same grammar as strings at
//! run time, and reports an error at the token. The statement is compiled at its first call, for the arrays
//! of the call, and kept.

#![forbid(unsafe_code)]

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use rewright_index_grammar::free::free_names;
use rewright_index_grammar::parse::parse;

#[doc = include_str!("index.md")]
#[proc_macro]
pub fn index(input: TokenStream) -> TokenStream {
    let mut text = Text::default();
    text.add(input);
    let program = match parse(&text.text, "index!") {
        Ok(program) => program,
        Err(errors) => {
            let errors = errors.errors().iter().map(|error| {
                let help = error.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
                failure(&format!("{}{help}", error.message), text.span(error.loc.start as usize))
            });
            return errors.collect();
        }
    };
    let mut args = TokenStream::new();
    for name in free_names(&program) {
        // The variable has the place of the name, so that an error about it is there.
        let span = text.span(name.loc.start as usize);
        let mut value = TokenStream::new();
        if name.is_array {
            value.extend([TokenTree::from(Punct::new('&', Spacing::Alone))]);
        }
        // `E.b` is a field of the variable `E`.
        for (n, part) in name.name.split('.').enumerate() {
            if n > 0 {
                value.extend([TokenTree::from(Punct::new('.', Spacing::Alone))]);
            }
            value.extend([match part.parse() {
                Ok(number) => TokenTree::from(Literal::usize_unsuffixed(number)),
                Err(_) => Ident::new(part, span).into(),
            }]);
        }
        let pair: TokenStream = [
            TokenTree::from(Literal::string(&name.name)),
            Punct::new(',', Spacing::Alone).into(),
            path("::core::convert::Into::into"),
            Group::new(Delimiter::Parenthesis, value).into(),
        ]
        .into_iter()
        .collect();
        args.extend([
            TokenTree::from(Group::new(Delimiter::Parenthesis, pair)),
            Punct::new(',', Spacing::Alone).into(),
        ]);
    }
    let template = "{
        static STATEMENTS: ::std::sync::LazyLock<
            ::core::result::Result<::rewright_index::Statements, ::rewright_index::Error>,
        > = ::std::sync::LazyLock::new(|| ::core::result::Result::Ok(::rewright_index::Statements::parse(TEXT)?));
        ::rewright_index::call_lazy(&STATEMENTS, &[ARGS])
    }";
    replaced(template.parse().unwrap_or_default(), &text.text, &args)
}

/// A path as one token tree.
fn path(text: &str) -> TokenTree {
    Group::new(Delimiter::None, text.parse().unwrap_or_default()).into()
}

/// The template with its text and its arguments.
fn replaced(template: TokenStream, text: &str, args: &TokenStream) -> TokenStream {
    let replace = |token: TokenTree| match token {
        TokenTree::Ident(ident) if ident.to_string() == "TEXT" => TokenTree::from(Literal::string(text)).into(),
        TokenTree::Ident(ident) if ident.to_string() == "ARGS" => args.clone(),
        TokenTree::Group(group) => {
            let inner = replaced(group.stream(), text, args);
            TokenTree::from(Group::new(group.delimiter(), inner)).into()
        }
        other => TokenStream::from(other),
    };
    template.into_iter().map(replace).collect()
}

/// `compile_error!` at a place.
fn failure(message: &str, span: Span) -> TokenStream {
    let at = |mut token: TokenTree| {
        token.set_span(span);
        token
    };
    let inner = TokenStream::from(at(Literal::string(message).into()));
    [
        at(Ident::new("compile_error", span).into()),
        at(Punct::new('!', Spacing::Alone).into()),
        at(Group::new(Delimiter::Brace, inner).into()),
    ]
    .into_iter()
    .collect()
}

/// The text of tokens, with the place of each.
#[derive(Default)]
struct Text {
    text: String,
    /// The offset at which each token begins, and its span.
    spans: Vec<(usize, Span)>,
    /// The line and the column at which the last token ends.
    end: Option<(usize, usize)>,
}

impl Text {
    fn add(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::None => ("", ""),
                    };
                    self.token(open, group.span_open());
                    self.add(group.stream());
                    self.token(close, group.span_close());
                }
                other => self.token(&other.to_string(), other.span()),
            }
        }
    }

    /// Adds a token, behind the space or the line end that stands before it.
    fn token(&mut self, text: &str, span: Span) {
        let (line, column) = (span.start().line(), span.start().column());
        match self.end {
            Some((last, _)) if line > last => self.text.push('\n'),
            Some((last, end)) if last == line && end == column => {}
            Some(_) => self.text.push(' '),
            None => {}
        }
        self.spans.push((self.text.len(), span));
        self.text.push_str(text);
        self.end = Some((span.end().line(), span.end().column()));
    }

    /// The span of the token at an offset; the last one behind the end.
    fn span(&self, at: usize) -> Span {
        let number = self.spans.partition_point(|(start, _)| *start <= at).saturating_sub(1);
        self.spans.get(number).map_or_else(Span::call_site, |(_, span)| *span)
    }
}
