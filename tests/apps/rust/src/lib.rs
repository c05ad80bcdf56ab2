//! A Worker in Rust: `worker`'s router, requests, responses, streams and WebSockets in front of a Durable Object.

mod counter;

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use worker::{
    Context, Delay, Env, Error, FormEntry, Headers, Request, Response, Result, RouteContext, Router, Url,
    WebSocketPair, WebsocketEvent, event, wasm_bindgen_futures,
};

#[derive(Deserialize, Serialize)]
struct Note {
    title: String,
    #[serde(default)]
    stars: u32,
    tags: Option<Vec<String>>,
}

#[derive(Deserialize, Serialize)]
struct Limits {
    most: u32,
}

#[event(fetch)]
async fn fetch(request: Request, env: Env, _: Context) -> Result<Response> {
    Router::new()
        .get("/", |_, context| Response::ok(format!("{}, world!", context.var("GREETING")?.to_string())))
        .get("/limits", |_, context| Response::from_json(&context.env.object_var::<Limits>("LIMITS")?))
        .get("/users/:id/*rest", parameters)
        .get("/query", |request, _| {
            let pairs: Vec<(String, String)> = request.url()?.query_pairs().into_owned().collect();
            Response::from_json(&pairs)
        })
        .get("/headers", headers)
        .post_async("/note", |mut request, _| async move {
            let mut note: Note = match request.json().await {
                Ok(note) => note,
                Err(_) => return Response::error("no note", 400),
            };
            note.stars += 1;
            Ok(Response::from_json(&note)?.with_status(201))
        })
        .post_async("/form", form)
        .post_async("/bytes", |mut request, _| async move {
            let mut bytes = request.bytes().await?;
            bytes.reverse();
            Response::from_bytes(bytes)
        })
        .get("/stream", |_, _| {
            let parts = stream::iter(0..3).then(|n| async move {
                Delay::from(Duration::from_millis(100)).await;
                Ok::<_, Error>(format!("part {n}\n").into_bytes())
            });
            Response::from_stream(parts)
        })
        .post_async("/upper", |mut request, _| async move {
            let stream = request.stream()?.map(|chunk| chunk.map(|bytes| bytes.to_ascii_uppercase()));
            Response::from_stream(stream)
        })
        .get("/redirect", |request, _| Response::redirect(request.url()?.join("/")?))
        .get("/error", |_, _| Response::error("not today", 418))
        .get("/fails", |_, _| Err(Error::RustError("on purpose".into())))
        .get("/panic", |_, _| panic!("on purpose"))
        .get("/sum", |_, _| {
            let sum: u64 = (0..5_000_000u64).map(|n| n.wrapping_mul(n) % 7).sum();
            Response::ok(sum.to_string())
        })
        .get("/socket", socket)
        .on_async("/counter/:name/*rest", |request, context| async move {
            let name = context.param("name").cloned().unwrap_or_default();
            context.durable_object("COUNTER")?.get_by_name(&name)?.fetch_with_request(request).await
        })
        .run(request, env)
        .await
}

fn parameters(_: Request, context: RouteContext<()>) -> Result<Response> {
    let get = |name| context.param(name).cloned();
    Response::from_json(&(get("id"), get("rest"), get("none")))
}

fn headers(request: Request, _: RouteContext<()>) -> Result<Response> {
    let headers = Headers::new();
    headers.append("x-many", "a")?;
    headers.append("x-many", "b")?;
    headers.append("set-cookie", "a=1")?;
    headers.append("set-cookie", "b=2; Path=/")?;
    let sent = request.headers().get("x-sent")?.unwrap_or_default();
    Ok(Response::ok(sent)?.with_headers(headers))
}

async fn form(mut request: Request, _: RouteContext<()>) -> Result<Response> {
    let form = request.form_data().await?;
    let file = match form.get("file") {
        Some(FormEntry::File(file)) => {
            let text = String::from_utf8_lossy(&file.bytes().await?).into_owned();
            Some((file.name(), file.type_(), text))
        }
        _ => None,
    };
    let field = |name| match form.get(name) {
        Some(FormEntry::Field(text)) => Some(text),
        _ => None,
    };
    Response::from_json(&(field("a"), field("b"), file))
}

fn socket(request: Request, _: RouteContext<()>) -> Result<Response> {
    let url: Url = request.url()?;
    let prefix = url.query().unwrap_or_default().to_owned();
    let WebSocketPair { client, server } = WebSocketPair::new()?;
    server.accept()?;
    wasm_bindgen_futures::spawn_local(async move {
        let mut events = server.events().expect("the events of an accepted socket");
        while let Some(Ok(event)) = events.next().await {
            let WebsocketEvent::Message(message) = event else { break };
            let sent = match (message.text(), message.bytes()) {
                (Some(text), _) if text == "close" => server.close(Some(4000), Some("as asked")),
                (Some(text), _) => server.send_with_str(format!("{prefix}: {text}")),
                (None, Some(bytes)) => server.send_with_bytes(bytes),
                (None, None) => Ok(()),
            };
            if sent.is_err() {
                break;
            }
        }
    });
    Response::from_websocket(client)
}
