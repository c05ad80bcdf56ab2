//! As much of SQLite's file format as it takes to find a database's interior pages: <https://sqlite.org/fileformat2.html>.
//!
//! Every way to a row leads through a few of them, so a paged cell fetches them before all others. What is found here only decides
//! what is fetched early: a page that means something else does no harm.

use celld_ltx::PAGE_SIZE;

/// Bytes of the database header in front of page 1's own.
const FILE_HEADER: usize = 100;

const INTERIOR_INDEX: u8 = 2;
const INTERIOR_TABLE: u8 = 5;
const LEAF_TABLE: u8 = 13;

/// The children of page `pgno` with the content `page`, in order; empty for a leaf and for what is no page of a tree.
pub fn children(pgno: u32, page: &[u8]) -> Vec<u32> {
    let Some(node) = Node::parse(pgno, page) else { return Vec::new() };
    if !matches!(node.kind, INTERIOR_INDEX | INTERIOR_TABLE) {
        return Vec::new();
    }
    let cells = node.cells().filter_map(|cell| be_u32(page, cell));
    let children = cells.chain(be_u32(page, node.start + 8));
    children.filter(|child| *child > 0).collect()
}

/// The root pages that the schema's leaf page `pgno` names: those of tables and indexes. Empty for any other page.
pub fn schema_roots(pgno: u32, page: &[u8]) -> Vec<u32> {
    let Some(node) = Node::parse(pgno, page).filter(|node| node.kind == LEAF_TABLE) else {
        return Vec::new();
    };
    node.cells().filter_map(|cell| root(page.get(cell..)?)).collect()
}

struct Node<'a> {
    page: &'a [u8],
    kind: u8,
    start: usize,
    cells: usize,
}

impl<'a> Node<'a> {
    fn parse(pgno: u32, page: &'a [u8]) -> Option<Self> {
        if page.len() != PAGE_SIZE {
            return None;
        }
        let start = if pgno == 1 { FILE_HEADER } else { 0 };
        let cells = usize::from(be_u16(page, start + 3)?);
        Some(Node { page, kind: *page.get(start)?, start, cells })
    }

    /// Where the cells begin.
    fn cells(&self) -> impl Iterator<Item = usize> + '_ {
        let header = if matches!(self.kind, INTERIOR_INDEX | INTERIOR_TABLE) { 12 } else { 8 };
        let pointers = self.start + header;
        (0..self.cells).filter_map(move |at| be_u16(self.page, pointers + at * 2).map(usize::from))
    }
}

/// The root page in one row of the schema: its fourth column, an integer. The columns before it are short text, so all of them lie
/// on the page itself.
fn root(cell: &[u8]) -> Option<u32> {
    let mut rest = cell;
    let _payload = varint(&mut rest)?;
    let _rowid = varint(&mut rest)?;
    let record = rest;
    let header_len = usize::try_from(varint(&mut rest)?).ok()?;
    let mut body = record.get(header_len..)?;
    for _ in 0..3 {
        let len = text_len(varint(&mut rest)?)?;
        body = body.get(len..)?;
    }
    let width = match varint(&mut rest)? {
        9 => return Some(1),
        width @ 1..=4 => width as usize,
        _ => return None,
    };
    let value = body.get(..width)?.iter().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
    (value > 0).then_some(value)
}

fn text_len(serial: u64) -> Option<usize> {
    match serial {
        0 => Some(0),
        serial if serial >= 13 && serial % 2 == 1 => usize::try_from((serial - 13) / 2).ok(),
        _ => None,
    }
}

/// SQLite's variable-length number: seven bits a byte, high ones first, eight in the ninth.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for at in 0..9 {
        let byte = *bytes.get(at)?;
        if at == 8 {
            value = value << 8 | u64::from(byte);
        } else {
            value = value << 7 | u64::from(byte & 0x7f);
        }
        if byte & 0x80 == 0 || at == 8 {
            *bytes = &bytes[at + 1..];
            break;
        }
    }
    Some(value)
}

fn be_u16(page: &[u8], at: usize) -> Option<u16> {
    page.get(at..at + 2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
}

fn be_u32(page: &[u8], at: usize) -> Option<u32> {
    page.get(at..at + 4).map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::{CellDb, Image};

    #[test]
    fn every_interior_page_is_found() {
        let mut db = CellDb::new(Image::Empty, None, Arc::default()).unwrap();
        for table in 0..200 {
            db.exec(&format!("CREATE TABLE t{table}(k TEXT PRIMARY KEY, v)"), &[]).unwrap();
        }
        let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO t7 SELECT 'a rather long key ' || i, zeroblob(700) FROM n";
        db.exec(fill, &[]).unwrap();
        db.commit().unwrap();
        let mut image = db.image().unwrap();
        let page = |pgno: u32| &image[(pgno as usize - 1) * PAGE_SIZE..][..PAGE_SIZE];

        let mut schema = vec![1];
        let mut roots = BTreeSet::new();
        while let Some(pgno) = schema.pop() {
            schema.extend(children(pgno, page(pgno)));
            roots.extend(schema_roots(pgno, page(pgno)));
        }
        assert_eq!(roots.len(), 400, "a table and an index each");
        let mut pages = roots.clone();
        let mut level: Vec<u32> = roots.into_iter().collect();
        while !level.is_empty() {
            level = level.iter().flat_map(|pgno| children(*pgno, page(*pgno))).collect();
            assert!(level.iter().all(|pgno| pages.insert(*pgno)), "a tree has no page twice");
        }
        assert!(pages.len() > 1000);

        // A damaged or foreign page is nothing to follow, and no reason to panic.
        for at in 0..200 {
            image[at * 7] ^= 0xff;
        }
        let damaged = &image[..PAGE_SIZE];
        let _ = (children(1, damaged), schema_roots(1, damaged), schema_roots(2, damaged));
        assert!(children(1, &[]).is_empty() && schema_roots(1, &[5; PAGE_SIZE]).is_empty());
    }
}
