//! `celld top`: the nodes of a fleet on the terminal, refreshed until a key ends it.
//!
//! Invariant: reads `/state` of each node and changes nothing.

mod fetch;
mod sample;
mod view;

use std::io;
use std::pin::Pin;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc;

use fetch::fetch;
use sample::Fleet;
pub use sample::{LogState, NodeState};

/// Finds the internal addresses (`host:port`) of the nodes to show. Called before each refresh, so that nodes may come and go.
pub type Discover =
    Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Vec<String>, String>> + Send>> + Send + Sync>;

/// What to show.
pub struct TopOptions {
    /// Where the nodes are.
    pub discover: Discover,
    /// Time between two refreshes.
    pub interval: Duration,
}

/// How long one node may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Shows the fleet until `q`, Esc or Ctrl-C.
///
/// # Errors
/// When the terminal cannot be drawn on or read.
pub async fn run(options: TopOptions) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let shown = show(&mut terminal, options).await;
    ratatui::restore();
    shown
}

/// Asks the node at `address` (`host:port` of its internal listener) for its state; two seconds at most. The error is short.
pub async fn node_state(address: &str) -> Result<NodeState, String> {
    tokio::time::timeout(PATIENCE, fetch(address)).await.unwrap_or_else(|_| Err("no answer".to_owned()))
}

async fn show(terminal: &mut ratatui::DefaultTerminal, options: TopOptions) -> io::Result<()> {
    let mut keys = key_presses();
    let mut tick = tokio::time::interval(options.interval);
    let mut fleet = Fleet::default();
    loop {
        tokio::select! {
            _ = tick.tick() => match (options.discover)().await {
                Ok(addresses) => {
                    let answers = addresses.iter().map(|address| node_state(address));
                    let answers = futures::future::join_all(answers).await;
                    let samples = addresses.into_iter().zip(answers);
                    fleet.update(samples, std::time::Instant::now());
                }
                Err(error) => fleet.fail(error),
            },
            pressed = keys.recv() => match pressed {
                Some(Key::Quit) | None => return Ok(()),
                Some(Key::Redraw) => {}
            },
        }
        terminal.draw(|frame| view::draw(frame, &fleet))?;
    }
}

enum Key {
    Quit,
    Redraw,
}

/// Key presses and resizes, read on a thread of their own because the terminal's events block.
fn key_presses() -> mpsc::Receiver<Key> {
    let (sender, receiver) = mpsc::channel(8);
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            let key = match event {
                Event::Key(key) if key.kind == KeyEventKind::Press => match key.code {
                    KeyCode::Char('q') | KeyCode::Esc => Key::Quit,
                    KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Key::Quit,
                    _ => continue,
                },
                Event::Resize(..) => Key::Redraw,
                _ => continue,
            };
            if sender.blocking_send(key).is_err() {
                return;
            }
        }
    });
    receiver
}
