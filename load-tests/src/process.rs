//! Servers as child processes: how they start, what they take of the processor and of memory.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use nix::sys::signal::{Signal, kill};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

/// Longest wait for a server to be ready.
const READY_SECONDS_MAX: u64 = 120;
/// Bytes in a kibibyte, in which the system states memory.
const KIBIBYTE: u64 = 1024;

/// A running server; killed when dropped.
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    ready_after: Duration,
}

impl Server {
    /// Starts a program that prints `ready http://ADDRESS` once it answers.
    ///
    /// # Errors
    /// When the program cannot be started, ends, or is not ready in time.
    pub(crate) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let name = Path::new(command.get_program()).display().to_string();
        let began = Instant::now();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{name} cannot be started"))?;
        let output = child.stdout.take().context("a child without output")?;
        let mut server = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)), ready_after: Duration::ZERO };
        let (sender, receiver) = mpsc::channel();
        // Reads to the end, so that nothing that is printed later fills the pipe.
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Some(url) = line.strip_prefix("ready ") {
                    // Whoever waited may have given up.
                    let _ = sender.send((url.trim().to_owned(), began.elapsed()));
                }
            }
        });
        let (url, ready_after) = match receiver.recv_timeout(Duration::from_secs(READY_SECONDS_MAX)) {
            Ok(ready) => ready,
            Err(mpsc::RecvTimeoutError::Timeout) => bail!("{name} was not ready after {READY_SECONDS_MAX} s"),
            Err(mpsc::RecvTimeoutError::Disconnected) => bail!("{name} ended before it was ready"),
        };
        server.address = url
            .strip_prefix("http://")
            .and_then(|address| address.parse().ok())
            .ok_or_else(|| anyhow!("{name} is ready at {url:?}, which is no address"))?;
        server.ready_after = ready_after;
        Ok(server)
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// From starting the process to the line that says that it is ready.
    pub(crate) const fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// Processor time of all its threads since it started, also of those that ended.
    ///
    /// # Errors
    /// When the process is gone.
    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        cpu_of(self.pid())
    }

    /// Bytes of memory that it holds now.
    ///
    /// # Errors
    /// When the process is gone.
    pub(crate) fn resident_bytes(&self) -> anyhow::Result<u64> {
        resident_bytes_of(self.pid())
    }

    /// Ends it as an operator would, and waits for the end.
    ///
    /// # Errors
    /// When it cannot be signalled.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        kill(self.pid(), Signal::SIGTERM)?;
        self.child.wait()?;
        Ok(())
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap_or(0))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, and there is nothing else to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processor time of a process and all its threads, in nanoseconds of the system's own accounting.
///
/// # Errors
/// When the process is gone.
pub(crate) fn cpu_of(pid: Pid) -> anyhow::Result<Duration> {
    Ok(clock_gettime(clock_getcpuclockid(pid)?)?.into())
}

/// Bytes of memory that a process holds now.
///
/// # Errors
/// When the process is gone.
pub(crate) fn resident_bytes_of(pid: Pid) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    resident_bytes(&status).context("the system does not state the memory of a process")
}

fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * KIBIBYTE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> anyhow::Result<Server> {
        Server::start(Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn a_server_is_ready_when_it_says_so() {
        let server = shell("echo starting; echo ready http://127.0.0.1:7070; exec sleep 60").expect("a server");
        assert_eq!(server.address().port(), 7070);
        assert!(server.ready_after() > Duration::ZERO);
        assert!(server.resident_bytes().expect("memory") > 0);
        server.stop().expect("it ends");
    }

    #[test]
    fn a_server_that_ends_first_or_says_nonsense_is_refused() {
        for (script, words) in [("exit 3", "ended before"), ("echo ready nowhere; exec sleep 60", "no address")] {
            let error = shell(script).err().expect("an error").to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn processor_time_counts_what_a_process_did() {
        let before = cpu_of(Pid::this()).expect("a clock");
        let mut sum = 0_u64;
        while cpu_of(Pid::this()).expect("a clock") < before + Duration::from_millis(5) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(sum > 0);
    }

    #[test]
    fn memory_is_read_from_the_status() {
        assert_eq!(resident_bytes("Name:\tx\nVmRSS:\t     12 kB\n"), Some(12 * 1024));
        assert_eq!(resident_bytes("Name:\tx\n"), None);
    }
}
