//! Calls into C that no crate offers as we need them: statements of a longer text, functions over values as SQLite keeps them, and
//! what is set once for the process.
#![expect(unsafe_code, reason = "SQLite's and the system's own interfaces")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Once};

use rusqlite::{Connection, ffi};

use crate::wire::Value;
use crate::{heap, pages};

/// Bytes of a session's fast memory for small blocks, and how many blocks of the larger kind that is.
const LOOKASIDE: (c_int, c_int) = (1200, 16);

/// Sets up SQLite for this process, once, before it is used: our memory, our files, no locks around memory statistics.
pub fn initialise() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let file_system = Box::leak(Box::new(pages::file_system()));
        // SAFETY: nothing uses SQLite yet, and each setting is given what it is documented to take. The file system lives for ever.
        let codes = unsafe {
            [
                ffi::sqlite3_config(
                    ffi::SQLITE_CONFIG_MALLOC,
                    Box::leak(Box::new(heap::METHODS)) as *const ffi::sqlite3_mem_methods,
                ),
                ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0 as c_int),
                ffi::sqlite3_config(ffi::SQLITE_CONFIG_LOOKASIDE, LOOKASIDE.0, LOOKASIDE.1),
                // Pages are read where they lie.
                ffi::sqlite3_config(ffi::SQLITE_CONFIG_MMAP_SIZE, 1_i64 << 30, 1_i64 << 30),
                ffi::sqlite3_initialize(),
                ffi::sqlite3_vfs_register(file_system, 1),
            ]
        };
        assert!(codes.iter().all(|code| *code == ffi::SQLITE_OK), "SQLite refuses its configuration: {codes:?}");
    });
}

/// Forgets every variable of the environment.
pub fn clear_environment() {
    for (name, _) in std::env::vars_os() {
        // SAFETY: called while the process has a single thread.
        unsafe { std::env::remove_var(name) };
    }
}

/// The kernel's number of this thread.
#[must_use]
pub fn thread_id() -> u32 {
    // SAFETY: it only gives a number.
    let id = unsafe { libc::syscall(libc::SYS_gettid) };
    u32::try_from(id).unwrap_or(0)
}

/// Lets a thread of this process run only where others leave it time. There is no way back without a privilege.
pub fn make_nice(thread: u32) {
    // SAFETY: it takes numbers; that it fails changes nothing.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, 10) };
}

/// An error as SQLite gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The extended code.
    pub code: i32,
    /// The message.
    pub message: String,
    /// Bytes before the place, from the beginning of the statement.
    pub offset: Option<usize>,
}

fn fault(connection: &Connection, code: c_int) -> Fault {
    // SAFETY: the connection is open; the message is copied before anything else is called on it.
    let (message, offset, extended) = unsafe {
        let db = connection.handle();
        let message = CStr::from_ptr(ffi::sqlite3_errmsg(db)).to_string_lossy().into_owned();
        (message, ffi::sqlite3_error_offset(db), ffi::sqlite3_extended_errcode(db))
    };
    let code = if extended & 0xff == code & 0xff { extended } else { code };
    Fault { code, message, offset: usize::try_from(offset).ok() }
}

/// Sets what `last_insert_rowid()` gives.
pub fn set_last_insert_rowid(connection: &Connection, rowid: i64) {
    // SAFETY: the connection is open.
    unsafe { ffi::sqlite3_set_last_insert_rowid(connection.handle(), rowid) };
}

/// A statement that has been compiled.
#[derive(Debug)]
pub struct Statement<'c> {
    raw: NonNull<ffi::sqlite3_stmt>,
    connection: &'c Connection,
}

impl<'c> Statement<'c> {
    /// Compiles the first statement of the text from byte `at`. Gives the place after it, and nothing where only space and comments
    /// are left.
    ///
    /// # Errors
    /// SQLite's; the offset is counted from `at`.
    pub fn compile(connection: &'c Connection, text: &CStr, at: usize) -> Result<(Option<Self>, usize), Fault> {
        let text = &text.to_bytes_with_nul()[at..];
        let (mut raw, mut tail) = (ptr::null_mut(), ptr::null());
        // SAFETY: the connection is open, and the text ends in zero.
        let code = unsafe {
            ffi::sqlite3_prepare_v3(connection.handle(), text.as_ptr().cast(), -1, 0, &raw mut raw, &raw mut tail)
        };
        if code != ffi::SQLITE_OK {
            return Err(fault(connection, code));
        }
        let used = if tail.is_null() { text.len() - 1 } else { tail.addr() - text.as_ptr().addr() };
        Ok((NonNull::new(raw).map(|raw| Self { raw, connection }), at + used))
    }

    /// Goes on to the next row; `false` at the end.
    ///
    /// # Errors
    /// SQLite's.
    pub fn step(&mut self) -> Result<bool, Fault> {
        // SAFETY: the statement lives as long as this value.
        match unsafe { ffi::sqlite3_step(self.raw.as_ptr()) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            code => Err(fault(self.connection, code)),
        }
    }

    /// Number of parameters that it has.
    #[must_use]
    pub fn parameters(&self) -> usize {
        // SAFETY: as in `step`.
        usize::try_from(unsafe { ffi::sqlite3_bind_parameter_count(self.raw.as_ptr()) }).unwrap_or(0)
    }

    /// Sets a parameter, counted from 1.
    ///
    /// # Errors
    /// SQLite's, when the value is too large.
    pub fn bind(&mut self, index: usize, value: &Value) -> Result<(), Fault> {
        let (raw, index) = (self.raw.as_ptr(), c_int::try_from(index).unwrap_or(c_int::MAX));
        // SAFETY: as in `step`; texts and blobs are copied by SQLite at once.
        let code = unsafe {
            match value {
                Value::Null => ffi::sqlite3_bind_null(raw, index),
                Value::Integer(number) => ffi::sqlite3_bind_int64(raw, index, *number),
                Value::Real(number) => ffi::sqlite3_bind_double(raw, index, *number),
                Value::Text(text) => ffi::sqlite3_bind_text64(
                    raw,
                    index,
                    text.as_ptr().cast(),
                    text.len() as u64,
                    ffi::SQLITE_TRANSIENT(),
                    UTF8,
                ),
                Value::Blob(bytes) if bytes.is_empty() => ffi::sqlite3_bind_zeroblob(raw, index, 0),
                Value::Blob(bytes) => ffi::sqlite3_bind_blob64(
                    raw,
                    index,
                    bytes.as_ptr().cast(),
                    bytes.len() as u64,
                    ffi::SQLITE_TRANSIENT(),
                ),
            }
        };
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(fault(self.connection, code)) }
    }

    /// True if it changes nothing itself.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        // SAFETY: as in `step`.
        unsafe { ffi::sqlite3_stmt_readonly(self.raw.as_ptr()) != 0 }
    }

    /// Names and declared types of the columns.
    #[must_use]
    pub fn columns(&self) -> Vec<(String, String)> {
        // SAFETY: as in `step`.
        let count = unsafe { ffi::sqlite3_column_count(self.raw.as_ptr()) };
        (0..count)
            .map(|index| {
                // SAFETY: as in `step`; both are null or texts that live until the next call for this column.
                unsafe {
                    let raw = self.raw.as_ptr();
                    (owned(ffi::sqlite3_column_name(raw, index)), owned(ffi::sqlite3_column_decltype(raw, index)))
                }
            })
            .collect()
    }

    /// A value of the current row.
    #[must_use]
    pub fn value(&self, column: usize) -> Value {
        let (raw, column) = (self.raw.as_ptr(), c_int::try_from(column).unwrap_or(c_int::MAX));
        // SAFETY: as in `step`; text and bytes are asked for before their length, and copied before the next call.
        unsafe {
            match ffi::sqlite3_column_type(raw, column) {
                ffi::SQLITE_INTEGER => Value::Integer(ffi::sqlite3_column_int64(raw, column)),
                ffi::SQLITE_FLOAT => Value::Real(ffi::sqlite3_column_double(raw, column)),
                ffi::SQLITE_TEXT => {
                    let text = ffi::sqlite3_column_text(raw, column);
                    let bytes = slice(text.cast(), ffi::sqlite3_column_bytes(raw, column));
                    Value::Text(String::from_utf8_lossy(bytes).into_owned())
                }
                ffi::SQLITE_BLOB => {
                    let blob = ffi::sqlite3_column_blob(raw, column);
                    Value::Blob(slice(blob, ffi::sqlite3_column_bytes(raw, column)).to_vec())
                }
                _ => Value::Null,
            }
        }
    }

    /// Bytes of a value of the current row, as it is stored.
    #[must_use]
    pub fn size(&self, column: usize) -> usize {
        let (raw, column) = (self.raw.as_ptr(), c_int::try_from(column).unwrap_or(c_int::MAX));
        // SAFETY: as in `step`.
        unsafe {
            match ffi::sqlite3_column_type(raw, column) {
                ffi::SQLITE_TEXT | ffi::SQLITE_BLOB => {
                    usize::try_from(ffi::sqlite3_column_bytes(raw, column)).unwrap_or(0)
                }
                _ => size_of::<i64>(),
            }
        }
    }

    /// Instructions of the virtual machine so far.
    #[must_use]
    pub fn vm_steps(&self) -> u64 {
        // SAFETY: as in `step`.
        let steps = unsafe { ffi::sqlite3_stmt_status(self.raw.as_ptr(), ffi::SQLITE_STMTSTATUS_VM_STEP, 0) };
        u64::from(steps.cast_unsigned())
    }
}

impl Drop for Statement<'_> {
    fn drop(&mut self) {
        // SAFETY: the statement is finalised once, before its connection ends.
        unsafe { ffi::sqlite3_finalize(self.raw.as_ptr()) };
    }
}

#[expect(clippy::cast_possible_truncation, reason = "it is 1")]
const UTF8: u8 = ffi::SQLITE_UTF8 as u8;

/// # Safety
/// Null, or a text that ends in zero.
unsafe fn owned(text: *const c_char) -> String {
    // SAFETY: as the caller says.
    if text.is_null() { String::new() } else { unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned() }
}

/// # Safety
/// Null, or `len` bytes that live as long as the result is used.
unsafe fn slice<'a>(bytes: *const c_void, len: c_int) -> &'a [u8] {
    match usize::try_from(len) {
        // SAFETY: as the caller says.
        Ok(len) if !bytes.is_null() => unsafe { std::slice::from_raw_parts(bytes.cast(), len) },
        _ => &[],
    }
}

/// A call of a function of ours.
#[derive(Debug)]
pub struct Call<'a> {
    context: *mut ffi::sqlite3_context,
    arguments: &'a [*mut ffi::sqlite3_value],
    life: PhantomData<&'a ()>,
}

/// Type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentType {
    /// NULL.
    Null,
    /// Bytes.
    Blob,
    /// Text or a number.
    Other,
}

impl Call<'_> {
    /// Number of arguments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.arguments.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arguments.is_empty()
    }

    /// Type of an argument.
    #[must_use]
    pub fn sort(&self, index: usize) -> ArgumentType {
        // SAFETY: SQLite's values live as long as the call.
        match unsafe { ffi::sqlite3_value_type(self.arguments[index]) } {
            ffi::SQLITE_NULL => ArgumentType::Null,
            ffi::SQLITE_BLOB => ArgumentType::Blob,
            _ => ArgumentType::Other,
        }
    }

    /// An argument as a whole number.
    #[must_use]
    pub fn integer(&self, index: usize) -> i64 {
        // SAFETY: as in `sort`.
        unsafe { ffi::sqlite3_value_int64(self.arguments[index]) }
    }

    /// An argument as text, numbers included.
    #[must_use]
    pub fn text(&self, index: usize) -> Vec<u8> {
        // SAFETY: as in `sort`; the text is asked for before its length and copied before anything else is called.
        unsafe {
            let value = self.arguments[index];
            let text = ffi::sqlite3_value_text(value);
            slice(text.cast(), ffi::sqlite3_value_bytes(value)).to_vec()
        }
    }

    /// An argument's bytes as they are.
    #[must_use]
    pub fn blob(&self, index: usize) -> Vec<u8> {
        // SAFETY: as in `text`.
        unsafe {
            let value = self.arguments[index];
            let blob = ffi::sqlite3_value_blob(value);
            slice(blob, ffi::sqlite3_value_bytes(value)).to_vec()
        }
    }

    /// The longest text or blob that this connection takes.
    #[must_use]
    pub fn longest(&self) -> usize {
        // SAFETY: the context belongs to an open connection.
        let limit =
            unsafe { ffi::sqlite3_limit(ffi::sqlite3_context_db_handle(self.context), ffi::SQLITE_LIMIT_LENGTH, -1) };
        usize::try_from(limit).unwrap_or(0)
    }

    /// Rows that the last statement which changes rows has changed.
    #[must_use]
    pub fn changes(&self) -> i64 {
        // SAFETY: as in `longest`.
        unsafe { ffi::sqlite3_changes64(ffi::sqlite3_context_db_handle(self.context)) }
    }

    /// Rows that the connection has changed since it was opened.
    #[must_use]
    pub fn total_changes(&self) -> i64 {
        // SAFETY: as in `longest`.
        unsafe { ffi::sqlite3_total_changes64(ffi::sqlite3_context_db_handle(self.context)) }
    }

    fn give(&self, result: FunctionResult) {
        // SAFETY: the context is the call's; texts and blobs are copied by SQLite at once.
        unsafe {
            match result {
                FunctionResult::Null => ffi::sqlite3_result_null(self.context),
                FunctionResult::Integer(number) => ffi::sqlite3_result_int64(self.context, number),
                FunctionResult::Text(text) => ffi::sqlite3_result_text64(
                    self.context,
                    text.as_ptr().cast(),
                    text.len() as u64,
                    ffi::SQLITE_TRANSIENT(),
                    UTF8,
                ),
                FunctionResult::Blob(bytes) if bytes.is_empty() => ffi::sqlite3_result_zeroblob(self.context, 0),
                FunctionResult::Blob(bytes) => ffi::sqlite3_result_blob64(
                    self.context,
                    bytes.as_ptr().cast(),
                    bytes.len() as u64,
                    ffi::SQLITE_TRANSIENT(),
                ),
                FunctionResult::TooLarge => ffi::sqlite3_result_error_toobig(self.context),
                FunctionResult::Interrupted => ffi::sqlite3_result_error_code(self.context, ffi::SQLITE_INTERRUPT),
            }
        }
    }
}

/// Result of a function of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionResult {
    /// NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// Text.
    Text(Vec<u8>),
    /// Bytes.
    Blob(Vec<u8>),
    /// An error: the result would be larger than the connection takes.
    TooLarge,
    /// An error: the statement has no time left.
    Interrupted,
}

/// A function of SQL.
pub struct Function<S> {
    /// Its name.
    pub name: &'static CStr,
    /// Number of arguments that it takes; -1 for any number.
    pub arguments: c_int,
    /// True if the same arguments always give the same.
    pub deterministic: bool,
    /// Its implementation. It must not panic.
    pub body: fn(&Call<'_>, &S) -> FunctionResult,
}

struct Bound<S> {
    body: fn(&Call<'_>, &S) -> FunctionResult,
    state: Arc<S>,
}

/// Gives a connection a function, in place of one of the same name. Views and triggers may call it.
///
/// # Errors
/// SQLite's, when there is no memory.
pub fn define<S: Send + Sync>(connection: &Connection, function: &Function<S>, state: &Arc<S>) -> Result<(), Fault> {
    let bound = Box::into_raw(Box::new(Bound { body: function.body, state: Arc::clone(state) }));
    let determined = if function.deterministic { ffi::SQLITE_DETERMINISTIC } else { 0 };
    // SAFETY: the connection is open; SQLite gives the box back to `forget` exactly once, also when it fails.
    let code = unsafe {
        ffi::sqlite3_create_function_v2(
            connection.handle(),
            function.name.as_ptr(),
            function.arguments,
            ffi::SQLITE_UTF8 | ffi::SQLITE_INNOCUOUS | determined,
            bound.cast(),
            Some(call::<S>),
            None,
            None,
            Some(forget::<S>),
        )
    };
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(fault(connection, code)) }
}

unsafe extern "C" fn call<S>(context: *mut ffi::sqlite3_context, count: c_int, values: *mut *mut ffi::sqlite3_value) {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: SQLite hands over `count` values, and the box that `define` gave it.
    let (bound, arguments) = unsafe {
        let arguments = if count == 0 { &[] } else { std::slice::from_raw_parts(values, count) };
        (&*ffi::sqlite3_user_data(context).cast::<Bound<S>>(), arguments)
    };
    let call = Call { context, arguments, life: PhantomData };
    call.give((bound.body)(&call, &bound.state));
}

unsafe extern "C" fn forget<S>(bound: *mut c_void) {
    // SAFETY: it is the box that `define` gave away.
    drop(unsafe { Box::from_raw(bound.cast::<Bound<S>>()) });
}

/// A text for SQLite; `None` where it holds a zero byte.
#[must_use]
pub fn text(sql: &str) -> Option<CString> {
    CString::new(sql).ok()
}
