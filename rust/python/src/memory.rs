//! The process's memory.

/// Gives memory that a list took while it was read back to the system, where the allocator would keep it.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim may be called at any time, by any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
