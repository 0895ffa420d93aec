//! The lists of a cache: gathered beside what it holds, then put in its place at once.

use super::Cache;
use crate::delta::{Batch, Deltas};
use crate::error::{Error, SpecError, StateError};
use crate::list::{self, ListPage};
use crate::relist::Relist;
use crate::slotset::SlotSet;
use crate::version::Version;

const NO_RELIST: StateError = StateError("no list is under way: call begin_relist or begin_gain first");

impl Cache {
    /// Begins a relist of all that is kept; a list under way is dropped.
    pub fn begin_relist(&mut self) {
        self.begin(self.live.share.kept(), false);
    }

    pub(super) fn begin(&mut self, slots: SlotSet, gain: bool) {
        self.start();
        self.relist = Some(Relist::new(slots, gain, self.live.rules.probes.len()));
    }

    /// Takes a page of the list. A page that is none ends the relist without effect.
    pub fn feed_list(&mut self, page: &[u8]) -> Result<ListPage, Error> {
        let mut relist = self.relist.take().ok_or(NO_RELIST)?;
        let Self {
            live,
            scan,
            manager,
            stats,
            ..
        } = self;
        let info = list::read(page, manager.as_deref(), scan, |view| {
            if !view.is_storable() {
                return Err(SpecError::new(
                    "list page: an item lacks metadata.name or metadata.resourceVersion",
                ));
            }
            match relist.slot(view, live) {
                Some(slot) => relist.stage(view, slot, live),
                None => stats.objects_foreign += 1,
            }
            Ok(())
        })?;
        relist.page(
            Version::parse(&info.resource_version),
            info.continue_token.is_empty(),
        );
        self.stats.objects_listed += info.items;
        self.relist = Some(relist);
        Ok(info)
    }

    /// Puts the list in the place of what the cache holds of its slots. On an error the list is over, without effect.
    ///
    /// The batch's position is where the stream is to begin again.
    pub fn commit_relist(&mut self) -> Result<Batch, Error> {
        let relist = self.relist.take().ok_or(NO_RELIST)?;
        let (slots, gain) = (relist.slots(), relist.is_gain());
        let mut deltas = Deltas::default();
        let list = relist.commit(self.position.as_ref(), &mut self.live, &mut deltas)?;
        let position = self.live.share.listed(slots, list, self.position.take());
        if gain {
            self.stats.gains += 1;
        } else {
            self.stats.relists += 1;
        }
        let deltas = deltas.into_list();
        self.stats.deltas += deltas.len() as u64;
        let batch = Batch {
            deltas,
            resource_version: Some(position.to_string()),
            ..Batch::default()
        };
        self.position = Some(position);
        self.tend(true);
        Ok(batch)
    }

    /// Drops a list under way, if any.
    pub fn abort_relist(&mut self) {
        self.relist = None;
    }
}
