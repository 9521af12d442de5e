//! Processes parts of a list on several threads. Each item's result depends on that item alone, so the number of
//! threads affects only the time.

use std::num::NonZero;
use std::thread;

/// Sets every item from its number.
pub(crate) fn fill<T: Send>(items: &mut [T], threads: NonZero<usize>, set: impl Fn(usize, &mut T) + Sync) {
    let length = items.len().div_ceil(threads.get()).max(1);
    let work = |chunk: usize, part: &mut [T]| {
        for (at, item) in part.iter_mut().enumerate() {
            set(chunk * length + at, item);
        }
    };
    run(items.chunks_mut(length).enumerate(), |(chunk, part)| work(chunk, part));
}

/// Runs all tasks, all but the last on their own threads.
pub(crate) fn run<T: Send>(tasks: impl ExactSizeIterator<Item = T>, work: impl Fn(T) + Sync) {
    let last = tasks.len().saturating_sub(1);
    thread::scope(|scope| {
        for (number, task) in tasks.enumerate() {
            if number < last {
                scope.spawn(|| work(task));
            } else {
                work(task);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_set_once_whatever_the_number_of_threads() {
        for threads in 1..9 {
            let mut items = vec![0; 7];
            fill(&mut items, NonZero::new(threads).unwrap(), |at, item| *item += at + 1);
            assert_eq!(items, [1, 2, 3, 4, 5, 6, 7]);
        }
        fill(&mut [] as &mut [usize], NonZero::<usize>::MIN, |_, _| {});
    }
}
