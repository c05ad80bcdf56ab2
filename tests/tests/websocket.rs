//! WebSockets from a client's side: what a Worker and a cell say, closes in both directions, and sockets that outlive their cell's
//! instance.

use std::net::{SocketAddr, TcpStream};

use celld_tests::{Dev, PATIENCE, Project, celld, eventually, get};
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Message, WebSocket};

/// A client.
struct Client(WebSocket<TcpStream>);

impl Client {
    fn open(address: SocketAddr, path: &str) -> Client {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        let (socket, response) = tungstenite::client(format!("ws://{address}{path}"), stream)
            .unwrap_or_else(|error| panic!("{path} does not open: {error}"));
        assert_eq!(response.status(), 101);
        Client(socket)
    }

    fn send(&mut self, text: &str) {
        self.0.send(Message::text(text)).expect("a message is sent");
    }

    fn next(&mut self) -> Message {
        loop {
            match self.0.read().expect("a message") {
                Message::Ping(_) | Message::Pong(_) => {}
                message => return message,
            }
        }
    }

    fn text(&mut self) -> String {
        match self.next() {
            Message::Text(text) => text.to_string(),
            other => panic!("not a text: {other:?}"),
        }
    }

    fn ask(&mut self, text: &str) -> String {
        self.send(text);
        self.text()
    }

    /// The code and the reason with which the server closes; 1005 without a code, 1006 without a close.
    fn closed(&mut self) -> (u16, String) {
        let closed = loop {
            match self.0.read() {
                Ok(Message::Close(Some(frame))) => break (frame.code.into(), frame.reason.to_string()),
                Ok(Message::Close(None)) => break (1005, String::new()),
                Ok(_) => {}
                Err(error) => break (1006, error.to_string()),
            }
        };
        // The answer to a close goes out with the next operation, if the connection still stands.
        let _ = self.0.flush();
        closed
    }

    fn close(&mut self, code: u16, reason: &str) {
        let frame = CloseFrame { code: CloseCode::from(code), reason: reason.into() };
        self.0.close(Some(frame)).expect("a close is sent");
    }
}

const STATELESS: &str = r#"
export default {
  fetch(request) {
    const [client, server] = new WebSocketPair();
    server.accept();
    server.addEventListener("message", ({ data }) => {
      if (data === "close") server.close(4100, "by the server");
      else if (data === "closenone") server.close();
      else if (data === "throw") throw new Error("thrown in a listener");
      else server.send(typeof data === "string" ? `echo ${data}` : data);
    });
    server.addEventListener("close", ({ code, reason, wasClean }) => console.log(`closed ${code} ${reason} ${wasClean}`));
    return new Response(null, { status: 101, webSocket: client });
  },
};
"#;

/// A project of the Worker with one class, `Room`, bound as `ROOM`; `/NAME` is the room of that name.
fn room(class: &str) -> Project {
    let project = Project::worker(&source(class));
    project.write(
        "wrangler.jsonc",
        r#"{ "name": "test", "main": "src/index.js", "compatibility_date": "2026-05-01",
             "durable_objects": { "bindings": [{ "name": "ROOM", "class_name": "Room" }] },
             "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Room"] }] }"#,
    );
    project
}

fn source(class: &str) -> String {
    format!(
        r#"import {{ DurableObject }} from "cloudflare:workers";
export class Room extends DurableObject {{ {class} }}
export default {{
  fetch: (request, env) => env.ROOM.getByName(new URL(request.url).pathname).fetch(request),
}};"#
    )
}

/// Members of a class whose sockets hibernate. `made` tells instances apart.
const HIBERNATING: &str = r#"
  constructor(ctx, env) {
    super(ctx, env);
    this.made = Math.random();
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
  }
  fetch(request) {
    const { searchParams } = new URL(request.url);
    if (request.headers.get("upgrade") === null) return new Response(String(this.made));
    const [client, server] = new WebSocketPair();
    this.ctx.acceptWebSocket(server, searchParams.getAll("tag"));
    server.serializeAttachment({ name: searchParams.get("name") });
    return new Response(null, { status: 101, webSocket: client });
  }
  async webSocketMessage(socket, message) {
    const { name } = socket.deserializeAttachment();
    if (message === "who") {
      const tags = this.ctx.getTags(socket).join();
      socket.send(`${VERSION} ${name} [${tags}] ${this.ctx.getWebSockets().length} ${this.ctx.id.name}`);
    } else if (message === "made") {
      socket.send(String(this.made));
    } else if (message === "count") {
      const n = ((await this.ctx.storage.get("n")) ?? 0) + 1;
      this.ctx.storage.put("n", n);
      socket.send(String(n));
    } else if (message === "answered") {
      socket.send(String(this.ctx.getWebSocketAutoResponseTimestamp(socket) instanceof Date));
    } else if (message === "close") {
      socket.close(4200, "by the cell");
    } else if (message === "throw") {
      throw new Error("thrown in webSocketMessage");
    } else {
      const [tag, text] = message.split(":");
      for (const other of this.ctx.getWebSockets(tag)) other.send(`${name}: ${text}`);
    }
  }
  webSocketClose(socket, code, reason, wasClean) {
    for (const other of this.ctx.getWebSockets()) {
      if (other !== socket) other.send(`left ${code} ${reason} ${wasClean}`);
    }
  }
"#;

fn hibernating(version: &str) -> String {
    HIBERNATING.replace("${VERSION}", version)
}

/// `celld dev` that evicts idle cells as early as it can.
fn evicting(project: &Project) -> Dev {
    let mut command = celld();
    command.arg("dev").arg(project.path()).args(["--port", "0"]).env("CELLD_IDLE_EVICT_S", "1");
    Dev::spawn(command)
}

#[test]
fn a_worker_echoes_text_and_bytes() {
    let project = Project::worker(STATELESS);
    let mut dev = Dev::ready(project.path(), &[]);
    let mut client = Client::open(dev.address(), "/");
    assert_eq!(client.ask("hello"), "echo hello");
    assert_eq!(client.ask("häßlich 💬"), "echo häßlich 💬");
    let bytes: Vec<u8> = (0..100_000u32).map(|n| n as u8).collect();
    client.0.send(Message::binary(bytes.clone())).expect("a message is sent");
    assert_eq!(client.next(), Message::binary(bytes));
    let long = "x".repeat(1 << 20);
    assert_eq!(client.ask(&long).len(), long.len() + "echo ".len());
}

#[test]
fn closes_carry_their_code_in_both_directions() {
    let project = Project::worker(STATELESS);
    let config = project.read("wrangler.jsonc").replace("2026-01-01", "2026-05-01");
    project.write("wrangler.jsonc", &config);
    let mut dev = Dev::ready(project.path(), &[]);
    let address = dev.address();

    let mut client = Client::open(address, "/");
    client.send("close");
    assert_eq!(client.closed(), (4100, "by the server".into()));
    dev.says("closed 4100 by the server true");

    let mut client = Client::open(address, "/");
    client.send("closenone");
    assert_eq!(client.closed(), (1005, String::new()));

    let mut client = Client::open(address, "/");
    client.close(4001, "by the client");
    assert_eq!(client.closed(), (4001, "by the client".into()));
    dev.says("closed 4001 by the client true");

    drop(Client::open(address, "/"));
    dev.says("closed 1006 WebSocket disconnected without sending Close frame. false");

    let mut client = Client::open(address, "/");
    client.send("throw");
    assert_eq!(client.closed().0, 1006);
    dev.says("thrown in a listener");
}

#[test]
fn a_response_with_a_socket_needs_a_request_for_one() {
    let project = Project::worker(STATELESS);
    let mut dev = Dev::ready(project.path(), &[]);
    assert_eq!(dev.get("/").status, 500);
    dev.says("did not contain the header \"Upgrade: websocket\"");
}

#[test]
fn a_stopping_node_says_goodbye() {
    let project = Project::worker(STATELESS);
    let mut dev = Dev::ready(project.path(), &[]);
    let mut client = Client::open(dev.address(), "/");
    assert_eq!(client.ask("x"), "echo x");
    dev.signal(rustix::process::Signal::INT);
    assert_eq!(client.closed().0, 1001);
    assert!(dev.ended().success());
}

#[test]
fn handlers_of_a_cell_own_a_socket() {
    let class = r#"
      fetch(request) {
        const [client, server] = new WebSocketPair();
        server.accept();
        server.addEventListener("message", async ({ data }) => {
          const n = ((await this.ctx.storage.get("n")) ?? 0) + 1;
          await this.ctx.storage.put("n", n);
          server.send(`${n} ${data}`);
        });
        return new Response(null, { status: 101, webSocket: client });
      }"#;
    let project = room(class);
    let mut dev = Dev::ready(project.path(), &[]);
    // Some of these cells live on another shard than the connection.
    for room in 0..8 {
        let mut client = Client::open(dev.address(), &format!("/room{room}"));
        for n in 1..4 {
            assert_eq!(client.ask("hi"), format!("{n} hi"));
        }
    }
}

#[test]
fn a_cell_that_is_forced_to_move_closes_its_sockets() {
    let class = r#"
      fetch(request) {
        const [client, server] = new WebSocketPair();
        server.accept();
        server.addEventListener("message", ({ data }) => server.send(`VERSION ${data}`));
        return new Response(null, { status: 101, webSocket: client });
      }"#;
    let project = room(&class.replace("VERSION", "one"));
    let mut command = celld();
    command.arg("dev").arg(project.path()).args(["--port", "0"]).env("CELLD_DEPLOY_MAX_AGE_S", "1");
    let mut dev = Dev::spawn(command);
    let address = dev.address();
    let mut client = Client::open(address, "/a");
    assert_eq!(client.ask("x"), "one x");
    project.write("src/index.js", &source(&class.replace("VERSION", "two")));
    assert_eq!(client.closed().0, 1012);
    assert_eq!(Client::open(address, "/a").ask("x"), "two x");
}

#[test]
fn fetch_opens_a_socket_elsewhere() {
    let project = Project::worker(
        r#"
        export default {
          async fetch(request) {
            if (request.headers.get("upgrade") !== null) {
              const [client, server] = new WebSocketPair();
              server.accept();
              server.addEventListener("message", ({ data }) => server.send(`echo ${data}`));
              return new Response(null, { status: 101, webSocket: client });
            }
            const { status, webSocket } = await fetch(request.url, { headers: { Upgrade: "websocket" } });
            webSocket.accept();
            const fetched = new Promise((resolve) => webSocket.addEventListener("message", (event) => resolve(event.data)));
            webSocket.send("by fetch");
            const made = new WebSocket(request.url.replace("http", "ws"));
            const constructed = new Promise((resolve) => (made.onmessage = (event) => resolve(event.data)));
            made.onopen = () => made.send("by new");
            return new Response(`${status} ${await fetched} ${await constructed} ${made instanceof WebSocket}`);
          },
        };"#,
    );
    let mut dev = Dev::ready(project.path(), &[]);
    assert_eq!(dev.get("/").body, "101 echo by fetch echo by new true");
}

#[test]
fn a_worker_can_use_a_socket_of_a_cell_itself() {
    let project = room(
        r#"fetch(request) {
          const [client, server] = new WebSocketPair();
          server.accept();
          server.addEventListener("message", ({ data }) => {
            if (data === "bye") server.close(4003, "bye");
            else server.send(data.toUpperCase());
          });
          return new Response(null, { status: 101, webSocket: client });
        }"#,
    );
    let caller = r#"
      async function talk(env, name) {
        const { status, webSocket } = await env.ROOM.getByName(name).fetch("http://x/", { headers: { Upgrade: "websocket" } });
        webSocket.accept();
        const heard = [status];
        const closed = new Promise((resolve) => webSocket.addEventListener("close", ({ code }) => resolve(code)));
        webSocket.addEventListener("message", ({ data }) => { heard.push(data); webSocket.send("bye"); });
        webSocket.send("hello");
        heard.push(await closed);
        return heard.join();
      }
      export default {
        async fetch(request, env) {
          const all = await Promise.all(Array.from({ length: 8 }, (_, n) => talk(env, `room${n}`)));
          return new Response([...new Set(all)].join(";"));
        },
      };"#;
    let whole = project.read("src/index.js");
    let class = whole.split("export default").next().expect("a class");
    project.write("src/index.js", &format!("{class}{caller}"));
    let mut dev = Dev::ready(project.path(), &[]);
    assert_eq!(dev.get("/").body, "101,HELLO,4003");
}

#[test]
fn the_chat_example_works() {
    let project = Project::example("chat");
    let mut dev = Dev::ready(project.path(), &[]);
    let address = dev.address();
    let mut ann = Client::open(address, "/room/a?name=ann");
    let mut bob = Client::open(address, "/room/a?name=bob");
    assert_eq!(ann.text(), "bob joined");
    assert_eq!(ann.ask("ping"), "pong");
    assert_eq!(bob.ask("/who"), "here: ann, bob");
    bob.send("hello");
    assert_eq!((ann.text(), bob.text()), ("bob: hello".into(), "bob: hello".into()));
    bob.close(1000, "");
    assert_eq!(bob.closed().0, 1000);
    assert_eq!(ann.text(), "bob left");
    assert_eq!(get(address, "/room/a").expect("an answer").status, 426);
}

#[test]
fn a_cell_sees_tags_attachments_and_its_name() {
    let project = room(&hibernating("one"));
    let mut dev = Dev::ready(project.path(), &[]);
    let address = dev.address();
    let mut ann = Client::open(address, "/a?name=ann&tag=x&tag=y");
    let mut bob = Client::open(address, "/a?name=bob&tag=x");
    assert_eq!(ann.ask("who"), "one ann [x,y] 2 /a");
    assert_eq!(bob.ask("who"), "one bob [x] 2 /a");
    bob.send("x:to both");
    bob.send("y:to ann");
    assert_eq!((ann.text(), ann.text()), ("bob: to both".into(), "bob: to ann".into()));
    assert_eq!(bob.text(), "bob: to both");
    // A handler that throws loses nothing but the message.
    ann.send("throw");
    dev.says("thrown in webSocketMessage");
    assert_eq!(ann.ask("count"), "1");
    ann.send("close");
    assert_eq!(ann.closed(), (4200, "by the cell".into()));
    assert_eq!(bob.text(), "left 4200 by the cell true");
    drop(bob);
    eventually("the room is empty", || {
        let mut eve = Client::open(address, "/a?name=eve");
        (eve.ask("who") == "one eve [] 1 /a").then_some(())
    });
}

#[test]
fn sockets_outlive_the_instance_of_their_cell() {
    let project = room(&hibernating("one"));
    let mut dev = evicting(&project);
    let address = dev.address();
    let mut client = Client::open(address, "/a?name=ann&tag=x");
    let made = client.ask("made");
    assert_eq!(client.ask("count"), "1");
    // Each look wakes the cell only when it has been evicted.
    let mut look = Client::open(address, "/b?name=other");
    let first = look.ask("made");
    std::thread::sleep(std::time::Duration::from_millis(3500));
    // Answered without an instance.
    assert_eq!(client.ask("ping"), "pong");
    assert_ne!(client.ask("made"), made, "the constructor runs again");
    assert_ne!(look.ask("made"), first);
    assert_eq!(client.ask("who"), "one ann [x] 1 /a");
    assert_eq!(client.ask("answered"), "true");
    assert_eq!(client.ask("count"), "2");
}

#[test]
fn sockets_outlive_a_deployment() {
    let project = room(&hibernating("one"));
    let mut dev = Dev::ready(project.path(), &[]);
    let address = dev.address();
    let mut clients: Vec<Client> =
        (0..6).map(|n| Client::open(address, &format!("/room{}?name=n{n}", n % 3))).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.ask("who").split(' ').next(), Some("one"));
        assert_eq!(client.ask("count"), (n / 3 + 1).to_string());
    }
    project.write("src/index.js", &source(&hibernating("two")));
    eventually("the new code", || clients[0].ask("who").starts_with("two").then_some(()));
    for (n, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.ask("who"), format!("two n{n} [] 2 /room{}", n % 3));
        assert_eq!(client.ask("count"), (n / 3 + 3).to_string());
    }
}
