//! Counters of a cache.

/// What happened so far.
#[derive(Debug, Default, Clone)]
pub(crate) struct Stats {
    pub(crate) events_received: u64,
    pub(crate) events_dropped: u64,
    pub(crate) events_echo: u64,
    pub(crate) events_stale: u64,
    pub(crate) events_foreign: u64,
    pub(crate) events_replayed: u64,
    pub(crate) events_malformed: u64,
    pub(crate) events_bookmark: u64,
    pub(crate) events_error: u64,
    pub(crate) objects_listed: u64,
    pub(crate) objects_foreign: u64,
    pub(crate) relists: u64,
    pub(crate) gains: u64,
    pub(crate) deltas: u64,
    pub(crate) puts_accepted: u64,
    pub(crate) puts_refused: u64,
}

impl Stats {
    pub(crate) fn counters(&self) -> [(&'static str, u64); 16] {
        [
            ("events_received", self.events_received),
            ("events_dropped", self.events_dropped),
            ("events_echo", self.events_echo),
            ("events_stale", self.events_stale),
            ("events_foreign", self.events_foreign),
            ("events_replayed", self.events_replayed),
            ("events_malformed", self.events_malformed),
            ("events_bookmark", self.events_bookmark),
            ("events_error", self.events_error),
            ("objects_listed", self.objects_listed),
            ("objects_foreign", self.objects_foreign),
            ("relists", self.relists),
            ("gains", self.gains),
            ("deltas", self.deltas),
            ("puts_accepted", self.puts_accepted),
            ("puts_refused", self.puts_refused),
        ]
    }
}
