//! The diff: a real Deployment, each rule alone, and random documents.
#![cfg(test)]

mod applied;
mod deployment;
mod random;
mod rules;
