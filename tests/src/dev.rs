//! A running `celld dev`.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Response, celld, eventually, get, post};

/// Killed with this value; the kernel ends its node with it.
#[derive(Debug)]
pub struct Dev {
    child: Child,
    stdout: Lines,
    stderr: Lines,
}

/// What a stream has said so far.
type Lines = Arc<Mutex<Vec<String>>>;

impl Dev {
    /// Starts `celld dev` on a free port.
    ///
    /// # Panics
    /// When the process cannot be started.
    pub fn start(project: &Path, arguments: &[&str]) -> Dev {
        let mut command = celld();
        command.arg("dev").arg(project).args(["--port", "0"]).args(arguments);
        Dev::spawn(command)
    }

    /// Starts a command of the caller's.
    ///
    /// # Panics
    /// When the process cannot be started.
    pub fn spawn(mut command: Command) -> Dev {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("celld starts");
        let stdout = collect(child.stdout.take());
        let stderr = collect(child.stderr.take());
        Dev { child, stdout, stderr }
    }

    /// Starts and waits until the application is served.
    pub fn ready(project: &Path, arguments: &[&str]) -> Dev {
        let mut dev = Dev::start(project, arguments);
        dev.address();
        dev
    }

    /// The address of the last announcement; waits for the first one.
    ///
    /// # Panics
    /// When the process ends first, or says nothing for too long.
    pub fn address(&mut self) -> SocketAddr {
        let (stdout, stderr) = (self.stdout.clone(), self.stderr.clone());
        eventually("the announcement of the listener", || {
            if let Some(address) = said(&stdout).iter().rev().find_map(|line| announced(line)) {
                return Some(address);
            }
            let ended = self.child.try_wait().expect("a child can be asked");
            assert!(ended.is_none(), "celld dev ended ({ended:?}): {}", said(&stderr).join("\n"));
            None
        })
    }

    /// Whether the listener has been announced.
    pub fn is_announced(&self) -> bool {
        said(&self.stdout).iter().any(|line| announced(line).is_some())
    }

    /// `GET path`.
    ///
    /// # Panics
    /// When there is no answer.
    pub fn get(&mut self, path: &str) -> Response {
        get(self.address(), path).unwrap_or_else(|error| panic!("GET {path}: {error:#}\n{}", self.log()))
    }

    /// `POST path`.
    ///
    /// # Panics
    /// When there is no answer.
    pub fn post(&mut self, path: &str) -> Response {
        post(self.address(), path, "")
            .unwrap_or_else(|error| panic!("POST {path}: {error:#}\n{}", self.log()))
    }

    /// Waits until `GET path` answers with `body`.
    pub fn becomes(&mut self, path: &str, body: &str) {
        let address = self.address();
        eventually(&format!("{path} answers {body:?}"), || {
            get(address, path).ok().filter(|response| response.body == body)
        });
    }

    /// Waits for a line of stderr that contains `text`, and returns it.
    pub fn says(&self, text: &str) -> String {
        eventually(&format!("stderr says {text:?}"), || {
            said(&self.stderr).into_iter().find(|line| line.contains(text))
        })
    }

    /// What stderr has said so far.
    pub fn log(&self) -> String {
        said(&self.stderr).join("\n")
    }

    /// The process of the supervisor.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The node process; waits until there is one.
    pub fn node(&self) -> Pid {
        let pid = self.pid().as_raw_nonzero();
        let children = format!("/proc/{pid}/task/{pid}/children");
        eventually("a node process", || {
            let children = std::fs::read_to_string(&children).ok()?;
            // esbuild is a child, too.
            children
                .split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .find(|pid| is_node(*pid))
                .and_then(Pid::from_raw)
        })
    }

    /// Sends a signal to the supervisor.
    ///
    /// # Panics
    /// When it does not exist any more.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the supervisor runs");
    }

    /// Waits for the end of the supervisor.
    pub fn ended(&mut self) -> ExitStatus {
        eventually("the end of celld dev", || self.child.try_wait().expect("a child can be asked"))
    }

    /// Stops it as Ctrl-C does.
    pub fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::INT);
        self.ended()
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("celld dev said:\n{}\n{}", said(&self.stdout).join("\n"), self.log());
        }
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_node(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("__dev-node"))
}

/// `ready http://127.0.0.1:9876 in 180 ms`
fn announced(line: &str) -> Option<SocketAddr> {
    let url = line.split_whitespace().find_map(|word| word.strip_prefix("http://"))?;
    url.parse().ok()
}

fn said(lines: &Lines) -> Vec<String> {
    lines.lock().map(|lines| lines.clone()).unwrap_or_default()
}

fn collect(stream: Option<impl std::io::Read + Send + 'static>) -> Lines {
    let lines = Lines::default();
    if let Some(stream) = stream {
        let lines = lines.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if let Ok(mut lines) = lines.lock() {
                    lines.push(line);
                }
            }
        });
    }
    lines
}
