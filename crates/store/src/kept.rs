//! Values that cost time to make, kept from one use to the next.
//!
//! Who asks gets the value that the same thread gave back last, if it is there: the caches of its core still hold it,
//! while another core would have to fetch hundreds of kilobytes. So how many are kept should be how many threads there
//! are. Not here: what a value is good for, and how large one may be that is worth keeping.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
};

/// At most so many values that are not in use, each with the thread that used it last.
#[derive(Debug)]
pub struct Kept<T> {
    values: Mutex<Vec<(ThreadId, T)>>,
    values_max: usize,
}

impl<T: Default> Kept<T> {
    /// Keeps at most so many.
    #[must_use]
    pub fn new(values_max: usize) -> Self {
        Self { values: Mutex::default(), values_max }
    }

    /// A value that was used before, or a new one.
    #[must_use]
    pub fn take(&self) -> T {
        let own = thread::current().id();
        let mut values = self.values();
        let place = values.iter().rposition(|(thread, _)| *thread == own);
        let taken = match place {
            Some(place) => Some(values.swap_remove(place)),
            None => values.pop(),
        };
        drop(values);
        taken.map(|(_, value)| value).unwrap_or_default()
    }

    /// Keeps a value for the next use; it goes where there are enough.
    pub fn give_back(&self, value: T) {
        let own = thread::current().id();
        let mut values = self.values();
        if values.len() < self.values_max {
            values.push((own, value));
        }
    }

    fn values(&self) -> MutexGuard<'_, Vec<(ThreadId, T)>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gets_back_what_it_used_and_another_what_is_left() {
        let kept = Kept::new(2);
        kept.give_back(1);
        thread::scope(|scope| scope.spawn(|| kept.give_back(2)).join().unwrap());
        kept.give_back(3);
        assert_eq!([kept.take(), kept.take(), kept.take()], [1, 2, 0], "3 was one too many");
    }
}
