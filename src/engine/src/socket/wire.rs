//! A WebSocket on a connection: frames between the client and the other end of a pair, until both sides have closed.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use fastwebsockets::{
    OpCode, Payload, Role, WebSocketError, WebSocketRead, WebSocketWrite, after_handshake_split,
};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::channel::SocketEnd;
use super::frame::{Close, Frame};

/// Bytes that a message of a client may have, as on the platform.
const MAX_MESSAGE: usize = 32 << 20;
/// How long a client has to answer a close before the connection is cut.
const CLOSE_PATIENCE: Duration = Duration::from_secs(30);
/// The same while the node stops.
const STOP_PATIENCE: Duration = Duration::from_secs(1);
/// How long a client that broke the protocol has to read why; its own close cannot be read any more.
const REFUSE_PATIENCE: Duration = Duration::from_millis(250);
/// Control frames that may wait to be answered; beyond them the client is not read.
const PENDING_CONTROL: usize = 16;

/// Drives the connection behind `upgrade` as the far side of `end`.
pub(crate) async fn drive(upgrade: OnUpgrade, end: SocketEnd, stopping: CancellationToken) {
    let connection = match upgrade.await {
        Ok(connection) => TokioIo::new(connection),
        Err(error) => {
            // The client went away before the answer reached it; dropping the end tells the handler.
            tracing::debug!(%error, "a WebSocket was not opened");
            return;
        }
    };
    let (read, write) = tokio::io::split(connection);
    let (mut reader, writer) = after_handshake_split(read, write, Role::Server);
    reader.set_auto_close(false);
    reader.set_auto_pong(false);
    // The limit of the crate excludes the number itself.
    reader.set_max_message_size(MAX_MESSAGE + 1);
    let (control, orders) = mpsc::channel(PENDING_CONTROL);
    let client_closed = CancellationToken::new();
    let reading = read_client(reader, &end, control, client_closed.clone());
    let writing = write_client(writer, &end, orders, stopping);
    tokio::pin!(reading, writing);
    tokio::select! {
        // The client is gone: the handler learns it when it has read what came before.
        () = &mut reading => end.hang_up(),
        patience = &mut writing => tokio::select! {
            // Both have closed.
            () = client_closed.cancelled() => {}
            () = &mut reading => {}
            () = tokio::time::sleep(patience) => tracing::debug!("a WebSocket client did not answer the close"),
        },
    }
}

/// What the reader wants written.
enum Order {
    Pong(Vec<u8>),
    /// The client broke the protocol: say why and end.
    Refuse(Close),
}

/// Why nothing more comes from the client.
enum Ended {
    /// It closed.
    Closed,
    /// It is gone.
    Gone,
    /// It broke the protocol.
    Broken(Close),
}

/// Reads until the connection ends; what comes after the client's close is thrown away.
async fn read_client<S: AsyncRead + Unpin>(
    mut reader: WebSocketRead<S>,
    end: &SocketEnd,
    control: mpsc::Sender<Order>,
    closed: CancellationToken,
) {
    match read_messages(&mut reader, end, &control).await {
        Ended::Gone => {}
        Ended::Closed => {
            closed.cancel();
            while read_frame(&mut reader).await.is_ok() {}
        }
        Ended::Broken(close) => {
            let why = format!(
                "WebSocket protocol error; protocolError.statusCode = {}; protocolError.description = {}",
                close.code, close.reason
            );
            // The handler may be gone.
            let _ = end.send(Frame::Failed(why));
            let _ = control.send(Order::Refuse(close)).await;
            // What comes now makes no sense any more; the writer decides when it is over.
            std::future::pending::<()>().await;
        }
    }
}

async fn read_messages<S: AsyncRead + Unpin>(
    reader: &mut WebSocketRead<S>,
    end: &SocketEnd,
    control: &mpsc::Sender<Order>,
) -> Ended {
    // The parts of a message that came in several frames.
    let mut message: Option<(OpCode, BytesMut)> = None;
    loop {
        end.room().await;
        let frame = match read_frame(reader).await {
            Ok(frame) => frame,
            Err(error) => return ended(error),
        };
        let opcode = match frame.opcode {
            OpCode::Ping => {
                if control.send(Order::Pong(frame.payload.into())).await.is_err() {
                    return Ended::Closed;
                }
                continue;
            }
            OpCode::Pong => continue,
            OpCode::Close => {
                return match Close::parse(&frame.payload) {
                    Some(close) => {
                        // The handler may be gone.
                        let _ = end.send(Frame::Close(close));
                        Ended::Closed
                    }
                    None => broken(1002, "Invalid close frame"),
                };
            }
            opcode => opcode,
        };
        let whole = match (opcode, message.take()) {
            (OpCode::Continuation, None) => return broken(1002, "Unexpected continuation frame"),
            (OpCode::Continuation, Some((opcode, mut parts))) => {
                if parts.len() + frame.payload.len() > MAX_MESSAGE {
                    return too_large(parts.len() + frame.payload.len());
                }
                parts.extend_from_slice(&frame.payload);
                if !frame.fin {
                    message = Some((opcode, parts));
                    continue;
                }
                (opcode, parts.freeze())
            }
            (_, Some(_)) => return broken(1002, "Unexpected data frame in a fragmented message"),
            (opcode, None) if !frame.fin => {
                message = Some((opcode, BytesMut::from(&frame.payload[..])));
                continue;
            }
            (opcode, None) => (opcode, bytes_of(frame.payload)),
        };
        let frame = match whole {
            (OpCode::Text, bytes) => match String::from_utf8(bytes.into()) {
                Ok(text) => Frame::Text(text),
                Err(_) => return broken(1007, "Invalid UTF-8 in a text message"),
            },
            (_, bytes) => Frame::Binary(bytes),
        };
        if end.send(frame).is_err() {
            return Ended::Closed;
        }
    }
}

async fn read_frame<S: AsyncRead + Unpin>(
    reader: &mut WebSocketRead<S>,
) -> Result<fastwebsockets::Frame<'_>, WebSocketError> {
    // Nothing is sent on our behalf: both automatic answers are off.
    reader.read_frame(&mut |_| async { Ok::<(), std::convert::Infallible>(()) }).await
}

fn bytes_of(payload: Payload<'_>) -> Bytes {
    match payload {
        Payload::Bytes(bytes) => bytes.freeze(),
        other => Bytes::copy_from_slice(&other),
    }
}

fn broken(code: u16, why: &str) -> Ended {
    Ended::Broken(Close::new(code, why))
}

fn too_large(size: usize) -> Ended {
    Ended::Broken(Close::new(1009, format!("Message is too large: {size} > {MAX_MESSAGE}")))
}

fn ended(error: WebSocketError) -> Ended {
    match error {
        WebSocketError::UnexpectedEOF | WebSocketError::IoError(_) | WebSocketError::ConnectionClosed => {
            Ended::Gone
        }
        WebSocketError::FrameTooLarge => {
            Ended::Broken(Close::new(1009, format!("Message is too large: more than {MAX_MESSAGE} bytes")))
        }
        WebSocketError::InvalidUTF8 => broken(1007, "Invalid UTF-8 in a text message"),
        other => Ended::Broken(Close::new(1002, other.to_string())),
    }
}

/// Writes until this side has closed. Returns how long the client has to close, too.
async fn write_client<S: AsyncWrite + Unpin>(
    mut writer: WebSocketWrite<S>,
    end: &SocketEnd,
    mut orders: mpsc::Receiver<Order>,
    stopping: CancellationToken,
) -> Duration {
    loop {
        let frame = tokio::select! {
            biased;
            Some(order) = orders.recv() => match order {
                Order::Pong(payload) => fastwebsockets::Frame::pong(payload.into()),
                Order::Refuse(close) => {
                    close_client(&mut writer, &close).await;
                    return REFUSE_PATIENCE;
                }
            },
            frame = end.next() => match frame {
                Some(Frame::Text(text)) => fastwebsockets::Frame::text(text.into_bytes().into()),
                Some(Frame::Binary(bytes)) => {
                    fastwebsockets::Frame::binary(Payload::Owned(bytes.into()))
                }
                Some(Frame::Close(close)) => {
                    close_client(&mut writer, &close).await;
                    return CLOSE_PATIENCE;
                }
                // The other end is gone without a word: so is this connection, as on the platform.
                Some(Frame::Failed(_)) | None => return Duration::ZERO,
            },
            () = stopping.cancelled() => {
                close_client(&mut writer, &Close::new(1001, "The node is shutting down.")).await;
                return STOP_PATIENCE;
            }
        };
        if writer.write_frame(frame).await.is_err() {
            return Duration::ZERO;
        }
    }
}

/// Writes the close frame. A client that is gone needs none.
async fn close_client<S: AsyncWrite + Unpin>(writer: &mut WebSocketWrite<S>, close: &Close) {
    let frame = fastwebsockets::Frame::close_raw(close.payload().into());
    let _ = writer.write_frame(frame).await;
}
