//! Journals of a bucket: beginning them, and taking them apart.

use std::io;

use rustix::io::Errno;

use super::{Inner, Trouble};
use crate::failpoint;
use crate::local::journal::Index;
use crate::local::path;

impl Inner {
    /// Begins a journal for the objects directly below `prefix`; see [`crate::Bucket::begin_journal`].
    pub(in crate::local) fn begin_journal(&self, prefix: &str) -> Result<bool, Trouble> {
        let dir = path::dir_of(prefix);
        let used = self.dirs.existing(&dir).map_err(|error| Trouble::Io(self.objects.join(&dir), error))?;
        if used.is_some() {
            return Ok(false);
        }
        self.journals.begin(&dir).map_err(self.journal_io(&dir))
    }

    /// Ends the journal for the objects directly below `prefix`, if there is one.
    pub(in crate::local) fn end_journal(&self, prefix: &str) -> Result<(), Trouble> {
        self.settle(&path::dir_of(prefix))
    }

    /// Makes sure that all objects of `dir` are files and will be.
    pub(super) fn settle(&self, dir: &str) -> Result<(), Trouble> {
        let failed = self.journal_io(dir);
        if !self.journals.any(dir).map_err(&failed)? {
            return Ok(());
        }
        let _lock = self.lock(&format!("journal of {dir}"))?;
        let Some(objects) = self.journals.stop(dir).map_err(&failed)? else { return Ok(()) };
        let mut made = None;
        for (key, location) in objects {
            let changed =
                || io::Error::new(io::ErrorKind::InvalidData, format!("the record of {key} changed"));
            let record =
                location.read(&key).and_then(|record| record.ok_or_else(changed)).map_err(&failed)?;
            let place = path::place(&key);
            let staged = self.staging.for_create(&record.body, record.nonce);
            let staged = staged.map_err(|error| self.io(&place, error))?;
            // A file that is there counts: it is the same object, or the record was written too late.
            made = Some(self.named(&place, |dir| match staged.link(dir, &place.file) {
                Err(Errno::EXIST) => Ok(()),
                linked => linked,
            })?);
        }
        if let Some(made) = made {
            self.disk.sync_dir(&made).map_err(|error| Trouble::Io(self.objects.join(dir), error.into()))?;
        }
        failpoint("settle");
        self.journals.remove(dir).map_err(failed)
    }

    /// Takes a journal apart, for a reader. Where that cannot be done now, because there is no room for files, what is in it: whoever
    /// takes it apart later finds the same.
    pub(super) fn stopped(&self, dir: &str) -> Result<Option<Index>, Trouble> {
        let Err(trouble) = self.settle(dir) else { return Ok(None) };
        let _lock = self.lock(&format!("journal of {dir}"))?;
        match self.journals.stop(dir) {
            Ok(index) => Ok(index),
            Err(_) => Err(trouble),
        }
    }
}
