//! Where each page of a database lies: 16 bytes a page.

use std::ops::Range;

use celld_ltx::{Checksum, Header, LOCK_PAGE};

/// A place in one number: the object's place in the chain (15 bits), the offset in the object (36 bits), the size of the page's
/// frame (13 bits). An offset is never zero, so zero is no place.
const SIZE_BITS: u32 = 13;
const OFFSET_BITS: u32 = 36;

/// Most objects in a chain whose pages can be mapped.
pub(crate) const MAX_OBJECTS: usize = 1 << (64 - SIZE_BITS - OFFSET_BITS);

/// Largest object whose pages can be mapped: 64 GiB, and no database is larger than 10.
pub(crate) const MAX_OBJECT_BYTES: u64 = 1 << OFFSET_BITS;

/// Where one page is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// The database ends before it.
    Beyond,
    /// No object holds it: the database grew over it, and it is all zeros.
    Zeros,
    /// In an object.
    At {
        /// Which one of the chain.
        object: usize,
        /// The bytes of its frame there.
        frame: Range<u64>,
        /// The checksum of the page.
        sum: Checksum,
    },
}

#[derive(Debug, Clone, Copy, Default)]
struct Packed {
    place: u64,
    sum: u64,
}

/// The map of one database, filled from its newest object to its oldest.
#[derive(Debug, Default)]
pub(crate) struct PageMap {
    /// Page 1 first.
    pages: Vec<Packed>,
    /// The smallest size of the database after any of the objects so far, in pages: what older objects hold beyond was cut off.
    floor: u32,
    started: bool,
}

impl PageMap {
    /// Adds the pages of the next older object. Calls `newest` for each that no younger object replaces or cuts off, with its
    /// place among `pages`.
    pub(crate) fn add(
        &mut self,
        object: usize,
        header: &Header,
        pages: &[(u32, Range<u64>)],
        sums: &[Checksum],
        mut newest: impl FnMut(usize),
    ) {
        if !self.started {
            self.started = true;
            self.floor = header.commit;
            self.pages.resize(header.commit as usize, Packed::default());
        }
        for (at, ((pgno, frame), sum)) in pages.iter().zip(sums).enumerate() {
            // The index is parsed strictly: pages count from 1 and are not the lock page.
            if *pgno > self.floor || *pgno == 0 || *pgno == LOCK_PAGE {
                continue;
            }
            let packed = &mut self.pages[*pgno as usize - 1];
            if packed.place == 0 {
                let place = (object as u64) << (SIZE_BITS + OFFSET_BITS)
                    | frame.start << SIZE_BITS
                    | (frame.end - frame.start);
                *packed = Packed { place, sum: sum.0 };
                newest(at);
            }
        }
        self.floor = self.floor.min(header.commit);
    }

    /// Whether every place of an object fits into the map.
    pub(crate) fn fits(pages: &[(u32, Range<u64>)]) -> bool {
        pages.iter().all(|(_, frame)| {
            frame.start > 0 && frame.end <= MAX_OBJECT_BYTES && frame.end - frame.start < 1 << SIZE_BITS
        })
    }

    /// Pages in the database.
    pub(crate) fn len(&self) -> u32 {
        // As many as a header says, which has 32 bits for it.
        self.pages.len() as u32
    }

    pub(crate) fn find(&self, pgno: u32) -> Place {
        let Some(packed) = (pgno as usize).checked_sub(1).and_then(|at| self.pages.get(at)) else {
            return Place::Beyond;
        };
        if packed.place == 0 {
            return Place::Zeros;
        }
        let start = packed.place >> SIZE_BITS & ((1 << OFFSET_BITS) - 1);
        let size = packed.place & ((1 << SIZE_BITS) - 1);
        Place::At {
            object: (packed.place >> (SIZE_BITS + OFFSET_BITS)) as usize,
            frame: start..start + size,
            sum: Checksum(packed.sum),
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.pages.capacity() * size_of::<Packed>()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use celld_ltx::{File, Image, PAGE_SIZE, Page, Txid, encode};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_place_survives_packing() {
        assert_eq!(size_of::<Packed>(), 16);
        let header =
            Header { min_txid: Txid(2), max_txid: Txid(2), commit: 3, timestamp_ms: 0, pre_apply: None };
        let frame = MAX_OBJECT_BYTES - 5000..MAX_OBJECT_BYTES - 900;
        let mut map = PageMap::default();
        let pages = [(2, frame.clone())];
        assert!(PageMap::fits(&pages));
        assert!(!PageMap::fits(&[(2, 100..100 + (1 << SIZE_BITS))]));
        assert!(!PageMap::fits(&[(2, frame.start..MAX_OBJECT_BYTES + 1)]));
        map.add(MAX_OBJECTS - 1, &header, &pages, &[Checksum(u64::MAX)], |_| ());
        let place = Place::At { object: MAX_OBJECTS - 1, frame, sum: Checksum(u64::MAX) };
        assert_eq!(map.find(2), place);
        assert_eq!([map.find(0), map.find(4)], [Place::Beyond, Place::Beyond]);
        assert_eq!([map.find(1), map.find(3)], [Place::Zeros, Place::Zeros]);
    }

    proptest! {
        /// What the map finds is what applying the files in order gives, whatever grows and shrinks.
        #[test]
        fn the_map_finds_what_applying_gives(
            changes in prop::collection::vec(
                (1u32..12, prop::collection::btree_map(1u32..12, any::<u8>(), 0..8)), 1..12),
        ) {
            let mut image = Image::empty();
            let mut files = Vec::new();
            for (at, (commit, pages)) in changes.into_iter().enumerate() {
                let pages = pages.into_iter().filter(|(pgno, _)| *pgno <= commit);
                let pages = pages.map(|(pgno, byte)| Page { pgno, data: Arc::from(vec![byte; PAGE_SIZE]) });
                let file = File::transaction(Txid(at as u64 + 1), commit, pages.collect(), 0).unwrap();
                image.apply(&file, 100).unwrap();
                files.push(file);
            }
            let mut map = PageMap::default();
            for (object, file) in files.iter().enumerate().rev() {
                let bytes = encode(file);
                let celld_ltx::Tail::Index(index) = celld_ltx::Index::parse(&bytes, bytes.len() as u64).unwrap() else {
                    panic!("the whole file holds its index");
                };
                let sums: Vec<_> = file.pages().iter().map(|p| Checksum::of_page(p.pgno, &p.data)).collect();
                map.add(object, file.header(), index.entries(), &sums, |_| ());
            }
            prop_assert_eq!(map.len(), image.pages());
            for pgno in 1..=map.len() {
                let data = image.page(pgno).unwrap();
                match map.find(pgno) {
                    Place::Zeros => prop_assert!(data.iter().all(|byte| *byte == 0)),
                    Place::At { object, sum, .. } => {
                        prop_assert_eq!(sum, Checksum::of_page(pgno, data));
                        prop_assert!(files[object].pages().iter().any(|page| page.pgno == pgno));
                    }
                    Place::Beyond => prop_assert!(false),
                }
            }
        }
    }
}
