//! A proxy in front of a store, which notes what it is asked.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Forwards connections to a server; ends with the process.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// A proxy for the server at `to` (`host:port`).
    ///
    /// # Panics
    /// When no port is free.
    pub fn new(to: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (noted, to) = (requests.clone(), to.to_owned());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(&to) else { continue };
                let (Ok(from_client), Ok(to_client)) = (client.try_clone(), client.try_clone()) else {
                    continue;
                };
                let Ok(from_server) = server.try_clone() else { continue };
                let noted = noted.clone();
                thread::spawn(move || {
                    forward(from_client, server, |chunk| {
                        // The head of a request comes in one piece, at the start of a chunk.
                        let line =
                            String::from_utf8_lossy(chunk.split(|b| *b == b'\r').next().unwrap_or(chunk));
                        if let Some(request) = line.strip_suffix(" HTTP/1.1") {
                            noted.lock().expect("no panic while it is held").push(request.to_owned());
                        }
                    });
                });
                thread::spawn(move || forward(from_server, to_client, |_| {}));
            }
        });
        Proxy { address, requests }
    }

    /// The URL of the proxy.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests (`METHOD PATH`) since this was asked last.
    ///
    /// # Panics
    /// When a forwarding thread has panicked.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.requests.lock().expect("no panic while it is held"))
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, mut note: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        note(&buffer[..n]);
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
