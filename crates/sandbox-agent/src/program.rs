//! Runs a program as the user of what is judged, on behalf of a driver: asks the agent to start it with the driver's standard streams,
//! passes on signals, and ends as it ended. The agent ends the program where this process ends first.

use std::env::{self, ArgsOs};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

use crate::handover::{ASK_BYTES_MAX, Answer, Ask, SOCKET};

/// Signals that the program gets in place of this process.
const PASSED_ON: [Signal; 9] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGCONT,
    Signal::SIGWINCH,
];
/// Exit code where no program was started.
const REFUSED: u8 = 126;
/// Where a signal ended the program and does not end this process, it returns so much more than its number.
const SIGNALLED: u8 = 128;
const USAGE: &str = "usage: $PROGRAM [-C FOLDER] [--] COMMAND [ARGUMENT...]";

/// Runs the program that the arguments name.
pub(crate) fn run(arguments: ArgsOs) -> ExitCode {
    match asked(arguments).and_then(|ask| hand_over(&ask)) {
        Ok(Answer::Exited(code)) => ExitCode::from(u8::try_from(code & 0xff).unwrap_or(REFUSED)),
        Ok(Answer::Signalled(signal)) => end_by(signal),
        Ok(Answer::Refused(why)) | Err(why) => {
            eprintln!("$PROGRAM: {why}");
            ExitCode::from(REFUSED)
        }
    }
}

fn asked(arguments: ArgsOs) -> Result<Ask, String> {
    let text = |text: OsString| text.into_string().map_err(|text| format!("{} is no UTF-8", text.display()));
    let mut arguments = arguments.map(text).peekable();
    let mut folder = None;
    if arguments.next_if(|first| first.as_deref() == Ok("-C")).is_some() {
        folder = Some(arguments.next().ok_or(USAGE)??);
    }
    let _ = arguments.next_if(|next| next.as_deref() == Ok("--"));
    let argv = arguments.collect::<Result<Vec<_>, _>>()?;
    if argv.is_empty() {
        return Err(USAGE.to_owned());
    }
    let env = env::vars_os().map(|(name, value)| Ok((text(name)?, text(value)?))).collect::<Result<_, String>>()?;
    Ok(Ask { argv, env, folder })
}

fn hand_over(ask: &Ask) -> Result<Answer, String> {
    let words = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    // Held from the beginning, so that none is lost before there is a program.
    let held: SigSet = PASSED_ON.into_iter().collect();
    held.thread_block().map_err(|errno| errno.desc().to_owned())?;
    let signals = SignalFd::with_flags(&held, SfdFlags::SFD_CLOEXEC).map_err(|errno| errno.desc().to_owned())?;

    let own = env::current_exe().map_err(words("this program"))?;
    let mut link = UnixStream::connect(own.with_file_name(SOCKET)).map_err(words("the driver's agent"))?;
    let body = serde_json::to_vec(ask).map_err(|error| error.to_string())?;
    if body.len() > ASK_BYTES_MAX {
        return Err(format!("arguments and environment are more than {ASK_BYTES_MAX} bytes"));
    }
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes();
    let streams = [ControlMessage::ScmRights(&[0, 1, 2])];
    sendmsg::<()>(link.as_raw_fd(), &[IoSlice::new(&length)], &streams, MsgFlags::empty(), None)
        .map_err(|errno| format!("handing over the standard streams: {}", errno.desc()))?;
    link.write_all(&body).map_err(words("the driver's agent"))?;
    close_streams();
    wait(link, &signals)
}

/// Leaves the standard streams to the program, so that their other ends see when it is done with them.
fn close_streams() {
    let Ok(nothing) = File::options().read(true).write(true).open("/dev/null") else { return };
    for stream in 0..2 {
        // SAFETY: takes numbers only. Standard error stays, for what has to be said.
        unsafe { libc::dup2(nothing.as_raw_fd(), stream) };
    }
}

/// Passes on signals until the answer is there.
fn wait(mut link: UnixStream, signals: &SignalFd) -> Result<Answer, String> {
    loop {
        let mut files = [PollFd::new(link.as_fd(), PollFlags::POLLIN), PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        match poll(&mut files, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.desc().to_owned()),
        }
        let [answered, signalled] = files.map(|file| file.any().unwrap_or(true));
        if signalled && let Ok(Some(signal)) = signals.read_signal() {
            // Where the agent is gone, reading says so.
            let _ = link.write_all(&[u8::try_from(signal.ssi_signo).unwrap_or(0)]);
        }
        if answered {
            let mut answer = Vec::new();
            link.read_to_end(&mut answer).map_err(|error| format!("the answer of the driver's agent: {error}"))?;
            return serde_json::from_slice(&answer).map_err(|_| "the driver's agent hung up".to_owned());
        }
    }
}

/// Ends as the program did.
fn end_by(signal: i32) -> ExitCode {
    // SAFETY: takes numbers, and a set that is valid. Signals without an action end this process here.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let none = SigSet::empty();
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ref(), std::ptr::null_mut());
        libc::kill(libc::getpid(), signal);
    }
    ExitCode::from(u8::try_from(signal).unwrap_or(0).saturating_add(SIGNALLED))
}
