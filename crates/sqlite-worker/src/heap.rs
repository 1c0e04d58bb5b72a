//! SQLite's memory: every block knows which account pays for it, and an account that has nothing left gets none, which SQLite reports
//! as `SQLITE_NOMEM` for the statement that wanted it. Blocks go back to the account that paid, wherever they are freed.
#![expect(unsafe_code, reason = "an allocator for C")]

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::ffi;

/// Memory that SQLite may allocate on behalf of one session.
#[derive(Debug)]
pub struct Account {
    used: AtomicUsize,
    max: usize,
}

/// In front of every block; as large as the alignment that SQLite may expect.
#[repr(C, align(16))]
struct Header {
    /// One strong reference; null where nobody pays.
    payer: *const Account,
    /// Bytes after the header.
    size: usize,
}

/// Bytes that SQLite holds in all.
static TOTAL: AtomicUsize = AtomicUsize::new(0);
static MAX: AtomicUsize = AtomicUsize::new(usize::MAX);

thread_local! {
    static PAYER: Cell<*const Account> = const { Cell::new(ptr::null()) };
}

impl Account {
    /// An account of `max` bytes.
    #[must_use]
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), max })
    }

    /// Bytes that are held.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Lets this account pay for what SQLite allocates on this thread until the result is dropped.
    #[must_use]
    pub fn pays(self: &Arc<Self>) -> AccountGuard {
        AccountGuard { account: Arc::clone(self), before: PAYER.replace(Arc::as_ptr(self)) }
    }

    fn charge(&self, bytes: usize) -> bool {
        let within = self.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= self.max;
        if !within {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
        }
        within
    }
}

/// While it lives, its account pays. It stays on its thread.
#[derive(Debug)]
pub struct AccountGuard {
    #[expect(dead_code, reason = "keeps alive what the thread points to")]
    account: Arc<Account>,
    before: *const Account,
}

impl Drop for AccountGuard {
    fn drop(&mut self) {
        PAYER.set(self.before);
    }
}

/// Bytes that SQLite holds, whoever pays.
#[must_use]
pub fn total() -> usize {
    TOTAL.load(Ordering::Relaxed)
}

/// Bounds the bytes that SQLite holds, whoever pays.
pub fn set_max(bytes: usize) {
    MAX.store(bytes, Ordering::Relaxed);
}

/// Memory methods that SQLite is configured with.
pub(crate) const METHODS: ffi::sqlite3_mem_methods = ffi::sqlite3_mem_methods {
    xMalloc: Some(malloc),
    xFree: Some(free),
    xRealloc: Some(resize),
    xSize: Some(size),
    xRoundup: Some(round_up),
    xInit: Some(init),
    xShutdown: Some(shutdown),
    pAppData: ptr::null_mut(),
};

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(size_of::<Header>())?, align_of::<Header>()).ok()
}

unsafe extern "C" fn malloc(bytes: c_int) -> *mut c_void {
    let Some((size, layout)) = usize::try_from(bytes).ok().and_then(|size| Some((size, layout(size)?))) else {
        return ptr::null_mut();
    };
    if TOTAL.load(Ordering::Relaxed) >= MAX.load(Ordering::Relaxed) {
        return ptr::null_mut();
    }
    let payer = PAYER.get();
    // SAFETY: a payer that is not null is alive, since `AccountGuard` holds it while the thread points to it.
    if unsafe { payer.as_ref() }.is_some_and(|account| !account.charge(layout.size())) {
        return ptr::null_mut();
    }
    // SAFETY: the layout has the header's size at least, so it is not empty.
    let header = unsafe { alloc(layout) }.cast::<Header>();
    if header.is_null() {
        // SAFETY: as above.
        if let Some(account) = unsafe { payer.as_ref() } {
            account.used.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        return ptr::null_mut();
    }
    TOTAL.fetch_add(layout.size(), Ordering::Relaxed);
    // SAFETY: the block was just allocated for a header and `size` bytes; the payer is alive and was made by an `Arc`.
    unsafe {
        if !payer.is_null() {
            Arc::increment_strong_count(payer);
        }
        header.write(Header { payer, size });
        header.add(1).cast()
    }
}

unsafe extern "C" fn free(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: SQLite frees only what `malloc` or `resize` gave it, once; in front of that lies its header.
    unsafe {
        let header = block.cast::<Header>().sub(1);
        let Header { payer, size } = header.read();
        let Some(layout) = layout(size) else { return };
        dealloc(header.cast(), layout);
        TOTAL.fetch_sub(layout.size(), Ordering::Relaxed);
        if !payer.is_null() {
            let account = Arc::from_raw(payer);
            account.used.fetch_sub(layout.size(), Ordering::Relaxed);
        }
    }
}

unsafe extern "C" fn resize(block: *mut c_void, bytes: c_int) -> *mut c_void {
    let Some((size, new)) = usize::try_from(bytes).ok().and_then(|size| Some((size, layout(size)?))) else {
        return ptr::null_mut();
    };
    // SAFETY: SQLite resizes only what `malloc` or `resize` gave it; its payer is alive, since the block holds a reference.
    unsafe {
        let header = block.cast::<Header>().sub(1);
        let payer = (*header).payer.as_ref();
        let Some(old) = layout((*header).size) else { return ptr::null_mut() };
        let grown = new.size().saturating_sub(old.size());
        if payer.is_some_and(|account| !account.charge(grown)) {
            return ptr::null_mut();
        }
        let moved = realloc(header.cast(), old, new.size()).cast::<Header>();
        if moved.is_null() {
            if let Some(account) = payer {
                account.used.fetch_sub(grown, Ordering::Relaxed);
            }
            return ptr::null_mut();
        }
        let shrunk = old.size().saturating_sub(new.size());
        if let Some(account) = payer {
            account.used.fetch_sub(shrunk, Ordering::Relaxed);
        }
        TOTAL.fetch_add(grown, Ordering::Relaxed);
        TOTAL.fetch_sub(shrunk, Ordering::Relaxed);
        (*moved).size = size;
        moved.add(1).cast()
    }
}

unsafe extern "C" fn size(block: *mut c_void) -> c_int {
    if block.is_null() {
        return 0;
    }
    // SAFETY: as in `free`.
    let size = unsafe { (*block.cast::<Header>().sub(1)).size };
    c_int::try_from(size).unwrap_or(c_int::MAX)
}

unsafe extern "C" fn round_up(bytes: c_int) -> c_int {
    bytes.saturating_add(7) & !7
}

unsafe extern "C" fn init(_: *mut c_void) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn shutdown(_: *mut c_void) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_paid_until_it_is_freed_wherever_that_is() {
        let account = Account::new(1_000);
        let block = {
            let _paying = account.pays();
            // SAFETY: sizes are positive, and the block is freed once.
            unsafe {
                assert!(malloc(2_000).is_null(), "more than there is");
                let block = malloc(100);
                let block = resize(block, 500);
                assert_eq!(size(block), 500);
                assert!(resize(block, 5_000).is_null(), "the block stays as it is");
                assert_eq!(account.used(), 516);
                resize(block, 50) as usize
            }
        };
        assert_eq!(account.used(), 66);
        // SAFETY: the block lives, and nobody else frees it.
        std::thread::spawn(move || unsafe { free(block as *mut c_void) }).join().expect("no panic");
        assert_eq!(account.used(), 0);
        assert_eq!(Arc::strong_count(&account), 1, "blocks hold their account no longer than they live");
    }
}
