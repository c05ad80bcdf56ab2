//! How events enter JavaScript: one turn for each, with what its handler in js/events/main.js takes.

use celld_ids::CellScope;
use deno_core::{ToV8, v8};

use super::calls::Payload;
use super::cells::Resident;
use super::isolate::ScriptIsolate;
use super::rpc::add_bodies;
use super::values::{boolean, buffer, integer, optional, text};
use crate::socket::Received;
use crate::socket::parked::Said;

impl ScriptIsolate {
    /// A request of the public listener; `id` is its number in the event table.
    pub fn dispatch_fetch(&self, id: u32, method: &str, url: &str, has_body: bool) {
        self.turn(&self.hooks.dispatch_fetch, |scope| {
            vec![integer(scope, id), text(scope, method), text(scope, url), boolean(scope, has_body)]
        });
    }

    /// A `fetch` for a cell, from another thread or isolate.
    #[allow(clippy::too_many_arguments)]
    pub fn deliver_fetch(
        &self,
        id: u32,
        class: &str,
        cell: &str,
        name: Option<&str>,
        method: &str,
        url: &str,
        has_body: bool,
    ) {
        self.turn(&self.hooks.deliver_fetch, |scope| {
            vec![
                integer(scope, id),
                text(scope, class),
                text(scope, cell),
                optional(scope, name),
                text(scope, method),
                text(scope, url),
                boolean(scope, has_body),
            ]
        });
    }

    /// An RPC call for a cell, from another thread or isolate.
    pub fn deliver_rpc(
        &self,
        id: u32,
        class: &str,
        cell: &str,
        name: Option<&str>,
        path: &[String],
        args: Option<Payload>,
    ) {
        let parts = self.parts(args);
        self.turn(&self.hooks.deliver_rpc, |scope| {
            let mut values =
                vec![integer(scope, id), text(scope, class), text(scope, cell), optional(scope, name)];
            values.extend(rpc_values(scope, path, parts));
            values
        });
    }

    /// A `fetch` for an entrypoint, from another Worker.
    pub fn deliver_entry_fetch(
        &self,
        id: u32,
        entrypoint: &str,
        props: Vec<u8>,
        method: &str,
        url: &str,
        has_body: bool,
    ) {
        self.turn(&self.hooks.deliver_entry_fetch, |scope| {
            vec![
                integer(scope, id),
                text(scope, entrypoint),
                buffer(scope, props),
                text(scope, method),
                text(scope, url),
                boolean(scope, has_body),
            ]
        });
    }

    /// An RPC call for an entrypoint, from another Worker.
    pub fn deliver_entry_rpc(
        &self,
        id: u32,
        entrypoint: &str,
        props: Vec<u8>,
        path: &[String],
        args: Option<Payload>,
    ) {
        let parts = self.parts(args);
        self.turn(&self.hooks.deliver_entry_rpc, |scope| {
            let mut values = vec![integer(scope, id), text(scope, entrypoint), buffer(scope, props)];
            values.extend(rpc_values(scope, path, parts));
            values
        });
    }

    /// An RPC call for what this isolate has handed out as `target`.
    pub fn deliver_export(&self, id: u32, target: u32, path: &[String], args: Option<Payload>) {
        let parts = self.parts(args);
        self.turn(&self.hooks.deliver_export, |scope| {
            let mut values = vec![integer(scope, id), integer(scope, target)];
            values.extend(rpc_values(scope, path, parts));
            values
        });
    }

    /// The number of holders of what this isolate has handed out as `target` changes.
    pub fn count_export(&self, target: u32, change: i32) {
        self.turn(&self.hooks.count_export, |scope| {
            vec![integer(scope, target), v8::Integer::new(scope, change).into()]
        });
    }

    /// Takes a payload apart; its streams become resources of this isolate.
    fn parts(&self, payload: Option<Payload>) -> Option<Parts> {
        let Payload { bytes, caps, bodies } = payload?;
        let mut isolate = self.isolate.borrow_mut();
        let mut entered = isolate.enter();
        let op_state = entered.runtime().op_state();
        let rids = add_bodies(&mut op_state.borrow_mut(), bodies);
        Some(Parts { bytes, caps, rids })
    }

    /// The alarm of a cell is due; `id` is the number of the run in the event table.
    pub fn deliver_alarm(&self, id: u32, scope: &CellScope, time: i64, failures: u32) {
        self.turn(&self.hooks.deliver_alarm, |scope_| {
            vec![
                integer(scope_, id),
                text(scope_, scope.class()),
                text(scope_, scope.id()),
                // Exact: times end in the year 2189.
                v8::Number::new(scope_, time as f64).into(),
                integer(scope_, failures),
            ]
        });
    }

    /// Something that a parked socket of a cell said; `id` is its number in the event table.
    pub fn deliver_socket(&self, id: u32, resident: &Resident, socket: u32, said: Said) {
        let frame = match said {
            Said::Frame(frame) => Some(frame),
            Said::Lost => None,
        };
        self.turn(&self.hooks.deliver_socket, |scope| {
            let said = match Received(frame).to_v8(scope) {
                Ok(said) => said,
                // Longer than a string may be: to the cell the connection is lost.
                Err(_) => v8::null(scope).into(),
            };
            vec![
                integer(scope, id),
                text(scope, resident.scope.class()),
                text(scope, resident.scope.id()),
                optional(scope, resident.sockets.name.borrow().as_deref()),
                integer(scope, socket),
                said,
            ]
        });
    }
}

/// A payload of which the streams are in the resource table.
struct Parts {
    bytes: Vec<u8>,
    caps: Option<Vec<u8>>,
    rids: Vec<deno_core::ResourceId>,
}

/// Path, bytes, capabilities and resources as js/events/main.js takes them.
fn rpc_values<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    path: &[String],
    parts: Option<Parts>,
) -> [v8::Local<'s, v8::Value>; 4] {
    let names: Vec<v8::Local<'s, v8::Value>> = path.iter().map(|name| text(scope, name)).collect();
    let path = v8::Array::new_with_elements(scope, &names).into();
    let undefined: v8::Local<'s, v8::Value> = v8::undefined(scope).into();
    let Some(Parts { bytes, caps, rids }) = parts else {
        return [path, undefined, undefined, undefined];
    };
    let bytes = buffer(scope, bytes);
    let caps = caps.map_or(undefined, |caps| buffer(scope, caps));
    let rids: Vec<v8::Local<'s, v8::Value>> = rids.into_iter().map(|rid| integer(scope, rid)).collect();
    [path, bytes, caps, v8::Array::new_with_elements(scope, &rids).into()]
}
