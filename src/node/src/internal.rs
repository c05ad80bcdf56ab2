//! The internal listener: health, state, reload, shutdown. For operators and peers; never for the public network.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use celld_engine::Census;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::deployments::Deployments;
use crate::host::NodeHost;
use crate::public::HEALTH_PATH;

/// What the handlers share.
pub(crate) struct Internal {
    pub deployments: Arc<Deployments>,
    pub host: Arc<NodeHost>,
    pub stop: CancellationToken,
}

/// The routes of the internal listener.
pub(crate) fn router(internal: Arc<Internal>) -> Router {
    Router::new()
        .route(HEALTH_PATH, get(health))
        .route("/state", get(state))
        .route("/reload", post(reload))
        .route("/shutdown", post(shutdown))
        .with_state(internal)
}

async fn health(State(internal): State<Arc<Internal>>) -> Response {
    internal.deployments.public.health().into_response()
}

/// `GET /state`.
#[derive(Debug, Serialize)]
struct NodeState {
    node: String,
    session: String,
    version: &'static str,
    bucket: String,
    healthy: bool,
    draining: bool,
    /// The deployment that serves.
    deployment: Option<String>,
    /// Deployments that were replaced and still finish something.
    draining_deployments: Vec<String>,
    /// Cells whose instance still runs a replaced deployment.
    moving_cells: usize,
    owned_cells: usize,
    resident_cells: usize,
    connections: usize,
    events: usize,
    /// Activations that wait for the bucket.
    restoring: usize,
    log: LogState,
}

#[derive(Debug, Serialize)]
struct LogState {
    /// Transactions handed to the log.
    appended: u64,
    /// Transactions that are durable.
    durable: u64,
    /// Bytes that wait for their proof.
    backlog_bytes: u64,
    /// Why the log stopped, if it did.
    failed: Option<String>,
}

async fn state(State(internal): State<Arc<Internal>>) -> Json<NodeState> {
    let host = &internal.host;
    let engine = &internal.deployments.engine;
    let shards = engine.census().await;
    let sum = |count: fn(&Census) -> usize| shards.iter().map(count).sum::<usize>();
    let mut draining: Vec<String> = shards.iter().flat_map(|s| s.draining.iter().cloned()).collect();
    draining.sort_unstable();
    draining.dedup();
    Json(NodeState {
        node: host.node().to_string(),
        session: host.session().to_string(),
        version: env!("CARGO_PKG_VERSION"),
        bucket: internal.deployments.bucket.to_string(),
        healthy: internal.deployments.public.is_healthy(),
        draining: internal.stop.is_cancelled(),
        deployment: engine.serving().map(|d| d.id.clone()),
        draining_deployments: draining,
        moving_cells: sum(|s| s.moving_cells),
        owned_cells: sum(|s| s.owned_cells),
        resident_cells: sum(|s| s.resident_cells),
        connections: sum(|s| s.connections),
        events: sum(|s| s.events),
        restoring: host.restoring(),
        log: LogState {
            appended: host.appended(),
            durable: host.durable_position(),
            backlog_bytes: host.backlog_bytes(),
            failed: host.failure(),
        },
    })
}

/// The answer to `POST /reload`.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReloadAnswer {
    /// The deployment that serves now.
    pub deployment: Option<String>,
    /// Why the current deployment of the bucket was not adopted.
    pub error: Option<String>,
}

async fn reload(State(internal): State<Arc<Internal>>) -> (StatusCode, Json<ReloadAnswer>) {
    match internal.deployments.reload().await {
        Ok(id) => (StatusCode::OK, Json(ReloadAnswer { deployment: Some(id), error: None })),
        Err(error) => {
            tracing::error!(%error, "cannot adopt the current deployment");
            let serving = internal.deployments.engine.serving().map(|d| d.id.clone());
            let answer = ReloadAnswer { deployment: serving, error: Some(error.to_string()) };
            (StatusCode::UNPROCESSABLE_ENTITY, Json(answer))
        }
    }
}

#[derive(Debug, Deserialize)]
struct ShutdownQuery {
    handoff: Option<String>,
}

async fn shutdown(State(internal): State<Arc<Internal>>, Query(query): Query<ShutdownQuery>) -> Response {
    // Until there are peers to hand cells to, every stop keeps the ownership records.
    if query.handoff.as_deref().is_some_and(|how| how != "preserve") {
        return (StatusCode::BAD_REQUEST, "handoff takes only the value preserve\n").into_response();
    }
    internal.stop.cancel();
    (StatusCode::ACCEPTED, "stopping\n").into_response()
}
