//! The process's memory.

/// From this length on, a block is taken from the system by itself, and goes back there as soon as it is freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const OF_ITS_OWN: libc::c_int = 256 << 10;

/// Has the allocator keep less, for a process that is an operator and nothing else. It would make an arena for each thread,
/// none of which ever uses what is free in another; and once a list's page was freed, keep the next ones, too.
pub(crate) fn keep_less() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt may be called at any time, by any thread.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, OF_ITS_OWN);
    }
}

/// Gives memory that a list took while it was read back to the system, where the allocator would keep it.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim may be called at any time, by any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
