use serde::Deserialize;
use worker::{
    DurableObject, Env, Method, Request, Response, Result, SqlStorageValue, State, WebSocket,
    WebSocketIncomingMessage, WebSocketPair, durable_object, wasm_bindgen,
};

/// Counts in a SQLite table and in key-value storage, and tells the hibernating sockets.
#[durable_object]
pub struct Counter {
    state: State,
}

#[derive(Deserialize)]
struct Row {
    n: u32,
}

impl DurableObject for Counter {
    fn new(state: State, _: Env) -> Self {
        let sql = state.storage().sql();
        sql.exec("CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, n INTEGER)", None)
            .expect("a table is created");
        Self { state }
    }

    async fn fetch(&self, request: Request) -> Result<Response> {
        let path = request.path();
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let storage = self.state.storage();
        match (request.method(), name.as_str()) {
            (Method::Post, "kv") => {
                let n: u32 = storage.get("n").await?.unwrap_or(0) + 1;
                storage.put("n", n).await?;
                Response::from_json(&n)
            }
            (Method::Delete, "kv") => Response::from_json(&storage.delete("n").await?),
            (Method::Post, "alarm") => {
                storage.set_alarm(50).await?;
                Response::from_json(&storage.get_alarm().await?.is_some())
            }
            (Method::Get, "socket") => {
                let pair = WebSocketPair::new()?;
                self.state.accept_web_socket(&pair.server);
                Response::from_websocket(pair.client)
            }
            (Method::Post, _) => {
                let values = vec![SqlStorageValue::from(name)];
                let count =
                    "INSERT INTO counts VALUES (?, 1) ON CONFLICT DO UPDATE SET n = n + 1 RETURNING n";
                let row: Row = storage.sql().exec(count, values)?.one()?;
                for socket in self.state.get_websockets() {
                    socket.send_with_str(format!("{path} is {}", row.n))?;
                }
                Response::from_json(&row.n)
            }
            _ => {
                let counts: Vec<serde_json::Value> =
                    storage.sql().exec("SELECT name, n FROM counts ORDER BY name", None)?.to_array()?;
                Response::from_json(&counts)
            }
        }
    }

    async fn alarm(&self) -> Result<Response> {
        for socket in self.state.get_websockets() {
            socket.send_with_str("the alarm")?;
        }
        Response::empty()
    }

    async fn websocket_message(&self, socket: WebSocket, message: WebSocketIncomingMessage) -> Result<()> {
        match message {
            WebSocketIncomingMessage::String(text) => socket.send_with_str(text.to_uppercase()),
            WebSocketIncomingMessage::Binary(bytes) => socket.send_with_bytes(bytes),
        }
    }

    async fn websocket_close(&self, socket: WebSocket, code: usize, reason: String, _: bool) -> Result<()> {
        socket.close(Some(code as u16), Some(reason))
    }
}
