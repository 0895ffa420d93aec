//! The cache from outside: streams, stored forms, predicates, indexes, own writes, relists.
#![cfg(test)]

mod indexes;
mod lists;
mod objects;
mod own_writes;
mod packed;
mod predicates;
mod replays;
mod shares;
mod slots;
mod stored;
mod streams;
