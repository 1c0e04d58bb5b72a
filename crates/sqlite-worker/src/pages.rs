//! SQLite's files: tables of shared pages in memory. To copy one is to copy a table; whoever writes a page that others share gets
//! a page of its own. There is no other file: what SQLite would put beside a database, it keeps in its memory.
#![expect(unsafe_code, reason = "a file system for C")]

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use imbl::Vector;
use parking_lot::Mutex;
use rusqlite::ffi;

/// Bytes of a page of ours. SQLite's own may be smaller or larger.
const PAGE: usize = 4096;
/// On damaged databases SQLite reads a few bytes beyond a page that it was handed; its own files leave as many for that.
const SLACK: usize = 256;
/// The name of the file system.
pub(crate) const NAME: &str = "palestra-pages";

static TOTAL: AtomicU64 = AtomicU64::new(0);
static MAX: AtomicU64 = AtomicU64::new(u64::MAX);

thread_local! {
    static OPENING: RefCell<Option<Arc<Store>>> = const { RefCell::new(None) };
    static NOW_MS: Cell<i64> = const { Cell::new(0) };
}

/// Number of pages that are still held.
#[derive(Debug, Default)]
pub struct Ledger(AtomicU64);

impl Ledger {
    /// Bytes of those pages.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed) * PAGE as u64
    }
}

#[repr(C)]
struct Page {
    data: [u8; PAGE],
    slack: [u8; SLACK],
    owner: Arc<Ledger>,
}

impl Page {
    fn new(data: [u8; PAGE], owner: &Arc<Ledger>) -> Arc<Self> {
        TOTAL.fetch_add(1, Ordering::Relaxed);
        owner.0.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self { data, slack: [0; SLACK], owner: Arc::clone(owner) })
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        TOTAL.fetch_sub(1, Ordering::Relaxed);
        self.owner.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bytes of all pages, each counted once.
#[must_use]
pub fn total() -> u64 {
    TOTAL.load(Ordering::Relaxed) * PAGE as u64
}

/// Bounds the bytes of all pages: beyond them the disk is full.
pub fn set_max(bytes: u64) {
    MAX.store(bytes / PAGE as u64, Ordering::Relaxed);
}

/// Contents of a file. A clone costs the same whatever the size.
#[derive(Clone, Default)]
pub struct Table {
    pages: Vector<Arc<Page>>,
    len: u64,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Table").field("len", &self.len).finish_non_exhaustive()
    }
}

impl Table {
    /// Bytes of the file.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True if it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A table of a file's bytes.
    #[must_use]
    pub fn of(bytes: &[u8], owner: &Arc<Ledger>) -> Self {
        let mut table = Self::default();
        table.write(0, bytes, owner);
        table
    }

    /// The file's bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(self.len).unwrap_or(usize::MAX)];
        self.read(0, &mut bytes);
        bytes
    }

    /// Reads the bytes that there are and returns their number; the rest is zero.
    fn read(&self, offset: u64, into: &mut [u8]) -> usize {
        let there = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX).min(into.len());
        for (index, within, part) in Parts::of(offset, there) {
            let target = &mut into[part.clone()];
            match self.pages.get(index) {
                Some(page) => target.copy_from_slice(&page.data[within..within + part.len()]),
                None => target.fill(0),
            }
        }
        into[there..].fill(0);
        there
    }

    fn write(&mut self, offset: u64, bytes: &[u8], owner: &Arc<Ledger>) {
        for (index, within, part) in Parts::of(offset, bytes.len()) {
            while self.pages.len() <= index {
                self.pages.push_back(Page::new([0; PAGE], owner));
            }
            let Some(page) = self.pages.get_mut(index) else { continue };
            let target = within..within + part.len();
            if let Some(own) = Arc::get_mut(page) {
                own.data[target].copy_from_slice(&bytes[part]);
            } else {
                let mut data = page.data;
                data[target].copy_from_slice(&bytes[part]);
                *page = Page::new(data, owner);
            }
        }
        self.len = self.len.max(offset + bytes.len() as u64);
    }

    fn truncate(&mut self, len: u64) {
        let pages = usize::try_from(len.div_ceil(PAGE as u64)).unwrap_or(usize::MAX);
        if pages < self.pages.len() {
            self.pages.truncate(pages);
        }
        self.len = self.len.min(len);
    }

    /// A reference to the page that holds these bytes, where a single one does.
    fn page(&self, offset: u64, len: usize) -> Option<(&Arc<Page>, usize)> {
        let (index, within, part) = Parts::of(offset, len).next()?;
        let whole = part.len() == len && offset + len as u64 <= self.len;
        Some((self.pages.get(index).filter(|_| whole)?, within))
    }
}

/// Cuts a range of a file at the borders of pages: page, place in it, range in the buffer.
struct Parts {
    offset: u64,
    done: usize,
    len: usize,
}

impl Parts {
    fn of(offset: u64, len: usize) -> Self {
        Self { offset, done: 0, len }
    }
}

impl Iterator for Parts {
    type Item = (usize, usize, std::ops::Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.done == self.len {
            return None;
        }
        let at = usize::try_from(self.offset).ok()? + self.done;
        let part = self.done..self.len.min(self.done + PAGE - at % PAGE);
        self.done = part.end;
        Some((at / PAGE, at % PAGE, part))
    }
}

/// A file that one connection at a time has open.
#[derive(Debug, Default)]
pub struct Store {
    table: Mutex<Table>,
    ledger: Arc<Ledger>,
}

impl Store {
    /// A file that holds this; what is written into it is on the ledger.
    #[must_use]
    pub fn new(table: Table, ledger: Arc<Ledger>) -> Arc<Self> {
        Arc::new(Self { table: Mutex::new(table), ledger })
    }

    /// Its present contents.
    #[must_use]
    pub fn table(&self) -> Table {
        self.table.lock().clone()
    }

    /// Runs what opens a connection: the database that it opens is this file.
    pub fn opening<T>(self: &Arc<Self>, open: impl FnOnce() -> T) -> T {
        OPENING.set(Some(Arc::clone(self)));
        let opened = open();
        OPENING.take();
        opened
    }
}

/// Sets what SQLite takes for now on this thread, in milliseconds since 1970.
pub fn set_now(now_ms: i64) {
    NOW_MS.set(now_ms);
}

/// A file as SQLite sees it.
#[repr(C)]
struct File {
    base: ffi::sqlite3_file,
    /// One strong reference.
    store: *const Store,
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 3,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(lock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    // Without shared memory there is no write-ahead log.
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: Some(fetch),
    xUnfetch: Some(unfetch),
};

/// The file system, to be registered once under [`NAME`].
pub(crate) fn file_system() -> ffi::sqlite3_vfs {
    ffi::sqlite3_vfs {
        iVersion: 2,
        szOsFile: c_int::try_from(size_of::<File>()).unwrap_or(c_int::MAX),
        mxPathname: 64,
        pNext: ptr::null_mut(),
        zName: c"palestra-pages".as_ptr(),
        pAppData: ptr::null_mut(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_path),
        xDlOpen: None,
        xDlError: None,
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: None,
        xCurrentTimeInt64: Some(current_time_ms),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }
}

/// The store behind a file.
///
/// # Safety
/// The file must have been opened by [`open`] and not closed.
unsafe fn store<'a>(file: *mut ffi::sqlite3_file) -> &'a Store {
    // SAFETY: an open file is a `File`, whose reference keeps the store alive.
    unsafe { &*(*file.cast::<File>()).store }
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    _: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let opening = if flags & ffi::SQLITE_OPEN_MAIN_DB == 0 { None } else { OPENING.take() };
    // SAFETY: SQLite hands over `szOsFile` bytes for the file, and null or a place for the flags.
    unsafe {
        (*file).pMethods = ptr::null();
        let Some(store) = opening else { return ffi::SQLITE_CANTOPEN };
        file.cast::<File>()
            .write(File { base: ffi::sqlite3_file { pMethods: &raw const METHODS }, store: Arc::into_raw(store) });
        if !out.is_null() {
            *out = flags;
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: an open file is closed once; it holds one reference.
    drop(unsafe { Arc::from_raw((*file.cast::<File>()).store) });
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, into: *mut c_void, len: c_int, offset: i64) -> c_int {
    let (Ok(len), Ok(offset)) = (usize::try_from(len), u64::try_from(offset)) else { return ffi::SQLITE_IOERR_READ };
    // SAFETY: the file is open, and SQLite hands over `len` bytes to write to.
    let (store, into) = unsafe { (store(file), std::slice::from_raw_parts_mut(into.cast::<u8>(), len)) };
    if store.table.lock().read(offset, into) == len { ffi::SQLITE_OK } else { ffi::SQLITE_IOERR_SHORT_READ }
}

unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, from: *const c_void, len: c_int, offset: i64) -> c_int {
    let (Ok(len), Ok(offset)) = (usize::try_from(len), u64::try_from(offset)) else { return ffi::SQLITE_IOERR_WRITE };
    if TOTAL.load(Ordering::Relaxed) >= MAX.load(Ordering::Relaxed) {
        return ffi::SQLITE_FULL;
    }
    // SAFETY: the file is open, and SQLite hands over `len` bytes to read.
    let (store, from) = unsafe { (store(file), std::slice::from_raw_parts(from.cast::<u8>(), len)) };
    store.table.lock().write(offset, from, &store.ledger);
    ffi::SQLITE_OK
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, len: i64) -> c_int {
    // SAFETY: the file is open.
    unsafe { store(file) }.table.lock().truncate(u64::try_from(len).unwrap_or(0));
    ffi::SQLITE_OK
}

unsafe extern "C" fn sync(_: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, out: *mut i64) -> c_int {
    // SAFETY: the file is open, and SQLite hands over a place for the size.
    unsafe { *out = i64::try_from(store(file).table.lock().len).unwrap_or(i64::MAX) };
    ffi::SQLITE_OK
}

/// A file has one connection, so that there is nobody to keep out.
unsafe extern "C" fn lock(_: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(_: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    // SAFETY: SQLite hands over a place for the answer.
    unsafe { *out = 0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(_: *mut ffi::sqlite3_file, _: c_int, _: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_: *mut ffi::sqlite3_file) -> c_int {
    512
}

unsafe extern "C" fn characteristics(_: *mut ffi::sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE | ffi::SQLITE_IOCAP_SAFE_APPEND | ffi::SQLITE_IOCAP_SEQUENTIAL
}

/// Hands out a page as it lies here. The reference that SQLite holds keeps it alive, and unchanged: while others hold a page,
/// a writer gets its own.
unsafe extern "C" fn fetch(file: *mut ffi::sqlite3_file, offset: i64, len: c_int, out: *mut *mut c_void) -> c_int {
    // SAFETY: the file is open, and SQLite hands over a place for the pointer. The bytes lie within the page's data.
    unsafe {
        *out = ptr::null_mut();
        let (Ok(len), Ok(offset)) = (usize::try_from(len), u64::try_from(offset)) else { return ffi::SQLITE_OK };
        if let Some((page, within)) = store(file).table.lock().page(offset, len) {
            *out = Arc::into_raw(Arc::clone(page)).cast::<u8>().add(within).cast_mut().cast();
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn unfetch(_: *mut ffi::sqlite3_file, offset: i64, bytes: *mut c_void) -> c_int {
    if !bytes.is_null() {
        let within = usize::try_from(offset).unwrap_or(0) % PAGE;
        // SAFETY: SQLite returns once what `fetch` gave for the same offset; the data is the first in a page.
        drop(unsafe { Arc::from_raw(bytes.cast::<u8>().sub(within).cast::<Page>()) });
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, _: *const c_char, _: c_int) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn access(_: *mut ffi::sqlite3_vfs, _: *const c_char, _: c_int, out: *mut c_int) -> c_int {
    // SAFETY: SQLite hands over a place for the answer.
    unsafe { *out = 0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn full_path(_: *mut ffi::sqlite3_vfs, name: *const c_char, len: c_int, out: *mut c_char) -> c_int {
    // SAFETY: SQLite hands over a name that ends in zero, and `len` bytes for what it becomes.
    unsafe {
        let name = std::ffi::CStr::from_ptr(name).to_bytes_with_nul();
        if name.len() > usize::try_from(len).unwrap_or(0) {
            return ffi::SQLITE_CANTOPEN;
        }
        ptr::copy_nonoverlapping(name.as_ptr().cast(), out, name.len());
    }
    ffi::SQLITE_OK
}

/// Nothing that statements can see follows from it: their functions draw from the session's seed.
unsafe extern "C" fn randomness(_: *mut ffi::sqlite3_vfs, len: c_int, out: *mut c_char) -> c_int {
    // SAFETY: SQLite hands over `len` bytes.
    unsafe { ptr::write_bytes(out, 0x5a, usize::try_from(len).unwrap_or(0)) };
    len
}

unsafe extern "C" fn sleep(_: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    microseconds
}

/// Milliseconds of the Julian calendar at the beginning of 1970.
const EPOCH_MS: i64 = 210_866_760_000_000;

unsafe extern "C" fn current_time_ms(_: *mut ffi::sqlite3_vfs, out: *mut i64) -> c_int {
    // SAFETY: SQLite hands over a place for the time.
    unsafe { *out = EPOCH_MS.saturating_add(NOW_MS.get()) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn current_time(_: *mut ffi::sqlite3_vfs, out: *mut f64) -> c_int {
    #[expect(clippy::cast_precision_loss, reason = "days as SQLite wants them")]
    let days = EPOCH_MS.saturating_add(NOW_MS.get()) as f64 / 86_400_000.0;
    // SAFETY: SQLite hands over a place for the time.
    unsafe { *out = days };
    ffi::SQLITE_OK
}
