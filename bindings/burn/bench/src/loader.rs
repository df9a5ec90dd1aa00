//! Batches by number, as Burn's learner takes them.

use std::sync::Arc;

use burn::data::dataloader::{DataLoader, DataLoaderIterator, Progress};
use burn::tensor::backend::Backend;

pub struct Loader<I> {
    count: usize,
    batch: Arc<dyn Fn(usize) -> I + Send + Sync>,
}

impl<I> Loader<I> {
    pub fn new(count: usize, batch: impl Fn(usize) -> I + Send + Sync + 'static) -> Self {
        let batch = Arc::new(batch);
        Self { count, batch }
    }

    pub fn empty() -> Self {
        Self::new(0, |_| unreachable!("no batch of an empty loader"))
    }
}

struct Iter<'a, I> {
    next: usize,
    loader: &'a Loader<I>,
}

impl<I> Iterator for Iter<'_, I> {
    type Item = I;

    fn next(&mut self) -> Option<I> {
        (self.next < self.loader.count).then(|| {
            self.next += 1;
            (self.loader.batch)(self.next - 1)
        })
    }
}

impl<I> DataLoaderIterator<I> for Iter<'_, I> {
    fn progress(&self) -> Progress {
        Progress::new(self.next, self.loader.count)
    }
}

impl<B: Backend, I: 'static> DataLoader<B, I> for Loader<I> {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<I> + 'a> {
        Box::new(Iter {
            next: 0,
            loader: self,
        })
    }

    fn num_items(&self) -> usize {
        self.count
    }

    /// The device is the program's.
    fn to_device(&self, _device: &B::Device) -> Arc<dyn DataLoader<B, I>> {
        self.slice_of(0, self.count)
    }

    fn slice(&self, start: usize, end: usize) -> Arc<dyn DataLoader<B, I>> {
        self.slice_of(start, end)
    }
}

impl<I: 'static> Loader<I> {
    fn slice_of<B: Backend>(&self, start: usize, end: usize) -> Arc<dyn DataLoader<B, I>> {
        let batch = self.batch.clone();
        Arc::new(Self::new(end - start, move |number| batch(start + number)))
    }
}
