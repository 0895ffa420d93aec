//! The diff: a real Deployment, each rule alone, and random documents.
#![cfg(test)]

mod deployment;
mod random;
mod rules;
