//! What a real server (kube-apiserver 1.37.2) answered to intents of many kinds, pruned as the cache prunes.
//!
//! An intent that was just applied must be no difference, or it would be applied for ever.

use openclaw_core::diff;
use serde_json::{Value, json};

fn pairs() -> Vec<Value> {
    serde_json::from_str(include_str!("../fixtures/applied.json")).unwrap()
}

fn lines(intent: &Value, live: &Value) -> Vec<String> {
    diff(
        intent.to_string().as_bytes(),
        live.to_string().as_bytes(),
        "openclaw",
    )
    .unwrap()
}

#[test]
fn what_was_just_applied_is_no_difference() {
    assert!(pairs().len() > 20);
    for pair in pairs() {
        assert_eq!(lines(&pair["intent"], &pair["live"]), [""; 0], "{}", pair["what"]);
    }
}

#[test]
fn each_field_that_is_added_or_left_out_is_seen() {
    for pair in pairs() {
        let (intent, live) = (&pair["intent"], &pair["live"]);
        for (section, fields) in intent.as_object().unwrap() {
            let Value::Object(fields) = fields else { continue };
            for (key, value) in fields {
                let identity = section == "metadata" && ["name", "namespace"].contains(&key.as_str());
                let empty = [json!({}), json!([])].contains(value);
                if identity || empty {
                    continue;
                }
                let mut changed = intent.clone();
                changed[section].as_object_mut().unwrap().remove(key);
                let told = lines(&changed, live);
                // A section that is atomic is named as a whole.
                let expected = [format!("- {section}.{key}"), format!("~ {section}")];
                assert!(told.len() == 1 && expected.contains(&told[0]), "{key}: {told:?}");
            }
            if live[section].is_null() && section != "stringData" {
                continue;
            }
            let mut changed = intent.clone();
            changed[section]["addedByTheTest"] = json!("x");
            let told = lines(&changed, live);
            let expected = [format!("+ {section}.addedByTheTest"), format!("~ {section}")];
            assert!(told.len() == 1 && expected.contains(&told[0]), "{told:?}");
        }
    }
}

#[test]
fn a_secret_is_compared_by_what_it_holds() {
    let pair = pairs().into_iter().find(|pair| pair["what"] == "secret").unwrap();
    let mut other = pair["intent"].clone();
    other["stringData"]["a"] = json!("c");
    assert_eq!(lines(&other, &pair["live"]), ["+ stringData.a"]);
}
