//! Spans in OTLP's JSON encoding, written as they are told.
//!
//! [`Request`] writes one `ExportTraceServiceRequest` into one buffer: there is no tree of values in between. What is
//! begun must be ended; the binding's single loop does that.

use std::io::Write;

/// An attribute's value.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// Text.
    Text(&'a str),
    /// A whole number.
    Whole(i64),
    /// Any number.
    Real(f64),
    /// True or false.
    Flag(bool),
}

/// What every span has.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// Of its trace.
    pub trace_id: u128,
    /// Its own.
    pub span_id: u64,
    /// Of the span above it; 0 where there is none.
    pub parent_id: u64,
    /// What it is called.
    pub name: &'a str,
    /// OTLP's number of its kind.
    pub kind: u8,
    /// When it began, in nanoseconds since 1970.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// The bit `sampled` of its context.
    pub sampled: bool,
}

const ERROR: u8 = 2;

/// A request under way.
#[derive(Debug)]
pub struct Request(Vec<u8>);

impl Request {
    /// The beginning, up to the attributes of the resource, which come next.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let mut out = Vec::with_capacity(capacity);
        out.extend_from_slice(br#"{"resourceSpans":[{"resource":{"attributes":["#);
        Self(out)
    }

    /// The resource is complete; its spans come next.
    pub fn begin_spans(&mut self, scope: &str) {
        self.0.extend_from_slice(br#"]},"scopeSpans":[{"scope":{"name":"#);
        self.text(scope);
        self.0.extend_from_slice(br#"},"spans":["#);
    }

    /// A span, until [`Self::end_object`].
    pub fn begin_span(&mut self, head: &Head<'_>) {
        self.comma();
        self.0.extend_from_slice(br#"{"traceId":""#);
        self.trace_id(head.trace_id);
        self.0.extend_from_slice(br#"","spanId":""#);
        self.span_id(head.span_id);
        if head.parent_id != 0 {
            self.0.extend_from_slice(br#"","parentSpanId":""#);
            self.span_id(head.parent_id);
        }
        self.0.extend_from_slice(br#"","name":"#);
        self.text(head.name);
        self.0.extend_from_slice(br#","kind":"#);
        self.digits(u64::from(head.kind));
        self.0.extend_from_slice(br#","flags":"#);
        self.digits(u64::from(head.sampled));
        // 64-bit integers are strings in protobuf's JSON.
        self.0.extend_from_slice(br#","startTimeUnixNano":""#);
        self.digits(head.start);
        self.0.extend_from_slice(br#"","endTimeUnixNano":""#);
        self.digits(head.end);
        self.0.push(b'"');
    }

    /// The attributes of what is under way, until [`Self::end_list`].
    pub fn begin_attributes(&mut self) {
        self.0.extend_from_slice(br#","attributes":["#);
    }

    /// The events of a span, until [`Self::end_list`].
    pub fn begin_events(&mut self) {
        self.0.extend_from_slice(br#","events":["#);
    }

    /// The links of a span, until [`Self::end_list`].
    pub fn begin_links(&mut self) {
        self.0.extend_from_slice(br#","links":["#);
    }

    /// An event of a span, until [`Self::end_object`].
    pub fn begin_event(&mut self, time: u64, name: &str) {
        self.comma();
        self.0.extend_from_slice(br#"{"timeUnixNano":""#);
        self.digits(time);
        self.0.extend_from_slice(br#"","name":"#);
        self.text(name);
    }

    /// A link of a span, until [`Self::end_object`].
    pub fn begin_link(&mut self, trace_id: u128, span_id: u64) {
        self.comma();
        self.0.extend_from_slice(br#"{"traceId":""#);
        self.trace_id(trace_id);
        self.0.extend_from_slice(br#"","spanId":""#);
        self.span_id(span_id);
        self.0.push(b'"');
    }

    /// The span under way has failed.
    pub fn failed(&mut self, message: &str) {
        self.0.extend_from_slice(br#","status":{"code":"#);
        self.digits(u64::from(ERROR));
        self.0.extend_from_slice(br#","message":"#);
        self.text(message);
        self.0.push(b'}');
    }

    /// An attribute of one value.
    pub fn attribute(&mut self, key: &str, value: Value<'_>) {
        self.key(key);
        self.value(value);
        self.0.push(b'}');
    }

    /// An attribute that is a list of texts, until [`Self::end_texts`].
    pub fn begin_texts(&mut self, key: &str) {
        self.key(key);
        self.0.extend_from_slice(br#"{"arrayValue":{"values":["#);
    }

    /// One of the texts.
    pub fn listed(&mut self, text: &str) {
        self.comma();
        self.value(Value::Text(text));
    }

    /// They are complete.
    pub fn end_texts(&mut self) {
        self.0.extend_from_slice(b"]}}}");
    }

    /// The attributes, events or links under way are complete.
    pub fn end_list(&mut self) {
        self.0.push(b']');
    }

    /// The span, event or link under way is complete.
    pub fn end_object(&mut self) {
        self.0.push(b'}');
    }

    /// The whole request.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.0.extend_from_slice(b"]}]}]}");
        self.0
    }

    fn key(&mut self, key: &str) {
        self.comma();
        self.0.extend_from_slice(br#"{"key":"#);
        self.text(key);
        self.0.extend_from_slice(br#","value":"#);
    }

    fn value(&mut self, value: Value<'_>) {
        match value {
            Value::Text(text) => {
                self.0.extend_from_slice(br#"{"stringValue":"#);
                self.text(text);
            }
            Value::Whole(number) => {
                self.0.extend_from_slice(br#"{"intValue":""#);
                self.print(format_args!("{number}\""));
            }
            Value::Real(number) if number.is_finite() => {
                self.0.extend_from_slice(br#"{"doubleValue":"#);
                self.print(format_args!("{number}"));
            }
            Value::Real(number) => {
                let name = match (number.is_nan(), number.is_sign_negative()) {
                    (true, _) => "NaN",
                    (false, true) => "-Infinity",
                    (false, false) => "Infinity",
                };
                self.0.extend_from_slice(br#"{"doubleValue":"#);
                self.text(name);
            }
            Value::Flag(flag) => {
                self.0.extend_from_slice(br#"{"boolValue":"#);
                self.0.extend_from_slice(if flag { b"true" } else { b"false" });
            }
        }
        self.0.push(b'}');
    }

    /// Before an item of a list that is not its first.
    fn comma(&mut self) {
        if self.0.last() != Some(&b'[') {
            self.0.push(b',');
        }
    }

    fn digits(&mut self, number: u64) {
        self.print(format_args!("{number}"));
    }

    fn trace_id(&mut self, id: u128) {
        self.print(format_args!("{id:032x}"));
    }

    fn span_id(&mut self, id: u64) {
        self.print(format_args!("{id:016x}"));
    }

    fn print(&mut self, what: std::fmt::Arguments<'_>) {
        let written = self.0.write_fmt(what);
        debug_assert!(written.is_ok(), "a vector takes everything");
    }

    fn text(&mut self, text: &str) {
        self.0.push(b'"');
        let mut rest = text;
        while let Some(at) = rest.bytes().position(is_special) {
            let (before, after) = rest.split_at(at);
            self.0.extend_from_slice(before.as_bytes());
            let mut after = after.chars();
            match after.next() {
                Some(special @ ('"' | '\\')) => self.0.extend_from_slice(&[b'\\', special as u8]),
                Some(control) => self.print(format_args!("\\u{:04x}", u32::from(control))),
                None => {}
            }
            rest = after.as_str();
        }
        self.0.extend_from_slice(rest.as_bytes());
        self.0.push(b'"');
    }
}

fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    use super::*;

    const HEAD: Head<'static> = Head {
        trace_id: 10,
        span_id: 11,
        parent_id: 0,
        name: "PATCH things",
        kind: 3,
        start: u64::MAX,
        end: 1,
        sampled: true,
    };

    fn read(request: Request) -> Json {
        serde_json::from_slice(&request.finish()).expect("it is JSON")
    }

    fn attributes(write: impl FnOnce(&mut Request)) -> Json {
        let mut request = Request::new(0);
        write(&mut request);
        request.begin_spans("s");
        read(request)["resourceSpans"][0]["resource"]["attributes"].take()
    }

    #[test]
    fn a_span_with_everything() {
        let mut request = Request::new(0);
        request.attribute("service.name", Value::Text("openclaw"));
        request.begin_spans("openclaw");
        request.begin_span(&Head {
            parent_id: 12,
            ..HEAD
        });
        request.begin_attributes();
        request.attribute("code", Value::Whole(409));
        request.attribute("again", Value::Flag(true));
        request.end_list();
        request.begin_events();
        for name in ["a", "b"] {
            request.begin_event(5, name);
            request.begin_attributes();
            request.end_list();
            request.end_object();
        }
        request.end_list();
        request.begin_links();
        request.begin_link(1, 2);
        request.begin_attributes();
        request.attribute("cause", Value::Text("failed"));
        request.end_list();
        request.end_object();
        request.end_list();
        request.failed("lost");
        request.end_object();
        request.begin_span(&HEAD);
        request.end_object();
        let nothing: [Json; 0] = [];
        assert_eq!(
            read(request),
            json!({"resourceSpans": [{
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "openclaw"}}]},
                "scopeSpans": [{"scope": {"name": "openclaw"}, "spans": [
                    {
                        "traceId": "0000000000000000000000000000000a",
                        "spanId": "000000000000000b",
                        "parentSpanId": "000000000000000c",
                        "name": "PATCH things",
                        "kind": 3,
                        "flags": 1,
                        "startTimeUnixNano": "18446744073709551615",
                        "endTimeUnixNano": "1",
                        "attributes": [
                            {"key": "code", "value": {"intValue": "409"}},
                            {"key": "again", "value": {"boolValue": true}},
                        ],
                        "events": [
                            {"timeUnixNano": "5", "name": "a", "attributes": nothing},
                            {"timeUnixNano": "5", "name": "b", "attributes": nothing},
                        ],
                        "links": [{
                            "traceId": "00000000000000000000000000000001",
                            "spanId": "0000000000000002",
                            "attributes": [{"key": "cause", "value": {"stringValue": "failed"}}],
                        }],
                        "status": {"code": 2, "message": "lost"},
                    },
                    {
                        "traceId": "0000000000000000000000000000000a",
                        "spanId": "000000000000000b",
                        "name": "PATCH things",
                        "kind": 3,
                        "flags": 1,
                        "startTimeUnixNano": "18446744073709551615",
                        "endTimeUnixNano": "1",
                    },
                ]}],
            }]})
        );
    }

    #[test]
    fn texts_in_a_list() {
        let found = attributes(|request| {
            request.begin_texts("reasons");
            request.listed("a");
            request.listed("b");
            request.end_texts();
            request.begin_texts("none");
            request.end_texts();
        });
        let values = json!([{"stringValue": "a"}, {"stringValue": "b"}]);
        assert_eq!(found[0]["value"]["arrayValue"]["values"], values);
        assert_eq!(found[1]["value"]["arrayValue"]["values"], json!([]));
    }

    #[test]
    fn numbers_that_json_has_none_of() {
        for (number, name) in [
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            let found = attributes(|request| request.attribute("n", Value::Real(number)));
            assert_eq!(found[0]["value"]["doubleValue"], name);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_as_it_was(key in ".*", text in "(.|[\\x00-\\x1f\"\\\\\\[])*") {
            let found = attributes(|request| {
                request.attribute(&key, Value::Text(&text));
                request.attribute("next", Value::Text(&text));
            });
            prop_assert_eq!(&found[0]["key"], &Json::from(key));
            prop_assert_eq!(&found[0]["value"]["stringValue"], &Json::from(text.as_str()));
            prop_assert_eq!(&found[1]["value"]["stringValue"], &Json::from(text));
        }

        #[test]
        fn any_number_is_read_as_it_was(whole in any::<i64>(), real in any::<f64>()) {
            prop_assume!(real.is_finite());
            let found = attributes(|request| {
                request.attribute("w", Value::Whole(whole));
                request.attribute("r", Value::Real(real));
            });
            prop_assert_eq!(&found[0]["value"]["intValue"], &Json::from(whole.to_string()));
            let read: f64 = found[1]["value"]["doubleValue"].to_string().parse().expect("a number");
            prop_assert!((read - real).abs() <= real.abs() * 1e-15);
        }
    }
}
