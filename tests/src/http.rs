//! A small HTTP/1.1 client: one request for each connection, blocking, with a time-out.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result, bail};

use crate::PATIENCE;

/// A response.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: String,
}

impl Response {
    /// The first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// `GET path`.
///
/// # Errors
/// The connection fails, or what comes is no HTTP.
pub fn get(address: SocketAddr, path: &str) -> Result<Response> {
    request(address, "GET", path, "")
}

/// `POST path` with a body.
///
/// # Errors
/// As [`get`].
pub fn post(address: SocketAddr, path: &str, body: &str) -> Result<Response> {
    request(address, "POST", path, body)
}

/// Any request.
///
/// # Errors
/// As [`get`].
pub fn request(address: SocketAddr, method: &str, path: &str, body: &str) -> Result<Response> {
    let mut reader = send(address, method, path, body)?;
    let (status, headers) = head(&mut reader)?;
    let find =
        |name: &str| headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str());
    let mut bytes = Vec::new();
    if find("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        while let Some(chunk) = chunk(&mut reader)? {
            bytes.extend(chunk);
        }
    } else if let Some(length) = find("content-length") {
        let length: u64 = length.parse()?;
        reader.take(length).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < length && method != "HEAD" {
            bail!("the connection ended after {} of {length} bytes", bytes.len());
        }
    } else {
        reader.read_to_end(&mut bytes)?;
    }
    Ok(Response { status, headers, body: String::from_utf8(bytes)? })
}

/// An open event stream.
#[derive(Debug)]
pub struct Events {
    reader: BufReader<TcpStream>,
    text: String,
}

impl Events {
    /// Opens the stream at `path`.
    ///
    /// # Errors
    /// As [`get`], and when the answer is no event stream.
    pub fn open(address: SocketAddr, path: &str) -> Result<Events> {
        let mut reader = send(address, "GET", path, "")?;
        let (status, headers) = head(&mut reader)?;
        let is_stream = |(name, value): &(String, String)| {
            name == "content-type" && value.starts_with("text/event-stream")
        };
        if status != 200 || !headers.iter().any(is_stream) {
            bail!("{path} is no event stream: {status} {headers:?}");
        }
        Ok(Events { reader, text: String::new() })
    }

    /// The data of the next event; `None` at the end of the stream.
    ///
    /// # Errors
    /// The connection fails, or nothing comes for too long.
    pub fn next_data(&mut self) -> Result<Option<String>> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: ")).map(str::to_owned);
                self.text = rest.to_owned();
                if data.is_some() {
                    return Ok(data);
                }
                continue;
            }
            match chunk(&mut self.reader)? {
                Some(bytes) => self.text.push_str(std::str::from_utf8(&bytes)?),
                None => return Ok(None),
            }
        }
    }
}

fn send(address: SocketAddr, method: &str, path: &str, body: &str) -> Result<BufReader<TcpStream>> {
    let mut stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    Ok(BufReader::new(stream))
}

fn head(reader: &mut impl BufRead) -> Result<(u16, Vec<(String, String)>)> {
    let first = line(reader)?;
    let status = first.split(' ').nth(1).with_context(|| format!("no status line: {first:?}"))?.parse()?;
    let mut headers = Vec::new();
    loop {
        let text = line(reader)?;
        if text.is_empty() {
            return Ok((status, headers));
        }
        let (name, value) = text.split_once(':').with_context(|| format!("no header: {text:?}"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

/// The next chunk of a chunked body; `None` after the last one.
fn chunk(reader: &mut impl BufRead) -> Result<Option<Vec<u8>>> {
    let size = line(reader)?;
    let size = size.split(';').next().unwrap_or_default();
    let size = usize::from_str_radix(size.trim(), 16).with_context(|| format!("no chunk size: {size:?}"))?;
    let mut bytes = vec![0; size];
    reader.read_exact(&mut bytes)?;
    line(reader)?;
    Ok((size > 0).then_some(bytes))
}

fn line(reader: &mut impl BufRead) -> Result<String> {
    let mut text = String::new();
    reader.read_line(&mut text)?;
    if !text.ends_with('\n') {
        bail!("the connection ended early");
    }
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
