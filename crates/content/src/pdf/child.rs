//! The child: sets its own limits, then reads files and answers until its input ends.

use super::content::PdfContent;
use super::protocol::{Answer, LONGEST_FILE, receive, send};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::io::{self, Read, Write};
use std::panic::catch_unwind;

/// What a child may take. Beyond it the kernel ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildLimits {
    /// Of address space, all together.
    pub memory_bytes: u64,
    /// Of CPU, for each file.
    pub cpu_seconds: u64,
}

impl Default for ChildLimits {
    fn default() -> ChildLimits {
        ChildLimits { memory_bytes: 512 << 20, cpu_seconds: 10 }
    }
}

/// Reads PDF files from `stdin` and answers on `stdout` until `stdin` ends. For a process that does nothing else: it limits the
/// memory and the CPU time of the whole process.
pub fn child_main(stdin: impl Read, stdout: impl Write) -> io::Result<()> {
    child_main_with(stdin, stdout, ChildLimits::default(), PdfContent::of)
}

/// The same with other limits and another reader, for tests of what a reader may do.
pub fn child_main_with(
    mut stdin: impl Read,
    mut stdout: impl Write,
    limits: ChildLimits,
    read: fn(&[u8]) -> Result<PdfContent, String>,
) -> io::Result<()> {
    limit(Resource::As, limits.memory_bytes)?;
    limit(Resource::Core, 0)?;
    // It has the pipes already, and writes no files.
    limit(Resource::Fsize, 0)?;
    while let Some(file) = receive(&mut stdin, LONGEST_FILE)? {
        limit(Resource::Cpu, used_cpu_seconds().saturating_add(limits.cpu_seconds))?;
        let answer = match catch_unwind(|| read(&file)) {
            Ok(Ok(content)) => Answer::Content(content),
            Ok(Err(what)) => Answer::Unreadable(what),
            Err(_) => Answer::Unreadable("the reader failed on it".to_owned()),
        };
        send(&mut stdout, &serde_json::to_vec(&answer)?)?;
    }
    Ok(())
}

/// Sets the soft limit only: that of the CPU is moved on from file to file.
fn limit(resource: Resource, value: u64) -> io::Result<()> {
    let maximum = getrlimit(resource).maximum;
    let current = maximum.map_or(value, |maximum| maximum.min(value));
    Ok(setrlimit(resource, Rlimit { current: Some(current), maximum })?)
}

/// Rounded up, as the limit is in whole seconds.
fn used_cpu_seconds() -> u64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(used.tv_sec).unwrap_or(0).saturating_add(1)
}
