//! The checks of `rust/fuzz`, for a bounded while on the stable toolchain; `PROPTEST_CASES` makes it longer.
#![cfg(test)]

mod checks;

use proptest::prelude::*;

/// Texts made of what a stream is made of, so that much of them is almost right.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: [&str; 40] = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\n",
        "\\",
        "\\u00e9",
        "null",
        "true",
        "-1.5e3",
        "0",
        "1e999",
        "é",
        "\u{1}",
        "\"a\"",
        "\"spec\":",
        "\"metadata\":",
        "\"name\":\"n\"",
        "\"namespace\":",
        "\"resourceVersion\":\"7\"",
        "\"labels\":{\"a\":\"b\"}",
        "\"uid\":",
        "\"managedFields\":[",
        "\"manager\":\"us\",\"operation\":\"Apply\"",
        "\"fieldsV1\":{\"f:spec\":{\"f:a\":{\"k:{\\\"name\\\":\\\"x\\\"}\":{}}}}",
        "{\"type\":\"ADDED\",\"object\":",
        "{\"type\":\"MODIFIED\",\"object\":",
        "{\"type\":\"BOOKMARK\",\"object\":",
        "{\"type\":\"DELETED\",\"object\":",
        "{\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"8\"}}",
        "\"items\":[",
        "\"annotations\":{",
        "\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\"",
        "{\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"9\",",
        "\"kind\":\"K\"",
        "\"apiVersion\":\"g/v1\"",
        "{\"spec\":{\"a\":[{\"name\":\"x\",\"b\":1}]}}",
    ];
    prop::collection::vec(prop::sample::select(&PIECES[..]), 0..30)
        .prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.saturating_mul(4), ..ProptestConfig::default() })]

    #[test]
    fn any_document_is_stored_as_it_was_or_refused(bytes in pieces()) {
        checks::scan(&bytes);
    }

    #[test]
    fn any_stream_is_taken(bytes in pieces()) {
        checks::feed(&bytes);
    }

    #[test]
    fn any_documents_are_compared(bytes in pieces()) {
        checks::diff(&bytes);
    }
}

#[test]
fn what_once_was_wrong_stays_right() {
    for case in [
        &b"{\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"7\",\"managedFields\":null},\"spec\":1e999}"[..],
        b"{\"metadata\":{\"name\":\"\",\"resourceVersion\":\"7\"}}",
    ] {
        checks::scan(case);
        checks::feed(case);
        checks::diff(case);
    }
}
