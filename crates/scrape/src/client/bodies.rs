//! Memory for bodies that are being read, over all scrapes.
//!
//! Where it is short, the largest body is given up, not the one that came last: a target that sends much, or much and
//! then nothing, never takes the memory that others need.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Notify;

/// Memory of all bodies.
pub(crate) struct Bodies {
    bytes_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    held: HashMap<u64, Held>,
}

struct Held {
    bytes: usize,
    /// Whole and on its way to be kept: no longer given up.
    is_whole: bool,
    given_up: Arc<Notify>,
}

/// Memory of one body; it is given back when this is dropped.
pub(crate) struct BodyClaim {
    bodies: Arc<Bodies>,
    id: u64,
    given_up: Arc<Notify>,
}

/// There is no memory for more of this body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoMemory;

impl Bodies {
    /// So many bytes for all bodies together.
    pub(crate) fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { bytes_max, state: Mutex::default() })
    }

    /// Begins a body.
    pub(crate) fn begin(self: &Arc<Self>) -> BodyClaim {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let id = state.next;
        state.next += 1;
        let given_up = Arc::new(Notify::new());
        state.held.insert(id, Held { bytes: 0, is_whole: false, given_up: Arc::clone(&given_up) });
        BodyClaim { bodies: Arc::clone(self), id, given_up }
    }
}

impl BodyClaim {
    /// Claims more bytes. Where there are none, larger bodies are given up until there are.
    pub(crate) fn grow(&self, more: usize) -> Result<(), NoMemory> {
        let mut state = self.bodies.state.lock().unwrap_or_else(PoisonError::into_inner);
        let own = state.held.get(&self.id).ok_or(NoMemory)?.bytes.saturating_add(more);
        loop {
            let used: usize = state.held.values().map(|held| held.bytes).sum();
            if used.saturating_add(more) <= self.bodies.bytes_max {
                break;
            }
            let others = state.held.iter().filter(|(id, held)| **id != self.id && !held.is_whole);
            let largest = others.max_by_key(|(_, held)| held.bytes).map(|(id, held)| (*id, held.bytes));
            match largest {
                Some((id, bytes)) if bytes >= own => {
                    if let Some(held) = state.held.remove(&id) {
                        held.given_up.notify_one();
                    }
                }
                _ => return Err(NoMemory),
            }
        }
        if let Some(held) = state.held.get_mut(&self.id) {
            held.bytes = own;
        }
        Ok(())
    }

    /// The body is whole: it keeps its memory until it is dropped.
    pub(crate) fn finish(&self) {
        let mut state = self.bodies.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = state.held.get_mut(&self.id) {
            held.is_whole = true;
        }
    }

    /// Ends when this body has been given up for others.
    pub(crate) async fn given_up(&self) {
        self.given_up.notified().await;
    }
}

impl Drop for BodyClaim {
    fn drop(&mut self) {
        self.bodies.state.lock().unwrap_or_else(PoisonError::into_inner).held.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_largest_body_goes_when_memory_is_short() {
        let bodies = Bodies::new(100);
        let (large, small, third) = (bodies.begin(), bodies.begin(), bodies.begin());
        large.grow(70).unwrap();
        small.grow(20).unwrap();
        third.grow(30).unwrap();
        large.given_up().await;
        assert_eq!(large.grow(1), Err(NoMemory), "what was given up stays so");
        // Now this one would be the largest.
        assert_eq!(third.grow(60), Err(NoMemory));
        small.grow(50).unwrap();
        drop(small);
        third.grow(70).unwrap();
    }

    #[test]
    fn whole_bodies_stay() {
        let bodies = Bodies::new(100);
        let (whole, other) = (bodies.begin(), bodies.begin());
        whole.grow(90).unwrap();
        whole.finish();
        assert_eq!(other.grow(20), Err(NoMemory));
        drop(whole);
        other.grow(20).unwrap();
    }
}
